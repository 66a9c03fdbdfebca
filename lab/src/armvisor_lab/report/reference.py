# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A run's figures next to those of the checkout: docs/bench.json, of `make bench` elsewhere.

Boards that count repeat on any machine, so figures of the same sources, kernels and emulator agree.
A larger difference is printed with the other inputs that differ, and is no failure: a change may be
meant to move figures, and Debian's archive changes.
"""

from collections.abc import Sequence
from pathlib import Path

from armvisor_lab import paths, records
from armvisor_lab.report import compare

# Number of differences to print; `lab compare` has all.
_MOST = 12


def file() -> Path:
    """Where the checkout's record is."""
    return paths.checkout() / "docs/bench.json"


def differences(reference: records.Record, measured: records.Record) -> list[compare.Difference]:
    """Of the figures that both have."""
    return [each for each in compare.compare(reference.values, measured.values)
            if each.a is not None and each.b is not None]  # fmt: skip


def beside(record: Path) -> Sequence[str]:
    """How far a run's record is from the checkout's, in sentences; none where there is none."""
    if not file().exists() or not record.exists():
        return []
    reference, measured = records.read(file()), records.read(record)
    found = differences(reference, measured)
    if not found:
        return []
    limit = compare.LIMIT
    apart = sorted((each for each in found if not each.agrees(limit)),
                   key=lambda each: -abs(each.percent or 0))  # fmt: skip
    lines = [f"apart: {each.line(limit)}" for each in apart[:_MOST]]
    if len(apart) > _MOST:
        lines.append(f"apart: {len(apart) - _MOST} more, which "
                     f"`bin/lab compare {file()} {record}` has")  # fmt: skip
    return [
        *lines,
        *compare.elsewhere(reference, measured),
        f"beside docs/bench.json, of revision {reference.label}: {compare.summary(found, limit)}",
    ]
