# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A board's initramfs: concatenated pieces; constant ones are cached by content.

The pieces are the base (busybox and our init), the kernel's modules, and the files, command and
settings of this run.
"""

import contextlib
import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path

from armvisor_lab import paths
from armvisor_lab.archive.kernels import Kernel
from armvisor_lab.archive.kmodules import Modules, canonical, own_dependencies, plain
from armvisor_lab.archive.packages import Packages
from armvisor_lab.boards.cpio import Cpio
from armvisor_lab.errors import LabError

# Modules for the channels; built into some kernels.
CHANNEL_MODULES = ("virtio_mmio", "virtio_console")

BUSYBOX_SUITE = "trixie"

# Pieces to keep in the cache.
KEEP = 100


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


def _file(kind: str, key: bytes) -> Path:
    return paths.cache() / "initramfs" / f"{kind}-{hashlib.sha256(key).hexdigest()[:24]}.cpio"


def _piece(kind: str, key: bytes, cpio: Cpio) -> bytes:
    file = _file(kind, key)
    data = cpio.finish()
    paths.write_atomically(file, data)
    # Every build of the module makes a piece: drop old ones.
    with contextlib.suppress(FileNotFoundError):
        pieces = sorted(file.parent.glob("*.cpio"), key=lambda path: path.stat().st_mtime)
        for old in pieces[:-KEEP]:
            old.unlink()
    return data


def _cached(kind: str, key: bytes) -> bytes | None:
    try:
        return _file(kind, key).read_bytes()
    except FileNotFoundError:
        return None


def _identity(path: Path) -> tuple[str, int, int]:
    """What tells a rebuilt file from the one before."""
    status = path.stat()
    return str(path), status.st_size, status.st_mtime_ns


@lru_cache
def _base() -> bytes:
    package = Packages(BUSYBOX_SUITE).get("busybox-static")
    init = resources.files("armvisor_lab.boards").joinpath("board-init.sh").read_bytes()
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


@dataclass(frozen=True)
class _Load:
    """One module file to load: where it is (bytes: one of one's own) and its parameters."""

    source: Path | bytes
    parameters: str = ""

    @property
    def identity(self) -> object:
        """What tells this from any other, a rebuilt one included."""
        if isinstance(self.source, bytes):
            return hashlib.sha256(self.source).hexdigest(), self.parameters
        return _identity(self.source), self.parameters

    @property
    def data(self) -> bytes:
        """The module itself."""
        return self.source if isinstance(self.source, bytes) else plain(self.source)


def _order(known: Modules, modules: Sequence[Module]) -> dict[str, _Load]:
    """What to load for `modules`, by name, dependencies first."""
    order: dict[str, _Load] = {}
    for module in modules:
        name = canonical(module.name)
        needs = [module.name]
        if module.is_file:
            file = Path(module.name)
            if not file.is_file():
                raise LabError(f"{file}: no such module file")
            data = file.read_bytes()
            needs = own_dependencies(data)
        for path in known.load_order(needs):
            order.setdefault(canonical(path.name), _Load(path))
        if module.is_file:
            order[name] = _Load(data, module.parameters)
        elif name in order:
            order[name] = _Load(order[name].source, module.parameters)
    return order


def _modules(kernel: Kernel, modules: Sequence[Module]) -> bytes:
    """The piece with the modules, their dependencies and the lists to load them by."""
    known = Modules(kernel.modules)
    early = {canonical(path.name): _Load(path) for path in known.load_order(CHANNEL_MODULES)}
    order = _order(known, modules)
    later = {name: load for name, load in order.items() if name not in early}
    lists = [("modules.early", early), ("modules", later)]
    key = repr([
        (name, [(module, load.identity) for module, load in loads.items()])
        for name, loads in lists
    ]).encode()  # fmt: skip
    if (cached := _cached("modules", key)) is not None:
        return cached
    cpio = Cpio()
    for name, loads in lists:
        lines = ""
        for module, load in loads.items():
            cpio.file(f"lab/modules.d/{module}.ko", load.data)
            lines += f"modules.d/{module}.ko {load.parameters}".rstrip() + "\n"
        cpio.file(f"lab/{name}", lines.encode())
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
    # Followed to the bytes; quoted by shlex, so that every word arrives unchanged.
    own.file("lab/command", f"exec {shlex.join(command)}\n".encode())
    text = "".join(f"{key}={shlex.quote(value)}\n" for key, value in settings.items())
    own.file("lab/settings", text.encode())
    return [_base(), _modules(kernel, modules), own.finish()]
