# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Debian's QEMU, unmodified, on the board without EL2, with the Debian test guest.

A script on the board has these functions; `answer` marks the lines that a test checks.

    vm WORD…              a VM of the test guest; more words for QEMU
    open NAME PORT FD     connect to QEMU's port: lines written to FD go there; NAME has its output
    say NAME FD LINE…     write them
    await NAME PATTERN    wait until a line of the output begins with it
    answer WORD…

Boards are counted: in real time, on a busy machine, a board would serve little but its own timer.
"""

from collections.abc import Sequence
from pathlib import Path

from built import module

from armvisor_lab.archive import programs
from armvisor_lab.archive.packages import Packages
from armvisor_lab.boards.board import Board, Result
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.figures import artefacts

KERNEL = "stable"
# The Debian suite of this QEMU.
SUITE = "trixie"
FIRMWARE = "usr/share/qemu-efi-aarch64/QEMU_EFI.fd"
QEMU = ("qemu-system-arm", "usr/bin/qemu-system-aarch64")

FUNCTIONS = """
set -e
answer() { echo "answer $*"; }
vm() {
    qemu-system-aarch64 -accel kvm -cpu host -display none -M virt,gic-version=3 -m 256 \\
        -kernel /guest/Image -initrd /guest/initrd "$@"
}
open() {
    rm -f /tmp/$1.in; mkfifo /tmp/$1.in; : >/tmp/$1; eval "exec $3<>/tmp/$1.in"
    until nc 127.0.0.1 $2 </tmp/$1.in >>/tmp/$1 2>/dev/null; do sleep 1; done &
}
await() {
    until grep -q "^$2" /tmp/$1; do kill -0 $vm; sleep 1; done
}
"""
# A shell on the guest's console, which is a port of the board. It is ready when it answers.
SHELL = """
shell() {
    vm -serial tcp:127.0.0.1:4445,server=on,wait=off "$@" \\
        -append "console=ttyAMA0 quiet armvisor.test=shell" & vm=$!
    open serial 4445 5
}
ready() { await serial '/ # \\|~ # '; }
"""


def run(
    script: str,
    more: Sequence[tuple[str, str]] = (),
    modules: Sequence[str] = (),
    firmware: bool = False,
    guest: str = KERNEL,
    timeout: float = 2400,
) -> Result:
    """Run a script on a board with the module, the test guest and QEMU, and `more` programs.

    With `firmware`, EDK2 is /firmware.
    """
    made = artefacts.guest(guest)
    files: dict[str, Path | bytes] = {
        "/guest/Image": made["Image"],
        "/guest/initrd": made["initrd"],
        "/bin/stream": artefacts.tool("stream"),
        "/bin/tap": artefacts.tool("tap"),
    }
    for package, path in (QEMU, *more):
        files |= programs.with_libraries(package, path, SUITE)[0]
    if firmware:
        files["/firmware"] = Packages(SUITE).get("qemu-efi-aarch64").unpacked() / FIRMWARE
    board = Board(
        kernel=KERNEL, memory=3072, files=files, timeout=timeout, count=True,
        modules=[*modules, Module(str(module(KERNEL)))],
    )  # fmt: skip
    return board.run(["sh", "-c", FUNCTIONS + SHELL + script])


def lines(result: Result, word: str) -> list[str]:
    """The lines that begin with a word, without it, if all went well."""
    said = result.stderr.decode("utf-8", "replace")[-3000:]
    assert not result.failure, f"{result.failure}\n{result.text[-3000:]}\n{said}"
    assert result.status == 0, f"status {result.status}\n{result.text[-3000:]}\n{said}"
    text = result.text.replace("\r", "")
    return [line[len(word) + 1 :] for line in text.splitlines() if line.startswith(f"{word} ")]
