# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab demo`: an emulated Arm machine, a Debian VM in it, and where the time went.

The guest's console is shown as it comes. The last line that `armvisor run --json` writes is its
report; it is kept from the console and made into a table.
"""

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

from armvisor_lab import kernels
from armvisor_lab.board import CPUS, Board, Result, tail
from armvisor_lab.cli_board import say
from armvisor_lab.errors import LabError
from armvisor_lab.figures import artefacts

REPORT = b'{"end":'

# Counters of time or of polling, which say nothing about where exits went.
_NOT_EXITS = ("_ns", "_poll", "_invalid", "_wakeup")


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command to the command line's grammar."""
    demo = commands.add_parser("demo", help="a Debian VM on an emulated board, start to finish")
    demo.add_argument("--cpu", choices=CPUS, default="cortex-a72", help="default %(default)s")
    demo.add_argument("--kernel", choices=kernels.SUITE_OF, default=kernels.DEFAULT,
                      help="of board and guest, default %(default)s")  # fmt: skip
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
    in_kvm = {k: v for k, v in report["kvm_exits"].items() if not k.endswith(_NOT_EXITS)}
    for title, counts in (("exits to the VMM", report["exits"]), ("exits within KVM", in_kvm)):
        rows.append((title, ""))
        some = sorted(((n, name) for name, n in counts.items() if n), reverse=True)
        rows += [(f"  {name}", f"{number:8}") for number, name in some]
    return rows


def show(report: dict[str, Any]) -> None:
    """Print where the time went."""
    print("\nWhere the time went (seconds of the emulated machine's clock):")
    for label, text in _rows(report):
        print(f"  {label:24}{text}")


def _run(options: argparse.Namespace) -> int:
    guest = artefacts.guest(options.kernel)
    board = Board(
        el2=True,
        cpu=options.cpu,
        kernel=options.kernel,
        memory=1536,
        files={
            "/bin/armvisor": artefacts.vmm(),
            "/guest/vmlinuz": guest["vmlinuz"],
            "/guest/initrd": guest["initrd"],
        },
    )
    command = ["armvisor", "run", "--kernel", "/guest/vmlinuz", "--initrd", "/guest/initrd"]
    say(f"booting an emulated Arm machine with EL2 ({options.cpu}, Debian's {options.kernel})")
    say(f"in it: {' '.join(command)}")

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
