# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Boots a kernel and its initramfs on the bare board, with nothing of the lab in it.

The only output is the console: its text is the result. The machine is that of a `Board`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from armvisor_lab.boards import logs, splat
from armvisor_lab.boards.board import Board
from armvisor_lab.boards.machine import Channel, Deadline, Machine
from armvisor_lab.errors import LabError


@dataclass(frozen=True)
class Boot:
    """What the console said, and where that is kept."""

    console: str
    log: Path
    seconds: float


def boot(
    board: Board, image: Path, initrd: Path, append: str, on_console: Callable[[bytes], None]
) -> Boot:
    """Boot until the machine powers off; LabError if the kernel complains or hangs."""
    board.validate()
    received = bytearray()

    def receive(data: bytes) -> None:
        received.extend(data)
        on_console(data)

    console = Channel("console", receive)
    arguments = [
        *board.machine_arguments(),
        *board.qemu_args,
        *("-kernel", str(image), "-initrd", str(initrd), "-append", append),
        *("-chardev", console.chardev, "-serial", "chardev:console"),
    ]
    machine = Machine(arguments, [console])
    log = logs.new("boot")
    hung = False
    try:
        machine.run(machine.clock.deadline(board.timeout))
    except Deadline:
        hung = True
    text = received.decode("utf-8", "replace")
    log.write_bytes(received)
    if found := splat.scan(text):
        raise LabError(f"the kernel reported: {found[0].line}", f"console log: {log}")
    if hung:
        raise LabError(f"no power-off within {board.timeout:g} s", f"console log: {log}")
    if machine.errors:
        raise LabError(f"QEMU: {machine.errors}", f"console log: {log}")
    return Boot(text, log, machine.seconds)
