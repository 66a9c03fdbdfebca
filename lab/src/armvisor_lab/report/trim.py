# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A report without its empty parts, for readers who want to see results only.

Sections without measurements here are removed; so are tables' columns and rows without a value of
ours, and sentences about missing values.
"""

from collections.abc import Iterable
from dataclasses import replace

from armvisor_lab.report.model import NOT_YET, NOTHING, PUBLISHED, Section, Table
from armvisor_lab.report.sections import HERE, NOT_APPLICABLE

_EMPTY = ("", NOTHING, NOT_APPLICABLE)


def _full(table: Table, row: int, column: int) -> bool:
    cell = table.rows[row][column]
    return bool(cell.trend) or cell.text not in _EMPTY


def _ours(table: Table) -> list[int]:
    """The columns of our values: those over which it says so, or all but the first."""
    columns = range(1, len(table.heads))
    return [i for i in columns if table.heads[i].group.startswith(HERE)] or list(columns)


def table(full: Table) -> Table | None:
    """The rows with a value of ours, and the columns that have any; None: there are none."""
    if len(full.heads) == 1:
        return full if full.rows else None
    ours = _ours(full)
    rows = [i for i in range(len(full.rows)) if any(_full(full, i, j) for j in ours)]
    columns = [j for j in range(len(full.heads)) if not j or any(_full(full, i, j) for i in rows)]
    if not rows or len(columns) < 2:
        return None
    cells = tuple(tuple(full.rows[i][j] for j in columns) for i in rows)
    return replace(full, heads=tuple(full.heads[j] for j in columns), rows=cells)


def sections(full: Iterable[Section]) -> tuple[Section, ...]:
    """The sections with something of ours in them. What is left needs no word on its state."""
    found = []
    for section in full:
        if section.state in (NOT_YET, PUBLISHED):
            continue
        if tables := tuple(filter(None, map(table, section.tables))):
            found.append(replace(section, tables=tables, missing=(), state=""))
    return tuple(found)
