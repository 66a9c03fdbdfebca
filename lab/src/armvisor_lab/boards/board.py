# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Emulated Arm boards: run a command on a stock kernel, with EL2 or without.

    from armvisor_lab.boards.board import Board
    result = Board(el2=True, files={"/bin/armvisor": Path("…")}).run(["armvisor", "--version"])
    result.status, result.stdout, result.failure, result.console

A board that crashes, hangs or complains is a `Failure` in the result, not an exception. `LabError`
is raised for errors on this side (a missing file, no such kernel). Boards have nothing in common
and may run in parallel, in threads or processes.
"""

import contextlib
import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from armvisor_lab import paths
from armvisor_lab.archive import kernels
from armvisor_lab.archive.kernels import Kernel
from armvisor_lab.boards import autopsy, initramfs, logs, splat
from armvisor_lab.boards.autopsy import Autopsy
from armvisor_lab.boards.clock import Clock
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.boards.machine import (
    Channel,
    Deadline,
    Machine,
    Receive,
    descriptor_path,
    find_qemu,
)
from armvisor_lab.errors import LabError, remedy

# Cores of QEMU 7.2, and those that only a newer one has (archive/emulator.py).
_OLDER = ("cortex-a72", "cortex-a76", "neoverse-n1", "max", "cortex-a53", "cortex-a57")
_NEWER = ("cortex-a55", "cortex-a710", "neoverse-v1", "neoverse-n2")
CPUS = (*_OLDER, *_NEWER)

# The lab's own exit statuses, as in `timeout`, `env` and shells.
EXIT_HANG = 124
EXIT_USAGE = 125
EXIT_CRASH = 126

COUNT_EPOCH = "2026-01-01T00:00:00"
SEED = 1

BOOT_SECONDS = 180
POWER_OFF_SECONDS = 60
SETTLE_SECONDS = 4
# After an oops the command may still end, and the kernel may print more.
SPLAT_SECONDS = 20


@dataclass(frozen=True)
class Failure:
    """Why a board is not to be trusted; `exit_status` is EXIT_HANG or EXIT_CRASH."""

    kind: str
    message: str
    exit_status: int


@dataclass
class Result:
    """What a board did."""

    status: int | None
    stdout: bytes
    stderr: bytes
    console: str
    log: Path
    failure: Failure | None
    seconds: float
    kernel: Kernel

    @property
    def exit_status(self) -> int:
        """The command's status, 0 to 255; EXIT_HANG or EXIT_CRASH if the board failed."""
        if self.failure:
            return self.failure.exit_status
        return EXIT_CRASH if self.status is None else self.status

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.stdout.decode("utf-8", "replace")

    def check(self) -> "Result":
        """This result, if the board and the command did well; else an exception."""
        if self.failure:
            raise LabError(str(self.failure.message), f"console log: {self.log}")
        if self.status != 0:
            # Programs that print nothing there have printed it at the end of their output.
            said = (self.stderr.strip() or self.stdout.strip()).decode("utf-8", "replace")[-2000:]
            raise LabError(f"the command returned {self.status}: {said}", f"log: {self.log}")
        return self


@dataclass(frozen=True)
class Disk:
    """A raw disk of a board's, which finds it by its name: the serial number.

    What is written to it is forgotten with the board, unless it is the board's to `keep`.
    """

    name: str
    file: Path
    keep: bool = False

    def arguments(self) -> list[str]:
        """QEMU's arguments for it."""
        if not self.file.is_file():
            raise LabError(f"{self.file}: no such disk image")
        snapshot = "off" if self.keep else "on"
        drive = f"file={str(self.file).replace(',', ',,')},format=raw,if=none,id={self.name}"
        return [
            "-drive", f"{drive},cache=unsafe,snapshot={snapshot}",
            "-device", f"virtio-blk-device,drive={self.name},serial={self.name}",
        ]  # fmt: skip


@dataclass
class Board:
    """A board to be started. Every run starts a fresh one."""

    el2: bool = False
    cpu: str = "cortex-a72"
    kernel: str = kernels.DEFAULT
    flavour: str = "cloud"
    smp: int = 1
    memory: int = 1024  # MiB
    count: bool = False
    paced: bool = False
    pace_ns: int = 8  # an instruction of a paced board takes this: a power of two
    files: Mapping[str, Path | bytes] = field(default_factory=dict)
    modules: Sequence[str | Module] = ()
    disks: Sequence[Disk] = ()  # their module, virtio_blk, is loaded with them
    append: str = ""
    timeout: float = 300  # limit for the command, by clock.py
    log: Path | None = None
    settle: float | None = None
    check_leaks: bool = False
    qemu_args: Sequence[str] = ()
    newest_qemu: bool = False  # also for a core that this machine's QEMU has

    def validate(self) -> None:
        """Refuse what no board can be."""
        if self.cpu not in CPUS:
            raise LabError(f"no CPU {self.cpu!r}", remedy(self.cpu, CPUS))
        if not 1 <= self.smp <= 64:
            raise LabError(f"a board has 1 to 64 CPUs, not {self.smp}")
        if not 128 <= self.memory <= 65536:
            raise LabError(f"a board has 128 MiB to 64 GiB of memory, not {self.memory} MiB")
        if self.pace_ns not in (1, 2, 4, 8, 16):
            raise LabError(f"no board takes {self.pace_ns} ns an instruction: 1, 2, 4, 8 or 16")
        if self.log:
            paths.check_output(self.log)
        if self.timeout <= 0:
            raise LabError(f"a time limit of {self.timeout} s is over before it begins")

    def qemu(self, progress: kernels.Progress = lambda _: None) -> str:
        """The path of the emulator that has this board's core."""
        return find_qemu(self.newest_qemu or self.cpu in _NEWER, progress)

    def machine_arguments(self) -> list[str]:
        """QEMU's arguments for the hardware."""
        machine = "virt,gic-version=3"
        if self.el2:
            machine += ",virtualization=on"
        arguments = ["-nodefaults", "-no-user-config", "-nographic", "-no-reboot"]
        if self.count:
            # A nanosecond an instruction, and no time passes in waiting. Nothing may differ
            # between two runs: the time of day, too, feeds the kernel's random numbers. What they
            # begin with is always the same: without it the kernel takes two billion instructions
            # to make something of the clock's jitter.
            # Several CPUs take turns, so a nanosecond is one instruction of any of them.
            arguments += ["-seed", str(SEED), "-icount", "shift=0,sleep=off"]
            arguments += ["-rtc", f"base={COUNT_EPOCH},clock=vm"]
        elif self.paced:
            # An instruction of the CPU that has its turn takes this many nanoseconds: eight are
            # about as fast as boards are, and so a second here means the same on a busy machine.
            shift = self.pace_ns.bit_length() - 1
            arguments += ["-accel", "tcg,thread=single", "-icount", f"shift={shift},sleep=off"]
        else:
            mode = "multi" if self.smp > 1 else "single"
            arguments += ["-accel", f"tcg,thread={mode}"]
        # The architecture's own pointer authentication takes most of QEMU's time.
        cpu = "max,pauth-impdef=on" if self.cpu == "max" else self.cpu
        arguments += ["-M", machine, "-cpu", cpu]
        arguments += ["-smp", str(self.smp), "-m", str(self.memory)]
        return arguments

    def command_line(self) -> str:
        """The board kernel's command line."""
        words = ["console=ttyAMA0", "panic=-1", "rdinit=/init", "sysrq_always_enabled"]
        # Errors are told from other text by their time stamp, which a kernel may be built without.
        words += ["printk.time=1"]
        # Several boards may share a CPU: slowness for that reason is no lock-up.
        words += ["watchdog_thresh=30", "rcupdate.rcu_cpu_stall_timeout=60"]
        if self.count:
            words += ["nokaslr", "randomize_kstack_offset=off"]
        else:
            words += ["earlycon"]
        return " ".join([*words, *self.append.split()])

    def run(
        self,
        command: Sequence[str],
        *,
        stdin: bytes | int = b"",
        on_stdout: Receive | None = None,
        on_stderr: Receive | None = None,
        progress: kernels.Progress = lambda _: None,
    ) -> Result:
        """Start a board, run `command` in it, and tell how it went.

        `stdin` is bytes or a descriptor to read from. Output is collected, and given to
        `on_stdout` and `on_stderr` as it arrives.
        """
        self.validate()
        if not command:
            raise LabError("no command to run on the board")
        kernel = kernels.get(self.kernel, self.flavour, progress)
        qemu = self.qemu(progress)
        modules = [
            Module.parse(module) if isinstance(module, str) else module
            for module in [*(["virtio_blk"] if self.disks else []), *self.modules]
        ]
        settle = self.settle if self.settle is not None else SETTLE_SECONDS * self.count
        settings = {"SETTLE": f"{settle:g}", "CHECK_LEAKS": str(int(self.check_leaks))}
        pieces = initramfs.build(kernel, modules, self.files, command, settings)
        size = sum(map(len, pieces))
        if size * 2 + (96 << 20) > self.memory << 20:
            raise LabError(
                f"{size >> 20} MiB of files do not fit into a board of {self.memory} MiB",
                f"give it --memory {(size * 2 + (256 << 20)) >> 20}",
            )
        log = self.log or logs.new("board")
        # In memory, without a name: nothing is left behind, however this process ends.
        with os.fdopen(os.memfd_create("initrd"), "wb") as initrd:
            initrd.writelines(pieces)
            initrd.flush()
            run = _Run(self, log, stdin, on_stdout, on_stderr)
            return run.go(kernel, initrd.fileno(), qemu)


class _Run:
    """One board's life: what it has said so far, and when to lose patience."""

    def __init__(
        self,
        board: Board,
        log: Path,
        stdin: bytes | int,
        on_stdout: Receive | None,
        on_stderr: Receive | None,
    ) -> None:
        self._board = board
        self._log = log
        self._phase = "start"
        self._status: int | None = None
        self._refusal = ""
        self._lines = b""
        self._scanner = splat.Scanner()
        self._console = bytearray()
        self._stdout, self._stderr = bytearray(), bytearray()
        # `go` has them.
        self._clock: Clock
        self._limit: float
        self._last = math.inf
        self._log_file = log.open("wb", buffering=0)
        console = Channel("console", self._on_console)
        self._autopsy = Autopsy(console.name, console.push)
        self._hang = ""
        self._channels = [
            console,
            Channel("status", self._on_status),
            Channel("stdin", None, stdin),
            Channel("stdout", _tee(self._stdout, on_stdout)),
            Channel("stderr", _tee(self._stderr, on_stderr)),
        ]

    def _arguments(self, kernel: Kernel, initrd: int) -> list[str]:
        arguments = self._board.machine_arguments()
        arguments += ["-kernel", str(kernel.image), "-initrd", descriptor_path(initrd)]
        arguments += ["-append", self._board.command_line()]
        for channel in self._channels:
            arguments += ["-chardev", channel.chardev]
        arguments += ["-serial", "chardev:console", *self._autopsy.arguments]
        arguments += ["-global", "virtio-mmio.force-legacy=false"]
        for disk in self._board.disks:
            arguments += disk.arguments()
        arguments += ["-device", "virtio-serial-device,max_ports=8"]
        for number, channel in enumerate(self._channels[1:], 1):
            port = f"virtserialport,chardev={channel.name},nr={number},name=lab.{channel.name}"
            arguments += ["-device", port]
        return [*arguments, *self._board.qemu_args]

    def go(self, kernel: Kernel, initrd: int, qemu: str) -> Result:
        channels = [*self._channels, self._autopsy.channel]
        machine = Machine(self._arguments(kernel, initrd), channels, [initrd], program=qemu)
        self._clock = machine.clock
        self._allow(BOOT_SECONDS)
        try:
            # The deadline is noted as a hang when it is met, before the board is asked why.
            with contextlib.suppress(Deadline):
                machine.run(self._deadline)
        finally:
            self._scanner.finish()
            self._log_file.close()
        console = self._console.decode("utf-8", "replace")
        return Result(
            self._status, bytes(self._stdout), bytes(self._stderr), console, self._log,
            self._judge(machine.errors, console), machine.seconds, kernel,
        )  # fmt: skip

    def _deadline(self) -> float:
        """When to give the board up; at first only when to ask what it is doing."""
        if not self._hang:
            limit = self._clock.until(min(self._limit, self._last))
            if time.monotonic() < limit:
                return limit
            self._hang = self._say_hang()
            self._allow(autopsy.SECONDS)
            self._autopsy.begin()
        return self._clock.until(self._limit)

    def _allow(self, seconds: float) -> None:
        """What comes now may take so long."""
        self._limit = self._clock.now() + seconds

    def _on_console(self, data: bytes) -> None:
        self._console += data
        self._log_file.write(data)
        self._autopsy.heard(data)
        before = len(self._scanner.splats)
        self._scanner.feed(data)
        if any(found.kind == "oops" for found in self._scanner.splats[before:]):
            self._last = min(self._last, self._clock.now() + SPLAT_SECONDS)

    def _on_status(self, data: bytes) -> None:
        *lines, self._lines = (self._lines + data).split(b"\n")
        for line in lines:
            word, _, rest = line.decode("utf-8", "replace").partition(" ")
            self._phase = word
            if word == "run":
                self._allow(self._board.timeout)
            elif word == "exit":
                self._status = int(rest)
                self._allow(POWER_OFF_SECONDS)
            elif word == "fail":
                self._refusal = rest

    def _judge(self, errors: str, console: str) -> Failure | None:
        if worst := self._scanner.worst:
            return Failure(
                worst.kind,
                f"the board's kernel reported: {worst.line}\n{splat.excerpt(console, worst)}",
                EXIT_CRASH,
            )
        if self._refusal:
            return Failure("set-up", self._refusal, EXIT_USAGE)
        if self._hang:
            return Failure("hang", self._hang, EXIT_HANG)
        if self._status is None:
            if self._phase == "start" and errors:
                return Failure("set-up", f"QEMU did not start: {errors}", EXIT_USAGE)
            where = "during boot" if self._phase != "run" else "before the command ended"
            return Failure("stop", f"the board went off {where}\n{errors}".strip(), EXIT_CRASH)
        return None

    def _say_hang(self) -> str:
        if self._phase == "exit":
            return f"the command ended, but the board did not go off in {POWER_OFF_SECONDS} s"
        if self._phase == "run":
            return f"the command did not end within {self._board.timeout:g} s"
        return f"the board did not get to running the command within {BOOT_SECONDS} s"


def _tee(store: bytearray, also: Receive | None) -> Receive:
    def receive(data: bytes) -> None:
        store.extend(data)
        if also:
            also(data)

    return receive


def describe(board: Board, kernel: Kernel) -> dict[str, Any]:
    """A board as figures and reports state it; memory in MiB."""
    return {
        "el2": board.el2,
        "cpu": board.cpu,
        "smp": board.smp,
        "memory_mib": board.memory,
        "count": board.count,
        "append": board.append,
        "kernel": kernel.release,
        "kernel_role": kernel.role,
        "kernel_version": kernel.version,
        "packages": list(kernel.packages),
    }


def tail(console: str, lines: int = 30) -> str:
    """The last lines of a console log."""
    return "\n".join(console.rstrip().splitlines()[-lines:])


def forwardable_stdin() -> bytes | int:
    """This process's standard input, if a board may read it.

    A process in the background that reads its terminal is stopped, so it does not.
    """
    try:
        if os.isatty(0) and os.tcgetpgrp(0) != os.getpgrp():
            return b""
        os.fstat(0)
    except OSError:
        return b""
    return 0
