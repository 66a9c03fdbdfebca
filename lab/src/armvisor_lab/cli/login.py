# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab login`: a Debian disk as a VM on a board, and a command in it over SSH.

The VM's client is Debian's own QEMU, with EDK2 as firmware and GRUB from the disk, or `armvisor`,
with kernel and initrd from the disk's /boot. The board has no EL2 and loads the module; with
`--el2` it has KVM.
"""

import argparse
import re
import shlex
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

from armvisor_lab.archive import kernels, programs
from armvisor_lab.archive.packages import Packages
from armvisor_lab.boards.board import CPUS, Board, Disk, Result, tail
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.cli.board import kernel_role, say
from armvisor_lab.errors import LabError
from armvisor_lab.figures import artefacts

CLIENTS = ("qemu", "armvisor")
SUITE = "trixie"
FIRMWARE = "usr/share/qemu-efi-aarch64/QEMU_EFI.fd"
FUNCTIONS = "/login.sh"

# The board's lines about a command, which is one word of the shell.
_SCRIPT = """\
set -e
. {functions}
start {client}
login
printf "\\n$ ssh root@vm '%s'\\n" {command}
status=0
inside {command} || status=$?
leave
exit $status
"""

# Sequences by which firmware, GRUB and systemd draw.
_DRAWN = re.compile(rb"\x1b(\[[0-9;?=!]*[A-Za-z]|[()][A-Z0-9]|\][0-9;]*(\x07|\x1b\\))|\r")


def files(client: str) -> dict[str, Path | bytes]:
    """What a board needs to run the Debian disk under a client."""
    found: dict[str, Path | bytes] = {
        FUNCTIONS: resources.files("armvisor_lab.cli").joinpath("login.sh").read_bytes(),
        "/root/key": artefacts.disk()["key"],
    }
    wanted = [("openssh-client", "usr/bin/ssh")]
    if client == "qemu":
        wanted.append(("qemu-system-arm", "usr/bin/qemu-system-aarch64"))
        found[f"/{FIRMWARE}"] = Packages(SUITE, say).get("qemu-efi-aarch64").unpacked() / FIRMWARE
    else:
        found |= {"/bin/armvisor": artefacts.vmm(), "/bin/tap": artefacts.tool("tap")}
    for package, path in wanted:
        found |= programs.with_libraries(package, path, SUITE, say)[0]
    return found


def board(
    client: str, el2: bool = False, cpu: str = "cortex-a72", kernel: str = kernels.DEFAULT
) -> Board:
    """A board with the Debian disk and a client for it.

    Counted without EL2: its clock then runs by what the guest does, not by how long QEMU takes.
    """
    modules = [Module("tun")]
    if not el2:
        modules.append(Module(str(artefacts.module(kernel))))
    return Board(
        el2=el2, cpu=cpu, kernel=kernel, memory=1536, modules=modules, files=files(client),
        disks=[Disk("debian", artefacts.disk()["disk.img"])], count=not el2, timeout=3600,
    )  # fmt: skip


def script(client: str, command: str) -> str:
    """What the board runs for a command in the VM."""
    return _SCRIPT.format(functions=FUNCTIONS, client=client, command=shlex.quote(command))


class Plain:
    """Passes a console on, a line at a time, without what moves a cursor."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._rest = b""

    def receive(self, data: bytes) -> None:
        """Take more of the console."""
        lines, end, self._rest = (self._rest + data).rpartition(b"\n")
        self._write(_DRAWN.sub(b"", lines + end))

    def finish(self) -> None:
        """Pass on a last line without an end."""
        self._write(_DRAWN.sub(b"", self._rest))


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command to the command line's grammar."""
    login = commands.add_parser("login", help="a Debian disk as a VM on a board, by SSH")
    option = login.add_argument
    option("--client", choices=CLIENTS, default="qemu", help="default %(default)s")
    option("--cpu", choices=CPUS, default="cortex-a72", help="default %(default)s")
    option("--kernel", type=kernel_role, default=kernels.DEFAULT, metavar="KERNEL",
           help=f"of the board: {', '.join(kernels.SUITE_OF)}; default %(default)s")  # fmt: skip
    option("--el2", action="store_true", help="on a board with EL2, on KVM, not the module")
    option("command", nargs="+", metavar="COMMAND", help="command to run in the VM, after `--`")
    login.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    made = board(options.client, options.el2, options.cpu, options.kernel)
    el2 = "with" if options.el2 else "without"
    kernel = kernels.get(options.kernel, progress=say)
    say(f"booting an emulated Arm machine {el2} EL2 ({options.cpu}, Debian {kernel})")

    def write(data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()

    console = Plain(write)
    run = script(options.client, " ".join(options.command))
    result: Result = made.run(["sh", "-c", run], on_stdout=console.receive, progress=say)
    console.finish()
    sys.stderr.write(result.stderr.decode("utf-8", "replace"))
    if result.failure:
        sys.stderr.write(tail(result.console))
        raise LabError(result.failure.message, f"the board's console log: {result.log}")
    return result.exit_status
