# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The report's section of applications: Debian's own programs in all kinds of VMs."""

from armvisor_lab.figures.apps import ROWS, VARIANTS
from armvisor_lab.report import model
from armvisor_lab.report.model import (
    IN_PART,
    MEASURED,
    NOT_YET,
    NOTHING,
    Cell,
    Head,
    Mark,
    Section,
    Series,
    Table,
    number,
)
from armvisor_lab.report.own import GROUP
from armvisor_lab.report.pool import Pool, Use
from armvisor_lab.report.sections import bars

# The unit of work of each row.
UNITS = {
    "hackbench": "hackbench, a message",
    "netperf-rr": "netperf TCP_RR, a turn",
    "netperf-stream": "netperf TCP_STREAM, a byte",
    "netperf-maerts": "netperf TCP_MAERTS, a byte",
    "iperf3-send": "iperf3, a byte sent",
    "iperf3-receive": "iperf3, a byte received",
    "nginx": "nginx, a request",
    "memcached-set": "memcached, a set",
    "memcached-get": "memcached, a get",
    "redis-set": "redis, a set",
    "redis-get": "redis, a get",
    "fio-randread": "fio, a read of 4 KiB",
    "fio-randwrite": "fio, a write of 4 KiB",
    "fio-read": "fio, a byte read",
    "fio-write": "fio, a byte written",
    "sqlite": "SQLite, a transaction",
    "kernbench": "six objects of the kernel",
}

# A protected VM, and the plain one to compare it with.
_PAIRS = (
    ("kvm-pvm", "kvm-protected", "KVM protected, pVM", "kvm"),
    ("kvm-pvm-opt", "kvm-protected", "KVM protected, pVM, split-cache", "other"),
    ("armvisor-pvm", "armvisor", "armvisor, pVM", "armvisor"),
    ("armvisor-pvm-opt", "armvisor", "armvisor, pVM, split-cache", "native"),
)


def section(pool: Pool) -> Section:
    """All values, and what a protected VM takes of what a plain one does."""
    use = Use(pool)
    values = {
        (row, variant): use.get(f"app.{row}.{variant}")
        for row in ROWS
        for variant in VARIANTS
        if pool.can_measure(f"app.{row}.{variant}")
    }
    rows, dots = [], []
    for row in ROWS:
        found = [values.get((row, variant)) for variant in VARIANTS]
        cells = [Cell(NOTHING) if v is None else Cell(number(v.value), v.value) for v in found]
        marks = []
        for i, (ours, plain, _, _) in enumerate(_PAIRS):
            a, b = values.get((row, ours)), values.get((row, plain))
            if a is None or b is None or b.value <= 0:
                cells.append(Cell(NOTHING))
                continue
            times = a.value / b.value
            cells.append(Cell(model.ratio(times), times))
            marks.append(Mark(i, times, model.ratio(times)))
        rows.append((Cell(UNITS[row]), *cells))
        dots.append((UNITS[row], tuple(marks)))
    heads = [Head("", left=True), *(Head(name, "instructions") for name in VARIANTS)]
    heads += [Head(name, "÷ its plain VM") for _, _, name, _ in _PAIRS]
    missing = [v for v in VARIANTS if not any(f"app.{row}.{v}" in use.found for row in ROWS)]
    sentences: tuple[str, ...] = (f"Not measured yet: {'; '.join(missing)}.",) if missing else ()
    if missing and (remedy := use.remedy()):
        sentences += (f"What the lab can measure of it: `{'` and `'.join(remedy)}`.",)
    return Section(
        id="applications",
        title="Applications: plain and protected VMs",
        group=GROUP,
        lead="Debian's own programs in a Debian guest of one CPU: instructions of all who take "
        "part for a unit of work. The servers nginx, memcached and redis are in the guest and the "
        "board loads them; netperf's and iperf3's are on the board.",
        state=(IN_PART if use.missing else MEASURED) if use.found else NOT_YET,
        missing=sentences,
        charts=tuple(
            bars("Times its plain VM", "times", [Series(n, t) for _, _, n, t in _PAIRS], dots)
        ),
        tables=(Table(tuple(heads), tuple(rows)),),
        commands=use.commands(),
        provenance=use.provenance(),
    )
