# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`boot.*`: the Debian test guest from start to power-off, 512 MiB, one CPU.

The same kernel and initramfs each time, the console on the serial port that the machine has.
Natively the count is what the counter says at the guest's end; under a VMM it is the
VMM's whole run, its own start and end included.
"""

from armvisor_lab import kernels
from armvisor_lab.board import Board
from armvisor_lab.cli_board import describe
from armvisor_lab.direct import boot
from armvisor_lab.figures import Measurement, Outcome, Progress, artefacts, vms
from armvisor_lab.results import instructions

_END = "guest.end.ticks"


def _native(progress: Progress) -> Outcome:
    board = Board(count=True, memory=vms.GUEST_MIB, timeout=600)
    guest = artefacts.guest(vms.GUEST)
    append = f"console=ttyAMA0 panic=-1 {vms.SAME}"
    booted = boot(board, guest["Image"], guest["initrd"], append, lambda _: None)
    value = instructions(booted.console, _END)
    return Outcome({"boot.native": value}, describe(board, kernels.get(vms.GUEST)))


def _in_vm(variant: vms.Variant) -> Measurement:
    figure = f"boot.{variant.name}"

    def run(progress: Progress) -> Outcome:
        board, result, packages = vms.run(variant, "", progress)
        # The guest got to its own end, or the figure is one of a failure.
        instructions(result.text, _END)
        value = instructions(result.stderr.decode(errors="replace"), "count-run.elapsed")
        return Outcome({figure: value}, describe(board, result.kernel), packages)

    return Measurement((figure,), f"boot of the guest: {variant.what}", run, slow=variant.slow)


def measurements() -> list[Measurement]:
    """This family's measurements."""
    native = Measurement(("boot.native",), "boot of the guest: the bare board", _native)
    return [native, *map(_in_vm, vms.VARIANTS)]
