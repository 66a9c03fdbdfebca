# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The tables of figures in the project's documents, written from the records in docs/.

docs/tables.toml defines the tables: their records and, for each table, its rows, its columns and
the figure of each cell. In a document a table is between two lines,

    <!-- table: NAME -->
    <!-- end of table -->

and `bin/lab docs` writes the text between them. `make check` fails if a document has another text
there, so no figure in a table is typed by hand.

A table may be of a record of its own, `record`, which `by` says how to make. As long as docs/ lacks
that record, the table is a sentence that says so.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armvisor_lab import records
from armvisor_lab.errors import LabError

SPEC = "docs/tables.toml"
_TABLE = re.compile(r"(<!-- table: ([\w-]+) -->\n)(.*?)(<!-- end of table -->)", re.S)
_BEGIN = re.compile(r"<!-- table:")
# A ratio below this has two decimals, others none.
_LARGE = 10


@dataclass(frozen=True)
class Column:
    """A column: the figures of one variant, or one variant's over another's, or ranges.

    A cell of a `range` is from one figure to another, whose names have {end}, least and most.
    """

    head: str
    name: str = ""
    ratio: tuple[str, str] | None = None
    range: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Table:
    """A table: `figure` names a cell's figure, with {row} and {column} in it.

    `record` and `by`: a record of this table alone that docs/ may lack, and what makes it.
    """

    name: str
    head: str
    figure: str
    columns: tuple[Column, ...]
    rows: Mapping[str, str]
    record: str = ""
    by: str = ""


def _column(where: str, content: Mapping[str, Any]) -> Column:
    try:
        ratio = content.get("ratio")
        if ratio is not None:
            above, below = ratio
            return Column(content["head"], ratio=(above, below))
        if "range" in content:
            words = {str(key): str(value) for key, value in content["range"].items()}
            return Column(content["head"], range=words)
        return Column(content["head"], name=content["name"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LabError(
            f"{SPEC}: {where}: a column is no column: {content!r}",
            "it has `head` and one of `name`, `ratio = [ABOVE, BELOW]` and `range = {…}`",
        ) from error


def read_spec(top: Path) -> tuple[list[Path], dict[str, Table]]:
    """The records' files and the tables by name, as docs/tables.toml has them."""
    file = top / SPEC
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        names = content.pop("records")
        tables = {
            name: Table(
                name,
                each["head"],
                each["figure"],
                tuple(_column(name, column) for column in each["columns"]),
                each["rows"],
                each.get("record", ""),
                each.get("by", ""),
            )
            for name, each in content.items()
        }
    except OSError as error:
        raise LabError(f"{file}: {error.strerror}", "the checkout has it: restore it") from error
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise LabError(f"{SPEC} is not as it should be: {error!r}") from error
    more = dict.fromkeys(table.record for table in tables.values() if table.record)
    files = [file.parent / name for name in names]
    return files + [at for name in more if (at := file.parent / name).exists()], tables


def _number(value: float) -> str:
    """Thousands apart; what is below a thousand with four digits at most."""
    return f"{value:,.0f}" if value >= 1000 else f"{float(f'{value:.4g}'):g}"


def _times(value: float) -> str:
    return f"{value:.2f}" if value < _LARGE else f"{value:,.0f}"


class Source:
    """Figures by name, from several records: of a figure that two have, the later named."""

    def __init__(self, read: Sequence[records.Record]) -> None:
        self._of = {name: (each, value) for each in read for name, value in each.values.items()}
        self._files = {each.file for each in read}

    def has(self, file: str) -> bool:
        """Whether a record is one of them."""
        return file in self._files

    def value(self, name: str) -> records.Value:
        """The figure of that name; an error where no record has it."""
        if name not in self._of:
            raise LabError(
                f"no record of {SPEC} has the figure {name}",
                "measure it, or take its row or column out of the table",
            )
        return self._of[name][1]

    def counts(self, name: str) -> Sequence[str]:
        """The revisions of the counts that a prediction is of."""
        self.value(name)
        return self._of[name][0].counts_of

    def origin(self, name: str) -> tuple[str, str, str]:
        """Which record a figure is of: its revision, its day, its file."""
        self.value(name)
        record = self._of[name][0]
        return record.label, record.time[:10], record.file


def _names(table: Table, row: str, column: Column) -> Iterator[str]:
    if column.range is not None:
        for end in ("least", "most"):
            yield table.figure.format(row=row, end=end, **column.range)
        return
    for each in column.ratio or (column.name,):
        yield table.figure.format(row=row, column=each)


def _cell(table: Table, row: str, column: Column, source: Source) -> str:
    values = [source.value(name).value for name in _names(table, row, column)]
    if column.range is not None:
        # In these tables ranges are of ratios.
        return " to ".join(_times(value) for value in values)
    if column.ratio is None:
        return _number(values[0])
    return _times(values[0] / values[1])


def _said(table: Table, source: Source) -> str:
    """The line below a table: units, boards, kernels and records of its figures."""
    names = [n for row in table.rows for c in table.columns for n in _names(table, row, c)]
    values = [source.value(name) for name in names]
    boards = {
        f"{v.board['cpu']} with{'' if v.board.get('el2') else 'out'} EL2"
        for v in values
        if "cpu" in v.board
    }
    kernels = {str(v.board["kernel_version"]) for v in values if "kernel_version" in v.board}
    origins = sorted({source.origin(name) for name in names})
    of = "; ".join(f"`docs/{file}`, revision {label}, {day}" for label, day, file in origins)
    units = " and ".join(sorted({v.unit for v in values}))
    where = f"; {' and '.join(sorted(boards))}, kernel {' and '.join(sorted(kernels))}"
    counts = " and ".join(sorted({each[:9] for name in names for each in source.counts(name)}))
    more = f", of counts of revision {counts}" if counts else ""
    return f"{units[:1].upper()}{units[1:]}{where if boards else ', modelled'}. From {of}{more}."


def render(table: Table, source: Source) -> str:
    """A table as Markdown, with the line that says where it is from."""
    if table.record and not source.has(table.record):
        return f"Not measured yet: `{table.by}` makes this table's record, `docs/{table.record}`.\n"
    heads = [table.head, *(column.head for column in table.columns)]
    lines = [
        f"| {' | '.join(heads)} |",
        f"| --- {'| ---: ' * len(table.columns)}|",
    ]
    for row, label in table.rows.items():
        cells = [_cell(table, row, column, source) for column in table.columns]
        lines.append(f"| {' | '.join([label, *cells])} |")
    return "\n".join([*lines, "", _said(table, source)]) + "\n"


def fill(text: str, tables: Mapping[str, Table], source: Source, where: str) -> str:
    """A document with each of its tables as the records have it."""

    def one(match: re.Match[str]) -> str:
        begin, name, _, end = match.groups()
        if name not in tables:
            raise LabError(f"{where}: {SPEC} has no table {name}", f"it has {', '.join(tables)}")
        return f"{begin}{render(tables[name], source)}{end}"

    if len(_BEGIN.findall(text)) != len(_TABLE.findall(text)):
        raise LabError(f"{where}: a table has no end", "each ends in <!-- end of table -->")
    return _TABLE.sub(one, text)


def documents(top: Path) -> list[Path]:
    """The documents that may have such tables."""
    return [top / "README.md", *sorted(top.glob("*/*.md"))]


def stale(top: Path) -> dict[Path, str]:
    """The documents whose tables are not what the records have, and what each should be."""
    files, tables = read_spec(top)
    source = Source([records.read(file) for file in files])
    found = {}
    for document in documents(top):
        text = document.read_text(encoding="utf-8")
        filled = fill(text, tables, source, str(document.relative_to(top)))
        if filled != text:
            found[document] = filled
    return found
