# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`traps.ROW.*`: how often an operation of `lat` leaves the guest's code, by the VM's statistics.

A guest does the operations of a row some thousand times, another one those of a row that leaves
for nothing. What one has more than the other, boot and all, is of the operations. The record has
them by statistic: the module's classes of exits and kinds of fast traps, KVM's exits.
"""

import json
from collections.abc import Mapping, Sequence

from armvisor_lab.cli_board import describe
from armvisor_lab.errors import LabError
from armvisor_lab.figures import Measurement, Outcome, Progress, cheap, lat, vms
from armvisor_lab.results import count

_TIMES = 3
_ROUNDS = 7  # of lat, and one operation before them
BASE = "arithmetic"  # traps for the timer alone
_VARIANTS = ("kvm", "armvisor")

Counts = Mapping[str, int]


def _reports(text: str) -> list[Counts]:
    """What is counted of each guest, by the reports that the VMM printed."""
    lines = [line for line in text.splitlines() if line.startswith('{"end"')]
    return [json.loads(line)["kvm_exits"] for line in lines]


def per_operation(of: Counts, base: Counts, operations: float) -> dict[str, float]:
    """What an operation has of each statistic; what comes to nothing is left out."""
    found = {
        name: (value - base.get(name, 0)) / operations
        for name, value in of.items()
        if isinstance(value, int)
    }
    return {name: value for name, value in found.items() if value}


def total(counts: Mapping[str, float], regime: str) -> float:
    """All ways to leave the guest's code, but for the host's interrupts under armvisor."""
    if regime == "armvisor":
        return sum(counts.get(name, 0) for name in cheap.CLASSES)
    return counts.get("total", 0)


def _appends(rows: Sequence[str]) -> list[str]:
    tests = ",".join(["lat"] * _TIMES)
    return [f"armvisor.test={tests} armvisor.rows={row}" for row in rows]


def _measurement(variant: vms.Variant) -> Measurement:
    rows = [row for row in lat.ROWS if row != BASE]
    figures = tuple(f"traps.{row}.{variant.name}" for row in rows)

    def run(progress: Progress) -> Outcome:
        every = [BASE, *rows]
        board, result, packages = vms.run(vms.with_report(variant), _appends(every), progress)
        reports = _reports(result.text)
        if len(reports) != len(every):
            raise LabError(f"{len(reports)} of {len(every)} guests left a report")
        traps = {}
        for row, figure, report in zip(rows, figures, reports[1:], strict=True):
            loops = count(result.text, f"lat.{row}.loops")
            operations = (loops * _ROUNDS + 1) * _TIMES
            traps[figure] = per_operation(report, reports[0], operations)
        values = {figure: total(each, variant.regime) for figure, each in traps.items()}
        return Outcome(values, describe(board, result.kernel), packages, traps=traps)

    what = f"how often an operation of lat leaves the guest: {variant.what}"
    return Measurement(figures, what, run, unit="times", slow=True)


def measurements() -> list[Measurement]:
    """This family's measurements."""
    return [_measurement(each) for each in vms.VARIANTS if each.name in _VARIANTS]


def on(variant: vms.Variant) -> list[Measurement]:
    """How often an operation leaves a guest there; Debian's QEMU leaves no report of that."""
    return [] if variant.name.startswith("qemu") else [_measurement(variant)]
