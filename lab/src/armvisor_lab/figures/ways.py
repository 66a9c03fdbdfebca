# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Plain VMs and protected ones, and their devices' access to memory: rows for figures.

`kvm` is a plain VM with zero copy on the newest kernel, `kvm-protected` the same where that kernel
has pKVM, `armvisor` on the module; with a mode they nevertheless have bounce buffers, by
armvisor_bounce.ko. `kvm-pvm` and `armvisor-pvm` are protected VMs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from armvisor_lab.boards.board import Board, Disk
from armvisor_lab.boards.cpio import Cpio
from armvisor_lab.boards.results import parse
from armvisor_lab.errors import LabError
from armvisor_lab.figures import artefacts, vms

# Ways whose KVM has protected VMs.
PKVM_HOST = "newest"
ADDRESS = "10.0.2.1"
GUEST_ADDRESS = "10.0.2.2"  # the address that the guest's init takes


@dataclass(frozen=True)
class Way:
    """A VM, and how its devices get at its memory: without a mode at all of it."""

    name: str
    el2: bool = True
    pkvm: bool = True
    protected: bool = False
    mode: str = ""

    def append(self, test: str) -> str:
        """The guest's command line for it: a test of its init, further words behind that."""
        if not self.mode:
            return f"armvisor.test={test}"
        share = "yes" if self.protected else "never"
        name, _, more = test.partition(" ")
        words = [f"armvisor.bounce=mode={self.mode},share={share}", f"armvisor.test={name},bounce"]
        return " ".join([*words, *filter(None, [more])])

    @property
    def options(self) -> list[str]:
        """The VMM's options for it."""
        if self.protected:
            return ["--protected"]
        return ["--access-platform"] if self.mode else []

    def board(
        self, files: Mapping[str, Path], memory: int = 2048, timeout: float = 1800,
        modules: Sequence[str] = (), disks: Sequence[Disk] = (),
    ) -> Board:  # fmt: skip
        """The board for it, with the test guest, the VMM and a tool for networks."""
        guest = artefacts.guest(vms.GUEST)
        added = Cpio()
        added.file("modules/armvisor_bounce.ko", artefacts.bounce(vms.GUEST).read_bytes())
        return Board(
            el2=self.el2, kernel=PKVM_HOST if self.el2 else vms.GUEST, count=True, memory=memory,
            timeout=timeout, modules=["tun", *modules, *(() if self.el2 else vms.module())],
            append="kvm-arm.mode=protected" if self.el2 and self.pkvm else "", disks=disks,
            files={
                "/bin/armvisor": artefacts.vmm(),
                "/bin/tap": artefacts.tool("tap"),
                "/guest/Image": guest["Image"],
                "/guest/initrd": guest["initrd"].read_bytes() + added.finish(),
                **files,
            },
        )  # fmt: skip

    def command(self, test: str, disks: Sequence[str], memory: int = vms.GUEST_MIB) -> str:
        """What runs a test in it, of one CPU, with disks and the network tap0."""
        words = ["armvisor run --no-randomness --kernel /guest/Image --initrd /guest/initrd"]
        words += [f"--memory {memory}M --cpus 1 --net tap=tap0", *self.options]
        words += [f"--disk {disk}" for disk in disks]
        return f'{" ".join(words)} --append "{vms.SAME} {self.append(test)}"'

    def check(self, text: str) -> None:
        """That the guest came to its end, and that its devices had their memory as they should."""
        failures = parse(text).get("guest.failures")
        if failures is None or failures.value:
            last = "\n  ".join(text.strip().splitlines()[-12:])
            raise LabError(f"the guest failed; its last lines:\n  {last}")
        self.check_mode(text)

    def check_mode(self, text: str) -> None:
        """That its devices went through the bounce buffers that it is to have."""
        if self.mode and f"result bounce.mode {self.mode} " not in text:
            raise LabError(f"the guest's devices did not go through mode {self.mode}")
