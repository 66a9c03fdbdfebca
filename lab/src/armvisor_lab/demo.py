# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab demo`: an emulated Arm machine without EL2, a Debian VM in it, and where the time went.

With `--el2` the machine has EL2, and the same VM runs on the kernel's own KVM. The guest's
console is shown as it comes. The last line that `armvisor run --json` writes is its report; it
is kept from the console and made into a table.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from armvisor_lab import kernels
from armvisor_lab.board import CPUS, Board, Result, tail
from armvisor_lab.cli_board import kernel_role, say
from armvisor_lab.errors import LabError
from armvisor_lab.figures import artefacts

RUN = ("armvisor", "run", "--kernel", "/guest/vmlinuz", "--initrd", "/guest/initrd")

# What the module says of itself, then the VM.
LOAD = "insmod /armvisor.ko && dmesg | grep 'armvisor: ' && ls -l /dev/kvm && exec \"$@\""

REPORT = b'{"end":'

# The module's exits by class, the rows of ARMvisor's Table 7, which add up; each has its time.
_CLASSES = ("sen_inst_trap", "irq", "fast_trap", "dat_trans", "protection", "mmio", "dabt_true",
            "pabt_kvm", "pabt_true", "guest_exc", "hypercall", "suspend")  # fmt: skip

# Counters of time or of polling, which say nothing about where exits went.
_NOT_EXITS = ("_ns", "_poll", "_invalid", "_wakeup")


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command to the command line's grammar."""
    demo = commands.add_parser("demo", help="a Debian VM on an emulated board, start to finish")
    demo.add_argument("--cpu", choices=CPUS, default="cortex-a72", help="default %(default)s")
    demo.add_argument("--kernel", type=kernel_role, default=kernels.DEFAULT,
                      metavar="KERNEL", help=f"of board and guest: {', '.join(kernels.SUITE_OF)}; "
                      "default %(default)s")  # fmt: skip
    demo.add_argument("--el2", action="store_true",
                      help="on a board with EL2, on KVM, instead of the module")  # fmt: skip
    demo.set_defaults(run=_run)


class Console:
    """Passes a console on as it comes, but for the report, a line of its own."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._line = b""
        self.report: dict[str, Any] | None = None

    def receive(self, data: bytes) -> None:
        """Take more of the console."""
        self._line += data
        *lines, self._line = self._line.split(b"\n")
        for line in lines:
            if line.startswith(REPORT):
                self.report = json.loads(line)
            else:
                self._write(line + b"\n")
        if not REPORT.startswith(self._line[: len(REPORT)]):
            self._write(self._line)
            self._line = b""


def _rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    """What the report says of time and exits, as labels and texts."""
    wall = report["wall_seconds"]
    rows = [("start to end", f"{wall:8.2f} s")]
    for phase in report["phases"]:
        share = phase["seconds"] / wall if wall else 0
        rows.append((f"  {phase['name']}", f"{phase['seconds']:8.2f} s  {share:4.0%}"))
    rows += _counts("exits to the VMM", report["exits"])
    exits = report["kvm_exits"]
    if "guest_ns" in exits:
        return rows + _classes(exits, wall)
    in_kvm = {k: v for k, v in exits.items() if not k.endswith(_NOT_EXITS)}
    return rows + _counts("exits within KVM", in_kvm)


def _counts(title: str, counts: dict[str, int]) -> list[tuple[str, str]]:
    some = sorted(((n, name) for name, n in counts.items() if n), reverse=True)
    return [(title, ""), *((f"  {name}", f"{number:8}") for number, name in some)]


def _classes(exits: dict[str, int], wall: float) -> list[tuple[str, str]]:
    """The module's exits: how many of each class, their time, and the time between them."""

    def row(label: str, count: str, nanoseconds: int) -> tuple[str, str]:
        seconds = nanoseconds / 1e9
        share = seconds / wall if wall else 0
        # A fast trap's time is within the guest's: it is not worth reading a clock for.
        text = f"{seconds:8.2f} s  {share:4.0%}" if nanoseconds else ""
        return f"  {label}", f"{count:>8} {text}".rstrip()

    rows = [("within the hypervisor", ""), row("guest, with fast traps", "", exits["guest_ns"])]
    if idle := exits.get("idle_ns"):
        rows.append(row("idle", "", idle))
    some = sorted(((exits[f"{name}_ns"], name) for name in _CLASSES if exits[name]), reverse=True)
    return rows + [row(name, str(exits[name]), time) for time, name in some]


def show(report: dict[str, Any]) -> None:
    """Print where the time went."""
    print("\nWhere the time went (seconds of the emulated machine's clock):")
    for label, text in _rows(report):
        print(f"  {label:24}{text}".rstrip())


def _board(options: argparse.Namespace) -> Board:
    guest = artefacts.guest(options.kernel)
    files: dict[str, Path | bytes] = {
        "/bin/armvisor": artefacts.vmm(),
        "/guest/vmlinuz": guest["vmlinuz"],
        "/guest/initrd": guest["initrd"],
    }
    if not options.el2:
        files["/armvisor.ko"] = artefacts.module(options.kernel)
    # Counted without EL2: the board's clock then runs by what the guest does, not by how long
    # QEMU takes for it, and two demos show the same.
    return Board(
        el2=options.el2, cpu=options.cpu, kernel=options.kernel, memory=1536, files=files,
        count=not options.el2,
    )  # fmt: skip


def _run(options: argparse.Namespace) -> int:
    board = _board(options)
    command = [*RUN]
    el2 = "with" if options.el2 else "without"
    kernel = kernels.get(options.kernel, progress=say)
    say(f"booting an emulated Arm machine {el2} EL2 ({options.cpu}, Debian {kernel})")
    if not options.el2:
        say("in it: insmod armvisor.ko")
    say(f"in it: {' '.join(command)}")
    if not options.el2:
        command = ["sh", "-c", LOAD, "sh", *command]

    def write(data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()

    console = Console(write)
    result: Result = board.run([*command, "--json"], on_stdout=console.receive, progress=say)
    sys.stderr.write(result.stderr.decode("utf-8", "replace"))
    if result.failure:
        sys.stderr.write(tail(result.console))
        raise LabError(result.failure.message, f"the board's console log: {result.log}")
    if console.report is None:
        raise LabError(f"armvisor ended with status {result.status} and no report")
    show(console.report)
    return result.exit_status
