# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A board's initramfs: concatenated pieces, the unchanging ones cached by content.

The pieces are the base (busybox and our init), the kernel's modules, and what this one
run brings: files, command and settings.
"""

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path

from armvisor_lab import paths
from armvisor_lab.cpio import Cpio
from armvisor_lab.errors import LabError
from armvisor_lab.kernels import Kernel
from armvisor_lab.kmodules import Modules, canonical, own_dependencies, plain
from armvisor_lab.packages import Packages

# What the channels need; built into some kernels, modules in others.
CHANNEL_MODULES = ("virtio_mmio", "virtio_console")

BUSYBOX_SUITE = "trixie"


@dataclass(frozen=True)
class Module:
    """A module to load before the command: a name of the kernel's, or a file of one's own."""

    name: str
    parameters: str = ""

    @classmethod
    def parse(cls, text: str) -> "Module":
        """From `NAME` or `FILE.ko`, with `:PARAMETER=VALUE …` after it if wanted."""
        name, _, parameters = text.partition(":")
        if not name:
            raise LabError(f"--module {text!r} names no module")
        return cls(name, parameters)

    @property
    def is_file(self) -> bool:
        """Whether this is a module that the kernel's package does not have."""
        return self.name.endswith(".ko")


def _piece(kind: str, key: bytes, cpio: Cpio) -> bytes:
    file = paths.cache() / "initramfs" / f"{kind}-{hashlib.sha256(key).hexdigest()[:24]}.cpio"
    data = cpio.finish()
    paths.write_atomically(file, data)
    return data


def _cached(kind: str, key: bytes) -> bytes | None:
    file = paths.cache() / "initramfs" / f"{kind}-{hashlib.sha256(key).hexdigest()[:24]}.cpio"
    return file.read_bytes() if file.exists() else None


@lru_cache
def _base() -> bytes:
    package = Packages(BUSYBOX_SUITE).get("busybox-static")
    init = resources.files("armvisor_lab").joinpath("board-init.sh").read_bytes()
    key = package.file.encode() + b"\0" + init
    if (data := _cached("base", key)) is not None:
        return data
    tree = package.unpacked()
    busybox = next(path for path in tree.glob("**/bin/busybox") if path.is_file())
    cpio = Cpio()
    cpio.file("bin/busybox", busybox.read_bytes(), 0o755)
    cpio.file("init", init, 0o755)
    for name in ("dev", "proc", "sys", "tmp", "run", "root", "etc"):
        cpio.folder(name)
    # Before devtmpfs is mounted the kernel opens /dev/console for init.
    cpio.device("dev/console", 0o020000, 5, 1)
    cpio.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n")
    cpio.file("etc/group", b"root:x:0:\n")
    return _piece("base", key, cpio)


def _modules(kernel: Kernel, modules: Sequence[Module]) -> bytes:
    """The piece with the modules, their dependencies and the lists to load them by."""
    known = Modules(kernel.modules)
    early = known.load_order(list(CHANNEL_MODULES))
    order: dict[str, tuple[bytes | Path, str]] = {}
    for module in modules:
        if module.is_file:
            file = Path(module.name)
            if not file.is_file():
                raise LabError(f"{file}: no such module file")
            data = file.read_bytes()
            for path in known.load_order(own_dependencies(data)):
                order.setdefault(canonical(path.name), (path, ""))
            order[canonical(file.name)] = (data, module.parameters)
        else:
            for path in known.load_order([module.name]):
                order.setdefault(canonical(path.name), (path, ""))
            if (name := canonical(module.name)) in order:
                order[name] = (order[name][0], module.parameters)
    key = repr((kernel.release, str(kernel.folder), early, [
        (name, hashlib.sha256(what).hexdigest() if isinstance(what, bytes) else str(what), words)
        for name, (what, words) in order.items()
    ])).encode()  # fmt: skip
    if (cached := _cached("modules", key)) is not None:
        return cached
    cpio = Cpio()
    for path in early:
        cpio.file(f"lab/modules.d/{canonical(path.name)}.ko", plain(path))
    already = {canonical(path.name) for path in early}
    for name, (what, _) in order.items():
        if name not in already:
            cpio.file(f"lab/modules.d/{name}.ko", what if isinstance(what, bytes) else plain(what))
    lines = [f"modules.d/{canonical(path.name)}.ko\n" for path in early]
    cpio.file("lab/modules.early", "".join(lines).encode())
    later = [
        f"modules.d/{name}.ko {words}".rstrip() + "\n"
        for name, (_, words) in order.items()
        if name not in already
    ]
    cpio.file("lab/modules", "".join(later).encode())
    return _piece("modules", key, cpio)


def build(
    kernel: Kernel,
    modules: Sequence[Module],
    files: Mapping[str, Path | bytes],
    command: Sequence[str],
    settings: Mapping[str, str],
) -> list[bytes]:
    """The pieces of the initramfs of a board that runs `command`."""
    own = Cpio()
    for name, source in files.items():
        if isinstance(source, bytes):
            own.file(name, source, 0o755 if source[:2] == b"#!" else 0o644)
        else:
            own.copy_following(source, name)
    # Followed to the bytes: quoting by shlex, so that every word arrives as it was given.
    own.file("lab/command", f"exec {shlex.join(command)}\n".encode())
    text = "".join(f"{key}={shlex.quote(value)}\n" for key, value in settings.items())
    own.file("lab/settings", text.encode())
    return [_base(), _modules(kernel, modules), own.finish()]
