# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A figure by classes of instructions, exception levels, modelled page walks and cache misses.

The measurement runs with QEMU's plugin (lab/plugins), which does not change execution: the figure
is the same. Programs mark each round of the operation that they repeat (guests/lib/mark.h). The
classes are of the same rounds as the figure, the best or all, and without the empty loop where the
figure excludes it. Their sum is checked against the figure, which is the clock's.

Models assume pages of 4 KiB at stage 1 for all memory, and of 2 MiB at stage 2 for a guest's, which
is what the VMM requests. A board with several CPUs has no models.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from armvisor_lab.boards.board import Board
from armvisor_lab.errors import LabError
from armvisor_lab.figures import Marked, Outcome, Progress, Spot
from armvisor_lab.reach import plugin
from armvisor_lab.reach.cores import Core
from armvisor_lab.reach.plugin import Counts, Model, Section

ROUNDS = Spot.rounds  # of guests/tools/lat/main.c and guests/bare/cost.c
_STAGE2 = {"kvm": 21, "xen": 21}
_WALKS = ("lookups", "l1_misses", "walks", "refs", "refs_missed")
# Permitted difference from the clock: in instructions, for a round's own counter reads, and as a
# part of the figure.
_AROUND = 64
_PART = 0.005

By = dict[str, dict[str, float]]


@dataclass
class Classes:
    """Counts for one operation of a figure.

    `insns`, `tlbi`, `accesses` and `entries` are by who executed. `walks` are by core, with the
    misses of the core's caches.
    """

    levels: dict[str, int]
    insns: By = field(default_factory=dict)
    tlbi: By = field(default_factory=dict)
    accesses: By = field(default_factory=dict)
    entries: By = field(default_factory=dict)
    walks: dict[str, dict[str, float]] = field(default_factory=dict)

    def total(self, name: str) -> float:
        """Instructions of a class, whoever executed them."""
        return sum(by.get(name, 0) for by in self.insns.values())

    def instructions(self) -> float:
        """All of them."""
        return sum(sum(by.values()) for by in self.insns.values())

    def as_json(self) -> dict[str, Any]:
        """For a record."""
        keys = ("levels", "insns", "tlbi", "accesses", "entries", "walks")
        return {key: getattr(self, key) for key in keys} | {"instructions": self.instructions()}


def is_finite(value: float) -> bool:
    """Whether a number of a record is finite as a float.

    JSON has Infinity, and integers of any length.
    """
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def from_json(content: object) -> Classes:
    """What a record has; ValueError where it is no such thing."""
    if not isinstance(content, dict):
        raise ValueError("no classes")
    try:
        parts = {key: content[key] for key in ("insns", "tlbi", "accesses", "entries", "walks")}
        for part in parts.values():
            for by in part.values():
                if not all(isinstance(v, int | float) and is_finite(v) for v in by.values()):
                    raise ValueError("a class is not a number")
        return Classes(levels={k: int(v) for k, v in content["levels"].items()}, **parts)
    except (KeyError, AttributeError, TypeError) as error:
        raise ValueError(f"half of the classes: {error}") from error


def model_of(regime: str, core: Core) -> Model:
    """The model that stands for a core."""
    return Model(core.name, 12, _STAGE2.get(regime, 0))


def _taken(of: str, sections: Sequence[Section]) -> list[Section]:
    """The rounds that a figure is of; a median of an even number is of two."""
    by = sorted(sections, key=Section.instructions)
    match of:
        case "best":
            return by[:1]
        case "median":
            return by[(len(by) - 1) // 2 : len(by) // 2 + 1]
        case "mean":
            return by
    raise LabError(f"{of!r} of rounds is none that figures are")


def _by(section: Section, what: str, bare: bool) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for who, each in getattr(section, what).items():
        into = found.setdefault("guest-kernel" if bare and who == "guest-user" else who, {})
        for name, number in each.items():
            into[name] = into.get(name, 0) + number
    return found


def _mean(parts: Sequence[Mapping[str, Mapping[str, float]]]) -> By:
    """The mean of some rounds."""
    found: By = {}
    for part in parts:
        for who, each in part.items():
            into = found.setdefault(who, {})
            for name, number in each.items():
                into[name] = into.get(name, 0) + number / len(parts)
    return found


def _per(with_: Mapping[str, Mapping[str, float]], less: Mapping[str, Mapping[str, float]],
         loops: float, keep: bool = False) -> By:  # fmt: skip
    """What one operation has; what comes to nothing is left out, unless it is to be kept."""
    found: By = {}
    for who in {**with_, **less}:
        of, off = with_.get(who, {}), less.get(who, {})
        each = {name: (of.get(name, 0) - off.get(name, 0)) / loops for name in {**of, **off}}
        if kept := {name: value for name, value in each.items() if value or keep}:
            found[who] = kept
    return found


def _walks(section: Section) -> By:
    return {
        model.core: _counts(section.total(model)) | _misses(section, model.core)
        for model in section.models
    }


def _misses(section: Section, core: str) -> dict[str, float]:
    """What a core's caches did not have, by the model of them."""
    by = section.caches.get(core, {}).values()
    return {
        "cache_lookups": sum(sum(each.lookups) for each in by),
        "l1i_cache_misses": sum(each.l1_misses[1] for each in by),
        "l1d_cache_misses": sum(each.l1_misses[0] for each in by),
        "l2_cache_misses": sum(sum(each.l2_misses) for each in by),
    }


def _counts(counts: Counts) -> dict[str, float]:
    return {name: sum(getattr(counts, name)) for name in _WALKS}


def of_spot(spot: Spot, marked: Marked, sections: Sequence[Section]) -> Classes:
    """One operation of what was marked, of a spot's sections."""
    taken = _taken(spot.of, sections[: spot.rounds])
    empty = _taken("best", sections[spot.rounds :]) if spot.less else []

    def part(sections: Sequence[Section], what: str) -> By:
        return _mean([_by(each, what, marked.bare) for each in sections])

    of = {
        what: _per(part(taken, what), part(empty, what), spot.loops)
        for what in ("insns", "tlbi", "accesses", "entries")
    }
    levels = dict(zip(plugin.WHOS, plugin.LEVELS[marked.regime], strict=True))
    if marked.bare and marked.regime == "armvisor":
        levels["guest-kernel"] = 0
    used = {who: level for who, level in levels.items() if who in of["insns"] and level is not None}
    walks, less = (_mean([_walks(each) for each in some]) for some in (taken, empty))
    return Classes(used, walks=_per(walks, less, spot.loops, keep=True), **of)


def _check(spot: Spot, value: float, classes: Classes) -> None:
    """The plugin counted what the clock did; what faults is begun twice, who waits does nothing."""
    counted = classes.instructions()
    most = value * _PART + _AROUND / spot.loops + classes.total("eret")
    if counted - value > most or (value - counted > most and not spot.waits):
        raise LabError(
            f"{spot.figure}: {counted:.1f} instructions were counted by class, and {value:.1f} "
            "by the clock",
            "who waits cannot be counted so; else the plugin or the marks are wrong",
        )


def split(
    outcome: Outcome, marked: Marked, sections: Sequence[Section]
) -> dict[str, Classes]:  # fmt: skip
    """The classes of a measurement's figures."""
    spots = marked.spots(outcome.text)
    sections = marked.order(sections)
    sizes = [spot.rounds * (2 if spot.less else 1) for spot in spots]
    if len(sections) != sum(sizes):
        raise LabError(
            f"the plugin saw {len(sections)} sections where {sum(sizes)} were marked",
            "guests and lab are of different revisions: run `make guests`",
        )
    found, at = {}, 0
    for spot, size in zip(spots, sizes, strict=True):
        if spot.figure:
            classes = of_spot(spot, marked, sections[at : at + size])
            _check(spot, outcome.values[spot.figure], classes)
            found[spot.figure] = classes
        at += size
    return found


def measure(
    marked: Marked, cores: Sequence[Core], progress: Progress
) -> tuple[Outcome, dict[str, Classes]]:
    """Run a measurement with the plugin: its figures, and their classes."""
    sections: list[Section] = []

    def start(board: Board, command: Sequence[str], progress: Progress) -> Any:  # noqa: ANN401
        one = board.smp == 1 and not marked.whole
        models = [model_of(marked.regime, core) for core in cores] if one else []
        told = (marked.regime, cores, models)
        result, found = plugin.run(board, command, told, progress, marked.do, marked.whole)
        sections.extend(found)
        return result

    outcome = marked.measure(start, progress)
    return outcome, split(outcome, marked, sections)


def table(classes: Classes) -> list[list[str]]:
    """For people: a line for each who."""
    rows = [["", "", *plugin.CLASSES, "device"]]
    for who in plugin.WHOS:
        if who not in classes.insns:
            continue
        by = classes.insns[who]
        device = classes.accesses.get(who, {}).get("device", 0)
        cells = [_number(by.get(each, 0)) for each in plugin.CLASSES]
        rows.append([who, f"EL{classes.levels[who]}", *cells, _number(device)])
    return rows


def _number(value: float) -> str:
    return f"{value:.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.2f}"
