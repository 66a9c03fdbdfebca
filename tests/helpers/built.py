# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Brings builds up to date before tests use them: a test must never judge an older build."""

import fcntl
import subprocess
from functools import cache
from pathlib import Path

from armvisor_lab.archive import debugkernel, kernels

TOP = Path(__file__).resolve().parents[2]
# Seconds after which a command counts as hung, even on a busy machine. Boards have their own
# limits, which exclude waits for a CPU.
HANGS = 4 * 3600


def make(*words: str) -> None:
    """`make -C WORDS…`, its output shown if it fails."""
    done = subprocess.run(["make", "-s", "-C", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"make {' '.join(words)}:\n{done.stdout}{done.stderr}"


@cache
def module(kernel: str, flavour: str = "cloud") -> Path:
    """armvisor.ko for the kernel of a role."""
    if flavour == "cloud":
        make(str(TOP / "module"), f"KVER={kernel}")
        return TOP / "build/module" / kernel / "armvisor.ko"
    name = f"{kernel}-{flavour}"
    make(str(TOP / "module"), f"KVER={name}", f"KDIR={kernels.headers(kernel, flavour)}")
    return TOP / "build/module" / name / "armvisor.ko"


@cache
def of_tests(name: str, kernel: str) -> Path:
    """A module in module/tests, which `make module` does not build."""
    built = TOP / "build/module" / kernel
    with (built / f"{name}.lock").open("w") as lock:
        # Several workers may come here at the same time.
        fcntl.flock(lock, fcntl.LOCK_EX)
        make(str(TOP / "module"), f"KVER={kernel}", name)
    return built / f"tests/{name}/{name}.ko"


@cache
def own_kernel(kind: str) -> Path:
    """The folder of stable's kernel as the lab builds it: a kind of `debugkernel.KINDS`."""
    return debugkernel.get("stable", kind=kind)


@cache
def own_module(kind: str) -> Path:
    """armvisor.ko for such a kernel."""
    words = [f"KVER={kind}-stable", f"KDIR={own_kernel(kind) / 'build'}"]
    make(str(TOP / "module"), *words, *debugkernel.compiler(kind))
    return TOP / f"build/module/{kind}-stable/armvisor.ko"


@cache
def bounce(kernel: str) -> Path:
    """armvisor_bounce.ko for the guest kernel of a role."""
    make(str(TOP / "bounce"), f"KVER={kernel}")
    return TOP / "build/bounce" / kernel / "armvisor_bounce.ko"


def host_disk(folder: Path) -> Path:
    """A copy, in a folder, of a disk with a Debian that has systemd, headers and a compiler."""
    make(str(TOP / "guests"), "host")
    disk = folder / "disk.img"
    source = TOP / "build/guests/host-trixie/disk.img"
    subprocess.run(["cp", "--sparse=always", source, disk], check=True)
    return disk


@cache
def work_disk() -> Path:
    """The disk with the programs of guests/work, which keep a VM's CPUs busy."""
    make(str(TOP / "guests"), "work")
    return TOP / "build/guests/work-trixie/disk.img"


@cache
def apps_disk() -> Path:
    """The disk of applications."""
    make(str(TOP / "guests"), "apps")
    return TOP / "build/guests/apps-trixie/disk.img"
