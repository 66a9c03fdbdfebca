# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The parts of a report: sections with tables and charts, as data, and as the report's JSON.

Numbers are kept beside the text that shows them. A cell without a value is a dash if there could be
one, and `note` says why there is none.
"""

from dataclasses import dataclass, field

NOTHING = "-"
MEASURED, IN_PART, NOT_YET, PUBLISHED = "measured", "in part", "not measured yet", "published only"


def number(value: float) -> str:
    """A number as a report shows it: whole from a thousand on, else to three or four digits."""
    if abs(value) >= 1000 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) >= 100 else f"{value:.3g}"


def ratio(value: float) -> str:
    """A ratio: to three digits."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


@dataclass(frozen=True)
class Cell:
    """One cell of a table; `trend` are the values of a small line."""

    text: str
    value: float | None = None
    note: str = ""
    trend: tuple[float, ...] = ()


@dataclass(frozen=True)
class Head:
    """A column: its name, its unit, and over which group of columns it stands."""

    name: str
    group: str = ""
    left: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells. `folded`: shown only when asked for."""

    heads: tuple[Head, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    folded: bool = False

    def label(self, column: int) -> str:
        """A column's name with its group's, as a row that stands by itself has it."""
        head = self.heads[column]
        return ", ".join(filter(None, (head.name, head.group)))

    def groups(self) -> list[tuple[str, int]]:
        """Names over columns, with how many columns each is over; none if there are no names."""
        found: list[tuple[str, int]] = []
        for head in self.heads:
            if found and found[-1][0] == head.group:
                found[-1] = head.group, found[-1][1] + 1
            else:
                found.append((head.group, 1))
        return found if any(name for name, _ in found) else []


@dataclass(frozen=True)
class Series:
    """One colour of a chart; `tone` says who it is."""

    name: str
    tone: str


@dataclass(frozen=True)
class Mark:
    """One value of a chart: of which series, from where, to where."""

    series: int
    value: float
    text: str
    low: float | None = None


@dataclass(frozen=True)
class Bars:
    """A group of marks for each label, by `form` bars from zero or dots on a logarithmic line."""

    title: str
    unit: str
    series: tuple[Series, ...]
    rows: tuple[tuple[str, tuple[Mark, ...]], ...]
    form: str = "bars"


@dataclass(frozen=True)
class Lines:
    """Values of each series over `points`; None where a series has none."""

    title: str
    unit: str
    series: tuple[Series, ...]
    points: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class Whole:
    """One bar of parts, side by side; each part is a series and its value."""

    title: str
    unit: str
    series: tuple[Series, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Layers:
    """What runs on what, the uppermost first: a name and a word of detail for each."""

    title: str
    rows: tuple[tuple[Series, str], ...]


Chart = Bars | Lines | Whole | Layers


@dataclass(frozen=True)
class Section:
    """A part of the report. `group` is the work, `lead` what it is, `missing` what is not there."""

    id: str
    title: str
    group: str
    lead: str
    state: str = ""
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    commands: tuple[str, ...] = ()
    provenance: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """All of it. `works` are the sources by the name of their group.

    `first` sections stand before the contents; `then` says what comes after them.
    """

    title: str
    lead: tuple[str, ...]
    sections: tuple[Section, ...]
    works: dict[str, str] = field(default_factory=dict)
    first: int = 0
    then: tuple[str, ...] = ()
