# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`traps.ROW.*`: exits from the guest's code per operation of `lat`, by the VM's statistics.

A guest does the operations of a row some thousand times, and another one prepares the row in the
same way and does a single one. The difference, boot included, belongs to the operations: their
preparation, such as a buffer's first touch, is in both. The record has them by statistic: the
module's classes of exits and kinds of fast traps, KVM's exits.

A guest does one row; `lat` does all of them in one process, which matters to rows of many
processes: where that process has forked before, its ASID differs from its children's, and they do
not all find room among the pairs of TTBRs that the window knows. So before these rows a guest does
another one, whose traps are subtracted.
"""

from collections.abc import Mapping, Sequence

from armvisor_lab.boards.board import describe
from armvisor_lab.boards.results import count
from armvisor_lab.errors import LabError
from armvisor_lab.figures import Measurement, Outcome, Progress, cheap, lat, vms

# For `lat`: many, because a boot has some thousand traps more or less than another.
_ROUNDS = 40
# Two guests for each row.
_SECONDS = 24
NONE = "arithmetic"  # has no traps except the timer's
_VARIANTS = ("kvm", "armvisor")
_MANY = ("ctx-16p-16k", "ctx-16p-64k")
_BEFORE = "pipe"

Counts = Mapping[str, int]


def per_operation(of: Counts, base: Counts, operations: float) -> dict[str, float]:
    """Counts per operation by statistic, of `of` less `base`; those that are 0 are left out."""
    found = {
        name: (value - base.get(name, 0)) / operations
        for name, value in of.items()
        if isinstance(value, int)
    }
    return {name: value for name, value in found.items() if value}


def total(counts: Mapping[str, float], regime: str) -> float:
    """Exits from the guest's code; under armvisor without the host's interrupts."""
    if regime == "armvisor":
        return sum(counts.get(name, 0) for name in cheap.CLASSES)
    return counts.get("total", 0)


def _guests(row: str) -> list[str]:
    """What a row's guests do: two for each word, who prepare it, and who do it."""
    return [_BEFORE, f"{_BEFORE},{row}"] if row in _MANY else [row]


def _appends(rows: Sequence[str]) -> list[str]:
    """Of each row the guest that prepares it, then the one that does it."""
    return [
        f"armvisor.test=lat armvisor.rows={guest} armvisor.rounds={rounds}"
        for row in rows
        for guest in _guests(row)
        for rounds in (0, _ROUNDS)
    ]


def _of(row: str, reports: Sequence[Counts], text: str) -> dict[str, float]:
    """An operation's, by the reports of a row's guests."""
    prepared, done = reports[-2:]
    if len(reports) > 2:
        # The guest that prepares the row lacks part of the row before: add the traps of that part.
        prepared = {
            name: prepared.get(name, 0) + reports[1].get(name, 0) - reports[0].get(name, 0)
            for name, value in done.items()
            if isinstance(value, int)
        }
    return per_operation(done, prepared, count(text, f"lat.{row}.loops") * _ROUNDS)


def _by_row(rows: Sequence[str], reports: Sequence[Counts]) -> list[Sequence[Counts]]:
    """The reports of each row's guests."""
    found, at = [], 0
    for row in rows:
        end = at + 2 * len(_guests(row))
        found.append(reports[at:end])
        at = end
    return found


def _measurement(variant: vms.Variant, rows: Sequence[str]) -> Measurement:
    figures = tuple(f"traps.{row}.{variant.name}" for row in rows)

    def run(progress: Progress) -> Outcome:
        appends = _appends(rows)
        board, result, packages = vms.run(vms.with_report(variant), appends, progress)
        reports = vms.reports(result.text)
        if len(reports) != len(appends):
            raise LabError(f"{len(reports)} of {len(appends)} guests left a report")
        traps = {
            figure: _of(row, each, result.text)
            for row, figure, each in zip(rows, figures, _by_row(rows, reports), strict=True)
        }
        values = {figure: total(each, variant.regime) for figure, each in traps.items()}
        return Outcome(values, describe(board, result.kernel), packages, traps=traps)

    def part(names: Sequence[str]) -> Measurement:
        return _measurement(variant, [name.split(".")[1] for name in names])

    what = f"how often an operation of lat leaves the guest: {variant.what}"
    seconds = _SECONDS * sum(len(_guests(row)) for row in rows)
    return Measurement(figures, what, run, unit="times", slow=True, part=part, seconds=seconds)


def _every(variant: vms.Variant) -> Measurement:
    return _measurement(variant, [row for row in lat.ROWS if row != NONE])


def measurements() -> list[Measurement]:
    """This family's measurements."""
    return [_every(each) for each in vms.VARIANTS if each.name in _VARIANTS]


def on(variant: vms.Variant) -> list[Measurement]:
    """How often an operation leaves a guest there; Debian's QEMU leaves no report of that."""
    return [] if variant.name.startswith("qemu") else [_every(variant)]
