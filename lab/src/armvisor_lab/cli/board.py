# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab board run`."""

import argparse
import base64
import json
import re
import sys
from pathlib import Path
from typing import Any

from armvisor_lab.archive import kernels
from armvisor_lab.boards.board import CPUS, Board, Result, describe, forwardable_stdin, tail
from armvisor_lab.errors import LabError

_STATUSES = """\
The exit status is the command's own, or
  124  the board or the command hung (ran past its time limit)
  125  the lab could not do it: wrong options, a missing file, no such module
  126  the board's kernel panicked or reported a BUG, a warning, a lock-up, a leak
       (also if the command succeeded), or the board went off before the command ended

examples:
  lab board run -- uname -a
  lab board run --el2 --cpu cortex-a76 --file build/guests:/guests -- ls /guests
  lab board run --el2 --count --module tun -- sh -c 'echo counted'
"""


def memory_size(text: str) -> int:
    """MiB, from `512`, `512M` or `2G`."""
    match = re.fullmatch(r"(\d+)([MmGg]?)(i?B)?", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size: write 512M or 2G")
    return int(match[1]) * (1024 if match[2] in ("G", "g") else 1)


def kernel_role(text: str) -> str:
    """A kernel's role, by its name or by the version that was found for it."""
    try:
        return kernels.role_of(text)
    except LabError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def file_pair(text: str) -> tuple[str, Path]:
    """Destination and source, from SRC:DEST."""
    source, colon, destination = text.rpartition(":")
    if not colon or not source or not destination.startswith("/"):
        raise argparse.ArgumentTypeError(f"{text!r}: write SRC:/DEST")
    path = Path(source).expanduser()
    if not path.exists():
        raise argparse.ArgumentTypeError(f"{source}: no such file or folder")
    if destination.endswith("/"):
        destination += path.name
    return destination, path


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command to the command line's grammar."""
    board = commands.add_parser("board", help="start an emulated Arm board")
    actions = board.add_subparsers(metavar="ACTION", required=True, parser_class=type(board))
    run = actions.add_parser(
        "run",
        help="run a command on a fresh board",
        description="Boot an emulated Arm board, run a command in it, return its exit status.",
        epilog=_STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = run.add_argument
    option("--el2", action="store_true", help="a CPU with EL2: KVM works on this board")
    option("--cpu", choices=CPUS, default="cortex-a72", help="default %(default)s")
    option("--newest-qemu", action="store_true",
           help="Debian's newest QEMU, fetched into the cache; a core that this machine's does not "
                "have gets it in any case")  # fmt: skip
    option("--kernel", default=kernels.DEFAULT, metavar="KERNEL",
           help=f"{', '.join(kernels.SUITE_OF)}, or a folder with Image and modules; "
                "default %(default)s")  # fmt: skip
    option("--flavour", choices=kernels.FLAVOURS, default="cloud", help="default %(default)s")
    option("--smp", "--cpus", type=int, default=1, metavar="N", help="CPUs, default %(default)s")
    option("--memory", type=memory_size, default=1024, metavar="SIZE", help="default 1G")
    option("--count", action="store_true",
           help="count instructions, one per virtual nanosecond; several CPUs take turns; runs "
                "repeat; the command starts on a settled machine")  # fmt: skip
    option("--file", type=file_pair, action="append", default=[], metavar="SRC:DEST",
           help="copy a file or folder to the board; repeatable")  # fmt: skip
    option("--module", action="append", default=[], metavar="NAME[:PARAMETERS]",
           help="load a kernel module first, by name or as FILE.ko; repeatable")  # fmt: skip
    option("--append", default="", metavar="WORDS", help="add to the kernel's command line")
    option("--timeout", type=float, default=300, metavar="S",
           help="seconds for the command, without the time that the board waits for a CPU of this "
                "machine; default %(default)s")  # fmt: skip
    option("--log", type=Path, metavar="FILE", help="file for the console log")
    option("--json", action="store_true", help="print the result as JSON, stream nothing")
    option("--check-leaks", action="store_true", help="scan with kmemleak afterwards")
    option("--qemu-arg", action="append", default=[], metavar="ARG", help="more QEMU arguments")
    option("command", nargs="+", metavar="COMMAND", help="command to run, after `--`")
    run.set_defaults(run=_run)


def _board(options: argparse.Namespace) -> Board:
    return Board(
        el2=options.el2,
        cpu=options.cpu,
        kernel=options.kernel,
        flavour=options.flavour,
        smp=options.smp,
        memory=options.memory,
        count=options.count,
        files=dict(options.file),
        modules=options.module,
        append=options.append,
        timeout=options.timeout,
        log=options.log,
        check_leaks=options.check_leaks,
        qemu_args=options.qemu_arg,
        newest_qemu=options.newest_qemu,
    )


def say(message: str) -> None:
    """Progress, for people only."""
    print(f"lab: {message}", file=sys.stderr, flush=True)


def _run(options: argparse.Namespace) -> int:
    board = _board(options)
    if options.json:
        result = board.run(options.command, stdin=forwardable_stdin(), progress=say)
        print(json.dumps(_as_json(board, options.command, result), indent=1))
        return result.exit_status

    def out(data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def err(data: bytes) -> None:
        sys.stderr.buffer.write(data)
        sys.stderr.buffer.flush()

    result = board.run(
        options.command, stdin=forwardable_stdin(), on_stdout=out, on_stderr=err, progress=say
    )
    if failure := result.failure:
        if failure.kind not in ("set-up",):
            print(f"--- end of the console log\n{tail(result.console)}\n---", file=sys.stderr)
        say(f"{failure.kind}: {failure.message.splitlines()[0]}")
        say(f"the whole console log: {result.log}")
    return result.exit_status


def _bytes(data: bytes) -> str | dict[str, str]:
    """Text as it is; what is no text as base64."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _as_json(board: Board, command: list[str], result: Result) -> dict[str, Any]:
    failure = result.failure
    return {
        "command": command,
        "status": result.status,
        "exit_status": result.exit_status,
        "failure": failure and {"kind": failure.kind, "message": failure.message},
        "stdout": _bytes(result.stdout),
        "stderr": _bytes(result.stderr),
        "seconds": round(result.seconds, 3),
        "console_log": str(result.log),
        "board": describe(board, result.kernel),
    }
