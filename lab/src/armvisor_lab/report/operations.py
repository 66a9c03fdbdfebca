# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The report's section of the figures `ops.*`: how many there are, their mean, and the worst."""

from armvisor_lab.figures.ops import ROWS
from armvisor_lab.report import model
from armvisor_lab.report.model import NOTHING, Cell, Head, Section, Table, number
from armvisor_lab.report.own import GROUP, mean, not_yet, state
from armvisor_lab.report.pool import Pool, Use

_WHO = (("native", "native"), ("KVM", "kvm"), ("armvisor", "armvisor"))
_WORST = 10


def _cells(use: Use, row: str) -> tuple[tuple[Cell, ...], tuple[float | None, ...]]:
    """A row's cells, and how many times native KVM and armvisor are."""
    values = [use.get(f"ops.{row}.{variant}") for _, variant in _WHO]
    native = values[0].value if values[0] else 0
    cells = [Cell(NOTHING) if v is None else Cell(number(v.value), v.value) for v in values]
    times = tuple(v.value / native if v and native > 0 else None for v in values[1:])
    cells += [Cell(NOTHING) if t is None else Cell(model.ratio(t), t) for t in times]
    return tuple(cells), times


def section(pool: Pool) -> Section:
    """The worst of all operations on armvisor, and the geometric means of all."""
    use = Use(pool)
    every = [(row, *_cells(use, row)) for row in ROWS]
    counted = [each for each in every if each[2][1] is not None]
    worst = sorted(counted, key=lambda each: each[2][1] or 0, reverse=True)[:_WORST]
    rows = [(Cell(row), *cells) for row, cells, _ in worst]
    if counted:
        means = [mean([t[i] or 0 for *_, t in every if t[i] is not None]) for i in range(2)]
        rows.append((Cell("all, geometric mean"), *[Cell("")] * len(_WHO), *means))
    heads = [Head("", left=True), *(Head(name, "instructions") for name, _ in _WHO)]
    heads += [Head(name, "÷ native") for name, _ in _WHO[1:]]
    missing = [name for name, v in _WHO if not any(f"ops.{r}.{v}" in use.found for r in ROWS)]
    lead = f"Of {len(ROWS)} operations of a Debian guest that the latencies above leave out, the "
    lead += f"{_WORST} that are furthest from native on armvisor. docs/ops.md has all, and why."
    return Section(
        id="operations",
        title="Operations furthest from native",
        group=GROUP,
        lead=lead,
        state=state(use),
        missing=not_yet(missing, use),
        tables=(Table(tuple(heads), tuple(rows)),),
        commands=use.commands(),
        provenance=use.provenance(),
    )
