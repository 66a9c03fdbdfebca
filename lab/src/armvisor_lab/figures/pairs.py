# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`vm_switch.*`, `io_out.*`, `io_in.*`: what takes two: VMs on one CPU, a guest and a device.

Programs on the board are VMMs of guests of a few instructions (guests/tools/tinyvm.h). `vm_switch`
is from one VM's guest to another's on the same CPU: an exit to its VMM, the host's change of
thread, the other's entry. `io_out` is from a guest's store to a device's register, for which there
is an eventfd, until a thread runs that waits for it on another CPU, and `io_in` from that thread's
signal until the guest, which waits in WFI, is at its vector: on a counted board all work of both
CPUs, of which some is done side by side on silicon.
"""

from collections.abc import Sequence
from functools import partial

from armvisor_lab.board import Board
from armvisor_lab.cli_board import describe
from armvisor_lab.figures import (
    Marked,
    Measurement,
    Outcome,
    Progress,
    Spot,
    Start,
    artefacts,
    on_board,
    vms,
)
from armvisor_lab.figures.exits import HOSTS
from armvisor_lab.reach.plugin import Section
from armvisor_lab.results import count, instructions

# Of guests/tools/doorbell.c: a section is one signal, out and in by turns, some to warm up.
WARM = 5


def _board(variant: str, tool: str, smp: int) -> Board:
    host = HOSTS[variant]
    return Board(
        el2=host.el2, cpu=host.cpu, count=True, smp=smp, timeout=300,
        files={f"/bin/{tool}": artefacts.tool(tool)},
        modules=() if host.el2 else vms.module(),
    )  # fmt: skip


def _switch(variant: str) -> Measurement:
    figure = f"vm_switch.{variant}"

    def measure(start: Start, progress: Progress) -> Outcome:
        board = _board(variant, "turns", 1)
        result = start(board, ["turns"], progress).check()
        value = instructions(result.text, "turns.switch")
        return Outcome({figure: value}, describe(board, result.kernel), text=result.text)

    def spots(text: str) -> list[Spot]:
        return [Spot(figure, count(text, "turns.loops"))]

    marked = Marked(HOSTS[variant].regime, spots, measure, bare=True)
    what = f"two VMs on one CPU on {variant}"
    return Measurement((figure,), what, partial(measure, on_board), marked=marked)


def _signals(variant: str) -> Measurement:
    signals = {f"io_out.{variant}": "doorbell.out", f"io_in.{variant}": "doorbell.in"}

    def measure(start: Start, progress: Progress) -> Outcome:
        board = _board(variant, "doorbell", 2)
        result = start(board, ["doorbell"], progress).check()
        values = {figure: instructions(result.text, name) for figure, name in signals.items()}
        return Outcome(values, describe(board, result.kernel), text=result.text)

    def spots(text: str) -> list[Spot]:
        rounds = int(count(text, "doorbell.times")) - WARM
        return [Spot(figure, 1, rounds=rounds) for figure in signals]

    marked = Marked(HOSTS[variant].regime, spots, measure, bare=True, order=_by_turns)
    what = f"a guest and its device's thread on {variant}"
    return Measurement(tuple(signals), what, partial(measure, on_board), marked=marked)


def _by_turns(sections: Sequence[Section]) -> list[Section]:
    """All that are out, then all that are in, without those that warm up."""
    kept = sections[2 * WARM :]
    return [*kept[::2], *kept[1::2]]


def measurements() -> list[Measurement]:
    """This family's measurements."""
    return [*map(_switch, HOSTS), *map(_signals, HOSTS)]
