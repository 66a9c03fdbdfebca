# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Runs as text."""

from collections.abc import Sequence

from armvisor_lab.reach import plugin
from armvisor_lab.reach.cores import Core
from armvisor_lab.reach.plugin import Model
from armvisor_lab.reach.runs import Pages, Run

Rows = list[list[str]]

_HEAD = ["", "pages", "insns", "flushes", "lookups", "L1 misses", "walks", "loads", "cycles"]
_UNITS = ["", "", "M", "", "M", "/1000", "/1000", "a walk", "M, least - most"]


def aligned(rows: Rows, left: int) -> list[str]:
    """Columns, the first ones to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _amount(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.3f}"


def _row(run: Run, model: Model, core: Core) -> list[str]:
    section = run.section
    counts = section.total(model)
    own = model == run.model(core.name)
    lookups, walks, refs = sum(counts.lookups), sum(counts.walks), sum(counts.refs)
    low, high = plugin.cycles(core, counts, run.invalidations("va"))
    return [
        run.setup.name,
        run.pages if own else f"as if {model}",
        f"{section.instructions() / 1e6:.1f}",
        f"{run.invalidations('vmid')}",
        f"{lookups / 1e6:.2f}",
        _amount(sum(counts.l1_misses) * 1000 / lookups),
        _amount(walks * 1000 / lookups),
        f"{refs / walks:.2f}" if walks else "-",
        f"{_amount(low / 1e6)} - {_amount(high / 1e6)}",
    ]


def _others(run: Run, core: Core, as_if: Sequence[Pages]) -> list[Model]:
    """As if it had had other pages: of one run of each workload on the board itself."""
    if run.host or run.row.pages != "small":
        return []
    models = [Model(core.name, *pages) for pages in dict.fromkeys(as_if)]
    return [model for model in models if model != run.model(core.name)]


def walks(runs: Sequence[Run], cores: Sequence[Core], as_if: Sequence[Pages] = ()) -> str:
    """A block for each workload and core, a line for each run."""
    blocks = []
    for workload in dict.fromkeys(run.row.workload for run in runs):
        for core in cores:
            chosen = [
                _row(run, model, core)
                for run in runs
                if run.row.workload == workload
                for model in [run.model(core.name), *_others(run, core, as_if)]
            ]
            title = f"{workload} MiB on {core.name} (modelled)"
            blocks.append("\n".join([title, *aligned([_HEAD, _UNITS, *chosen], 2)]))
    return "\n\n".join(blocks)


def classes(runs: Sequence[Run]) -> str:
    """Instructions by class and by who executed them, a block for each run."""
    blocks = []
    for run in runs:
        rows = [["", "", *plugin.CLASSES]]
        for who, (level, by) in plugin.by_level(run.section, run.setup.regime).items():
            rows.append([who, f"EL{level}", *(str(by.get(each, 0)) for each in plugin.CLASSES)])
        title = f"{run.row.workload} MiB, {run.setup.name}, {run.pages}: instructions (counted)"
        blocks.append("\n".join([title, *aligned(rows, 2)]))
    return "\n\n".join(blocks)
