# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Xen's column: `hypercall.xen`, `hypercall_psci.xen`, `mmio_kernel.xen`, `irq_completion.xen`,
`eoi.xen`, `ipi_running.xen`, `vm_switch.xen`, `io_out.xen`, `io_in.xen`.

Exits and IPIs are of the same programs as under KVM and the module, here in Xen's first domain on a
board with EL2 (the lab's xen.py says which Xen, and how it is set up); in a domU a hypercall takes
the same to half a percent. `hypercall.xen` is one of Xen's own, which says its version, as in
ISCA'16; `hypercall_psci.xen` is what `hypercall.*` is elsewhere: PSCI's MIGRATE_INFO_TYPE.

What takes two is of two domains, dom0 and a domU (guests/bare/domains.c), without a kernel or VMM
in between. `vm_switch` is from one's yield to the other's return from its own, on one CPU; `io_out`
is from a domU's hypercall that signals an event channel until dom0, which waits in WFI on another
CPU, is at its vector, and `io_in` the way back: all work of both CPUs, of which the sender's way to
its own wait is a part.

There are no classes of these: the plugin knows code at EL2 by where KVM has it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from armvisor_lab import xen
from armvisor_lab.figures import Measurement, Outcome, Progress, artefacts
from armvisor_lab.results import instructions


@dataclass(frozen=True)
class _Program:
    """A program's run, and its results by the figures that they are."""

    name: str
    results: Mapping[str, str]
    smp: int = 1
    domu: bool = False
    append: str = ""


@dataclass(frozen=True)
class _Part:
    """Runs one after the other, each on its own board, that are measured together."""

    what: str
    programs: tuple[_Program, ...]


_HYPERCALLS = {"hypercall": "hypercall.xen", "hypercall_psci": "hypercall.cost"}

_PARTS = (
    _Part(
        "exits of a bare-metal guest on xen",
        (
            _Program("hypercall", _HYPERCALLS),
            _Program("mmio", {"mmio_kernel": "mmio.kernel"}),
            _Program("irq", {"irq_completion": "irq.completion", "eoi": "irq.eoi"}),
        ),
    ),
    _Part(
        "two vCPUs of a bare-metal guest on xen",
        (_Program("ipi", {"ipi_running": "ipi.running"}, smp=2),),
    ),
    _Part(
        "two VMs on one CPU on xen",
        (_Program("domains", {"vm_switch": "domains.switch"}, domu=True),),
    ),
    _Part(
        "a guest and its device's domain on xen",
        (
            _Program("domains", {"io_out": "domains.out", "io_in": "domains.in"}, smp=2, domu=True,
                     append="io=1"),
        ),
    ),
)  # fmt: skip


def _measurement(part: _Part) -> Measurement:
    def measure(progress: Progress) -> Outcome:
        found = xen.hypervisor(progress)
        values: dict[str, float] = {}
        text = ""
        for each in part.programs:
            image = artefacts.bare(each.name)
            board = xen.XenBoard(image, each.smp, domu=each.domu, append=each.append)
            said = board.run(found.image).text
            values |= {
                f"{figure}.xen": instructions(said, name) for figure, name in each.results.items()
            }
            text += said
        return Outcome(values, board.describe(found.package), text=text)

    names = tuple(f"{figure}.xen" for each in part.programs for figure in each.results)
    return Measurement(names, part.what, measure, seconds=2)


def measurements() -> list[Measurement]:
    """This family's measurements."""
    return [_measurement(part) for part in _PARTS]
