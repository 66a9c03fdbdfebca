# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab compare`, which `lab figures --compare` also calls."""

import argparse
import json
import math
from pathlib import Path
from typing import Any

from armvisor_lab import records
from armvisor_lab.cli_board import say
from armvisor_lab.errors import LabError
from armvisor_lab.report import compare

_MORE = f"""\
A line is a figure: its value in A, in B, and by how much B is larger. Where it is a mean of
samples, a permutation test says how likely so large a difference is by chance alone; one that is
likelier than {compare.CHANCE:.0%} is not counted as a difference.

Exit status: 0 all agree, 1 some do not or are in one record only, 125 a record cannot be read.
"""


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command to the command line's grammar."""
    command = commands.add_parser(
        "compare",
        help="two records, figure by figure",
        description="Compares two records of `lab figures` or `lab reach`; measures nothing.",
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("a", type=Path, metavar="A.json", help="the one")
    command.add_argument("b", type=Path, metavar="B.json", help="the other")
    add_within(command)
    command.add_argument("--json", action="store_true", help="as JSON")
    command.set_defaults(run=_run)


def add_within(command: argparse.ArgumentParser) -> None:
    """The option for how far apart figures may be."""
    command.add_argument("--within", type=percentage, default=compare.LIMIT, metavar="PERCENT",
                         help="what a comparison lets pass, default %(default)s")  # fmt: skip


def percentage(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or value < 0:
        raise ValueError
    return value


def _run(options: argparse.Namespace) -> int:
    return run(options.a, options.b, options.within, options.json)


def _readable(file: Path) -> records.Record:
    record = records.read(file)
    if not record.values:
        raise LabError(f"{file} has no figures, but {record.command}'s report of one VM")
    return record


def run(a: Path, b: Path, within: float, as_json: bool = False) -> int:
    """Compare two records; 1 if they do not agree."""
    one, other = _readable(a), _readable(b)
    differences = compare.compare(one.values, other.values)
    if as_json:
        content = {
            "schema": records.SCHEMA,
            "circumstances": compare.circumstances(one, other),
            "withinpercentage": within,
            "figures": [each.as_json(within) for each in differences],
        }
        print(json.dumps({"compare": content}, indent=1))
    else:
        for each in differences:
            print(each.line(within))
        for line in compare.circumstances(one, other):
            say(line)
        say(compare.summary(differences, within))
    return 0 if all(each.agrees(within) for each in differences) else 1
