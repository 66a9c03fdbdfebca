# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The Debian test guest under each way to run a VM, on counted boards.

A variant is a row: the board, the files and modules beside the guest, the command. Families of
figures run their guest through it, so a new way to run VMs is one more row here.
"""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from armvisor_lab.archive import kernels, programs
from armvisor_lab.archive.packages import Package
from armvisor_lab.boards.board import Board, Result
from armvisor_lab.boards.cpio import Cpio
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.figures import Progress, Start, artefacts, hosts, names, on_board

GUEST = kernels.DEFAULT
GUEST_MIB = 512
# `quiet` is Debian's default. Without the others two runs would differ, with costs that no real
# machine has (see docs).
SAME = "quiet nokaslr randomize_kstack_offset=off"
QEMU_SUITE = "trixie"
# Boots vary by up to 3 % (boot.py); the mean of this many is exact to half a percent.
BOOTS = 20

Files = tuple[dict[str, Path], list[Package]]


@dataclass(frozen=True)
class Variant:
    """One way to run a VM."""

    name: str
    what: str
    el2: bool
    cpu: str
    files: Callable[[Progress], Files]
    command: Callable[[str], list[str]]
    modules: Callable[[], tuple[Module, ...]] = tuple
    memory: int = 2048
    timeout: float = 600  # for one guest
    boots: int = 1  # number whose mean `boot.*` takes
    guest: str = GUEST  # the kernel in the VM
    regime: str = ""  # the plugin's
    marks: bool = True  # the guest's hints are hints of the board's CPU
    host: str = kernels.DEFAULT  # the board's kernel
    host_append: str = ""  # and more of its command line

    @property
    def slow(self) -> bool:
        """Whether a guest takes minutes and not seconds."""
        return self.timeout > 1000


def _armvisor_files(_progress: Progress) -> Files:
    return {"/bin/armvisor": artefacts.vmm()}, []


def _armvisor_command(append: str) -> list[str]:
    words = ["armvisor", "run", "--kernel", "/guest/Image", "--initrd", "/guest/initrd"]
    words += ["--memory", f"{GUEST_MIB}M", "--cpus", "1", "--no-randomness"]
    return [*words, "--append", append]


def module(parameters: str = "") -> tuple[Module, ...]:
    """The module for the board's kernel."""
    return (Module(str(artefacts.module(GUEST)), parameters),)


def qemu_files(progress: Progress) -> Files:
    """Debian's QEMU, for a board."""
    path = "usr/bin/qemu-system-aarch64"
    return programs.with_libraries("qemu-system-arm", path, QEMU_SUITE, progress)


EMULATOR = "qemu-tcg"
# The beginning of a bare-metal guest's life there.
EMULATE = (
    "qemu-system-aarch64 -accel tcg -nographic -nic none -M virt,gic-version=3 -cpu cortex-a72 "
    "-m 128 -kernel"
)


def emulator_board(files: Mapping[str, Path | bytes], smp: int = 1) -> Board:
    """The board that a guest is emulated on."""
    return Board(cpu="cortex-a72", count=True, smp=smp, memory=2048, timeout=1800, files=files)


def _qemu_command(accel: str, cpu: str) -> Callable[[str], list[str]]:
    def command(append: str) -> list[str]:
        words = ["qemu-system-aarch64", "-accel", accel, "-nographic", "-nic", "none"]
        words += ["-M", "virt,gic-version=3,dtb-randomness=off", "-cpu", cpu]
        words += ["-m", str(GUEST_MIB), "-smp", "1"]
        words += ["-kernel", "/guest/Image", "-initrd", "/guest/initrd"]
        return [*words, "-append", f"console=ttyAMA0 {append}"]

    return command


VARIANTS = (
    Variant("kvm", "armvisor on KVM (nVHE)", True, "cortex-a72", _armvisor_files,
            _armvisor_command, boots=BOOTS, regime="kvm"),
    Variant("qemu-kvm", "Debian's QEMU on KVM (nVHE)", True, "cortex-a72", qemu_files,
            _qemu_command("kvm", "host"), memory=3072, boots=BOOTS, regime="kvm"),
    Variant("armvisor", "armvisor on its module, without EL2", False, "cortex-a72",
            _armvisor_files, _armvisor_command, modules=module, timeout=1800, boots=BOOTS,
            regime="armvisor"),
    Variant(EMULATOR, "Debian's QEMU, emulating", False, "cortex-a72", qemu_files,
            _qemu_command("tcg", "cortex-a72"), memory=3072, timeout=3600, regime="native",
            marks=False),
)  # fmt: skip


def with_report(variant: Variant) -> Variant:
    """The same, where the VMM ends with its report."""

    def command(append: str) -> list[str]:
        words = variant.command(append)
        return [*words[:2], "--json", *words[2:]]

    return replace(variant, command=command)


def reports(text: str) -> list[Mapping[str, int]]:
    """What is counted of each guest, by the reports that the VMM printed."""
    lines = [line for line in text.splitlines() if line.startswith('{"end"')]
    return [json.loads(line)["kvm_exits"] for line in lines]


def find(name: str) -> Variant | None:
    """The variant of a name, or one under `armvisor` on the host of that name; None of no host."""
    known = {each.name: each for each in VARIANTS}
    if name in known:
        return known[name]
    host = hosts.find(name)
    if host is None:
        return None

    def command(append: str) -> list[str]:
        words = _armvisor_command(append)
        return [*words[:2], *(["--protected"] if host.protected else []), *words[2:]]

    return replace(
        known["kvm" if host.el2 else "armvisor"], name=name, what=f"armvisor on {host.what}",
        cpu=host.cpu, modules=host.modules, regime=host.regime, host=host.kernel,
        host_append=host.append, command=command,
    )  # fmt: skip


def _initrd(plain: Path, programs: Sequence[str]) -> Path | bytes:
    """The guest's, and these tools."""
    if not programs:
        return plain
    added = Cpio()
    for name in programs:
        added.file(f"bin/{name}", artefacts.tool(name).read_bytes(), 0o755)
    return plain.read_bytes() + added.finish()


def run(
    variant: Variant, appends: Sequence[str], progress: Progress, start: Start = on_board,
    mark: bool = False, programs: Sequence[str] = (),
) -> tuple[Board, Result, tuple[str, ...]]:  # fmt: skip
    """Run a guest to its end for each of `appends`, one after the other on one board.

    Each is what the guest's command line has beside `SAME`. `programs` are tools that the guest has
    in addition. Returns the board, what it did, and the packages that took part.

    The guests' consoles are the result's standard output; what each run took as a whole, the
    VMM's start and end included, is a `count-run.elapsed` on its standard error; with `mark` it is
    marked.
    """
    guest = artefacts.guest(variant.guest)
    files, packages = variant.files(progress)
    every: dict[str, Path | bytes] = {
        **files,
        "/guest/Image": guest["Image"],
        "/guest/initrd": _initrd(guest["initrd"], programs),
        "/bin/count-run": artefacts.tool("count-run"),
    }
    board = Board(
        el2=variant.el2, cpu=variant.cpu, count=True, memory=variant.memory, files=every,
        modules=variant.modules(), timeout=variant.timeout * len(appends), kernel=variant.host,
        append=variant.host_append,
    )  # fmt: skip
    commands = [variant.command(f"{SAME} {append}".strip()) for append in appends]
    count_run = ["count-run", "-e", *(["-m"] if mark else [])]
    script = " && ".join(shlex.join([*count_run, *words]) for words in commands)
    return board, start(board, ["sh", "-c", script], progress).check(), names(packages)
