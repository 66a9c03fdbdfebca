# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Values that each work published, from published/*.toml, and their counterparts here.

A work has sections, one per table or figure. A section's `columns` are the work's, and a row's
`published` has a value for each: a number, a range of two, "" where the text has none (then
`picture` has the value that only a picture shows), or words as printed ("NA", "over 80"). `unit` is
the work's: cycles, ns, %, times.

`ours` are our columns. `figure` names a figure; `{}` in it is replaced by the row's `ours`. A row
without it has no counterpart. With `over`, a column is computed from two figures by the section's
`form`: `ratio` figure / over, `change` (figure / over - 1) in percent, `less` (1 - figure / over)
in percent, `speed` the change of performance if figures are costs: (over / figure - 1) in percent.
A row with several `ours` is the geometric mean of their ratios. `not_on` names our columns that
cannot have a value in a row. `tone` names the hypervisor, for the chart's colour.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from armvisor_lab.errors import LabError

FORMS = ("value", "ratio", "change", "less", "speed")
TONES = ("native", "kvm", "armvisor", "emulator", "other")

Cell = float | tuple[float, float] | str


@dataclass(frozen=True)
class Column:
    """One of our columns."""

    name: str
    figure: str
    tone: str
    over: str = ""


@dataclass(frozen=True)
class Row:
    """A row: what was published, and the stems of our figures."""

    name: str
    published: tuple[Cell, ...]
    ours: tuple[str, ...]
    not_on: tuple[str, ...] = ()

    def on(self, column: Column) -> bool:
        """Whether there can be a value of ours in a column."""
        return bool(self.ours) and column.name not in self.not_on


@dataclass(frozen=True)
class Section:
    """A table or a figure of a work."""

    id: str
    name: str
    title: str
    where: str
    form: str
    unit: str
    note: str
    picture: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    ours: tuple[Column, ...]


@dataclass(frozen=True)
class Work:
    """A work: where it is from, on what it measured, and its sections."""

    order: int
    title: str
    short: str
    authors: str
    venue: str
    url: str
    setup: str
    sections: tuple[Section, ...]


def _cell(value: object, where: str) -> Cell:
    match value:
        case bool():
            pass
        case int() | float():
            return float(value)
        case str():
            return value
        case [int() | float() as low, int() | float() as high] if low <= high:
            return float(low), float(high)
    raise LabError(f"{where}: {value!r} is not a published value", "a number, two, or words")


def _row(table: Mapping[str, Any], columns: int, where: str) -> Row:
    where = f"{where}, row {table.get('name')}"
    if unknown := set(table) - {"name", "published", "ours", "not_on"}:
        raise LabError(f"{where}: no key is called {', '.join(sorted(unknown))}")
    cells = tuple(_cell(value, where) for value in table["published"])
    if len(cells) != columns:
        raise LabError(f"{where}: {len(cells)} values for {columns} columns")
    ours = table.get("ours", "")
    stems = (ours,) if isinstance(ours, str) else tuple(ours)
    not_on = tuple(table.get("not_on", ()))
    return Row(table["name"], cells, tuple(stem for stem in stems if stem), not_on)


def _section(table: Mapping[str, Any], file: str) -> Section:
    where = f"{file}: section {table.get('id')}"
    rest = {**table, "picture": table.get("picture", "")}
    columns = tuple(rest.pop("columns"))
    rows = tuple(_row(row, len(columns), where) for row in rest.pop("rows"))
    ours = tuple(Column(**column) for column in rest.pop("ours"))
    if rest["form"] not in FORMS:
        raise LabError(f"{where}: no form is called {rest['form']!r}", f"one of {FORMS}")
    for column in ours:
        if column.tone not in TONES:
            raise LabError(f"{where}: no tone is called {column.tone!r}", f"one of {TONES}")
        if bool(column.over) != (rest["form"] != "value"):
            raise LabError(f"{where}, {column.name}: `over` does not go with {rest['form']}")
    names = {column.name for column in ours}
    for row in rows:
        if unknown := set(row.not_on) - names:
            raise LabError(f"{where}, row {row.name}: no column {', '.join(sorted(unknown))}")
    return Section(columns=columns, rows=rows, ours=ours, **rest)


def read(text: str, file: str) -> Work:
    """The work of a file's text."""
    try:
        table = tomllib.loads(text)
        sections = tuple(_section(each, file) for each in table.pop("section"))
        return Work(sections=sections, **table)
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise LabError(f"{file}: {error}", "report/published.py says what the keys are") from error


def works() -> list[Work]:
    """All works, in their order."""
    folder = files(__package__) / "published"
    found = [
        read(file.read_text(encoding="utf-8"), file.name)
        for file in folder.iterdir()
        if file.name.endswith(".toml")
    ]
    return sorted(found, key=lambda work: work.order)
