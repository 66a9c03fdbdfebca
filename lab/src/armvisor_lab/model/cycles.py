# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Counts by class times a core's cycles.

Each class has a minimum and a maximum on a core (reach/cores.toml), so a figure has both, too: the
sums of all minima and of all maxima. Two figures on one core have the same costs, so their ratio is
not between one's minimum and the other's maximum. Its range is the smallest and the largest ratio
over all choices of costs within their bounds. These are at the bounds, because the ratio is of two
sums that are linear in each cost.

These are bounds: they hold if every cost is at its worst at once. `likely` ranges take the classes'
errors as independent: each class alone goes to its bounds, the others stay at their middles, and
the deviations are added as squares. All instructions of a class have one cost, so within a class
errors add up as they are. docs/model.md says where classes are not independent.
"""

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from armvisor_lab.errors import LabError
from armvisor_lab.figures.classes import Classes
from armvisor_lab.reach import cores
from armvisor_lab.reach.cores import Core

# The plugin's classes by kind of cost. A call is an instruction that ends in an exception, and the
# return from an exception counts each one.
_AS = {
    "ordinary": "ordinary",
    "isb": "isb",
    "dsb": "dsb",
    "dmb": "dmb",
    "call": "ordinary",
    "eret": "exception",
    "sysreg-read": "sysreg_read",
    "sysreg-write": "sysreg_write",
    "tlbi": "tlbi",
    "cache": "cache",
}
_AGAIN = "measure again: `lab figures --classes`"

Amounts = Mapping[str, float]


@dataclass(frozen=True)
class Range:
    """The least and the most, in cycles or as a ratio."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The mean of both, which is the sum of all costs at their middles."""
        return (self.low + self.high) / 2

    @property
    def percent(self) -> float:
        """How far the bounds are from the middle, in percent of it."""
        return (self.high / self.middle - 1) * 100 if self.middle else 0.0

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def times(self, factor: float) -> "Range":
        """Both multiplied by `factor`."""
        return Range(self.low * factor, self.high * factor)


def _walks(name: str, classes: Classes, core: Core) -> Amounts:
    """What a core with these TLBs walked; nothing where no model followed, on several CPUs."""
    if not classes.walks:
        return {}
    every = cores.known()
    for other, walks in classes.walks.items():
        if other in every and every[other].tlbs() == core.tlbs():
            if "refs_missed" not in walks:
                raise LabError(
                    f"the record does not say which loads of {name}'s walks left the L2 cache",
                    _AGAIN,
                )
            loads = walks.get("refs", 0.0)
            missed = min(max(walks["refs_missed"], 0.0), loads)
            return {
                "l2_hit": walks.get("l1_misses", 0.0),
                "walk_hit": loads - missed,
                "walk_miss": missed,
            }
    raise LabError(
        f"the record has no page walks of {name} on {core.name}",
        f"measure with `lab figures --classes --core {core.name}`",
    )


def amounts(name: str, classes: Classes, core: Core) -> Amounts:
    """How many there are of each thing that a core has a cost for."""
    found = dict.fromkeys(cores.CYCLES, 0.0)
    for by in classes.insns.values():
        for kind, number in by.items():
            if kind not in _AS:
                raise LabError(f"{name}: no class of instructions is called {kind}", _AGAIN)
            found[_AS[kind]] += number
    found["device"] = sum(by.get("device", 0) for by in classes.accesses.values())
    found |= _walks(name, classes, core)
    # A difference of two rounds may be slightly negative.
    return {key: max(number, 0.0) for key, number in found.items()}


def cost(of: Amounts, core: Core) -> Range:
    """Cycles for these amounts of each class."""
    pairs = [(number, core.cycles(key)) for key, number in of.items()]
    return Range(sum(n * low for n, (low, _) in pairs), sum(n * high for n, (_, high) in pairs))


def _around(middle: float, pairs: Iterable[tuple[float, float]]) -> Range:
    """The range around a middle from what it is with each class alone at its bounds."""
    below, above = 0.0, 0.0
    for pair in pairs:
        below += (middle - min(*pair, middle)) ** 2
        above += (max(*pair, middle) - middle) ** 2
    return Range(middle - math.sqrt(below), middle + math.sqrt(above))


def likely(of: Amounts, core: Core) -> Range:
    """Cycles for these amounts, if the classes' costs are off independently."""
    middle = cost(of, core).middle
    pairs = []
    for key, number in of.items():
        low, high = core.cycles(key)
        off = number * (high - low) / 2
        pairs.append((middle - off, middle + off))
    return _around(middle, pairs)


def likely_ratio(of: Amounts, to: Amounts, core: Core) -> Range:
    """The same for the cycles of one by those of the other; LabError if that takes none."""
    above, below = cost(of, core).middle, cost(to, core).middle
    if not below:
        raise LabError("the figure to compare with takes no cycles")
    pairs = []
    for key, number in of.items():
        low, high = core.cycles(key)
        off = (high - low) / 2
        one, other = ((above + n * off * number) / (below + n * off * to[key]) for n in (-1, 1))
        pairs.append((one, other))
    return _around(above / below, pairs)


def ratio(of: Amounts, to: Amounts, core: Core) -> Range:
    """The cycles of one by those of the other, for all costs within the core's bounds.

    LabError if the other takes no cycles.
    """
    keys = [key for key in of if of[key] or to[key]]
    found = []
    for choice in itertools.product(*(set(core.cycles(key)) for key in keys)):
        below = sum(to[key] * each for key, each in zip(keys, choice, strict=True))
        above = sum(of[key] * each for key, each in zip(keys, choice, strict=True))
        if below:
            found.append(above / below)
    if not found:
        raise LabError("the figure to compare with takes no cycles")
    return Range(min(found), max(found))
