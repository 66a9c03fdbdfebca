# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The command `lab`: its sub-commands, and the format of errors."""

import argparse
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from armvisor_lab.boards.board import EXIT_USAGE
from armvisor_lab.cli import (
    bench,
    board,
    compare,
    demo,
    docs,
    figures,
    login,
    model,
    packages,
    reach,
    report,
)
from armvisor_lab.cli.arguments import Parser, Version
from armvisor_lab.errors import LabError

EXIT_INTERRUPTED = 130

_COMMANDS = (
    board, packages, figures, reach, model, bench, report, compare, docs, demo, login,
)  # fmt: skip

_EXAMPLES = """\
examples (`lab COMMAND ACTION --help` lists all options):
  lab board run --el2 -- ls -l /dev/kvm     a command on a board that has KVM
  lab board run -- sh                       a shell, its input from here
  lab kernel path stable --what headers     the headers to build a module for that kernel
  lab packages get strace --deps            an arm64 package with its dependencies
  lab figures --only 'boot.*'               counted measurements
  lab compare lat.null --on native,armvisor rows on several hypervisors, side by side
  lab reach --on native --on kvm            page walks, by a TLB model
  lab model rows --row null                 a row predicted from the cost of single traps
  lab report -o report.html                 our figures beside published ones, as a page
"""


def parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    top = Parser(
        prog="lab",
        description="Emulated Arm boards and experiments for armvisor.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action=Version, help="print the version")
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    for module in _COMMANDS:
        module.add(commands)
    return top


def _terminated(number: int, _frame: FrameType | None) -> None:
    # As an exception, so that boards are taken down and temporary files removed.
    sys.exit(128 + number)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; its exit status."""
    # Also where SIGINT came in ignored, as in a script's background jobs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _terminated)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _terminated)
    words = list(sys.argv[1:] if arguments is None else arguments)
    options = parser().parse_args(words)
    try:
        status: int = options.run(options)
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        print("lab: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return EXIT_USAGE
    except OSError as error:
        print(f"lab: {error}", file=sys.stderr)
        return EXIT_USAGE
    return status
