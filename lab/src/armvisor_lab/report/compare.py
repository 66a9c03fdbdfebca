# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Two records side by side: A against B, figure by figure.

Figures of one revision, on boards that count, should agree. A difference above the limit is a
change, or a figure that is less precise than its digits. If a figure is the mean of samples that
differ among themselves, a permutation test gives the probability of as large a difference by
chance; if that is likely, the figure does not count as different.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from armvisor_lab.errors import LabError
from armvisor_lab.figures.run import show
from armvisor_lab.records import Record, Value
from armvisor_lab.report.pool import describe_board

LIMIT = 0.5  # percent
CHANCE = 0.05

SAME, NOISE, DIFFERS, ONLY_A, ONLY_B, UNITS = (
    "same", "chance", "differs", "only in A", "only in B", "units differ",
)  # fmt: skip

# Up to this many divisions of the samples all are tried; otherwise this many random ones, always
# the same.
_WAYS = 9999


@dataclass(frozen=True)
class Difference:
    """One figure in both records; None where a record does not have it. `p` is of the test."""

    name: str
    a: Value | None
    b: Value | None
    p: float | None = None

    @property
    def percent(self) -> float | None:
        """By how much B is larger than A, in percent: infinite if A is 0, None if units differ."""
        if self.a is None or self.b is None or self.a.unit != self.b.unit:
            return None
        if self.a.value == self.b.value:
            return 0.0
        return (self.b.value / self.a.value - 1) * 100 if self.a.value else float("inf")

    def verdict(self, limit: float) -> str:
        """One of the words above, if differences up to `limit` percent pass."""
        if self.a is None or self.b is None:
            return ONLY_A if self.b is None else ONLY_B
        if self.percent is None:
            return UNITS
        if abs(self.percent) <= limit:
            return SAME
        return NOISE if self.p is not None and self.p > CHANCE else DIFFERS

    def agrees(self, limit: float) -> bool:
        """Whether nothing speaks for a difference."""
        return self.verdict(limit) in (SAME, NOISE)

    def line(self, limit: float) -> str:
        """For people."""
        a, b = ("-" if each is None else show(each.value) for each in (self.a, self.b))
        verdict = self.verdict(limit)
        words = verdict if self.percent is None else f"{self.percent:+.3f} %"
        if self.p is not None:
            words += f" (by chance: p = {self.p:.3f})"
        return f"{self.name:32} {a:>14} {b:>14} {words}{'' if self.agrees(limit) else '  <-'}"

    def as_json(self, limit: float) -> dict[str, Any]:
        """For a program; a difference from 0 has no percentage."""
        percent = self.percent
        return {
            "name": self.name,
            "a": self.a.value if self.a else None,
            "b": self.b.value if self.b else None,
            "unit": (self.a or self.b or Value("", 0)).unit,
            "percent": None if percent == float("inf") else percent,
            "p": self.p,
            "verdict": self.verdict(limit),
        }


def _spread(value: Value) -> bool:
    return len(set(value.samples)) > 1


def chance(a: Value, b: Value) -> float | None:
    """The p-value of a permutation test of the samples' means.

    None where there is nothing to test: a figure that repeats to the digit, and samples that are
    too few for any difference of theirs to be unlikely.
    """
    if not (a.samples and b.samples) or not (_spread(a) or _spread(b)):
        return None
    try:
        import numpy
        from scipy import stats
    except ImportError as error:
        raise LabError("the test of samples is scipy's, which is not installed",
                       "run `make setup`") from error  # fmt: skip

    def apart(x: Any, y: Any, axis: int) -> Any:  # noqa: ANN401
        return numpy.mean(x, axis=axis) - numpy.mean(y, axis=axis)

    result = stats.permutation_test(
        (a.samples, b.samples), apart, permutation_type="independent", vectorized=True,
        n_resamples=_WAYS, alternative="two-sided", rng=numpy.random.default_rng(0),
    )  # fmt: skip
    least = 2 / len(result.null_distribution)
    return None if least > CHANCE else float(result.pvalue)


def compare(a: Mapping[str, Value], b: Mapping[str, Value]) -> list[Difference]:
    """All figures of both, in B's order; the test where they are apart at all."""
    found = []
    for name in {**b, **a}:
        one, other = a.get(name), b.get(name)
        p = chance(one, other) if one and other and one.value != other.value else None
        found.append(Difference(name, one, other, p))
    return found


def circumstances(a: Record, b: Record) -> list[str]:
    """What the records are of, and what else is not the same."""
    found = [f"{which}: {r.label}, {r.time}, {r.file}" for which, r in (("A", a), ("B", b))]
    return found + elsewhere(a, b)


def elsewhere(a: Record, b: Record) -> list[str]:
    """Emulators that differ, what was built, and boards of the figures that both have."""
    found = []
    if a.emulator != b.emulator:
        found.append(f"emulators differ: {a.emulator or 'none said'}; {b.emulator or 'none said'}")
    if other := [name for name in a.built if b.built.get(name, a.built[name]) != a.built[name]]:
        found.append(f"not the same bytes, by other sources or compilers: {', '.join(other)}")
    boards: dict[tuple[str, str], list[str]] = {}
    for name in b.values:
        if name in a.values:
            pair = describe_board(a.values[name]), describe_board(b.values[name])
            if pair[0] != pair[1]:
                boards.setdefault(pair, []).append(name)
    for pair, names in boards.items():
        on_a, on_b = (each or "none said" for each in pair)
        found.append(f"boards differ for {', '.join(names)}: {on_a}; {on_b}")
    return found


def summary(differences: list[Difference], limit: float) -> str:
    """How the comparison came out, in a sentence."""
    both = [each for each in differences if each.percent is not None]
    apart = sum(not each.agrees(limit) for each in differences)
    worst = max(both, key=lambda each: abs(each.percent or 0), default=None)
    text = f"{len(differences)} figures, {apart} not within {limit:g} %"
    if by_chance := sum(each.verdict(limit) == NOISE for each in differences):
        text += f", {by_chance} by chance"
    return text if worst is None else f"{text}; most: {worst.name}, {worst.percent:+.3f} %"
