# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Exits and interrupts of a bare-metal guest.

`hypercall.*`, `hypercall_fast.*`, `mmio_kernel.*`, `mmio_user.*`: an exit, there and back.
`irq_completion.*`, `eoi.*`: an interrupt is acknowledged and ended; one that there is not is ended.
`timer.*`: the timer's interrupt, from its time until a guest that runs has taken and ended it.

A bare-metal guest makes the same exit many times and prints the best average: a call that the
hypervisor answers (PSCI's MIGRATE_INFO_TYPE), one that the module answers with the guest's tables
in place (PSCI_VERSION), a read of the interrupt controller's GICD_IIDR, which the kernel answers,
and a read that the VMM answers. Subtracted: an empty loop; for `irq_completion` also an SGI that is
never taken; for `timer` the wait for its time, which includes the work to set it. The board has
settled. `*.armvisor-accounting` is with histograms and everything else that `armvisor stat` can
show, `*.kvm-protected` a plain VM of a KVM that has protected ones, `*-pvm` are protected VMs.
`*.qemu-tcg` is Debian's QEMU that emulates on a board without EL2, where nothing is an exit: it is
the cost of the same instruction there.

Others may have counted work that these figures leave out. A hypercall under KVM does not leave KVM
and costs the same with one call as with a thousand, on the cloud and the generic kernel, with KASLR
and KPTI, on a board that has not settled, and up to 30 instructions more or less under Debian's
QEMU. An exit to the VMM does enter user space: on a board that has not settled the same read takes
11,400 instructions under KVM on cortex-a76 where it takes 7,000 afterwards, and 42,000 if the
kernel also draws a random stack offset for each system call from a pool that is not ready.
"""

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
    names,
    on_board,
    vms,
)
from armvisor_lab.figures.hosts import ACCOUNTING, HOSTS, PROTECTED, Host

_GUESTS = {
    "hypercall": "hypercall.cost",
    "hypercall_fast": "hypercall.fast",
    "mmio_user": "mmio.read",
    "mmio_kernel": "mmio.kernel",
    "irq_completion": "irq.completion",
    "eoi": "irq.eoi",
    "timer": "timer.cost",
}
# The sections that each image marks, in order; "" is no figure.
_IMAGES = {
    "hypercall": ("hypercall", "hypercall_fast"),
    "mmio": ("mmio_user", "", "mmio_kernel"),
    "irq": ("irq_completion", "eoi"),
    "timer": ("timer",),
}


def _spots(variant: str, text: str) -> list[Spot]:
    return [
        Spot(f"{what}.{variant}" if what else "", count(text, f"{image}.loops"), less=True)
        for image, marked in _IMAGES.items()
        for what in marked
    ]


def on(host: Host) -> list[Measurement]:
    """The exits of a guest there."""
    variant = host.name
    figures = tuple(f"{what}.{variant}" for what in _GUESTS)

    def measure(start: Start, progress: Progress) -> Outcome:
        files = {f"/guest/{image}": artefacts.bare(image) for image in _IMAGES}
        files["/bin/armvisor"] = artefacts.vmm()
        board = host.board(files)
        one = f"{host.run} --no-randomness --memory 128M --kernel /guest/"
        script = " && ".join(one + image for image in _IMAGES)
        result = start(board, ["sh", "-c", script], progress).check()
        values = {
            f"{what}.{variant}": instructions(result.text, name) for what, name in _GUESTS.items()
        }
        return Outcome(values, describe(board, result.kernel), text=result.text)

    what = f"exits of a bare-metal guest on {variant}"
    marked = Marked(host.regime, partial(_spots, variant), measure, bare=True)
    return [Measurement(figures, what, partial(measure, on_board), marked=marked)]


def _emulated() -> Measurement:
    """The same of a guest that Debian's QEMU emulates."""

    def run(progress: Progress) -> Outcome:
        files, packages = vms.qemu_files(progress)
        files |= {f"/guest/{image}": artefacts.bare(image) for image in _IMAGES}
        board = vms.emulator_board(files)
        script = " && ".join(f"{vms.EMULATE} /guest/{image}" for image in _IMAGES)
        result = board.run(["sh", "-c", script], progress=progress).check()
        values = {
            f"{what}.{vms.EMULATOR}": instructions(result.text, name)
            for what, name in _GUESTS.items()
        }
        return Outcome(values, describe(board, result.kernel), names(packages))

    figures = tuple(f"{what}.{vms.EMULATOR}" for what in _GUESTS)
    what = "what is an exit elsewhere, of a bare-metal guest that Debian's QEMU emulates"
    return Measurement(figures, what, run, slow=True)


def measurements() -> list[Measurement]:
    """This family's measurements."""
    hosts = [*HOSTS.values(), *PROTECTED.values(), ACCOUNTING]
    return [*(each for host in hosts for each in on(host)), _emulated()]
