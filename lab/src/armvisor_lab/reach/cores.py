# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Profiles of cores, from cores.toml: TLBs, caches, and the cycles of each class of instruction.

Each value names its source. A core that is like another one inherits missing values from it.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armvisor_lab.errors import LabError, remedy

FILE = Path(__file__).with_name("cores.toml")
DEFAULT = ("cortex-a72", "neoverse-n1")

_SHAPES = ("l1i", "l1d", "l2", "walk", "ipa")
_SHIFTS = ("l1_largest", "ipa_smallest")
_CACHES = ("l1i_cache", "l1d_cache", "l2_cache")
COSTS = (
    "ordinary", "isb", "dsb", "dmb", "exception", "sysreg_read", "sysreg_write", "tlbi", "cache",
    "device",
)  # fmt: skip
WALKS = ("l2_hit", "walk_hit", "walk_miss")
CYCLES = (*WALKS, *COSTS)
_OPTIONAL = ("ghz",)
# Keys of a value besides `source` and `estimated`.
_KEYS = (
    dict.fromkeys(_SHAPES, ("entries", "ways"))
    | dict.fromkeys(_SHIFTS, ("shift",))
    | {"line": ("bytes",)}
    | dict.fromkeys(_CACHES, ("kib", "ways"))
    | {"tables": ("ways",)}
    | dict.fromkeys((*CYCLES, *_OPTIONAL), ("cycles",))
)
_NAMES = ("what", "like")


@dataclass(frozen=True)
class Core:
    """One core. `values` is all that its profile says, with the sources."""

    name: str
    what: str
    values: Mapping[str, Mapping[str, Any]]

    def line(self) -> str:
        """The core in the plugin's configuration."""
        shapes = [f"{self.values[key]['entries']} {self.values[key]['ways']}" for key in _SHAPES]
        shifts = [str(self.values[key]["shift"]) for key in _SHIFTS]
        return " ".join(["core", self.name, *shapes, *shifts])

    def caches(self) -> str:
        """Its caches in the plugin's configuration."""
        shapes = [f"{self.values[key]['kib']} {self.values[key]['ways']}" for key in _CACHES]
        line, tables = self.values["line"]["bytes"], self.values["tables"]["ways"]
        return " ".join(["caches", self.name, str(line), *shapes, str(tables)])

    def cycles(self, key: str) -> tuple[float, float]:
        """The least and the most that something takes."""
        low, high = self.values[key]["cycles"]
        return low, high

    def tlbs(self) -> tuple[Mapping[str, Any], ...]:
        """What the model of its page walks is made of: cores with the same have the same walks."""
        return tuple(
            {part: self.values[key][part] for part in _KEYS[key]}
            for key in (*_SHAPES, *_SHIFTS, "line", "l2_cache", "tables")
        )

    @property
    def estimated(self) -> list[str]:
        """The values that are not published."""
        return [key for key, value in self.values.items() if value.get("estimated")]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _check(name: str, key: str, value: object) -> None:
    where = f"{FILE.name}: core {name}, {key}"
    if not isinstance(value, dict):
        raise LabError(f"{where} is missing", f"give it {', '.join(_KEYS[key])} and source")
    for part in _KEYS[key]:
        if part not in value:
            raise LabError(f"{where}: {part} is missing")
    if not isinstance(value.get("source"), str) or not value["source"]:
        raise LabError(f"{where}: source is missing", "say where the value is from")
    if key in (*CYCLES, *_OPTIONAL):
        pair = value["cycles"]
        if not isinstance(pair, list) or len(pair) != 2 or not all(map(_is_number, pair)):
            raise LabError(f"{where}: cycles are two numbers, the least and the most")
        if pair[0] > pair[1]:
            raise LabError(f"{where}: the least, {pair[0]}, is more than the most, {pair[1]}")
    elif not all(_is_number(value[part]) and value[part] == int(value[part])
                 for part in _KEYS[key]):  # fmt: skip
        raise LabError(f"{where}: {' and '.join(_KEYS[key])} are whole numbers")


def _check_tables(name: str, whole: Mapping[str, Any]) -> None:
    """Translation tables have a share of the second-level cache, no more than all of it."""
    ways, most = whole["tables"]["ways"], whole["l2_cache"]["ways"]
    if not 1 <= ways <= most:
        raise LabError(f"{FILE.name}: core {name}, tables: 1 to {most} ways of the L2 cache")


def _whole(name: str, tables: Mapping[str, Any], after: tuple[str, ...] = ()) -> dict[str, Any]:
    """A core's table with what it has from those that it is like."""
    table = tables.get(name)
    if not isinstance(table, dict):
        raise LabError(f"{FILE.name}: {name} is not a table of a core")
    like = table.get("like")
    if like is None:
        return dict(table)
    if like not in tables:
        raise LabError(f"{FILE.name}: core {name} is like {like!r}, which does not exist")
    if like in (*after, name):
        raise LabError(f"{FILE.name}: core {name} is like itself")
    return {**_whole(like, tables, (*after, name)), **table}


def _core(name: str, tables: Mapping[str, Any]) -> Core:
    whole = _whole(name, tables)
    if not isinstance(tables[name].get("what"), str):
        raise LabError(f"{FILE.name}: core {name}: `what` is missing")
    if unknown := set(whole) - set(_KEYS) - set(_NAMES):
        raise LabError(f"{FILE.name}: core {name}: no value is called {', '.join(sorted(unknown))}")
    keys = [key for key in _KEYS if key not in _OPTIONAL or key in whole]
    for key in keys:
        _check(name, key, whole.get(key))
    _check_tables(name, whole)
    return Core(name, whole["what"], {key: whole[key] for key in keys})


def read(text: str) -> dict[str, Core]:
    """The cores of a file's text."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LabError(f"{FILE.name}: {error}") from error
    return {name: _core(name, tables) for name in tables}


def known() -> dict[str, Core]:
    """All cores."""
    return read(FILE.read_text())


def choose(names: list[str]) -> list[Core]:
    """The cores of these names, once each."""
    every = known()
    for name in names:
        if name not in every:
            raise LabError(f"no profile of a core {name!r}", remedy(name, every))
    return [every[name] for name in dict.fromkeys(names)]
