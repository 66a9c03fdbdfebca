# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Predictions as text."""

from collections.abc import Sequence
from dataclasses import dataclass

from armvisor_lab.figures.run import show
from armvisor_lab.model.cycles import Range
from armvisor_lab.model.published import Prediction
from armvisor_lab.model.rows import WITHIN, Row
from armvisor_lab.reach.profile import Measured
from armvisor_lab.reach.table import aligned

# What a figure's likely range is asked to be within, in percent up and down.
NARROW = 25.0


@dataclass(frozen=True)
class Cost:
    """A figure on a core: cycles, and how many times its native figure's.

    `likely` and `likely_ratio` take the classes' errors as independent. `measured` are the cycles
    of the machine itself, if the core's profile has them.
    """

    figure: str
    core: str
    instructions: float
    cycles: Range
    likely: Range
    ratio: Range | None = None
    likely_ratio: Range | None = None
    measured: float | None = None


def _range(value: Range) -> str:
    return f"{show(value.low)} - {show(value.high)}"


def _ratio(value: Range | None) -> list[str]:
    if value is None:
        return ["-"]
    return [f"{value.low:.2f} - {value.high:.2f}"]


def _percents(*values: Range | None) -> str:
    return " ".join("-" if each is None else f"{each.percent:.0f}" for each in values)


def _measured(cost: Cost) -> list[str]:
    if cost.measured is None:
        return ["-", ""]
    return [show(cost.measured), "yes" if cost.measured in cost.likely else "no"]


def cycles(costs: Sequence[Cost]) -> str:
    """A block for each core."""
    blocks = []
    for core in dict.fromkeys(cost.core for cost in costs):
        some = [cost for cost in costs if cost.core == core]
        beside = any(cost.measured is not None for cost in some)
        rows = [
            ["", "instructions", "cycles", "", "", "times native", "", "",
             *(["measured", ""] if beside else [])],
            ["", "", "least - most", "likely", "+- %", "least - most", "likely", "+- %",
             *(["cycles", "likely"] if beside else [])],
        ]  # fmt: skip
        for cost in some:
            rows.append([
                cost.figure, show(cost.instructions), _range(cost.cycles), _range(cost.likely),
                _percents(cost.likely), *_ratio(cost.ratio), *_ratio(cost.likely_ratio),
                _percents(cost.likely_ratio), *(_measured(cost) if beside else []),
            ])  # fmt: skip
        blocks.append("\n".join([f"on {core} (modelled)", *aligned(rows, 1)]))
    return "\n\n".join(blocks)


def measured(of: Measured) -> str:
    """The costs of a profile that was made on silicon, beside those of the core it is like."""
    rows = [
        ["", "modelled", "measured", "", ""],
        ["", "least - most", "least - most", "within", ""],
    ]
    for key, (low, high) in of.costs.items():
        least, most = of.like.cycles(key)
        within = "yes" if least <= low and high <= most else "no"
        rows.append([key, f"{least:g} - {most:g}", f"{low:g} - {high:g}", within,
                     of.core.values[key]["source"]])  # fmt: skip
    head = f"cycles of {of.core.name} ({of.core.what}), beside {of.like.name}'s"
    made = ", ".join(f"{key} {value}" for key, value in of.made.items())
    checks = [[name, *check] for name, check in of.checks.items()]
    parts = [head, *(aligned(rows, 1) if of.costs else []), *(aligned(checks, 3) if checks else [])]
    if of.lines:
        parts.append(f"lines that KVM on an emulated board does not print: {len(of.lines)}")
    return "\n".join([*parts, f"measured: {made}"])


def _narrow(what: str, of: Sequence[tuple[Cost, Range, Range]]) -> str:
    """One kind of ranges: figures with their likely range and their bounds."""
    good = sum(likely.percent <= NARROW for _, likely, _ in of)
    worst, likely, _ = max(of, key=lambda each: each[1].percent)
    most = max(bounds.percent for _, _, bounds in of)
    return (f"{what}: {good} of {len(of)} likely ranges within {NARROW:g} % up and down; "
            f"most: {worst.figure} on {worst.core}, {likely.percent:.0f} %; "
            f"with all costs at their bounds at once: {most:.0f} %")  # fmt: skip


def narrow(costs: Sequence[Cost]) -> str:
    """How wide the ranges are: the likely ones, and those of all costs at once."""
    lines = [_narrow("cycles", [(cost, cost.likely, cost.cycles) for cost in costs])]
    if ratios := [(c, c.likely_ratio, c.ratio) for c in costs if c.likely_ratio and c.ratio]:
        lines.append(_narrow("times native", ratios))
    return "\n".join(lines)


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


def _yes(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "-"}[value]


def published(found: Sequence[Prediction]) -> str:
    """A block for each source."""
    blocks = []
    for group in dict.fromkeys(each.row.group for each in found):
        some = [each for each in found if each.row.group == group]
        rows = [
            ["", "", "published", "predicted", "", "", "", "error", "by others", "error"],
            ["", "", "cycles", "least - most", "between", "likely", "between", "%", "", "%"],
        ]
        for each in some:
            scaled = "-" if each.scaled is None else show(each.scaled)
            likely = "-" if each.likely is None else _range(each.likely)
            rows.append([each.row.core, each.row.figure, show(each.row.cycles),
                         _range(each.counted), _yes(each.within), likely, _yes(each.probable),
                         _percent(each.error), scaled, _percent(each.scaled_error)])  # fmt: skip
        head = some[0].row
        hand = " (cited by another)" if head.second else ""
        blocks.append("\n".join([f"{head.title}{hand}", *aligned(rows, 2),
                                 f"other than what was counted: {head.because}"]))  # fmt: skip
    return "\n\n".join(blocks)
