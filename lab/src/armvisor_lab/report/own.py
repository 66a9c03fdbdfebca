# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A report's sections without published counterparts: latencies, where time went, all figures."""

import math
from collections.abc import Sequence

from armvisor_lab import timetable
from armvisor_lab.figures.lat import ROWS
from armvisor_lab.records import Record
from armvisor_lab.report import model
from armvisor_lab.report.model import (
    IN_PART,
    MEASURED,
    NOT_YET,
    NOTHING,
    Bars,
    Cell,
    Head,
    Mark,
    Section,
    Series,
    Table,
    number,
)
from armvisor_lab.report.pool import Pool, Use, describe_board
from armvisor_lab.report.sections import bars

GROUP = "armvisor"

# The operation of each row of `lat`; a row that is missing here has its own name.
OPERATIONS = {
    "null": "null system call (getppid)",
    "read": "read 1 byte of /dev/zero",
    "write": "write 1 byte to /dev/null",
    "open-close": "open and close",
    "stat": "stat of a file",
    "select-10": "select on 10 descriptors",
    "select-100": "select on 100 descriptors",
    "signal-install": "install a signal handler",
    "signal-catch": "catch a signal",
    "arithmetic": "arithmetic loop, per iteration",
    "pipe": "pipe round trip, two processes",
    "unix-socket": "Unix socket round trip",
    "fork-exit": "fork + exit + wait",
    "fork-exec": "fork + exec + wait",
    "fork-sh": "fork + sh -c + wait",
    "ctx-2p-0k": "pass a token on, 2 processes",
    "ctx-2p-16k": "the same, each reads 16 KiB",
    "ctx-2p-64k": "the same, each reads 64 KiB",
    "ctx-8p-16k": "pass a token on, 8 processes, 16 KiB",
    "ctx-8p-64k": "the same, 64 KiB",
    "ctx-16p-16k": "pass a token on, 16 processes, 16 KiB",
    "ctx-16p-64k": "the same, 64 KiB",
    "tcp": "TCP round trip, two processes",
    "udp": "UDP round trip, two processes",
    "map-touch-unmap": "map, touch 64 pages, unmap",
    "protection-fault": "write to a protected page, handler unprotects",
    "page-fault": "read a page of a mapped file, per page",
    "mmap": "map 1 MiB of a file, write every fourth page, unmap",
    "memory-read": "read 1 MiB",
    "memory-write": "write 1 MiB",
    "memory-copy": "copy 1 MiB",
    "memory-latency": "load that needs the one before, of 8 MiB",
}

_WHO = (("native", "native"), ("KVM", "kvm"), ("armvisor", "armvisor"), ("emulator", "qemu-tcg"))
_TONES = {"native": "native", "kvm": "kvm", "armvisor": "armvisor", "qemu-tcg": "emulator"}


def latencies(pool: Pool) -> Section:
    """The table of latencies, with ratios to native, and their geometric means."""
    use = Use(pool)
    others = _WHO[1:]
    rows, dots = [], []
    ratios: list[list[float]] = [[] for _ in others]
    for row in ROWS:
        values = [use.get(f"lat.{row}.{variant}") for _, variant in _WHO]
        native = values[0].value if values[0] else 0
        cells = [Cell(NOTHING) if v is None else Cell(number(v.value), v.value) for v in values]
        marks = []
        for i, value in enumerate(values[1:]):
            if value is None or native <= 0:
                cells.append(Cell(NOTHING))
                continue
            times = value.value / native
            ratios[i].append(times)
            cells.append(Cell(model.ratio(times), times))
            marks.append(Mark(i, times, model.ratio(times)))
        rows.append((Cell(OPERATIONS.get(row, row)), *cells))
        dots.append((OPERATIONS.get(row, row), tuple(m for m in marks if m.value > 0)))
    if any(ratios):
        means = [mean(each) for each in ratios]
        blank = [Cell("")] * len(_WHO)
        rows.append((Cell("all, geometric mean"), *blank, *means))
    heads = [Head("", left=True), *(Head(name, "instructions") for name, _ in _WHO)]
    heads += [Head(name, "÷ native") for name, _ in others]
    series = [Series(name, _TONES[variant]) for name, variant in others]
    missing = [name for name, v in _WHO if not any(f"lat.{r}.{v}" in use.found for r in ROWS)]
    there = [name for name, _ in _WHO if name not in missing or not use.found]
    lead = "System calls, signals, processes and memory in a Debian guest of one CPU, each "
    lead += "repeated and the best taken."
    if "emulator" in there:
        lead += " The emulator is Debian's QEMU on the board without EL2."
    return Section(
        id="latencies",
        title=f"Latencies: {', '.join(there)}",
        group=GROUP,
        lead=lead,
        state=state(use),
        missing=not_yet(missing, use),
        charts=tuple(bars("Times native", "times native", series, dots, log=True)),
        tables=(Table(tuple(heads), tuple(rows)),),
        commands=use.commands(),
        provenance=use.provenance(),
    )


def state(use: Use) -> str:
    """Whether the figures of a section were measured."""
    return (IN_PART if use.missing else MEASURED) if use.found else NOT_YET


def not_yet(names: Sequence[str], use: Use) -> tuple[str, ...]:
    """Sentences about columns that were not measured, and what would measure them."""
    if not names:
        return ()
    remedy = "` and `".join(use.remedy())
    more = (f"What the lab can measure of it: `{remedy}`.",) if remedy else ()
    return (f"Not measured yet: {'; '.join(names)}.", *more)


def mean(ratios: Sequence[float]) -> Cell:
    """The geometric mean of ratios."""
    if not ratios or min(ratios) <= 0:
        return Cell(NOTHING)
    times = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return Cell(model.ratio(times), times)


def _group_table(group: timetable.Group) -> Table:
    heads: tuple[Head, ...] = (
        Head(group.title, left=True), Head("count"), Head("seconds"), Head("share"),
    )  # fmt: skip
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            Cell(line.label),
            Cell("" if line.count is None else number(line.count), line.count),
            Cell("" if line.seconds is None else f"{line.seconds:.2f}", line.seconds),
            Cell("" if line.seconds is None else f"{line.share:.0%}", line.share),
        )
        for line in group.lines
    )
    if not group.counted:
        heads, rows = (heads[0], *heads[2:]), tuple((row[0], *row[2:]) for row in rows)
    elif all(line.seconds is None for line in group.lines):
        heads, rows = heads[:2], tuple(row[:2] for row in rows)
    return Table(heads, rows)


def _group_chart(group: timetable.Group) -> list[Bars]:
    """Seconds where there are any, else counts."""
    timed = [line for line in group.lines if line.seconds]
    if timed:
        rows = [
            (line.label, (Mark(0, line.seconds, f"{line.seconds:.2f} s, {line.share:.0%}"),))
            for line in timed
            if line.seconds
        ]
        return bars(group.title, "seconds", [Series("time", "armvisor")], rows)
    rows = [
        (line.label, (Mark(0, line.count, number(line.count)),))
        for line in group.lines
        if line.count
    ]
    return bars(group.title, "count", [Series("count", "kvm")], rows)


def where_the_time_went(pool: Pool) -> Section:
    """Classes of exits of one VM and their time; of the newest record that has a VM's report."""
    record = next((each for each in reversed(pool.records) if each.groups), None)
    title = "Where the time went"
    lead = "A Debian guest from start to power-off on the emulated board, in seconds of its clock."
    if record is None:
        missing = ("Not measured yet: no record has a VM's report.",
                   "What the lab can measure of it: `make demo`.")  # fmt: skip
        return Section("time", title, GROUP, lead, NOT_YET, missing=missing)
    start, *rest = record.groups
    board = describe_board(record.board) if record.board else ""
    return Section(
        id="time",
        title=title,
        group=GROUP,
        lead=lead,
        state=MEASURED,
        notes=(f"Start to end: {start.seconds:.2f} s. Classes are those of the ARMvisor paper's "
               "Table 7; a fast trap's time is within the guest's.",),
        charts=tuple(chart for group in (start, *reversed(rest)) for chart in _group_chart(group)),
        tables=tuple(_group_table(group) for group in (start, *reversed(rest)) if group.lines),
        commands=(record.command,),
        provenance=(_origin(record), *([f"board: {board}"] if board else [])),
    )  # fmt: skip


def _origin(record: Record) -> str:
    changes = " with local changes" if record.modified else ""
    return f"revision {record.label}{changes}, {record.time}, {record.file}"


_REACH = (("walks", "walks"), ("walk_references", "loads"), ("cycles_least", "cycles, least"),
          ("cycles_most", "cycles, most"))  # fmt: skip


def reach(pool: Pool) -> Section:
    """Page walks, by a model of a core's TLBs: what `lab reach` modelled."""
    use = Use(pool)
    runs: dict[tuple[str, str], list[str]] = {}
    for name in pool.names():
        words = name.split(".")
        if words[0] == "reach" and len(words) == 6:
            _, row, setup, pages, core, _key = words
            where = f"{setup}, {pages.replace('-', ' ')}"
            runs.setdefault((f"{row.rpartition('-')[0]} MiB on {core}", where), []).append(name)
    lead = (
        "Page walks natively, on KVM's two stages and on armvisor's one, modelled: accesses are "
        "counted, TLBs are a model's (docs/reach.md)."
    )
    title = "TLB reach"
    if not runs:
        missing = ("Not measured yet: no record has runs of it.",
                   "What the lab can measure of it: `bin/lab reach`.")  # fmt: skip
        return Section("reach", title, GROUP, lead, NOT_YET, missing=missing)
    tables, charts = [], []
    for workload in dict.fromkeys(work for work, _ in runs):
        rows, marks = [], []
        for (work, where), names in runs.items():
            if work != workload:
                continue
            start = names[0].rpartition(".")[0]
            values = [use.get(f"{start}.{key}") for key, _ in _REACH]
            cells = [Cell(NOTHING) if v is None else Cell(number(v.value), v.value) for v in values]
            rows.append((Cell(where), *cells))
            if (most := values[-1]) and (least := values[-2]):
                text = f"{number(least.value / 1e6)} to {number(most.value / 1e6)} M"
                marks.append((where, (Mark(0, most.value / 1e6, text, least.value / 1e6),)))
        heads = (Head(workload, left=True), *(Head(title) for _, title in _REACH))
        tables.append(Table(heads, tuple(rows), folded=True))
        charts += bars(
            workload, "millions of cycles, least to most", [Series("cycles", "kvm")], marks
        )
    return Section("reach", title, GROUP, lead, MEASURED, charts=tuple(charts),
                   tables=tuple(tables), commands=use.commands(),
                   provenance=use.provenance())  # fmt: skip


def every(pool: Pool) -> Section:
    """All figures by family, and which record and board each is from."""
    families: dict[str, list[str]] = {}
    for name in pool.names():
        families.setdefault(name.partition(".")[0], []).append(name)
    heads = (Head("figure", left=True), Head("value"), Head("unit", left=True),
             Head("revision", left=True), Head("of", left=True))  # fmt: skip
    tables = []
    for family, names in families.items():
        rows = []
        for name in names:
            if at := pool.find(name):
                value, record = at
                rows.append((Cell(name), Cell(number(value.value), value.value), Cell(value.unit),
                             Cell(record.label), Cell(value.what)))  # fmt: skip
        tables.append(Table(heads, tuple(rows), f"{family} ({len(rows)})", folded=True))
    return Section(
        "figures", "All figures", GROUP,
        "Every value of the records, the newest of each name.",
        "" if tables else NOT_YET,
        missing=() if tables else ("Not measured yet: no record has figures.",),
        tables=tuple(tables),
    )  # fmt: skip


def origin(pool: Pool) -> Section:
    """The records, and what could not be measured."""
    heads = (Head("record", left=True), Head("by", left=True), Head("revision", left=True),
             Head("time", left=True), Head("values"))  # fmt: skip
    rows = tuple(
        (Cell(r.file), Cell(r.command),
         Cell((r.revision or NOTHING) + (" with local changes" if r.modified else "")),
         Cell(r.time or NOTHING), Cell(number(len(r.values)), len(r.values)))
        for r in pool.records
    )  # fmt: skip
    boards = {describe_board(v): None for r in pool.records for v in r.values.values()}
    boards |= {describe_board(r.board): None for r in pool.records if r.board}
    listed = tuple((Cell(board),) for board in boards if board)
    tables = [Table(heads, rows)]
    if listed:
        tables.append(Table((Head("boards", left=True),), listed))
    emulators = {r.emulator: None for r in pool.records if r.emulator}
    if emulators:
        shown = tuple((Cell(each),) for each in emulators)
        tables.append(Table((Head("emulators of the boards", left=True),), shown))
    return Section(
        "records", "Records, boards and kernels", GROUP,
        "What this report is made from. A board counts: one instruction is one virtual "
        "nanosecond of its clock.",
        missing=tuple(f"{r.file}: not measured: {f}" for r in pool.records for f in r.failures),
        tables=tuple(tables),
    )  # fmt: skip
