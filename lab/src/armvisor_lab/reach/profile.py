# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A profile of a core that was made on silicon: a JSON file, as `lab model cycles --core` takes it.

    {"armvisor_core": 1, "name": "…", "what": "…", "like": "neoverse-n1",
     "made": {"revision": "…", "time": "…", …},
     "costs": {"isb": {"cycles": [31, 34], "how": "…"}, …},
     "figures": {"lat.null.native": {"cycles": 300, "how": "…"}, …},
     "checks": {"translations-asid": {"state": "ok", "what": "…"}, …},
     "lines": ["…", …]}

`armvisor_core` is the version of this format. `like` is a core of cores.toml: TLBs and caches are
that core's, and so is each cost that the file lacks. `costs` are of cores.toml's classes, the least
and the most that was measured. `figures` are cycles of whole operations by the names that
`lab figures` has; they are shown beside what the model says, and nothing is fitted to them.
`checks` are what the silicon kit proved, and `lines` what its programs printed that KVM on an
emulated board does not; a file may lack both. `made` says where the file comes from; its values are
text. docs/model.md describes the format.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from armvisor_lab.errors import LabError, remedy
from armvisor_lab.reach import cores
from armvisor_lab.reach.cores import Core

VERSION = 1
_KEYS = (
    "armvisor_core", "name", "what", "like", "made", "costs", "figures", "checks", "lines",
)  # fmt: skip
STATES = ("ok", "failed", "differs", "seen", "absent")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,30}")


@dataclass(frozen=True)
class Measured:
    """A core with costs that were measured on a machine, and cycles of figures there."""

    core: Core
    like: Core
    made: Mapping[str, str]
    costs: Mapping[str, tuple[float, float]]
    figures: Mapping[str, float]
    checks: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    lines: Sequence[str] = ()

    def as_json(self) -> dict[str, Any]:
        """For a record: each measured cost beside the modelled one."""
        costs = {
            key: {
                "measured": list(pair), "modelled": list(self.like.cycles(key)),
                "how": self.core.values[key]["source"],
            }
            for key, pair in self.costs.items()
        }  # fmt: skip
        return {
            "name": self.core.name, "what": self.core.what, "like": self.like.name,
            "made": dict(self.made), "costs": costs, "figures": dict(self.figures),
            "checks": {name: list(check) for name, check in self.checks.items()},
            "lines": list(self.lines),
        }  # fmt: skip


def is_file(name: str) -> bool:
    """Whether a core's name is that of a file."""
    return name.endswith(".json")


class _Wrong(Exception):
    """A part of a profile that is not as this format has it."""


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Wrong(f"{where} is no text: {value!r}")
    return value


def _table(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _Wrong(f"{where} has no names: {str(value)[:40]!r}")
    return value


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e12:
        raise _Wrong(f"{where} is no number of cycles: {str(value)[:40]!r}")
    return float(value)


def _each(value: object, where: str) -> tuple[Any, str]:
    """Cycles, and how they were measured."""
    table = _table(value, where)
    if unknown := set(table) - {"cycles", "how"}:
        raise _Wrong(f"{where}: nothing is called {', '.join(sorted(unknown))}")
    return table.get("cycles"), _text(table.get("how"), f"{where}: how")


def _pair(value: object, where: str) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) != 2:
        raise _Wrong(f"{where}: cycles are two numbers, the least and the most")
    low, high = (_number(each, where) for each in value)
    if low > high:
        raise _Wrong(f"{where}: the least, {low:g}, is more than the most, {high:g}")
    return low, high


def _costs(value: object) -> tuple[dict[str, tuple[float, float]], dict[str, str]]:
    pairs, how = {}, {}
    for key, each in _table(value, "costs").items():
        if key not in cores.CYCLES:
            raise _Wrong(f"costs: no class is called {key!r}; there are {', '.join(cores.CYCLES)}")
        cycles, how[key] = _each(each, f"costs: {key}")
        pairs[key] = _pair(cycles, f"costs: {key}")
    return pairs, how


def _figures(value: object) -> dict[str, float]:
    return {
        name: _number(_each(each, f"figures: {name}")[0], f"figures: {name}")
        for name, each in _table(value, "figures").items()
    }


def _checks(value: object) -> dict[str, tuple[str, str]]:
    checks = {}
    for name, each in _table(value, "checks").items():
        table = _table(each, f"checks: {name}")
        state = table.get("state")
        if set(table) != {"state", "what"} or state not in STATES:
            raise _Wrong(f"checks: {name} needs a state of {', '.join(STATES)}, and what")
        checks[name] = str(state), str(table["what"])
    return checks


def _lines(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise _Wrong("lines are a list of text")
    return value


def _measured(content: object) -> Measured:
    table = _table(content, "the profile")
    version = table.get("armvisor_core")
    if version != VERSION or isinstance(version, bool):
        raise _Wrong(f"its version is {version!r}, and this lab reads {VERSION}")
    if unknown := set(table) - set(_KEYS):
        raise _Wrong(f"nothing is called {', '.join(sorted(unknown))}")
    every = cores.known()
    name, like = _text(table.get("name"), "name"), _text(table.get("like"), "like")
    if not _NAME.fullmatch(name) or name in every:
        raise _Wrong(f"name: {name!r} is a core's here, or not of up to 31 of a-z, 0-9 and dashes")
    if like not in every:
        raise LabError(f"like: no profile of a core {like!r}", remedy(like, every))
    made = {
        key: _text(each, f"made: {key}") for key, each in _table(table.get("made"), "made").items()
    }
    if "revision" not in made or "time" not in made:
        raise _Wrong("made: it has no revision or no time")
    costs, how = _costs(table.get("costs", {}))
    figures = _figures(table.get("figures", {}))
    if not costs and not figures:
        raise _Wrong("nothing in it was measured: it has neither costs nor figures")
    values = {key: {"cycles": list(pair), "source": how[key]} for key, pair in costs.items()}
    base = every[like]
    core = replace(
        base, name=name, what=_text(table.get("what"), "what"), values={**base.values, **values}
    )
    checks, lines = _checks(table.get("checks", {})), _lines(table.get("lines", []))
    return Measured(core, base, made, costs, figures, checks, lines)


def read(file: Path) -> Measured:
    """The profile in a file; LabError with a sentence where it is none."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise LabError(f"{file}: {error.strerror}", "name a profile of a core") from error
    except (ValueError, RecursionError) as error:
        raise LabError(f"{file} is no profile of a core: it is not JSON ({error})") from error
    try:
        return _measured(content)
    except _Wrong as error:
        raise LabError(
            f"{file} is no profile of a core: {error}", "docs/model.md has the format"
        ) from error
