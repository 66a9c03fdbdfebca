# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Counts by class times a core's cycles.

Each class has a minimum and a maximum on a core (reach/cores.toml), so a figure has both, too: the
sums of all minima and of all maxima. Two figures on one core have the same costs, so their ratio is
not between one's minimum and the other's maximum. Its range is the smallest and the largest ratio
over all choices of costs within their bounds. These are at the bounds, because the ratio is of two
sums that are linear in each cost.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

from armvisor_lab.errors import LabError
from armvisor_lab.figures.classes import Classes
from armvisor_lab.reach import cores
from armvisor_lab.reach.cores import Core

# The plugin's classes by kind of cost. A call is an instruction that ends in an exception, and the
# return from an exception counts each one.
_AS = {
    "ordinary": "ordinary",
    "barrier": "barrier",
    "call": "ordinary",
    "eret": "exception",
    "sysreg-read": "sysreg_read",
    "sysreg-write": "sysreg_write",
    "tlbi": "tlbi",
    "cache": "cache",
}
_WALKS = {"l1_misses": "l2_hit", "refs": "reference"}

Amounts = Mapping[str, float]


@dataclass(frozen=True)
class Range:
    """The least and the most, in cycles or as a ratio."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The geometric mean of both."""
        return math.sqrt(self.low * self.high)

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
            return walks
    raise LabError(
        f"the record has no page walks of {name} on {core.name}",
        f"measure with `lab figures --classes --core {core.name}`",
    )


def amounts(name: str, classes: Classes, core: Core) -> Amounts:
    """How many there are of each thing that a core has a cost for."""
    found = dict.fromkeys((*cores.COSTS, *_WALKS.values()), 0.0)
    for by in classes.insns.values():
        for kind, number in by.items():
            if kind not in _AS:
                raise LabError(f"{name}: no class of instructions is called {kind}")
            found[_AS[kind]] += number
    found["device"] = sum(by.get("device", 0) for by in classes.accesses.values())
    for what, number in _walks(name, classes, core).items():
        if what in _WALKS:
            found[_WALKS[what]] += number
    # A difference of two rounds may be slightly negative.
    return {key: max(number, 0.0) for key, number in found.items()}


def cost(of: Amounts, core: Core) -> Range:
    """Cycles for these amounts of each class."""
    pairs = [(number, core.cycles(key)) for key, number in of.items()]
    return Range(sum(n * low for n, (low, _) in pairs), sum(n * high for n, (_, high) in pairs))


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
