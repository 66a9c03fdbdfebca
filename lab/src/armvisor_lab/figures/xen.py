# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Xen's column.

`hypercall.xen`, `hypercall_psci.xen`, `mmio_kernel.xen`, `irq_completion.xen`, `eoi.xen`,
`ipi_running.xen`, `vm_switch.xen`, `io_out.xen`, `io_in.xen`.

Exits and IPIs are of the same programs as under KVM and the module, here in Xen's first domain on a
board with EL2 (boards/xen.py says which Xen, and how it is set up); in a domU a hypercall takes
the same to half a percent. `hypercall.xen` is one of Xen's own, which says its version, as in
ISCA'16; `hypercall_psci.xen` is what `hypercall.*` is elsewhere: PSCI's MIGRATE_INFO_TYPE.

Measurements with two parties use two domains, dom0 and a domU (guests/bare/domains.c), without a
kernel or VMM in between. `vm_switch` is from one domain's yield to the return of the other's own
yield, on one CPU. `io_out` is from a domU's hypercall that signals an event channel until dom0,
which waits in WFI on another CPU, is at its vector, and `io_in` the way back: all work of both
CPUs, including the sender's way to its own wait.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from armvisor_lab.boards import xen
from armvisor_lab.boards.board import Board
from armvisor_lab.boards.results import count, instructions
from armvisor_lab.figures import Marked, Measurement, Outcome, Progress, Spot, Start, artefacts
from armvisor_lab.reach.plugin import Section


@dataclass(frozen=True)
class _Program:
    """A program's run, and its results by the figures that they are.

    `marked` are the figures of what it marks, in order, where that is with the rounds of an empty
    loop; what is no figure is "".
    """

    name: str
    results: Mapping[str, str]
    smp: int = 1
    domu: bool = False
    append: str = ""
    marked: tuple[str, ...] = ()

    def board(self) -> xen.XenBoard:
        """The board for it."""
        image = artefacts.bare(self.name)
        return xen.XenBoard(image, self.smp, domu=self.domu, append=self.append)

    def spots(self, text: str) -> list[Spot]:
        """What it marks, by what was printed."""
        if self.marked:
            loops = count(text, f"{self.name}.loops")
            return [Spot(f"{each}.xen" if each else "", loops, less=True) for each in self.marked]
        figures = [f"{each}.xen" for each in self.results]
        if self.smp == 1:
            return [Spot(each, count(text, f"{self.name}.loops")) for each in figures]
        rounds = int(count(text, f"{self.name}.times")) - _WARM
        return [Spot(each, 1, rounds=rounds) for each in figures]


@dataclass(frozen=True)
class _Part:
    """Runs one after the other, each on its own board, that are measured together."""

    what: str
    programs: tuple[_Program, ...]

    @property
    def by_turns(self) -> bool:
        """Whether what is marked are signals there and back."""
        return any(each.domu and each.smp > 1 for each in self.programs)


_WARM = 5  # signals of guests/bare/domains.c, each way

_HYPERCALLS = {"hypercall": "hypercall.xen", "hypercall_psci": "hypercall.cost"}

_PARTS = (
    _Part(
        "exits of a bare-metal guest on xen",
        (
            _Program("hypercall", _HYPERCALLS, marked=("hypercall_psci", "", "hypercall")),
            _Program("mmio", {"mmio_kernel": "mmio.kernel"}, marked=("", "", "mmio_kernel")),
            _Program("irq", {"irq_completion": "irq.completion", "eoi": "irq.eoi"},
                     marked=("irq_completion", "eoi")),
        ),
    ),
    _Part(
        "two vCPUs of a bare-metal guest on xen",
        (_Program("ipi", {"ipi_running": "ipi.running"}, smp=2, marked=("", "ipi_running")),),
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


def _by_turns(sections: Sequence[Section]) -> list[Section]:
    """All that are out, then all that are in, without those that warm up.

    Before them may be what an interrupt that was no signal's ended.
    """
    kept = sections[len(sections) % 2 + 2 * _WARM :]
    return [*kept[::2], *kept[1::2]]


def _measurement(part: _Part) -> Measurement:
    programs = {each.name: each for each in part.programs}

    def boot(board: Board, command: Sequence[str], progress: Progress) -> xen.Run:
        """Run a program of this part, which is the command, under Xen."""
        [name] = command
        on = replace(programs[name].board(), qemu_args=board.qemu_args)
        return on.run(xen.hypervisor(progress).image)

    def measure(start: Start, progress: Progress) -> Outcome:
        found = xen.hypervisor(progress)
        values: dict[str, float] = {}
        text = ""
        for each in part.programs:
            board = each.board()
            said = start(board.board(), [each.name], progress).text
            values |= {
                f"{figure}.xen": instructions(said, name) for figure, name in each.results.items()
            }
            text += said
        return Outcome(values, board.describe(found.package), text=text)

    def spots(text: str) -> list[Spot]:
        return [spot for each in part.programs for spot in each.spots(text)]

    order: Any = _by_turns if part.by_turns else list
    names = tuple(f"{figure}.xen" for each in part.programs for figure in each.results)
    marked = Marked("xen", spots, measure, bare=True, order=order, do=boot)
    run = partial(measure, boot)
    return Measurement(names, part.what, run, seconds=2, marked=marked)


def measurements() -> list[Measurement]:
    """This family's measurements."""
    return [_measurement(part) for part in _PARTS]
