# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The programs that measurements run: the VMM, the module, the guests and tools of the project."""

from collections.abc import Sequence
from pathlib import Path

from armvisor_lab import paths
from armvisor_lab.errors import LabError

_GUEST = ("vmlinuz", "Image", "initrd")
TARGETS = ("aarch64-unknown-linux-musl", "aarch64-unknown-linux-gnu")


def _built(path: Path, how: str) -> Path:
    if not path.exists():
        raise LabError(f"{path} is not built", f"run `{how}`")
    return path


def vmm() -> Path:
    """The VMM, built for release; the newest where both targets were built."""
    found = [
        path
        for target in TARGETS
        if (path := paths.checkout() / f"vmm/target/{target}/release/armvisor").exists()
    ]
    if not found:
        raise LabError("the VMM is not built", "run `make vmm`")
    return max(found, key=lambda path: path.stat().st_mtime)


def guest(role: str) -> dict[str, Path]:
    """The Debian test guest of a role: `vmlinuz` as Debian ships it, raw `Image`, `initrd`."""
    folder = paths.checkout() / f"build/guests/debian-{role}"
    return {name: _built(folder / name, "make guests") for name in _GUEST}


def disk() -> dict[str, Path]:
    """The Debian disk: `disk.img`, and the private `key` that root logs in with."""
    folder = paths.checkout() / "build/guests/disk-trixie"
    return {name: _built(folder / name, "make disk") for name in ("disk.img", "key")}


def apps() -> dict[str, Path]:
    """The disk of applications: `disk.img`, and `apps.json`, which names its packages."""
    folder = paths.checkout() / "build/guests/apps-trixie"
    return {name: _built(folder / name, "make apps") for name in ("disk.img", "apps.json")}


def module(role: str, without: Sequence[str] = ()) -> Path:
    """armvisor.ko for the kernel of a role; `without`: parts that its build leaves out."""
    folder = role + "".join(f"-no-{part}" for part in without)
    words = f" WITHOUT='{' '.join(without)}'" if without else ""
    path = paths.checkout() / f"build/module/{folder}/armvisor.ko"
    return _built(path, f"make -C module KVER={role}{words}")


def bounce(role: str) -> Path:
    """armvisor_bounce.ko for guests with the kernel of a role."""
    path = paths.checkout() / f"build/bounce/{role}/armvisor_bounce.ko"
    return _built(path, f"make -C bounce KVER={role}")


def bare(name: str) -> Path:
    """A bare-metal guest."""
    return _built(paths.checkout() / f"build/guests/bare/{name}.img", "make guests")


def tool(name: str) -> Path:
    """A small static arm64 Linux program."""
    return _built(paths.checkout() / f"build/guests/tools/{name}", "make guests")


def plugin() -> Path:
    """QEMU's plugin that counts instructions by class and models TLBs."""
    return _built(paths.checkout() / "build/plugins/count.so", "make plugins")
