# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Figures: measurements, and their registry.

A family of figures is a module of this package with `measurements()`. A measurement is one board
run and yields one or more figures. It declares their names, so that a selection is known before
anything runs. Each figure is `name value unit`; names are `WHAT[.ROW].VARIANT`, for example
`boot.kvm` or `lat.null.native`. A variant is the way to run the guest: native, kvm, kvm-vhe,
kvm-nvhe, xen, armvisor, qemu-kvm, qemu-tcg.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from armvisor_lab.archive.packages import Package
from armvisor_lab.boards.board import Board, Result

Progress = Callable[[str], None]

# On a quiet CPU, for most of those that take a guest minutes, and for the others.
_QUICK, _SLOW = 13, 40

# Ways to run a command on a board: alone, or with the plugin that counts classes.
Start = Callable[[Board, Sequence[str], Progress], Any]


def on_board(board: Board, command: Sequence[str], progress: Progress) -> Result:
    """Run a command on a board."""
    return board.run(command, progress=progress)


@dataclass(frozen=True)
class Outcome:
    """What a measurement gave: values by figure name, and where they come from.

    `packages` are those that took part beside the board's kernel; `samples` are what a value
    is the mean of; `text` is what the programs printed; `traps` are a figure's by statistic of
    the VM. `missing` says of declared figures why there is no value.
    """

    values: Mapping[str, float]
    board: Mapping[str, Any]
    packages: tuple[str, ...] = ()
    samples: Mapping[str, Sequence[float]] = field(default_factory=dict)
    text: str = ""
    traps: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Spot:
    """What a program marks: rounds of so many operations (guests/lib/mark.h).

    `less` has as many rounds of an empty loop behind them, to be taken off. Without a figure, what
    was marked is none. `rounds` are those of lat and of cost_of(), unless the program has others.
    What `waits` has time in it in which nothing is executed. The figure is that `of` its rounds:
    the best of them, their mean, or their median.
    """

    figure: str
    loops: float
    less: bool = False
    rounds: int = 7
    waits: bool = False
    of: str = "best"


@dataclass(frozen=True)
class Marked:
    """How the plugin counts a measurement's figures by class.

    `spots` are what the programs marked, in order, by what they printed. A guest that is `bare`
    has no programs: all of it is its kernel. `order` puts what was marked in the spots' order.
    `do` is how the board is run, where it is not by a command; `whole`: all of the board's life.
    """

    regime: str
    spots: Callable[[str], list[Spot]]
    measure: Callable[[Start, Progress], Outcome]
    bare: bool = False
    order: Callable[[Sequence[Any]], Sequence[Any]] = list
    do: Start = on_board
    whole: bool = False


@dataclass(frozen=True)
class Measurement:
    """One run that yields figures.

    `seconds` is about what it takes of a quiet processor; without, what most take. It only serves
    to say how much time is left of a run. `part` makes the measurement of some figures alone,
    where that takes less.
    """

    figures: tuple[str, ...]
    what: str
    run: Callable[[Progress], Outcome]
    unit: str = "instructions"
    slow: bool = False
    marked: Marked | None = None
    seconds: float = 0
    part: "Callable[[Sequence[str]], Measurement] | None" = None

    @property
    def about(self) -> float:
        """Seconds that it takes, about."""
        return self.seconds or (_SLOW if self.slow else _QUICK)


def names(packages: list[Package]) -> tuple[str, ...]:
    """Packages as `name=version`, sorted, for the record."""
    return tuple(sorted(f"{package.name}={package.version}" for package in packages))
