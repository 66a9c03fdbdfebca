# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Xen on a board with EL2: Debian's hypervisor, with a bare-metal program as its domains.

The hypervisor is that of stable's `xen-system-arm64`, started by QEMU as its arm64 Image, without
firmware. It is as Debian builds it, with its own scheduler (credit2) and security module (SILO).
Its command line sets up a console, and gives the first domain, dom0, memory and as many vCPUs as
the board has CPUs, each pinned to one, as in the ISCA'16 paper. Memory is not scrubbed: idle CPUs
do that, and it would be counted with the guest's work. Xen reads its domains from the device tree:
the board's own, with additions in `chosen`. A second domain, a domU that Xen itself starts
(dom0less), has one vCPU, as dom0 then has, the same program, and an event channel to dom0. Its
output is shown, which is not the default.

A counted board's CPUs take turns. A CPU that spins and says so (YIELD, WFE) gives its turn away.
Xen's own spins while it boots and halts do not say so, and QEMU 7.2, whose turns end at the
earliest timer, gives the next turn to the first CPU again, forever. So the board is paused and
continued while Xen boots, after which the next CPU has its turn. From the program's first line on
the board runs undisturbed, so measurements are the same every time. It is killed after the
program's last line.
"""

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armvisor_lab.archive import kernels, kimage
from armvisor_lab.archive.packages import Package, Packages, Progress
from armvisor_lab.boards import logs
from armvisor_lab.boards.board import Board
from armvisor_lab.boards.machine import Channel, Deadline, Machine
from armvisor_lab.errors import LabError

_META, _PATTERN = "xen-system-arm64", r"^xen-hypervisor-\d"
_OPTIONS = (
    "console=dtuart dtuart=/pl011@9000000 guest_loglvl=all bootscrub=0 dom0_vcpus_pin dom0_mem=256M"
)
# Where QEMU puts the program, above Xen, once for each domain.
_PROGRAMS = (0x4900_0000, 0x4A00_0000)
# The second domain's memory, where Xen puts that of all domains but the first, and its last page.
_DOMU_KIB = 64 << 10
_MAILBOX = 0x4000_0000 + (_DOMU_KIB << 10) - 4096
_PORT = 10  # both domains' end of the event channel between them

# Xen's messages when it, or a domain, fails; a stamp may precede them.
_TROUBLE = re.compile(
    r"^\(XEN\) (?:\[[^]]*\] ?)?("
    r"(?:Panic on CPU \d+|Xen BUG at |Xen WARN at |Assertion '.*' failed|CPU\d+: Unexpected Trap|"
    r"(?:\S+\.c:\d+:)?d\d+v\d+ (?:[Uu]nhandled |Unable to decode|HSR=)).*)$",
    re.MULTILINE,
)

# A program's first line, and its last; a domU's last line, which only a failure prints, is marked.
_FIRST = re.compile(rb"^result ", re.MULTILINE)
_LAST = re.compile(rb"^(?:\(d\d+\) )?(result \S+\.failures \d+ count|died: .*)\r?\n", re.MULTILINE)


# Xen's own lines, and those of other domains than dom0.
_OTHERS = re.compile(r"\((?:XEN|d\d+)\) ")


@dataclass(frozen=True)
class Hypervisor:
    """Xen's Image and the package that it is from."""

    image: Path
    package: Package


@dataclass(frozen=True)
class Run:
    """What the console said, and where that is kept."""

    text: str
    log: Path
    seconds: float


def find_image(folder: Path) -> Path:
    """Xen's Image in an unpacked package."""
    for file in sorted((folder / "boot").glob("xen-*")):
        if file.suffix not in (".config", ".efi", ".map") and kimage.is_image(file.read_bytes()):
            return file
    raise LabError(
        f"{folder}: the package has no arm64 Image boot/xen-*, which QEMU could start",
        "`lab packages update` fetches today's; if it is the same, the lab does not know its form",
    )


def hypervisor(progress: Progress = lambda _: None) -> Hypervisor:
    """Debian's hypervisor of stable."""
    suite = kernels.SUITE_OF[kernels.DEFAULT]
    package = Packages(suite, progress).follow(_META, _PATTERN)[0]
    return Hypervisor(find_image(package.unpacked()), package)


def trouble(console: str) -> str:
    """The first line by which Xen says that something is wrong, or nothing."""
    found = _TROUBLE.search(console.replace("\r", ""))
    return found[1] if found else ""


class _Control:
    """The board's control channel, by which CPUs have their turns and the board its end."""

    def __init__(self) -> None:
        self.channel = Channel("control", self._receive)
        self._booting = True
        self._ended = False
        self._rest = b""
        self._unanswered = 0
        self._push("qmp_capabilities")

    @property
    def arguments(self) -> list[str]:
        """QEMU's arguments for the control channel."""
        return ["-chardev", self.channel.chardev, "-mon", "chardev=control,mode=control"]

    def tick(self) -> None:
        """End the CPU's turn that it is while Xen boots, unless the last time is not over."""
        if self._booting and not self._unanswered:
            self._push("stop")
            self._push("cont")

    def heard(self, console: bytes | bytearray) -> None:
        """All that the console has said so far."""
        self._booting = self._booting and not _FIRST.search(console)
        if not self._ended and _LAST.search(console):
            self._ended = True
            self._push("quit")

    def _push(self, command: str) -> None:
        self.channel.push(json.dumps({"execute": command}).encode() + b"\n")
        self._unanswered += 1

    def _receive(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._unanswered -= sum(b'"return"' in line for line in lines)


def chosen(size: int, options: str, append: str, domu: bool) -> str:
    """The tree's `/chosen` for a program of `size` bytes: arguments of Xen and its domains."""
    where = f"mailbox={_MAILBOX:#x} port={_PORT} " if domu else ""
    nodes = _module(_PROGRAMS[0], size, where + append)
    if domu:
        nodes += _DOMU % {
            "kib": _DOMU_KIB,
            "module": _module(_PROGRAMS[1], size, f"domu=1 {where}{append}"),
            "port": _PORT,
        }
    return _CHOSEN % {"options": _quoted(options), "nodes": nodes}


def _module(address: int, size: int, append: str) -> str:
    return _MODULE % {"address": address, "size": size, "append": _quoted(append)}


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


_CHOSEN = """
/ { chosen {
    #address-cells = <2>;
    #size-cells = <2>;
    xen,xen-bootargs = %(options)s;
%(nodes)s
}; };
"""

_MODULE = """
    module@%(address)x {
        compatible = "multiboot,kernel", "multiboot,module";
        reg = <0 %(address)#x 0 %(size)#x>;
        bootargs = %(append)s;
    };
"""

_DOMU = """
    dom0_end: evtchn@1 {
        compatible = "xen,evtchn-v1";
        xen,evtchn = <%(port)d &domu_end>;
    };
    domU1 {
        compatible = "xen,domain";
        #address-cells = <2>;
        #size-cells = <2>;
        cpus = <1>;
        memory = <0 %(kib)d>;
        xen,enhanced = "no-xenstore";
%(module)s
        domu_end: evtchn@1 {
            compatible = "xen,evtchn-v1";
            xen,evtchn = <%(port)d &dom0_end>;
        };
    };
"""


def _dtc(source: bytes, form: str, to: str) -> bytes:
    if not (dtc := shutil.which("dtc")):
        raise LabError("dtc is missing, which makes Xen's device tree", "run tools/setup")
    done = subprocess.run([dtc, "-q", "-I", form, "-O", to], input=source,
                          capture_output=True, check=False)  # fmt: skip
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise LabError(f"dtc does not make a device tree of this: {said}")
    return done.stdout


def with_nodes(blob: bytes, source: str) -> bytes:
    """A device tree with what `source` adds."""
    return _dtc(_dtc(blob, "dtb", "dts") + source.encode(), "dts", "dtb")


def _tree_of(board: Board) -> bytes:
    """The device tree that QEMU makes for a board."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "board.dtb"
        command = [board.qemu(), *board.machine_arguments(), "-M", f"dumpdtb={_escaped(str(file))}"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, check=False)  # fmt: skip
        if done.returncode != 0 or not file.exists():
            raise LabError(f"QEMU gives no device tree: {done.stderr.strip()}")
        return file.read_bytes()


@dataclass
class XenBoard:
    """A board with EL2 that runs a bare-metal program under Xen."""

    program: Path
    smp: int = 1
    domu: bool = False
    append: str = ""  # the program's own words
    timeout: float = 120
    cpu: str = "cortex-a72"
    memory: int = 1024  # MiB
    qemu_args: Sequence[str] = ()  # further ones

    def board(self) -> Board:
        """The hardware."""
        return Board(el2=True, cpu=self.cpu, count=True, smp=self.smp, memory=self.memory)

    def options(self) -> str:
        """Xen's command line."""
        return f"{_OPTIONS} dom0_max_vcpus={1 if self.domu else self.smp}"

    def tree(self) -> bytes:
        """The device tree."""
        if not self.program.is_file():
            raise LabError(f"{self.program}: no such program", "run `make guests`")
        board = self.board()
        board.validate()
        size = self.program.stat().st_size
        return with_nodes(_tree_of(board), chosen(size, self.options(), self.append, self.domu))

    def arguments(self, image: Path, tree: Path) -> list[str]:
        """QEMU's arguments but for its channels."""
        arguments = [
            *self.board().machine_arguments(),
            *self.qemu_args,
            "-kernel",
            str(image),
            "-dtb",
            str(tree),
        ]
        for address in _PROGRAMS[: 1 + self.domu]:
            file = _escaped(str(self.program))
            arguments += ["-device", f"loader,file={file},addr={address:#x},force-raw=on"]
        return arguments

    def describe(self, package: Package) -> dict[str, Any]:
        """The board as figures and reports state it."""
        return {
            "el2": True,
            "cpu": self.cpu,
            "smp": self.smp,
            "memory_mib": self.memory,
            "count": True,
            "append": self.options(),
            "kernel": package.name,
            "kernel_role": kernels.DEFAULT,
            "kernel_version": package.version,
            "packages": [f"{package.name}={package.version}"],
        }

    def run(self, image: Path) -> Run:
        """Boot until the program has ended; LabError if Xen or the program is in trouble.

        The text is what the program printed, without Xen's lines.
        """
        received = bytearray()
        control = _Control()

        def receive(data: bytes) -> None:
            received.extend(data)
            control.heard(received)

        console = Channel("console", receive)
        log = logs.new("xen")
        hung = False
        with tempfile.NamedTemporaryFile(suffix=".dtb") as tree:
            tree.write(self.tree())
            tree.flush()
            arguments = [
                *self.arguments(image, Path(tree.name)), *control.arguments,
                *("-chardev", console.chardev, "-serial", "chardev:console"),
            ]  # fmt: skip
            tick = control.tick if self.smp > 1 else None
            machine = Machine(arguments, [console, control.channel], tick=tick)
            try:
                machine.run(machine.clock.deadline(self.timeout))
            except Deadline:
                hung = True
        log.write_bytes(received)
        said = received.decode("utf-8", "replace").replace("\r", "")
        _check(said, log, f"{self.timeout:g} s" if hung else "", machine.errors)
        return Run(_program_s(said), log, machine.seconds)


def _escaped(value: str) -> str:
    """As QEMU's options want commas."""
    return value.replace(",", ",,")


def _program_s(console: str) -> str:
    return "".join(
        f"{line}\n" for line in console.splitlines() if not _OTHERS.match(line)
    )  # fmt: skip


def _check(console: str, log: Path, hung: str, errors: str) -> None:
    """LabError unless the program ran to its end without a failure, and Xen had no trouble."""
    where = f"console log: {log}"
    if found := trouble(console):
        raise LabError(f"Xen reported: {found}", where)
    if ended := re.search(r"^\(d\d+\) (?:failed|died): .*$", console, re.MULTILINE):
        raise LabError(f"the second domain under Xen: {ended[0]}", where)
    failures = re.search(r"^result \S+\.failures (\d+) count$", console, re.MULTILINE)
    if hung:
        raise LabError(f"Xen's domain did not end within {hung}", where)
    if errors:
        raise LabError(f"QEMU: {errors}", where)
    if not failures:
        last = "\n  ".join(console.strip().splitlines()[-6:])
        raise LabError(f"the program under Xen died on its way:\n  {last}", where)
    if failures[1] != "0":
        what = re.search(r"^failed: .*$", console, re.MULTILINE)
        raise LabError(f"the program under Xen: {what[0] if what else failures[0]}", where)
