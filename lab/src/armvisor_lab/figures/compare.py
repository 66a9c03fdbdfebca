# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Two records of figures side by side: do they agree?

Figures of one revision, on boards that count, should: what differs by more than the limit is a
change, or a figure that means less than its digits say.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from armvisor_lab.errors import LabError
from armvisor_lab.figures.run import show

LIMIT = 0.5  # percent


@dataclass(frozen=True)
class Difference:
    """One figure in both records; None where a record does not have it."""

    name: str
    old: float | None
    new: float | None

    @property
    def percent(self) -> float | None:
        """By how much the new one is larger."""
        if self.old is None or self.new is None:
            return None
        if self.old == self.new:
            return 0.0
        return (self.new / self.old - 1) * 100 if self.old else float("inf")

    def agrees(self, limit: float) -> bool:
        """Whether both are there and differ by at most `limit` percent."""
        return self.percent is not None and abs(self.percent) <= limit

    def line(self, limit: float) -> str:
        """For people."""
        old, new = ("-" if value is None else show(value) for value in (self.old, self.new))
        percent = "only one" if self.percent is None else f"{self.percent:+.3f} %"
        mark = "" if self.agrees(limit) else "  <-"
        return f"{self.name:32} {old:>14} {new:>14} {percent:>12}{mark}"


def read(file: Path) -> dict[str, float]:
    """A record's figures by name."""
    try:
        figures = json.loads(file.read_text())["figures"]
        return {figure["name"]: float(figure["value"]) for figure in figures}
    except OSError as error:
        raise LabError(f"{file}: {error.strerror}", "name two records, old and new") from error
    except (ValueError, TypeError, KeyError) as error:
        raise LabError(f"{file} is no record of figures", "`lab figures --json` makes one") from (
            error
        )


def compare(old: dict[str, float], new: dict[str, float]) -> list[Difference]:
    """All figures of both, in the new record's order."""
    return [Difference(name, old.get(name), new.get(name)) for name in {**new, **old}]


def summary(differences: list[Difference], limit: float) -> str:
    """How the comparison came out, in a sentence."""
    both = [each for each in differences if each.percent is not None]
    apart = sum(not each.agrees(limit) for each in differences)
    worst = max(both, key=lambda each: abs(each.percent or 0), default=None)
    text = f"{len(differences)} figures, {apart} not within {limit:g} %"
    return text if worst is None else f"{text}; most: {worst.name}, {worst.percent:+.3f} %"
