# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The cost of KVM on machines that others have measured: predictions and published values.

There are two predictions; neither is fitted to the row that it predicts:

`counted`  the counts by class of the same operation here, times the core's cycles: minimum and
           maximum. Its error is that of the middle; it also says if the published value is between
           them.
`scaled`   the middle, times the median ratio of the other published rows, of this core and this
           way to run a hypervisor, to their own middles. A core with one row has none.

Both are of the kernel that was counted, which is not the one that was measured.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from armvisor_lab.errors import LabError
from armvisor_lab.model import cycles
from armvisor_lab.model.cycles import Range
from armvisor_lab.model.record import Record
from armvisor_lab.reach import cores
from armvisor_lab.reach.cores import Core

FILE = Path(__file__).with_name("published.toml")


@dataclass(frozen=True)
class Row:
    """One published value, in cycles of its core."""

    group: str
    title: str
    because: str
    second: bool
    core: str
    figure: str
    cycles: float


@dataclass(frozen=True)
class Prediction:
    """A row's prediction in cycles: `counted`, and `scaled` by the other rows of its kind.

    `likely` is for costs that are off independently.
    """

    row: Row
    counted: Range
    scaled: float | None
    likely: Range | None = None

    @property
    def error(self) -> float:
        """The error of the middle, in percent of the published cycles."""
        return (self.counted.middle / self.row.cycles - 1) * 100

    @property
    def scaled_error(self) -> float | None:
        """The error of `scaled`, in percent of the published cycles."""
        return None if self.scaled is None else (self.scaled / self.row.cycles - 1) * 100

    @property
    def within(self) -> bool:
        """Whether what was published is between the least and the most."""
        return self.row.cycles in self.counted

    @property
    def probable(self) -> bool | None:
        """Whether what was published is in the likely range; None where that is not known."""
        return None if self.likely is None else self.row.cycles in self.likely

    def as_json(self) -> dict[str, Any]:
        """For a record."""
        return {
            "source": self.row.title, "second_hand": self.row.second, "core": self.row.core,
            "figure": self.row.figure, "published_cycles": self.row.cycles,
            "counted_cycles": [self.counted.low, self.counted.high], "within": self.within,
            "likely_cycles": self.likely and [self.likely.low, self.likely.high],
            "error_percent": self.error, "scaled_cycles": self.scaled,
            "scaled_error_percent": self.scaled_error,
        }  # fmt: skip


def _positive(where: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise LabError(f"{where}: {value!r} is not a published value")
    return float(value)


def _row(
    group: str, table: Mapping[str, Any], row: Mapping[str, Any], known: Mapping[str, Core]
) -> Row:
    where = f"{FILE.name}: {group}"
    try:
        core, figure = row["core"], row["figure"]
        title, because = table["title"], table["because"]
    except (KeyError, TypeError) as error:
        raise LabError(f"{where}: {error} is missing") from error
    if core not in known:
        raise LabError(f"{where}: no profile of a core {core!r}", f"there are {', '.join(known)}")
    where = f"{where}, {figure}"
    if ("cycles" in row) == ("ns" in row):
        raise LabError(f"{where}: cycles or ns, one of them")
    value = _positive(where, row["cycles"] if "cycles" in row else row["ns"])
    if "ns" in row:
        if "ghz" not in known[core].values:
            raise LabError(f"{where}: ns, and core {core} has no ghz")
        value *= sum(known[core].cycles("ghz")) / 2
    return Row(group, title, because, bool(table.get("second")), core, figure, value)


def read(text: str) -> list[Row]:
    """The rows of a file's text."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LabError(f"{FILE.name}: {error}") from error
    known = cores.known()
    return [
        _row(group, table, row, known)
        for group, table in tables.items()
        for row in table.get("rows", ())
    ]


def rows() -> list[Row]:
    """All published rows."""
    return read(FILE.read_text())


def _peers(row: Row, counted: Mapping[Row, Range]) -> list[float]:
    """What other rows of the same machine are of their middles."""
    return [
        other.cycles / found.middle
        for other, found in counted.items()
        if other is not row and (other.group, other.core) == (row.group, row.core)
    ]


def counted_cycles(row: Row, record: Record) -> tuple[Range, Range]:
    """The bounds and the likely range of what the row's core takes for what was counted.

    LabError where that was not counted.
    """
    core = cores.known()[row.core]
    of = cycles.amounts(row.figure, record.classes(row.figure), core)
    return cycles.cost(of, core), cycles.likely(of, core)


def predict(wanted: Sequence[Row], record: Record) -> list[Prediction]:
    """Each row's predictions."""
    both = {row: counted_cycles(row, record) for row in wanted}
    counted = {row: bounds for row, (bounds, _) in both.items()}
    found = []
    for row, (bounds, likely) in both.items():
        peers = _peers(row, counted)
        scaled = bounds.middle * median(peers) if peers else None
        found.append(Prediction(row, bounds, scaled, likely))
    return found
