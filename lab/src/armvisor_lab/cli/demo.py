# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab demo`: an emulated Arm machine without EL2, a Debian VM in it, and where the time went.

With `--el2` the machine has EL2, and the same VM runs on the kernel's own KVM. The guest's console
is shown as it comes. The last line of `armvisor run --json` is its report, which is not shown on
the console but made into a table.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from armvisor_lab import paths, timetable
from armvisor_lab.archive import kernels
from armvisor_lab.boards.board import CPUS, Board, Result, describe, tail
from armvisor_lab.cli.board import kernel_role, say
from armvisor_lab.cli.report import write_demo
from armvisor_lab.errors import LabError
from armvisor_lab.figures import artefacts
from armvisor_lab.figures.run import provenance, write

RUN = ("armvisor", "run", "--kernel", "/guest/vmlinuz", "--initrd", "/guest/initrd")

# The module's messages, then the VM's.
LOAD = "insmod /armvisor.ko && dmesg | grep 'armvisor: ' && ls -l /dev/kvm && exec \"$@\""

REPORT = b'{"end":'


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command to the command line's grammar."""
    demo = commands.add_parser("demo", help="a Debian VM on an emulated board, start to finish")
    demo.add_argument("--cpu", choices=CPUS, default="cortex-a72", help="default %(default)s")
    demo.add_argument("--kernel", type=kernel_role, default=kernels.DEFAULT,
                      metavar="KERNEL", help=f"of board and guest: {', '.join(kernels.SUITE_OF)}; "
                      "default %(default)s")  # fmt: skip
    demo.add_argument("--el2", action="store_true",
                      help="on a board with EL2, on KVM, instead of the module")  # fmt: skip
    demo.add_argument("--page", type=Path, metavar="FILE",
                      help="a page of the run, with the figures of docs/bench.json; the run's "
                      "record stands beside it; default build/demo.html")  # fmt: skip
    demo.set_defaults(run=_run)


def defaults() -> argparse.Namespace:
    """The options of `lab demo` without any."""
    return argparse.Namespace(cpu="cortex-a72", kernel=kernels.DEFAULT, el2=False, page=None)


# The guest's messages, and by its own clock the time at which its kernel reaches these points.
_SYSTEM = re.compile(rb"This is Debian in a VM: (.{1,200}?)\r?$")
_POINTS = {
    "init": re.compile(rb"\[ *(\d+\.\d+)\] Run /init as init process"),
    "off": re.compile(rb"\[ *(\d+\.\d+)\] reboot: Power down"),
}


@dataclass(frozen=True)
class Ran:
    """A run: the VM's report, the board, how `armvisor run` ended, and what the guest was."""

    report: dict[str, Any]
    board: dict[str, Any]
    status: int
    guest: dict[str, Any] = field(default_factory=dict)


class Console:
    """Passes a console on as it comes, but for the report, a line of its own.

    `guest` is what the guest said of itself: its system, and the seconds of its clock at /init and
    at power-off.
    """

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._line = b""
        self._begun = b""  # of a line that was passed on in part
        self.report: dict[str, Any] | None = None
        self.guest: dict[str, Any] = {}

    def receive(self, data: bytes) -> None:
        """Take more of the console."""
        self._line += data
        *lines, self._line = self._line.split(b"\n")
        for line in lines:
            if line.startswith(REPORT):
                self.report = json.loads(line)
            else:
                self._note(self._begun + line)
                self._begun = b""
                self._write(line + b"\n")
        if not REPORT.startswith(self._line[: len(REPORT)]):
            self._begun += self._line
            self._write(self._line)
            self._line = b""

    def _note(self, line: bytes) -> None:
        if found := _SYSTEM.match(line):
            self.guest["system"] = found[1].decode("utf-8", "replace")
        for name, pattern in _POINTS.items():
            if found := pattern.match(line):
                self.guest[name] = float(found[1])


def show(report: dict[str, Any]) -> None:
    """Print where the time went."""
    print("\nWhere the time went (seconds of the emulated machine's clock):")
    for group in timetable.groups(report):
        total = "" if group.seconds is None else f"{group.seconds:8.2f} s"
        print(f"  {group.title:24}{total}".rstrip())
        for line in group.lines:
            print(f"  {'  ' + line.label:24}{line.text(group.counted)}".rstrip())


def write_record(ran: Ran, file: Path) -> None:
    """The run as a record."""
    demo = {"board": ran.board, "report": ran.report, "guest": ran.guest}
    write(file, {**provenance(), "demo": demo})


def write_page(ran: Ran, page: Path) -> None:
    """The run as a record, and as a page beside it."""
    record = page.with_suffix(".json")
    write_record(ran, record)
    try:
        write_demo(record, page)
    except LabError as error:
        say(f"no page of it: {error}")
    else:
        print(f"\nAs a page: {page}")


def _board(options: argparse.Namespace) -> Board:
    guest = artefacts.guest(options.kernel)
    files: dict[str, Path | bytes] = {
        "/bin/armvisor": artefacts.vmm(),
        "/guest/vmlinuz": guest["vmlinuz"],
        "/guest/initrd": guest["initrd"],
    }
    if not options.el2:
        files["/armvisor.ko"] = artefacts.module(options.kernel)
    # Counted without EL2: the board's clock then advances by the guest's work, not by QEMU's time
    # for it, and two demos show the same.
    return Board(
        el2=options.el2, cpu=options.cpu, kernel=options.kernel, memory=1536, files=files,
        count=not options.el2,
    )  # fmt: skip


def run_vm(options: argparse.Namespace, out: Callable[[bytes], None]) -> Ran:
    """Run the VM; its console goes to `out`."""
    command = [*RUN]
    if not options.el2:
        command = ["sh", "-c", LOAD, "sh", *command]
    console = Console(out)
    board = _board(options)
    result: Result = board.run([*command, "--json"], on_stdout=console.receive, progress=say)
    sys.stderr.write(result.stderr.decode("utf-8", "replace"))
    if result.failure:
        sys.stderr.write(tail(result.console))
        raise LabError(result.failure.message, f"the board's console log: {result.log}")
    if console.report is None:
        raise LabError(f"armvisor ended with status {result.status} and no report")
    described = describe(board, result.kernel)
    return Ran(console.report, described, result.exit_status, console.guest)


def _run(options: argparse.Namespace) -> int:
    if options.page:
        paths.check_output(options.page)
    _board(options)  # reports missing builds before anything else is printed
    el2 = "with" if options.el2 else "without"
    kernel = kernels.get(options.kernel, progress=say)
    say(f"booting an emulated Arm machine {el2} EL2 ({options.cpu}, Debian {kernel})")
    if not options.el2:
        say("in it: insmod armvisor.ko")
    say(f"in it: {' '.join(RUN)}")

    def out(data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()

    ran = run_vm(options, out)
    show(ran.report)
    write_page(ran, options.page or paths.checkout() / "build/demo.html")
    return ran.status
