# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Kernel modules: their dependencies, their load order, their uncompressed bytes.

Names are compared as in the kernel, with `-` and `_` the same. Modules that are built into the
kernel need no loading and drop out.
"""

import lzma
import re
from collections.abc import Sequence
from pathlib import Path

from armvisor_lab.errors import LabError


def canonical(name: str) -> str:
    """The kernel's form of a module's name, from a name or a file name."""
    base = name.rsplit("/", 1)[-1]
    return re.sub(r"\.ko(\.\w+)?$", "", base).replace("-", "_")


class Modules:
    """The modules of one kernel, from its folder with `modules.dep`."""

    def __init__(self, folder: Path) -> None:
        # Resolved: the last part is the kernel's release.
        folder = folder.resolve()
        self.folder = folder
        self._files: dict[str, str] = {}
        self._needs: dict[str, list[str]] = {}
        self._builtin: set[str] = set()
        dep = folder / "modules.dep"
        if not dep.exists():
            raise LabError(f"{dep} is missing", f"run depmod for {folder.name}")
        for line in dep.read_text().splitlines():
            file, _, needs = line.partition(":")
            self._files[canonical(file)] = file
            self._needs[canonical(file)] = needs.split()
        builtin = folder / "modules.builtin"
        if builtin.exists():
            self._builtin = {canonical(line) for line in builtin.read_text().split()}

    def load_order(self, names: Sequence[str]) -> list[Path]:
        """Files to load, dependencies first, for `names` to be there."""
        order: dict[str, None] = {}
        for name in names:
            key = canonical(name)
            if key in self._builtin:
                continue
            if key not in self._files:
                raise LabError(
                    f"kernel {self.folder.name} has no module {name!r}",
                    "Debian's cloud flavour leaves drivers out: try --flavour generic",
                )
            # modules.dep names the last to load first.
            for file in reversed(self._needs[key]):
                order.setdefault(file)
            order.setdefault(self._files[key])
        return [self.folder / file for file in order]


def plain(file: Path) -> bytes:
    """A module's bytes, decompressed."""
    data = file.read_bytes()
    if data[:6] == b"\xfd7zXZ\0":
        return lzma.decompress(data)
    return data


def own_dependencies(module: bytes) -> list[str]:
    """What a module file says it needs (`depends=` of its .modinfo)."""
    if module[:4] != b"\x7fELF":
        raise LabError("not a kernel module: it is no ELF file")
    match = re.search(rb"\0depends=([\w,-]*)\0", module)
    return [name for name in match[1].decode().split(",") if name] if match else []
