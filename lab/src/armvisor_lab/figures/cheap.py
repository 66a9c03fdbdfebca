# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lat.ROW.armvisor-no-PART`, `traps.nothing.*`: the gain of each part of the module.

`lat`'s rows are measured with one part off and the others on. A part is a bit of the parameter
`cheap_traps` (module/cpu/cheap.h), has a parameter of its own, or is left out of a build
(module/lib/parts.h). `armvisor-no-cheap` has none of the first kind. `traps.nothing` is
the number of exits from the guest's code when a process forks, executes a program that does
nothing, and waits for it: all classes of the ARMvisor paper's Table 7 together, without the host's
own interrupts. So `armvisor-no-cheap` corresponds to that paper's simple variant, and `armvisor` to
its full-opt. For these two, `traps.nothing-CLASS` is each class of the table, including the host's
interrupts. `flushes.nothing` is the number of them that flush the CPU's TLB on the way back into
the guest, on a host whose own mappings are global, like the board's (docs/tlb.md).
"""

from armvisor_lab.boards.board import describe
from armvisor_lab.errors import LabError
from armvisor_lab.figures import Measurement, Outcome, Progress, lat, vms
from armvisor_lab.figures.hosts import PARTS

_ARMVISOR = next(each for each in vms.VARIANTS if each.name == "armvisor")

# Groups of exits in the module's statistics.
CLASSES = (
    "sen_inst_trap", "fast_trap", "dat_trans", "protection", "mmio", "dabt_true", "pabt_kvm",
    "pabt_true", "mem_pv", "guest_exc", "hypercall", "suspend", "other_trap",
)  # fmt: skip
# `lat fork-exec` does this many: seven rounds of ten, and one before. More of them are more exact.
_FORKS = 71
# For these the classes are figures too: the rows of the paper's table.
_BY_CLASS = ("armvisor", "armvisor-no-cheap")
_TABLE = ("irq", *CLASSES)
_TIMES = 6


def _variants() -> list[vms.Variant]:
    found = [vms.find(f"armvisor-no-{name}") for name in (*PARTS, "cheap")]
    return [each for each in found if each is not None]


def _counts(text: str) -> list[dict[str, int]]:
    """What is counted of each guest, by the reports that the VMM printed."""
    exits = vms.reports(text)
    return [
        {"traps": sum(each[name] for name in CLASSES), "flushes": each["entry_flush"]}
        | {name: each[name] for name in _TABLE}
        for each in exits
    ]


def _names(variant: str) -> dict[str, str]:
    """The figures of a variant, by what is counted."""
    names = {what: f"{what}.nothing.{variant}" for what in ("traps", "flushes")}
    if variant in _BY_CLASS:
        names |= {c: f"traps.nothing-{c.replace('_', '-')}.{variant}" for c in _TABLE}
    return names


def _nothing(variant: vms.Variant) -> Measurement:
    """What is the same with a row that makes no process is taken off: the boot, and all around."""
    figures = _names(variant.name)
    tests = ",".join(["lat"] * _TIMES)
    appends = [f"armvisor.test={tests} armvisor.rows={row}" for row in ("fork-exec", "arithmetic")]

    def run(progress: Progress) -> Outcome:
        board, result, packages = vms.run(vms.with_report(variant), appends, progress)
        counts = _counts(result.text)
        if len(counts) != len(appends):
            raise LabError(f"{len(counts)} of {len(appends)} guests left a report")
        each = {
            figure: (counts[0][what] - counts[1][what]) / (_FORKS * _TIMES)
            for what, figure in figures.items()
        }
        return Outcome(each, describe(board, result.kernel), packages)

    what = f"traps and flushes of a program that does nothing, on {variant.name}"
    return Measurement(tuple(figures.values()), what, run, unit="times", slow=True)


def measurements() -> list[Measurement]:
    """This family's measurements."""
    variants = _variants()
    traps = [_nothing(each) for each in (_ARMVISOR, *variants)]
    return [*map(lat.PROGRAM.in_vm, variants), *traps]


def on(variant: vms.Variant) -> list[Measurement]:
    """What a program that does nothing takes there: the module alone counts by these classes."""
    return [_nothing(variant)] if variant.regime == "armvisor" else []
