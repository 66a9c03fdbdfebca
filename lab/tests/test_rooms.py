# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The lab's rooms: a module imports of its own room and of those below it, and nothing else."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "src/armvisor_lab"
# From the ground up. Figures use the TLB model's plugin, and the TLB model runs figures' guests.
FLOORS = (
    {"__init__", "errors"}, {"paths"}, {"archive"}, {"boards"}, {"side_by_side"},
    {"figures", "reach"}, {"timetable"}, {"records"}, {"model", "doctables"}, {"report"}, {"cli"},
    {"__main__"},
)  # fmt: skip
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}


def imported(source: str) -> Iterator[str]:
    """The rooms that a module's source imports of."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module="armvisor_lab"):
                names = [each.name for each in node.names]
                yield from ("__init__" if name.startswith("__") else name for name in names)
            case ast.ImportFrom(module=str(module)) if module.startswith("armvisor_lab."):
                yield module.split(".")[1]


def upwards(room: str, source: str) -> list[str]:
    """The rooms above `room` that the source imports of."""
    return [each for each in imported(source) if FLOOR[each] > FLOOR[room]]


def test_no_room_imports_of_one_above():
    modules = {path: path.relative_to(SOURCES).parts[0] for path in SOURCES.rglob("*.py")}
    found = {
        str(path): up
        for path, room in modules.items()
        if (up := upwards(room.removesuffix(".py"), path.read_text()))
    }
    assert len(modules) > 90 and not found


def test_a_way_up_is_told():
    assert upwards("figures", "from armvisor_lab.cli.board import say") == ["cli"]
    assert upwards("boards", "def f():\n    from armvisor_lab import paths, records") == ["records"]
    assert upwards("cli", "from armvisor_lab import __version__, paths") == []
