# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lat.ROW.armvisor-no-SWITCH` and `traps.nothing.*`: what each way to make traps cheap is worth.

The module's parameter `cheap_traps` has a bit for each (module/cpu/cheap.h). `lat`'s rows with one
of them off, the others on; `armvisor-no-cheap` has none. `traps.nothing` is how often the guest
leaves its code when a process forks, executes a program that does nothing, and waits for it: by
the classes of the ARMvisor paper's Table 7, all together but the host's own interrupts.
`armvisor-no-cheap` is then what that paper has as simple, and `armvisor` its full-opt.
"""

import json
from dataclasses import replace
from functools import partial

from armvisor_lab.cli_board import describe
from armvisor_lab.errors import LabError
from armvisor_lab.figures import Measurement, Outcome, Progress, artefacts, lat, vms
from armvisor_lab.initramfs import Module

SWITCHES = {
    "rows": 1, "modes": 2, "quick": 4, "copies": 8, "roots": 16, "calls": 32, "stubs": 64,
}  # fmt: skip
ALL = sum(SWITCHES.values())
_ARMVISOR = next(each for each in vms.VARIANTS if each.name == "armvisor")

# Groups of exits in the module's statistics.
CLASSES = (
    "sen_inst_trap", "fast_trap", "dat_trans", "protection", "mmio", "dabt_true", "pabt_kvm",
    "pabt_true", "mem_pv", "guest_exc", "hypercall", "suspend", "other_trap",
)  # fmt: skip
# `lat fork-exec` does so many: seven rounds of ten, and one before. More of them tell better.
_FORKS = 71
_TIMES = 6


def _modules(bits: int) -> tuple[Module, ...]:
    return (Module(str(artefacts.module(vms.GUEST)), f"cheap_traps={bits}"),)


def _variants() -> dict[str, vms.Variant]:
    off = {f"armvisor-no-{name}": ALL & ~bit for name, bit in SWITCHES.items()}
    return {
        name: replace(
            _ARMVISOR,
            name=name,
            modules=partial(_modules, bits),
            what=f"{_ARMVISOR.what}, cheap_traps={bits}",
        )
        for name, bits in (off | {"armvisor-no-cheap": 0}).items()
    }


def _with_report(append: str) -> list[str]:
    words = _ARMVISOR.command(append)
    return [*words[:2], "--json", *words[2:]]


def _traps(text: str) -> list[int]:
    """All traps of each guest, by the reports that the VMM printed."""
    reports = [json.loads(line) for line in text.splitlines() if line.startswith('{"end"')]
    return [sum(report["kvm_exits"][name] for name in CLASSES) for report in reports]


def _nothing(variant: vms.Variant) -> Measurement:
    """What is the same with a row that makes no process is taken off: the boot, and all around."""
    figure = f"traps.nothing.{variant.name}"
    tests = ",".join(["lat"] * _TIMES)
    appends = [f"armvisor.test={tests} armvisor.rows={row}" for row in ("fork-exec", "arithmetic")]

    def run(progress: Progress) -> Outcome:
        board, result, packages = vms.run(replace(variant, command=_with_report), appends, progress)
        counts = _traps(result.text)
        if len(counts) != len(appends):
            raise LabError(f"{len(counts)} of {len(appends)} guests left a report")
        each = (counts[0] - counts[1]) / (_FORKS * _TIMES)
        return Outcome({figure: each}, describe(board, result.kernel), packages)

    what = f"traps of a program that does nothing, on {variant.name}"
    return Measurement((figure,), what, run, unit="traps", slow=True)


def measurements() -> list[Measurement]:
    """This family's measurements."""
    variants = _variants()
    traps = [_nothing(each) for each in (_ARMVISOR, *variants.values())]
    return [*(lat.in_vm(each) for each in variants.values()), *traps]
