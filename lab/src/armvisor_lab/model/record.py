# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The model's input: figures of `lab figures` with classes and traps, from several records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from armvisor_lab import records
from armvisor_lab.errors import LabError
from armvisor_lab.figures.classes import Classes

_AGAIN = "measure again: `lab figures --classes --json FILE`"


@dataclass(frozen=True)
class Figure:
    """One figure of a record."""

    name: str
    value: float
    revision: str
    classes: Classes | None = None
    traps: Mapping[str, float] | None = None


def read(file: Path) -> list[Figure]:
    """A record's figures."""
    record = records.read(file)
    if record.kind != "figures":
        raise LabError(f"{file} is a record of `{record.command}`, and has no figures", _AGAIN)
    if record.schema < records.CLASSES:
        raise LabError(f"{file} has the schema {record.schema}, which has no classes", _AGAIN)
    if not record.revision:
        raise LabError(f"{file} names no revision", _AGAIN)
    return [
        Figure(each.name, each.value, record.revision, each.classes, each.traps)
        for each in record.values.values()
    ]


class Record:
    """Figures of several files by name: where two have one, the later file's."""

    def __init__(self, figures: Sequence[Figure]) -> None:
        self._figures = {figure.name: figure for figure in figures}

    def __contains__(self, name: str) -> bool:
        return name in self._figures

    @property
    def names(self) -> list[str]:
        """All that are there."""
        return list(self._figures)

    @property
    def revisions(self) -> list[str]:
        """Of which revisions they are."""
        return list(dict.fromkeys(figure.revision for figure in self._figures.values()))

    def figure(self, name: str) -> Figure:
        """A figure."""
        if name not in self._figures:
            raise LabError(
                f"the record has no figure {name}", f"it has {', '.join(self._figures) or 'none'}"
            )
        return self._figures[name]

    def classes(self, name: str) -> Classes:
        """A figure's classes."""
        found = self.figure(name).classes
        if found is None:
            raise LabError(f"the record has no classes of {name}", _AGAIN)
        return found

    def traps(self, name: str) -> Mapping[str, float]:
        """A figure's traps by statistic."""
        found = self.figure(name).traps
        if found is None:
            raise LabError(f"the record has no traps of {name}", "they are of traps.ROW.VARIANT")
        return found


def load(files: Sequence[Path]) -> Record:
    """The figures of all files."""
    return Record([figure for file in files for figure in read(file)])
