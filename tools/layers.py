# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The module's layers: which folder includes which, held against `module/layers.toml`.

    tools/layers.py             complaints, one a line; exit status 1 if there are any
    tools/layers.py --picture   the layers as docs/architecture.md shows them

A forbidden include is one that points up or aside. A pure file includes pure headers only.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
MODULE = TOP / "module"
BOUNCE = TOP / "bounce"
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)

# What lib/av_types.h takes of the kernel, when it is built there, it takes for all pure code.
PURE_ROOT = "lib/av_types.h"


@dataclass(frozen=True)
class Layers:
    folders: dict[str, list[str]]
    below: dict[str, str]
    pure: frozenset[str]

    @staticmethod
    def load(path: Path) -> Layers:
        data = tomllib.loads(path.read_text())
        pure = {f"{folder}/{name}" for folder, names in data["pure"].items() for name in names}
        return Layers(data["folders"], data["below"], frozenset(pure))

    def allowed(self, folder: str, other: str) -> bool:
        return other == folder or other in self.below or other in self.folders.get(folder, [])


def circles(layers: Layers) -> list[str]:
    """The table itself must point down only: each folder after those that may include it."""
    order = list(layers.folders)
    return [
        f"layers.toml: {folder} may include {other}, which is not below it"
        for folder, others in layers.folders.items()
        for other in others
        if other not in order or order.index(other) <= order.index(folder)
    ]


def sources(module: Path, layers: Layers) -> list[Path]:
    """Every source of a folder; files at the module's top put folders together and may all."""
    folders = [*layers.folders, *layers.below]
    return sorted(p for f in folders for p in (module / f).glob("*.[chS]"))


def unknown_folders(module: Path, layers: Layers) -> list[str]:
    known = {*layers.folders, *layers.below, "tests"}
    return [
        f"{folder.name}/: not a layer of layers.toml"
        for folder in sorted(module.iterdir())
        if folder.is_dir() and folder.name not in known and any(folder.glob("*.[chS]"))
    ]


def includes(path: Path) -> list[tuple[bool, str]]:
    """What a source includes: is it in quotes, and its name."""
    return [(quote == '"', name) for quote, name in INCLUDE.findall(path.read_text())]


def complaints_of(path: Path, module: Path, layers: Layers) -> list[str]:
    name = path.relative_to(module).as_posix()
    folder = path.parent.name
    found = []
    for ours, header in includes(path):
        other = header.split("/")[0]
        if ours and not layers.allowed(folder, other):
            found.append(f'{name}: includes "{header}", and {folder}/ may not use {other}/')
        if name in layers.pure and name != PURE_ROOT and (not ours or header not in layers.pure):
            found.append(f"{name}: is pure, and {header} is not")
    return found


# What core/ of bounce/ may include of others: types, and the locks that each side brings.
BOUNCE_BELOW = ("av_types.h", "av_lock.h")


def bounce_complaints(bounce: Path = BOUNCE) -> list[str]:
    """core/ is pure: its own headers and those below it only, so that it builds on a PC."""
    return [
        f'{path.relative_to(bounce).as_posix()}: is pure, and "{header}" is not'
        for path in sorted((bounce / "core").glob("*.[ch]"))
        for ours, header in includes(path)
        if not ours or not (header in BOUNCE_BELOW or (bounce / "core" / header).exists())
    ]


def complaints(module: Path = MODULE) -> list[str]:
    layers = Layers.load(module / "layers.toml")
    missing = sorted(
        f"layers.toml: there is no {n}" for n in layers.pure if not (module / n).exists()
    )
    per_file = [c for path in sources(module, layers) for c in complaints_of(path, module, layers)]
    return circles(layers) + unknown_folders(module, layers) + missing + per_file


def picture(module: Path = MODULE) -> str:
    """The layers from the top down, with what each may use, as text."""
    layers = Layers.load(module / "layers.toml")
    width = max(map(len, layers.folders))
    lines = [
        f"{folder:<{width}} → {' '.join(others)}" if others else f"{folder:<{width}}"
        for folder, others in layers.folders.items()
    ]
    return "\n".join([*lines, "─" * 44, f"below all: {' '.join(layers.below)}"])


def main() -> int:
    parser = argparse.ArgumentParser(description="Check the module's layers.")
    parser.add_argument("--picture", action="store_true", help="show the layers instead")
    if parser.parse_args().picture:
        print(picture())
        return 0
    found = complaints() + bounce_complaints()
    print("\n".join(found) or "the modules' layers are as they should be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
