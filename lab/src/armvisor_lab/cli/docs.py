# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab docs`."""

import argparse
import sys
from typing import Any

from armvisor_lab import doctables, paths


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command to the command line's grammar."""
    docs = commands.add_parser(
        "docs",
        help="write the documents' tables of figures from the records in docs/",
        description="Writes the tables of figures in README.md and docs/ from the records that "
        f"{doctables.SPEC} names. That file has their rows and columns.",
    )
    docs.add_argument("--check", action="store_true",
                      help="change nothing; status 1 if a table differs from the "
                      "records")  # fmt: skip
    docs.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    top = paths.checkout()
    stale = doctables.stale(top)
    for document, text in stale.items():
        name = document.relative_to(top)
        if options.check:
            print(f"{name}: a table is not what the records have: run `bin/lab docs`")
        else:
            paths.write_atomically(document, text.encode())
            print(f"lab: wrote the tables of {name}", file=sys.stderr)
    return 1 if options.check and stale else 0
