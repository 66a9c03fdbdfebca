# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Rows by variants as a table: each value, and its ratio to the first column.

If both figures are means of samples that differ among themselves, a permutation test gives the
probability that they differ that much by chance.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from armvisor_lab.figures.beside import Plan
from armvisor_lab.figures.run import Figure, show
from armvisor_lab.reach.table import aligned
from armvisor_lab.records import Value
from armvisor_lab.report import compare
from armvisor_lab.report.pool import describe_board

NOT_THERE, FAILED = "-", "not measured"
_OTHER = "*"
OTHER = f"{_OTHER} on another core or kernel than the first column: not all of it is the variant's"

Figures = Mapping[str, Figure]


def _value(figure: Figure) -> Value:
    return Value(figure.name, figure.value, figure.unit, figure.what, figure.board,
                 samples=figure.samples)  # fmt: skip


def _find(plan: Plan, figures: Figures, row: str, variant: str) -> Figure | None:
    return figures.get(plan.cells.get((row, variant), ""))


def times(figure: Figure, first: Figure | None) -> float | None:
    """The ratio to the first column; None if that is 0, missing, or has another unit."""
    if first is None or first.unit != figure.unit or not first.value:
        return None
    return figure.value / first.value


def elsewhere(figure: Figure, first: Figure | None) -> bool:
    """Whether the board's core or kernel is another one than the first column's."""
    keys = ("cpu", "kernel")
    return first is not None and any(figure.board.get(k) != first.board.get(k) for k in keys)


def chance(figure: Figure, first: Figure | None) -> float | None:
    """The p-value of the difference to the first column; None if there is nothing to test."""
    if first is None or first.value == figure.value or first.unit != figure.unit:
        return None
    return compare.chance(_value(first), _value(figure))


def _cell(plan: Plan, figures: Figures, row: str, variant: str) -> list[str]:
    figure = _find(plan, figures, row, variant)
    if figure is None:
        return [FAILED if (row, variant) in plan.cells else NOT_THERE, ""]
    first = _find(plan, figures, row, plan.variants[0])
    ratio = times(figure, first)
    if ratio is None or variant == plan.variants[0]:
        return [show(figure.value), ""]
    p = chance(figure, first)
    noise = "" if p is None or p <= compare.CHANCE else f" (by chance: p = {p:.2f})"
    other = _OTHER if elsewhere(figure, first) else ""
    return [show(figure.value), f"x {ratio:.2f}{other}{noise}"]


def table(plan: Plan, figures: Sequence[Figure]) -> list[str]:
    """The table, a line a row, and what each column was measured on."""
    by_name = {figure.name: figure for figure in figures}
    lines = [["", "", *(word for variant in plan.variants for word in (variant, ""))]]
    for row in plan.rows:
        units = [f.unit for v in plan.variants if (f := _find(plan, by_name, row, v))]
        cells = [word for v in plan.variants for word in _cell(plan, by_name, row, v)]
        lines.append([row, units[0] if units else "", *cells])
    # The first column has no ratios, and so no space for them.
    found = aligned([line[:3] + line[4:] for line in lines], 2)
    return [*found, OTHER] if any(_OTHER in word for line in lines for word in line) else found


def boards(plan: Plan, figures: Sequence[Figure]) -> list[str]:
    """What columns were measured on, a line for each board."""
    by_name = {figure.name: figure for figure in figures}
    found: dict[str, dict[str, None]] = {}
    for variant in plan.variants:
        for row in plan.rows:
            if figure := _find(plan, by_name, row, variant):
                found.setdefault(describe_board(_value(figure)), {})[variant] = None
    return [f"{', '.join(on)}: {board}" for board, on in found.items() if board]


def as_json(plan: Plan, figures: Sequence[Figure]) -> list[dict[str, Any]]:
    """A row for each figure that is wanted; without value where it could not be measured."""
    by_name = {figure.name: figure for figure in figures}
    found = []
    for (row, variant), name in plan.cells.items():
        figure = by_name.get(name)
        first = _find(plan, by_name, row, plan.variants[0])
        found.append(
            {
                "row": row,
                "variant": variant,
                "figure": name,
                "value": figure.value if figure else None,
                "unit": figure.unit if figure else None,
                "times_first": times(figure, first) if figure else None,
                "same_core_and_kernel": not elsewhere(figure, first) if figure else None,
                "p": chance(figure, first) if figure else None,
            }
        )
    return found
