# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A report as plain text: its sections, with tables in columns."""

import textwrap
from collections.abc import Iterable

from armvisor_lab.report.model import Report, Section, Table

_WIDTH = 100


def aligned(rows: list[list[str]], left: Iterable[bool]) -> list[str]:
    """Rows in columns; `left` says which stand to the left."""
    sides = list(left)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if side else cell.rjust(width)
            for cell, width, side in zip(row, widths, sides, strict=True)
        ).rstrip()
        for row in rows
    ]


def _table(table: Table) -> list[str]:
    """A table without columns that are drawn only."""
    drawn = {i for row in table.rows for i, cell in enumerate(row) if cell.trend}
    keep = [i for i in range(len(table.heads)) if i not in drawn]
    heads = [table.heads[i] for i in keep]
    names = [f"{head.group}: {head.name}" if head.group else head.name for head in heads]
    # Long names of columns are above the table, by letter, or it would be wider than any terminal.
    lines = [table.title] if table.title else []
    if sum(map(len, names)) > _WIDTH:
        letters = [chr(ord("A") + i) if name else "" for i, name in enumerate(names)]
        lines += [f"  {a}  {name}" for a, name in zip(letters, names, strict=True) if name]
        names = letters
    rows = [names, *([row[i].text for i in keep] for row in table.rows)]
    return [*lines, *aligned(rows, [head.left for head in heads])]


def _section(section: Section) -> list[str]:
    title = f"{section.group}: {section.title}"
    lines = [title, "-" * len(title)]
    for paragraph in (section.lead, *section.notes, *section.missing):
        lines += textwrap.wrap(paragraph, _WIDTH) or [""]
    for table in section.tables:
        lines += ["", *_table(table)]
    lines += ["", *(f"$ {command}" for command in section.commands)] if section.commands else []
    lines += [f"  {each}" for each in section.provenance]
    return lines


def render(report: Report) -> str:
    """The whole report."""
    lines = [report.title, "=" * len(report.title), ""]
    for paragraph in report.lead:
        lines += [*textwrap.wrap(paragraph, _WIDTH), ""]
    lines += aligned([[s.group, s.title, s.state] for s in report.sections], [True] * 3)
    for section in report.sections:
        lines += ["", "", *_section(section)]
    lines += ["", "", "Sources", "-------"]
    for group, source in report.works.items():
        lines += textwrap.wrap(f"{group}: {source}", _WIDTH)
    # A record's text is printed, but must not move the cursor.
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    return "".join(c if c == "\n" or c.isprintable() else "�" for c in text)
