# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A report's sections with published counterparts: their values, ours, and charts of both."""

import math
import re
from collections.abc import Sequence

from armvisor_lab.report import published
from armvisor_lab.report.model import (
    IN_PART,
    MEASURED,
    NOT_YET,
    NOTHING,
    PUBLISHED,
    Bars,
    Cell,
    Head,
    Mark,
    Section,
    Series,
    Table,
    number,
    ratio,
)
from armvisor_lab.report.pool import Pool, Use

# The ratio of largest to smallest value above which a chart's bars would show nothing.
_SPREAD = 20

NOT_APPLICABLE = "NA"
# The heading over our columns in a table that also has others'.
HERE = "here"


Rows = Sequence[tuple[str, tuple[Mark, ...]]]


def bars(
    title: str, unit: str, series: Sequence[Series], rows: Rows, log: bool = False
) -> list[Bars]:
    """A chart, if it has any mark: dots where asked for, and where values are far apart."""
    some = tuple((label, marks) for label, marks in rows if marks)
    if not some:
        return []
    values = [mark.value for _, marks in some for mark in marks]
    apart = min(values) > 0 and max(values) / min(values) > _SPREAD
    form = "dots" if log and apart else "bars"
    used = sorted({mark.series for _, marks in some for mark in marks})
    short = {old: new for new, old in enumerate(used)}
    rows = tuple(
        (label, tuple(Mark(short[m.series], m.value, m.text, m.low) for m in marks))
        for label, marks in some
    )
    return [Bars(title, unit, tuple(series[each] for each in used), rows, form)]


def _published_value(cell: published.Cell) -> tuple[float | None, float | None]:
    """A published cell as a number, and the lower end of a range."""
    match cell:
        case float():
            return cell, None
        case (low, high):
            return high, low
        case str() if found := re.search(r"\d[\d.]*", cell):
            return float(found[0]), None
    return None, None


def _published_cell(cell: published.Cell, picture: bool) -> Cell:
    match cell:
        case float():
            return Cell(number(cell), cell)
        case (low, high):
            return Cell(f"{number(low)} to {number(high)}", high)
        case "":
            return Cell(NOTHING, note="in a picture alone" if picture else "not given")
    return Cell(cell, _published_value(cell)[0])


def combined(form: str, pairs: Sequence[tuple[float, float]]) -> float | None:
    """The geometric mean of figures over others, in a form: a ratio, or percent.

    None if a figure is not positive.
    """
    if any(over <= 0 or figure <= 0 for figure, over in pairs):
        return None
    mean = math.exp(sum(math.log(figure / over) for figure, over in pairs) / len(pairs))
    forms = {"ratio": mean, "change": (mean - 1) * 100, "less": (1 - mean) * 100}
    # A higher cost is slower.
    forms["speed"] = (1 / mean - 1) * 100
    return forms[form]


def shown(form: str, value: float) -> str:
    """One of our values as it stands in a table."""
    return ratio(value) if form == "ratio" else number(value)


def _ours(use: Use, form: str, row: published.Row, column: published.Column) -> float | None:
    """One of our values; None where a figure of it is missing."""
    if form == "value":
        value = use.get(column.figure.replace("{}", row.ours[0]))
        return None if value is None else value.value
    found = [
        (use.get(column.figure.replace("{}", stem)), use.get(column.over.replace("{}", stem)))
        for stem in row.ours
    ]
    pairs = [(a.value, b.value) for a, b in found if a is not None and b is not None]
    return combined(form, pairs) if len(pairs) == len(found) else None


def _our_unit(use: Use, section: published.Section) -> str:
    if section.form != "value":
        return section.unit
    units = dict.fromkeys(value.unit for value, _ in use.found.values() if value.unit)
    return ", ".join(units) or ("times" if section.unit == "times" else "instructions")


Grid = list[list[float | None]]
Cells = Sequence[tuple[int, int]]


def _never(lacking: Cells, there: Cells, axis: int) -> list[int]:
    """Rows (0) or columns (1) of which something is lacking and nothing is there."""
    found = dict.fromkeys(at[axis] for at in lacking)
    return [each for each in found if each not in {at[axis] for at in there}]


def _missing(section: published.Section, grid: Grid, use: Use) -> tuple[str, ...]:
    """What is not there, in sentences: whole columns, whole rows, then the rest."""
    cells = [(i, j) for i, row in enumerate(section.rows) for j, column in enumerate(section.ours)
             if row.on(column)]  # fmt: skip
    lacking = [(i, j) for i, j in cells if grid[i][j] is None]
    there = [at for at in cells if at not in lacking]
    if not there:
        names = ["no value of this section"]
    else:
        no_column = _never(lacking, there, 1)
        no_row = _never([at for at in lacking if at[1] not in no_column], there, 0)
        names = [section.ours[j].name for j in no_column]
        names += [section.rows[i].name for i in no_row]
        names += [
            f"{section.rows[i].name} ({section.ours[j].name})"
            for i, j in lacking
            if i not in no_row and j not in no_column
        ]
    if not names:
        return ()
    sentences = [f"Not measured yet: {'; '.join(names)}."]
    if remedy := use.remedy():
        sentences.append(f"What the lab can measure of it: `{'` and `'.join(remedy)}`.")
    return tuple(sentences)


def _charts(section: published.Section, grid: Grid, unit: str) -> list[Bars]:
    theirs = [Series(name, f"p{i % 4}") for i, name in enumerate(section.columns)]
    ours = [Series(column.name, column.tone) for column in section.ours]

    def published_marks(row: published.Row) -> tuple[Mark, ...]:
        marks = []
        for i, cell in enumerate(row.published):
            value, low = _published_value(cell)
            if value is not None:
                marks.append(Mark(i, value, _published_cell(cell, False).text, low))
        return tuple(marks)

    def our_marks(i: int, offset: int = 0) -> tuple[Mark, ...]:
        return tuple(
            Mark(j + offset, value, shown(section.form, value))
            for j, value in enumerate(grid[i])
            if value is not None
        )

    rows = list(enumerate(section.rows))
    if section.form == "value":
        a = [(row.name, published_marks(row)) for _, row in rows]
        b = [(row.name, our_marks(i)) for i, row in rows]
        return bars("Published", section.unit, theirs, a) + bars("Here", unit, ours, b)
    both = [(row.name, published_marks(row) + our_marks(i, len(theirs))) for i, row in rows]
    names = [Series(f"published: {each.name}", each.tone) for each in theirs]
    here = any(value is not None for values in grid for value in values)
    there = any(
        _published_value(cell)[0] is not None for row in section.rows for cell in row.published
    )
    title = " and ".join(word for word, so in (("Published", there), ("here", here)) if so)
    return bars(title.capitalize(), section.unit, [*names, *ours], both, log=True)


def _without(row: published.Row, column: published.Column) -> tuple[str, None, str]:
    """What stands where there is no value of ours, and why."""
    if row.on(column):
        return NOTHING, None, "not measured yet"
    if row.ours:
        return NOT_APPLICABLE, None, "there is no such thing there"
    return NOTHING, None, "the lab measures nothing like it"


def _table(section: published.Section, grid: Grid, unit: str) -> Table:
    groups = f"published, {section.unit}", f"{HERE}, {unit}"
    heads = [Head("", left=True)]
    heads += [Head(name, groups[0]) for name in section.columns]
    heads += [Head(column.name, groups[1]) for column in section.ours]
    rows = []
    for row, values in zip(section.rows, grid, strict=True):
        cells = [Cell(row.name)]
        cells += [_published_cell(cell, bool(section.picture)) for cell in row.published]
        for column, value in zip(section.ours, values, strict=True):
            cells.append(
                Cell(*_without(row, column))
                if value is None
                else Cell(shown(section.form, value), value)
            )
        rows.append(tuple(cells))
    return Table(tuple(heads), tuple(rows))


def of(section: published.Section, work: published.Work, pool: Pool) -> Section:
    """A published table or figure with ours beside."""
    use = Use(pool)
    grid: Grid = [
        [
            _ours(use, section.form, row, column) if row.on(column) else None
            for column in section.ours
        ]
        for row in section.rows
    ]
    unit = _our_unit(use, section)
    wanted = sum(row.on(column) for row in section.rows for column in section.ours)
    got = sum(value is not None for row in grid for value in row)
    state = MEASURED if got == wanted else IN_PART if got else NOT_YET
    return Section(
        id=section.id,
        title=f"{section.name}: {section.title}",
        group=work.short,
        lead=f"{work.short}, {section.where}.",
        state=state if wanted else PUBLISHED,
        notes=tuple(filter(None, (section.note, section.picture))),
        missing=_missing(section, grid, use) if wanted else (),
        charts=tuple(_charts(section, grid, unit)),
        tables=(_table(section, grid, unit),),
        commands=use.commands(),
        provenance=use.provenance(),
    )
