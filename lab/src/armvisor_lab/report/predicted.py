# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The section of the model's errors: predictions beside published and counted figures.

Every possible prediction is a row, so a missing one is visible.
"""

from collections.abc import Sequence

from armvisor_lab.figures.lat import ROWS
from armvisor_lab.model import published
from armvisor_lab.model.cycles import Range
from armvisor_lab.model.published import Prediction
from armvisor_lab.model.rows import CONFIGURATIONS, WITHIN, Row
from armvisor_lab.report.model import (
    IN_PART,
    MEASURED,
    NOT_YET,
    NOTHING,
    Bars,
    Cell,
    Head,
    Mark,
    Section,
    Series,
    Table,
    number,
)
from armvisor_lab.report.own import GROUP
from armvisor_lab.report.pool import Pool, Use
from armvisor_lab.report.sections import bars

_LEAD = (
    "Counts by class times a core's cycles, and rows of `lat` from what single traps cost; nothing "
    "is fitted to the row it predicts (docs/model.md)."
)
_NOTES = (
    "By others: the middle of the prediction, times what the same machine's other rows are of "
    "theirs. Middle: the mean of the least and the most. The kernels that were measured "
    "and the one that was counted are not the same.",
    f"A row is native's figure and its traps at unit costs; within {WITHIN:g} % is what is asked.",
)
_ERROR = (Series("of the middle", "kvm"), Series("by others", "other"))


def _percent(value: float) -> str:
    return f"{value:+.0f} %" if abs(value) >= 10 else f"{value:+.1f} %"


def _number(value: float | None) -> Cell:
    return Cell(NOTHING) if value is None else Cell(number(round(value)), value)


def _error(value: float | None) -> Cell:
    return Cell(NOTHING) if value is None else Cell(_percent(value), value)


def _prediction(use: Use, row: published.Row) -> Prediction | None:
    start = f"model.published.{row.core}.{row.figure}"
    least, most = use.get(f"{start}.least"), use.get(f"{start}.most")
    if least is None or most is None:
        return None
    # A core with one row has none, so it is not missing.
    scaled = use.get(f"{start}.scaled") if use.pool.find(f"{start}.scaled") else None
    return Prediction(row, Range(least.value, most.value), scaled.value if scaled else None)


def _published_row(row: published.Row, found: Prediction | None) -> tuple[Cell, ...]:
    start = Cell(f"{row.core}, {row.figure}"), _number(row.cycles)
    if found is None:
        return *start, *([Cell(NOTHING, note="not measured yet")] * 6)
    return (
        *start, _number(found.counted.low), _number(found.counted.high),
        Cell("yes" if found.within else "no"), _error(found.error),
        _number(found.scaled), _error(found.scaled_error),
    )  # fmt: skip


def _errors(
    title: str, series: Sequence[Series], rows: Sequence[tuple[str, list[float]]]
) -> list[Bars]:
    """A chart of errors, of several series for each row."""
    marks = [
        (name, tuple(Mark(i, value, _percent(value)) for i, value in enumerate(values)))
        for name, values in rows
    ]
    return bars(title, "% of what it is", series, marks)


def _of_others(use: Use) -> tuple[list[Bars], list[Table], list[str]]:
    """KVM on machines that others have measured: charts, tables, what is missing."""
    heads = (
        Head("", left=True), Head("published", "cycles"), Head("least", "cycles, predicted"),
        Head("most", "cycles, predicted"), Head("between", "cycles, predicted"),
        Head("error", "cycles, predicted"), Head("by others", "cycles, predicted"),
        Head("its error", "cycles, predicted"),
    )  # fmt: skip
    rows = published.rows()
    tables, errors, missing = [], [], []
    for group in dict.fromkeys(row.group for row in rows):
        some = [row for row in rows if row.group == group]
        found = [(row, _prediction(use, row)) for row in some]
        hand = ", cited by another" if some[0].second else ""
        cells = tuple(_published_row(*each) for each in found)
        tables.append(Table(heads, cells, f"{some[0].title}{hand} ({some[0].because})"))
        for row, each in found:
            name = f"{row.core}, {row.figure}"
            if each is None:
                missing.append(name)
                continue
            both = (each.error, each.scaled_error)
            errors.append((name, [value for value in both if value is not None]))
    return _errors("Published cycles: error", _ERROR, errors), tables, missing


def _of_rows(use: Use, on: str) -> tuple[list[Bars], list[Table], list[str]]:
    """Rows of `lat` in a configuration: charts, tables, what is missing."""
    heads = (Head("", left=True), Head("native", "instructions"),
             Head("predicted", "instructions"), Head("counted", "instructions"),
             Head("error"))  # fmt: skip
    cells, errors, missing = [], [], []
    for row in ROWS:
        start = f"model.rows.{on}.{row}"
        found = [use.get(f"{start}.{key}") for key in ("native", "predicted", "counted")]
        values = [each.value for each in found if each is not None]
        if len(values) < len(found) or values[-1] <= 0:
            missing.append(f"{row} on {on}")
            blank = Cell(NOTHING, note="not measured yet")
            cells.append((Cell(row), *([blank] * 4)))
            continue
        native, predicted, counted = values
        error = Row(row, native, counted, {"": (1, predicted - native)}).error
        cells.append((Cell(row), *map(_number, values), _error(error)))
        errors.append((row, [error]))
    if not errors:
        missing = [f"lat on {on}"]
    title = f"lat on {on}: error"
    charts = _errors(title, [Series("predicted", on)], errors)
    return charts, [Table(heads, tuple(cells), f"lat on {on}")], missing


def _both(use: Use, start: str, ends: Sequence[str]) -> list[Cell]:
    """Some values that belong together, each a cell; a dash where there is none."""
    found = [use.get(f"{start}{end}") if use.pool.find(f"{start}{end}") else None for end in ends]
    return [_number(each.value if each else None) for each in found]


def _ratios(use: Use, start: str) -> list[Cell]:
    found = [use.get(f"{start}{end}") if use.pool.find(f"{start}{end}") else None
             for end in ("native_likely_least", "native_likely_most")]  # fmt: skip
    return [Cell(NOTHING) if each is None else Cell(f"{each.value:.2f}", each.value)
            for each in found]  # fmt: skip


def _of_cycles(use: Use) -> list[Table]:
    """Figures in cycles of each core, and what was measured on it, where records have that."""
    heads = (
        Head("", left=True), Head("least", "cycles"), Head("most", "cycles"),
        Head("least", "likely"), Head("most", "likely"), Head("least", "likely, times native"),
        Head("most", "likely, times native"), Head("cycles", "measured"),
        Head("likely", "measured"),
    )  # fmt: skip
    starts: dict[str, dict[str, None]] = {}
    for name in use.pool.names():
        words = name.split(".")
        if words[:2] == ["model", "cycles"] and len(words) > 4:
            starts.setdefault(words[2], {})[".".join(words[3:-1])] = None
    tables = []
    for core, figures in starts.items():
        rows = []
        for figure in figures:
            start = f"model.cycles.{core}.{figure}."
            cells = _both(use, start, ("least", "most", "likely_least", "likely_most"))
            measured = _both(use, start, ("measured",))[0]
            low, high, at = cells[2].value, cells[3].value, measured.value
            within = NOTHING
            if low is not None and high is not None and at is not None:
                within = "yes" if low <= at <= high else "no"
            rows.append((Cell(figure), *cells, *_ratios(use, start), measured, Cell(within)))
        tables.append(Table(heads, tuple(rows), f"in cycles of {core}", folded=True))
    return tables


def _of_costs(use: Use) -> list[Table]:
    """Costs of classes that were measured on silicon, beside the model's."""
    heads = (
        Head("", left=True), Head("least", "modelled"), Head("most", "modelled"),
        Head("least", "measured"), Head("most", "measured"),
    )  # fmt: skip
    found: dict[str, dict[str, None]] = {}
    for name in use.pool.names():
        words = name.split(".")
        if words[:2] == ["model", "costs"] and len(words) == 5:
            found.setdefault(words[2], {})[words[3]] = None
    ends = ("modelled_least", "modelled_most", "measured_least", "measured_most")
    return [
        Table(heads, tuple((Cell(key), *_both(use, f"model.costs.{core}.{key}.", ends))
                           for key in keys), f"cycles of {core}, measured")
        for core, keys in found.items()
    ]  # fmt: skip


def section(pool: Pool) -> Section:
    """What the model said, and by how much it was wrong."""
    use = Use(pool)
    parts = [_of_others(use), *(_of_rows(use, on) for on in CONFIGURATIONS)]
    missing = [name for part in parts for name in part[2]]
    said = []
    if missing:
        remedy = "` and `".join(use.remedy())
        said = [f"Not measured yet: {'; '.join(missing)}.",
                f"What the lab can measure of it: `{remedy}`."]  # fmt: skip
    return Section(
        id="model",
        title="The model's errors",
        group=GROUP,
        lead=_LEAD,
        state=NOT_YET if not use.found else IN_PART if missing else MEASURED,
        notes=_NOTES,
        missing=tuple(said),
        charts=tuple(chart for part in parts for chart in part[0]),
        tables=(*(table for part in parts for table in part[1]), *_of_costs(use), *_of_cycles(use)),
        commands=use.commands(),
        provenance=use.provenance(),
    )
