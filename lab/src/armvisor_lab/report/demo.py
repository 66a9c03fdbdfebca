# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The page of `lab demo`: what booted and where its time went, then the figures that are shipped.

The figures are those of docs/bench.json, measured elsewhere: their revision and date are above
them. Empty parts are left out.
"""

from armvisor_lab import timetable
from armvisor_lab.records import Record
from armvisor_lab.report import build, trim
from armvisor_lab.report.model import (
    Bars,
    Cell,
    Chart,
    Head,
    Layers,
    Mark,
    Report,
    Section,
    Series,
    Table,
    Whole,
    number,
)
from armvisor_lab.report.pool import describe_board
from armvisor_lab.report.sections import bars

GROUP = "this run"
# A smaller part of the whole is not visible.
_LEAST = 0.005
# Characters of a line in a narrow drawing.
_ROOM = 54
_TONES = ("armvisor", "kvm", "native", "emulator", "other", "p0", "p1", "p2", "p3")

# The classes of exits, explained for readers who do not know the ARMvisor paper.
CLASSES = {
    "sen_inst_trap": "an instruction that only EL1 may execute",
    "irq": "an interrupt or signal for the host",
    "fast_trap": "an instruction that the switching code does by itself",
    "dat_trans": "data that is not in the shadow tables yet",
    "protection": "a write to a page that the shadow tables have read-only",
    "mmio": "an access to a device",
    "dabt_true": "a data abort that the guest's own tables cause",
    "pabt_kvm": "code that is not in the shadow tables yet",
    "pabt_true": "an instruction abort that the guest's own tables cause",
    "mem_pv": "a change of the guest's memory that it asks for",
    "guest_exc": "a system call, or another exception of the guest's own",
    "hypercall": "a call to the hypervisor",
    "suspend": "a wait for an interrupt",
    "other_trap": "all others",
}


def report(record: Record, shipped: Record | None) -> Report:
    """The report of a run, with a record of figures if there is one."""
    first = (_what_booted(record), _where_the_time_went(record))
    figures: tuple[Section, ...] = ()
    then: tuple[str, ...] = ()
    works: dict[str, str] = {}
    if shipped:
        full = build.report([shipped])
        figures = trim.sections(full.sections)
        groups = {section.group for section in figures}
        works = {name: source for name, source in full.works.items() if name in groups}
        then = (
            "Figures",
            f"From the record that the repository ships, `docs/bench.json`: revision "
            f"{shipped.label}, {_when(shipped)}. This run did not measure them; `make bench` "
            "measures them on your machine and says how far yours are from these.",
            *full.lead[1:],
        )
    lead = ("What `make demo` ran: a virtual machine on an emulated Arm machine.",)
    return Report("armvisor: a Debian VM", lead, (*first, *figures), works, len(first), then)


def _when(record: Record) -> str:
    """A record's time, as people write it."""
    return record.time.replace("T", " ", 1).replace("+00:00", " UTC")


def _what_booted(record: Record) -> Section:
    board = record.board.board if record.board else {}
    el2 = bool(board.get("el2"))
    with_el2 = f"{'with' if el2 else 'without'} EL2"
    system = record.guest.system if record.guest else ""
    short = system if len(system) <= _ROOM else f"{system[: _ROOM - 1]}…"
    host = " ".join(str(board.get(key, "")) for key in ("kernel_role", "kernel_version"))
    layers = Layers(
        "What ran on what",
        (
            (Series("Debian guest", "armvisor"), short),
            (Series("armvisor", "other"), "the VMM"),
            (Series("KVM", "kvm"), "of the host's kernel, which has EL2")
            if el2
            else (Series("armvisor.ko", "kvm"), "KVM's API, without EL2"),
            (Series("Linux host", "native"), f"Debian {host}"),
            (
                Series(f"Emulated {board.get('cpu', 'Arm machine')}", "emulator"),
                f"QEMU, {with_el2}",
            ),
        ),
    )
    rows = (
        ("guest", system),
        ("board", describe_board(record.board) if record.board else ""),
        ("emulator", record.emulator),
        ("time", _when(record)),
        ("revision", record.label),
    )
    table = Table((Head("", left=True), Head("", left=True)),
                  tuple((Cell(name), Cell(value)) for name, value in rows if value))  # fmt: skip
    return Section("booted", "What booted", GROUP, "", charts=(layers, *_boot(record)),
                   tables=(table,))  # fmt: skip


def _boot(record: Record) -> list[Bars]:
    """The guest's boot by its own clock, if it told that."""
    guest = record.guest
    if not guest or guest.init is None or guest.off is None or not 0 < guest.init < guest.off:
        return []
    parts = (("kernel, until it runs /init", guest.init),
             ("programs, until power-off", guest.off - guest.init))  # fmt: skip
    rows = [(name, (Mark(0, value, f"{value:.2f} s"),)) for name, value in parts]
    return bars("The guest's boot, by its own clock", "seconds", [Series("boot", "armvisor")], rows)


def _where_the_time_went(record: Record) -> Section:
    start, *rest = record.groups
    within = rest[-1]
    charts: list[Chart] = [
        *_share(within, start.seconds or 0),
        *_means(within),
        *_counts([within, *rest[:-1]]),
    ]
    tables = [_table(group) for group in (within, *rest[:-1])]
    return Section(
        "time", "Where the time went", GROUP,
        f"From start to power-off {start.seconds:.2f} s of the emulated machine's clock.",
        notes=("Classes of exits are those of the ARMvisor paper's Table 7; a fast trap's time is "
               "within the guest's.",),
        charts=tuple(charts), tables=tuple(table for table in tables if table.rows),
        commands=(record.command,),
    )  # fmt: skip


def _share(group: timetable.Group, wall: float) -> list[Whole]:
    """Who had which part of the time."""
    parts = [(line.label, line.seconds) for line in group.lines
             if line.seconds and line.share >= _LEAST]  # fmt: skip
    if not parts or wall <= 0:
        return []
    rest = wall - sum(seconds for _, seconds in parts)
    if rest >= _LEAST * wall:
        parts.append(("all others, and the VMM", rest))
    some = list(zip(parts, _TONES, strict=False))
    series = tuple(
        Series(f"{name}: {seconds:.2f} s, {seconds / wall:.0%}", tone)
        for (name, seconds), tone in some
    )
    values = tuple(seconds for (_, seconds), _ in some)
    return [Whole("Who had the CPU", "from start to power-off", series, values)]


def _means(group: timetable.Group) -> list[Bars]:
    """How long an exit of each class took."""
    means = [(line.label, line.seconds / line.count * 1e6) for line in group.lines
             if line.seconds and line.count]  # fmt: skip
    rows = [(name, (Mark(0, mean, f"{number(mean)} µs"),)) for name, mean in means]
    return bars("How long an exit took", "microseconds, mean", [Series("mean", "kvm")], rows)


def _counts(groups: list[timetable.Group]) -> list[Bars]:
    found = []
    for group in groups:
        rows = [(line.label, (Mark(0, line.count, number(line.count)),))
                for line in group.lines if line.count]  # fmt: skip
        title = f"How many: {group.title}"
        found += bars(title, "exits", [Series("exits", "other")], rows, log=True)
    return found


def _table(group: timetable.Group) -> Table:
    """A group's lines: what they are, how many, and their time, as far as there is any of it."""
    heads = (Head(group.title, left=True), Head("what it is", left=True), Head("count"),
             Head("ms"), Head("share"))  # fmt: skip
    rows = tuple(
        (
            Cell(line.label),
            Cell(CLASSES.get(line.label, "")),
            Cell("" if line.count is None else number(line.count), line.count),
            Cell("" if line.seconds is None else number(line.seconds * 1e3), line.seconds),
            Cell("" if line.seconds is None else _percent(line.share), line.share),
        )
        for line in group.lines
    )
    return trim.table(Table(heads, rows)) or Table(heads, ())


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= _LEAST else "< 1%"
