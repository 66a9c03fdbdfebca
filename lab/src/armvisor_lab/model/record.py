# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""What `lab figures` has recorded: values, classes, traps. Half of a record is none."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from armvisor_lab.errors import LabError
from armvisor_lab.figures import run
from armvisor_lab.figures.classes import Classes, from_json

_AGAIN = "measure again: `lab figures --classes --json FILE`"


@dataclass(frozen=True)
class Figure:
    """One figure of a record."""

    name: str
    value: float
    revision: str
    classes: Classes | None = None
    traps: Mapping[str, float] | None = None


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no value")
    return float(value)


def _figure(file: Path, revision: str, content: object) -> Figure:
    if not isinstance(content, dict) or not isinstance(name := content.get("name"), str):
        raise LabError(f"{file}: a figure without a name", _AGAIN)
    try:
        counted, traps = content["classes"], content["traps"]
        return Figure(
            name,
            _number(content["value"]),
            revision,
            None if counted is None else from_json(counted),
            None if traps is None else {each: _number(value) for each, value in traps.items()},
        )
    except (KeyError, ValueError, AttributeError) as error:
        raise LabError(f"{file}: the figure {name} is not whole: {error}", _AGAIN) from error


def read(file: Path) -> list[Figure]:
    """A record's figures."""
    try:
        content = json.loads(file.read_text())
    except OSError as error:
        raise LabError(f"{file}: {error.strerror}", _AGAIN) from error
    except ValueError as error:
        raise LabError(f"{file} is no record, or half of one: {error}", _AGAIN) from error
    if not isinstance(content, dict) or not isinstance(content.get("figures"), list):
        raise LabError(f"{file} is no record of figures", _AGAIN)
    schema = content.get("schema")
    if schema != run.SCHEMA:
        raise LabError(
            f"{file} has the schema {schema}, and this lab reads {run.SCHEMA}: records before that "
            "have no classes" if schema == 1 else f"{file} has the schema {schema!r}, unknown here",
            _AGAIN,
        )  # fmt: skip
    revision = content.get("revision")
    if not isinstance(revision, str):
        raise LabError(f"{file} does not say of which revision it is", _AGAIN)
    return [_figure(file, revision, each) for each in content["figures"]]


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
