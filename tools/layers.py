# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Checks includes and calls in the module against its layers, `module/layers.toml`.

    tools/layers.py             complaints, one a line; exit status 1 if there are any
    tools/layers.py --picture   the layers as docs/architecture.md shows them

A folder is a layer. In a folder with rooms, each subfolder is a layer. An include or a call that
points up or aside is forbidden, so folders and rooms form no circles. A pure file includes pure
headers only.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
MODULE = TOP / "module"
BOUNCE = TOP / "bounce"
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"', re.S)
# A function's head in kernel style: from the line's first column, its brace on the next line.
FUNCTION = re.compile(
    r"^(?P<head>[A-Za-z_][\w \t*\n]*?[\s*])(?P<name>\w+)\((?P<arguments>[^;{}]*?)\)\s*\n\{\n"
    r"(?P<body>.*?)^\}",
    re.M | re.S,
)
WORD = re.compile(r"\b[a-z_]\w+\b")

# Kernel headers that lib/av_types.h includes in the kernel's build are allowed for all pure code.
PURE_ROOT = "lib/av_types.h"


@dataclass(frozen=True)
class Layers:
    folders: Mapping[str, list[str]]
    below: Mapping[str, str]
    pure: frozenset[str]
    rooms: Mapping[str, Mapping[str, list[str]]]
    faces: frozenset[str]

    @staticmethod
    def load(path: Path) -> Layers:
        data = tomllib.loads(path.read_text())
        pure = {f"{folder}/{name}" for folder, names in data["pure"].items() for name in names}
        rooms = data.get("rooms", {})
        faces = frozenset(data.get("faces", {}).get("files", []))
        return Layers(data["folders"], data["below"], frozenset(pure), rooms, faces)

    def place(self, name: str) -> tuple[str, str]:
        """The folder and the room of a file, by its path in the module; "" is the folder's top."""
        folder, _, rest = name.partition("/")
        return folder, rest.rpartition("/")[0]

    def may(self, folder: str, other: str) -> bool:
        """May files of a folder use another folder?"""
        return other == folder or other in self.below or other in self.folders.get(folder, [])

    def may_room(self, folder: str, room: str, other: str) -> bool:
        """May files of a room use another room of the folder? The top may use all."""
        return room in ("", other) or other in self.rooms.get(folder, {}).get(room, [])

    def forbids(self, name: str, used: str, declared: bool = False) -> str:
        """Why a file may not use another, or "". declared: it calls what a face declares."""
        folder, room = self.place(name)
        other, other_room = self.place(used)
        if not self.may(folder, other):
            return f"{folder}/ may not use {other}/"
        if folder == other:
            if not self.may_room(folder, room, other_room):
                return f"{folder}/{room} may not use {f'{other}/{other_room}'.rstrip('/')}"
        elif other_room and not declared and used not in self.faces:
            return f"{used} is no face of {other}/"
        return ""


def _circles(table: Mapping[str, list[str]], what: str) -> list[str]:
    """A table itself must point down only: each entry stands after those that may use it."""
    order = list(table)
    return [
        f"layers.toml: {what}{one} may include {other}, which is not below it"
        for one, others in table.items()
        for other in others
        if other not in order or order.index(other) <= order.index(one)
    ]


def circles(layers: Layers) -> list[str]:
    """Circles in the tables of folders and of rooms."""
    found = _circles(layers.folders, "")
    for folder, rooms in layers.rooms.items():
        found += _circles(rooms, f"{folder}/")
    return found


def sources(module: Path, layers: Layers) -> list[Path]:
    """Every source of a folder. Files at the module's top connect the folders and may use all."""
    folders = [*layers.folders, *layers.below]
    return sorted(p for f in folders for p in (module / f).rglob("*.[chS]"))


def unknown_folders(module: Path, layers: Layers) -> list[str]:
    """Folders with sources that the tables do not have."""
    known = {*layers.folders, *layers.below, "tests", "uapi"}
    found = [
        f"{folder.name}/: not a layer of layers.toml"
        for folder in sorted(module.iterdir())
        if folder.is_dir() and folder.name not in known and any(folder.rglob("*.[chS]"))
    ]
    places = {layers.place(p.relative_to(module).as_posix()) for p in sources(module, layers)}
    return found + [
        f"{folder}/{room}: not a room of layers.toml"
        for folder, room in sorted(places)
        if room and room not in layers.rooms.get(folder, {})
    ]


def includes(path: Path) -> list[tuple[bool, str]]:
    """The includes of a source: whether in quotes, and the name."""
    return [(quote == '"', name) for quote, name in INCLUDE.findall(path.read_text())]


def complaints_of(path: Path, module: Path, layers: Layers) -> list[str]:
    """Includes of a source that are not allowed."""
    name = path.relative_to(module).as_posix()
    found = []
    for ours, header in includes(path):
        why = layers.forbids(name, header) if ours else ""
        if why:
            found.append(f'{name}: includes "{header}", and {why}')
        if name in layers.pure and name != PURE_ROOT and (not ours or header not in layers.pure):
            found.append(f"{name}: is pure, and {header} is not")
    return found


@dataclass(frozen=True)
class Function:
    file: str
    name: str
    static: bool
    body: str


def functions(path: Path, module: Path) -> Iterator[Function]:
    """The functions that a C source or header defines."""
    name = path.relative_to(module).as_posix()
    text = COMMENT.sub(lambda m: "\n" * m[0].count("\n"), path.read_text())
    for match in FUNCTION.finditer(text):
        static = "static" in match["head"] and not name.endswith(".h")
        yield Function(name, match["name"], static, match["body"])


def calls(module: Path, layers: Layers) -> list[str]:
    """Functions that use a function of a room that their own file may not use.

    Includes alone do not show that: a room below can declare a function of a room above. A word
    that is a function's name counts as its use, called or passed on.
    """
    every = [f for p in sources(module, layers) if p.suffix != ".S" for f in functions(p, module)]
    home = {f.name: f.file for f in every if not f.static}
    own: dict[str, set[str]] = {}
    for function in every:
        own.setdefault(function.file, set()).add(function.name)
    found = []
    for function in every:
        for word in sorted(set(WORD.findall(function.body)) - own[function.file]):
            used = home.get(word)
            why = layers.forbids(function.file, used, declared=True) if used else ""
            if why:
                found.append(
                    f"{function.file}: {function.name}() uses {word}() of {used}, and {why}"
                )
    return found


# Headers outside bounce/core/ that it may include: types, and the locks that each side defines.
BOUNCE_BELOW = ("av_types.h", "av_lock.h")


def bounce_complaints(bounce: Path = BOUNCE) -> list[str]:
    """core/ is pure: it includes only its own headers and those below it, so that it builds on a
    PC.
    """
    return [
        f'{path.relative_to(bounce).as_posix()}: is pure, and "{header}" is not'
        for path in sorted((bounce / "core").glob("*.[ch]"))
        for ours, header in includes(path)
        if not ours or not (header in BOUNCE_BELOW or (bounce / "core" / header).exists())
    ]


def complaints(module: Path = MODULE) -> list[str]:
    """All complaints about the module's layers."""
    layers = Layers.load(module / "layers.toml")
    missing = sorted(
        f"layers.toml: there is no {n}"
        for n in layers.pure | layers.faces
        if not (module / n).exists()
    )
    per_file = [c for path in sources(module, layers) for c in complaints_of(path, module, layers)]
    return (
        circles(layers) + unknown_folders(module, layers) + missing + per_file
        + calls(module, layers)
    )  # fmt: skip


def _lines(table: Mapping[str, list[str]], indent: str = "") -> Iterator[str]:
    width = max(map(len, table))
    for one, others in table.items():
        yield indent + (f"{one:<{width}} → {' '.join(others)}" if others else f"{one:<{width}}")


def picture(module: Path = MODULE) -> str:
    """The layers from the top down, with what each may use, as text."""
    layers = Layers.load(module / "layers.toml")
    lines = [*_lines(layers.folders), "─" * 44, f"below all: {' '.join(layers.below)}"]
    for folder, rooms in layers.rooms.items():
        lines += ["", f"rooms of {folder}/, from the top down:", *_lines(rooms, "  ")]
    return "\n".join(lines)


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
