# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`hypercall.*`, `hypercall_fast.*` and `mmio_user.*`: what one exit costs, there and back.

A bare-metal guest makes the same exit many times and prints the best average: a call that the
hypervisor answers (PSCI's MIGRATE_INFO_TYPE), one that the module answers with the guest's tables
in place (PSCI_VERSION), and a read that the VMM answers. The empty loop is taken off, and the
board has settled.

What that leaves out is what others may have counted. A hypercall under KVM does not leave KVM
and costs the same with one call as with a thousand, on the cloud and the generic kernel, with
KASLR and KPTI, on a board that has not settled, and but for 30 instructions under Debian's QEMU.
An exit to the VMM does enter user space: on a board that has not settled the same read takes
11,400 instructions under KVM on cortex-a76 where it takes 7,000 afterwards, and 42,000 if the
kernel, too, draws a random offset of its stack for each system call from a pool that is not
ready.
"""

from dataclasses import dataclass

from armvisor_lab.board import Board
from armvisor_lab.cli_board import describe
from armvisor_lab.figures import Measurement, Outcome, Progress, artefacts, vms
from armvisor_lab.results import instructions

_GUESTS = {
    "hypercall": "hypercall.cost",
    "hypercall_fast": "hypercall.fast",
    "mmio_user": "mmio.read",
}
_IMAGES = ("hypercall", "mmio")


@dataclass(frozen=True)
class Host:
    """The board's CPU, and what runs VMs on it: KVM, with EL2, or the module, without."""

    cpu: str
    el2: bool = True


HOSTS = {
    "kvm-vhe": Host("cortex-a76"),
    "kvm-nvhe": Host("cortex-a72"),
    "armvisor": Host("cortex-a72", el2=False),
}


def _exits(variant: str, host: Host) -> Measurement:
    figures = tuple(f"{what}.{variant}" for what in _GUESTS)

    def run(progress: Progress) -> Outcome:
        files = {f"/guest/{image}": artefacts.bare(image) for image in _IMAGES}
        files["/bin/armvisor"] = artefacts.vmm()
        modules = () if host.el2 else vms.module()
        board = Board(el2=host.el2, cpu=host.cpu, count=True, files=files, modules=modules)
        one = "armvisor run --no-randomness --memory 128M --kernel /guest/"
        script = " && ".join(one + image for image in _IMAGES)
        result = board.run(["sh", "-c", script], progress=progress).check()
        values = {
            f"{what}.{variant}": instructions(result.text, name) for what, name in _GUESTS.items()
        }
        return Outcome(values, describe(board, result.kernel))

    return Measurement(figures, f"exits of a bare-metal guest on {variant}", run)


def measurements() -> list[Measurement]:
    """This family's measurements."""
    return [_exits(variant, host) for variant, host in HOSTS.items()]
