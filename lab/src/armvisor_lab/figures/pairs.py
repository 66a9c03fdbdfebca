# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`vm_switch.*`, `io_out.*`, `io_in.*`: two VMs on one CPU; a guest and its device.

Programs on the board are VMMs of guests of a few instructions (guests/tools/tinyvm.h). `vm_switch`
is from one VM's guest to another's on the same CPU: an exit to its VMM, the host's switch of
threads, the other's entry. `io_out` is from a guest's store to a device register with an eventfd
until the thread that waits for it on another CPU runs, and `io_in` from that thread's signal until
the guest, which waits in WFI, is at its vector: on a counted board all work of both CPUs, some of
which overlaps on silicon.
"""

from collections.abc import Sequence
from functools import partial

from armvisor_lab.boards.board import describe
from armvisor_lab.boards.results import count, instructions
from armvisor_lab.figures import (
    Marked,
    Measurement,
    Outcome,
    Progress,
    Spot,
    Start,
    artefacts,
    on_board,
)
from armvisor_lab.figures.hosts import HOSTS, Host
from armvisor_lab.reach.plugin import Section

# Of guests/tools/doorbell.c: a section is one signal, alternately out and in, the first ones to
# warm up.
WARM = 5


def _switch(host: Host) -> Measurement:
    figure = f"vm_switch.{host.name}"

    def measure(start: Start, progress: Progress) -> Outcome:
        board = host.board({"/bin/turns": artefacts.tool("turns")}, timeout=300)
        result = start(board, ["turns"], progress).check()
        value = instructions(result.text, "turns.switch")
        return Outcome({figure: value}, describe(board, result.kernel), text=result.text)

    def spots(text: str) -> list[Spot]:
        return [Spot(figure, count(text, "turns.loops"))]

    marked = Marked(host.regime, spots, measure, bare=True)
    what = f"two VMs on one CPU on {host.name}"
    return Measurement((figure,), what, partial(measure, on_board), marked=marked)


def _signals(host: Host) -> Measurement:
    signals = {f"io_out.{host.name}": "doorbell.out", f"io_in.{host.name}": "doorbell.in"}

    def measure(start: Start, progress: Progress) -> Outcome:
        board = host.board({"/bin/doorbell": artefacts.tool("doorbell")}, smp=2, timeout=300)
        result = start(board, ["doorbell"], progress).check()
        values = {figure: instructions(result.text, name) for figure, name in signals.items()}
        return Outcome(values, describe(board, result.kernel), text=result.text)

    def spots(text: str) -> list[Spot]:
        rounds = int(count(text, "doorbell.times")) - WARM
        return [Spot(figure, 1, rounds=rounds) for figure in signals]

    marked = Marked(host.regime, spots, measure, bare=True, order=_by_turns)
    what = f"a guest and its device's thread on {host.name}"
    return Measurement(tuple(signals), what, partial(measure, on_board), marked=marked)


def _by_turns(sections: Sequence[Section]) -> list[Section]:
    """All that are out, then all that are in, without those that warm up."""
    kept = sections[2 * WARM :]
    return [*kept[::2], *kept[1::2]]


def on(host: Host) -> list[Measurement]:
    """What takes two there; VMs of these programs are plain ones."""
    return [] if host.protected else [_switch(host), _signals(host)]


def measurements() -> list[Measurement]:
    """This family's measurements."""
    return [each for host in HOSTS.values() for each in on(host)]
