# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Rows of figures on several variants, side by side: the measurements, and each cell's figure.

A figure's name is `ROW.VARIANT`. Combinations that no family has by default are made here, for any
host that `hosts` or `vms` can make: any row of a family on the module with any options, on each
kind of KVM.
"""

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass

from armvisor_lab.boards.board import CPUS
from armvisor_lab.errors import LabError, near, remedy
from armvisor_lab.figures import (
    Measurement,
    boot,
    cheap,
    exits,
    hosts,
    lat,
    ops,
    pairs,
    run,
    smp,
    traps,
    units,
    vms,
)

_BY_HOST = (exits, pairs, smp, units)
_BY_VARIANT = (lat, ops, boot, traps, cheap)


@dataclass(frozen=True)
class Plan:
    """What is measured, and by row and variant the name of the figure; None where there is none."""

    rows: tuple[str, ...]
    variants: tuple[str, ...]
    cells: dict[tuple[str, str], str]
    measurements: tuple[Measurement, ...]

    @property
    def names(self) -> frozenset[str]:
        """All figures that are wanted."""
        return frozenset(self.cells.values())


def _made(variant: str) -> list[Measurement]:
    """What can be measured on a host that is made for it."""
    host, vm = hosts.find(variant), vms.find(variant)
    found = lat.PROGRAM.on_board_of(variant) + ops.PROGRAM.on_board_of(variant)
    found += [each for family in _BY_HOST if host for each in family.on(host)]
    return found + [each for family in _BY_VARIANT if vm for each in family.on(vm)]


def can_make(name: str) -> bool:
    """Whether a figure of this name can be made so, though no family has it."""
    try:
        return any(name in each.figures for each in _made(name.rpartition(".")[2]))
    except LabError:
        return False


def _split(name: str) -> tuple[str, str]:
    row, _, variant = name.rpartition(".")
    return row, variant


def _offered(variant: str, always: Sequence[Measurement]) -> dict[str, tuple[str, Measurement]]:
    """By row the figure of a variant; what families always have comes before what is made."""
    found: dict[str, tuple[str, Measurement]] = {}
    for wanted in (variant, hosts.SAME.get(variant)):
        for each in always:
            for name in each.figures:
                row, of = _split(name)
                if of == wanted:
                    found.setdefault(row, (name, each))
    for each in _made(variant):
        for name in each.figures:
            found.setdefault(_split(name)[0], (name, each))
    return found


def variants() -> list[str]:
    """The variants that have names of their own."""
    names = {_split(name)[1]: None for each in run.registry() for name in each.figures}
    native = [f"native-{cpu}" for cpu in CPUS]
    return list(dict.fromkeys([*names, *hosts.HOSTS, *hosts.PROTECTED, *native]))


def rows(variant: str) -> list[str]:
    """The rows that a variant has."""
    return list(_offered(variant, run.registry()))


def _choose(patterns: Sequence[str], on: Sequence[str], have: Sequence[str]) -> list[str]:
    """The rows that patterns name, in their order."""
    chosen: dict[str, None] = {}
    for pattern in patterns:
        matching = [row for row in have if fnmatch.fnmatchcase(row, pattern)]
        if not matching:
            listed = f"`lab compare --list --on {','.join(on)}` has all rows there"
            raise LabError(f"no row {pattern!r} on {', '.join(on)}", remedy(pattern, have, listed))
        chosen |= dict.fromkeys(matching)
    return list(chosen)


def plan(patterns: Sequence[str], on: Sequence[str]) -> Plan:
    """What to measure for rows, as patterns name them, on these variants."""
    on = list(dict.fromkeys(on))
    always = run.registry()
    offered = {variant: _offered(variant, always) for variant in on}
    for variant, have in offered.items():
        if not have:
            words = remedy(variant, variants(), "`lab compare --list` has all variants")
            if ":" in variant or hosts.AT in variant or not near(variant, variants()):
                words += f"; or {hosts.HOW}; or {hosts.BOARDS}"
            raise LabError(f"nothing is measured on {variant!r}", words)
    chosen = _choose(
        patterns, on, list(dict.fromkeys(r for each in offered.values() for r in each))
    )
    for variant, have in offered.items():
        if not any(row in have for row in chosen):
            raise LabError(f"{variant} has none of {', '.join(chosen)}",
                           f"it has {', '.join(have)}: leave it out, or add one")  # fmt: skip
    cells: dict[tuple[str, str], str] = {}
    measurements: dict[int, Measurement] = {}
    for variant, have in offered.items():
        for row in chosen:
            if row in have:
                name, measurement = have[row]
                cells[row, variant] = name
                measurements[id(measurement)] = measurement
    by_speed = sorted(measurements.values(), key=lambda each: each.slow)
    return Plan(tuple(chosen), tuple(on), cells, tuple(by_speed))
