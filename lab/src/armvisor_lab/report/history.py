# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The history of figures over revisions: the figures that several records share, in order."""

import math
from collections.abc import Sequence

from armvisor_lab.records import Record
from armvisor_lab.report.model import (
    MEASURED,
    NOT_YET,
    NOTHING,
    Cell,
    Head,
    Lines,
    Section,
    Series,
    Table,
    number,
)
from armvisor_lab.report.own import GROUP
from armvisor_lab.report.pool import Pool

# The families that the chart shows over time, for the module with all its parts.
_COURSES = (
    ("lat (geometric mean)", "lat.*", "armvisor"),
    ("hypercall", "hypercall", "kvm"),
    ("mmio_user", "mmio_user", "emulator"),
    ("ipi", "ipi", "other"),
    ("boot", "boot", "native"),
)
# A figure's variants that are no switch, no other core and no other kernel.
_MAIN = ("native", "kvm", "kvm-vhe", "kvm-nvhe", "xen", "armvisor", "qemu-kvm", "qemu-tcg")


def _mean(values: Sequence[float]) -> float | None:
    if not values or min(values) <= 0:
        return None
    return math.exp(sum(map(math.log, values)) / len(values))


def _course(family: str, records: Sequence[Record]) -> tuple[float | None, ...]:
    """A family's mean in each record, of the rows that all have, in percent of the first one."""
    start = family.partition("*")[0]
    sets = [
        {n for n in r.values if n.startswith(start) and n.endswith(".armvisor")}
        & {n for n in r.values if "*" in family or n == f"{family}.armvisor"}
        for r in records
    ]
    common = sorted(set.intersection(*([each for each in sets if each] or [set()])))
    means = [_mean([r.values[n].value for n in common if n in r.values]) for r in records]
    first = next((mean for mean in means if mean), None)
    return tuple(mean / first * 100 if mean and first else None for mean in means)


def _row(name: str, records: Sequence[Record]) -> tuple[Cell, ...]:
    found = [r.values.get(name) for r in records]
    some = [value.value for value in found if value is not None]
    change = (some[-1] / some[0] - 1) * 100 if some[0] else None
    cells = [Cell(NOTHING) if v is None else Cell(number(v.value), v.value) for v in found]
    text = NOTHING if change is None else f"{change:+.2f} %"
    return Cell(name), Cell("", trend=tuple(some)), *cells, Cell(text, change)


def _table(title: str, names: Sequence[str], records: Sequence[Record], folded: bool) -> Table:
    heads = [Head("figure", left=True), Head("course", left=True)]
    heads += [Head(record.label, "revision") for record in records]
    heads.append(Head("last against first"))
    return Table(tuple(heads), tuple(_row(name, records) for name in names), title, folded)


def section(pool: Pool) -> Section:
    """Figures that at least two records have."""
    records = [record for record in pool.records if record.kind == "figures"]
    title, lead = "History", "The same figure in each record, in the order of their times."
    times: dict[str, int] = {}
    for record in records:
        for name in record.values:
            times[name] = times.get(name, 0) + 1
    common = [name for name, count in times.items() if count > 1]
    if not common:
        why = "Not measured yet: a history takes two records that have figures in common."
        return Section("history", title, GROUP, lead, NOT_YET, missing=(why,))
    main = [name for name in common if name.rpartition(".")[2] in _MAIN]
    rest = [name for name in common if name not in main]
    tables = [_table(f"{len(main)} figures", main, records, False)] if main else []
    if rest:
        what = "with a way to make traps cheap off, on another core or kernel"
        tables.append(_table(f"{len(rest)} figures {what}", rest, records, True))
    courses = [(name, _course(family, records), tone) for name, family, tone in _COURSES]
    courses = [each for each in courses if sum(value is not None for value in each[1]) > 1]
    charts = []
    if courses:
        charts.append(
            Lines(
                "armvisor over revisions", "% of the first record",
                tuple(Series(name, tone) for name, _, tone in courses),
                tuple(record.label for record in records),
                tuple(values for _, values, _ in courses),
            )
        )  # fmt: skip
    return Section("history", title, GROUP, lead, MEASURED, charts=tuple(charts),
                   tables=tuple(tables))  # fmt: skip
