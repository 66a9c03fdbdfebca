# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Predictions as text."""

from collections.abc import Sequence
from dataclasses import dataclass

from armvisor_lab.figures.run import show
from armvisor_lab.model.cycles import Range
from armvisor_lab.model.published import Prediction
from armvisor_lab.model.rows import WITHIN, Row
from armvisor_lab.reach.table import aligned


@dataclass(frozen=True)
class Cost:
    """A figure on a core: cycles, and how many times its native figure's."""

    figure: str
    core: str
    instructions: float
    cycles: Range
    ratio: Range | None


def _range(value: Range) -> str:
    return f"{show(value.low)} - {show(value.high)}"


def cycles(costs: Sequence[Cost]) -> str:
    """A block for each core."""
    blocks = []
    for core in dict.fromkeys(cost.core for cost in costs):
        rows = [["", "instructions", "cycles", "times native"], ["", "", "least - most", ""]]
        for cost in costs:
            if cost.core == core:
                ratio = (
                    "-" if cost.ratio is None else f"{cost.ratio.low:.2f} - {cost.ratio.high:.2f}"
                )
                rows.append([cost.figure, show(cost.instructions), _range(cost.cycles), ratio])
        blocks.append("\n".join([f"on {core} (modelled)", *aligned(rows, 1)]))
    return "\n\n".join(blocks)


def predicted(where: str, found: Sequence[Row]) -> str:
    """A line for each row; what is over the limit is marked."""
    rows = [
        ["", "native", "own", "traps", "traps", "predicted", "counted", "error"],
        ["", "", "counted", "predicted", "counted", "", "", "%"],
    ]
    for row in found:
        own = "-" if row.own is None else show(row.own)
        left = "-" if row.own is None else show(row.counted - row.own)
        mark = "" if abs(row.error) <= WITHIN else "  <-"
        rows.append([row.name, show(row.native), own, show(row.added), left, show(row.predicted),
                     show(row.counted), f"{row.error:+.1f}{mark}"])  # fmt: skip
    width = max(len(row[-1]) for row in rows)
    rows = [[*row[:-1], row[-1].ljust(width) if "<-" in row[-1] else row[-1]] for row in rows]
    return "\n".join([f"lat on {where}: native and traps (predicted), and counted",
                      *aligned(rows, 1)])  # fmt: skip


def verdict(found: Sequence[Row]) -> str:
    """How the rows came out, in a sentence."""
    good = sum(abs(row.error) <= WITHIN for row in found)
    worst = max(found, key=lambda row: abs(row.error))
    return (f"{good} of {len(found)} rows within {WITHIN:g} %; "
            f"most: {worst.name}, {worst.error:+.1f} %")  # fmt: skip


def kinds(found: Sequence[Row]) -> str:
    """What each row is predicted of, but for what is less than a thousandth of it."""
    blocks = []
    for row in found:
        rows = [["", "times", "each", "in all"]]
        by_cost = sorted(row.traps.items(), key=lambda item: -item[1][1])
        rows += [
            [kind, f"{times:.2f}", show(cost / times), show(cost)]
            for kind, (times, cost) in by_cost
            if cost * 1000 >= row.predicted
        ]
        rows += [[kind, f"{times:.2f}", "?", "-"] for kind, times in row.unknown.items()]
        blocks.append("\n".join([row.name, *aligned(rows, 1)]))
    return "\n\n".join(blocks)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:+.0f}"


def published(found: Sequence[Prediction]) -> str:
    """A block for each source."""
    blocks = []
    for group in dict.fromkeys(each.row.group for each in found):
        some = [each for each in found if each.row.group == group]
        rows = [
            ["", "", "published", "predicted", "", "error", "by others", "error"],
            ["", "", "cycles", "least - most", "between", "%", "", "%"],
        ]
        for each in some:
            scaled = "-" if each.scaled is None else show(each.scaled)
            rows.append([each.row.core, each.row.figure, show(each.row.cycles),
                         _range(each.counted), "yes" if each.within else "no",
                         _percent(each.error), scaled, _percent(each.scaled_error)])  # fmt: skip
        head = some[0].row
        hand = " (cited by another)" if head.second else ""
        blocks.append("\n".join([f"{head.title}{hand}", *aligned(rows, 2),
                                 f"other than what was counted: {head.because}"]))  # fmt: skip
    return "\n\n".join(blocks)
