# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab figures`."""

import argparse
from pathlib import Path
from typing import Any

from armvisor_lab import cli_compare, paths
from armvisor_lab.cli_board import say
from armvisor_lab.figures import bounds, run


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command to the command line's grammar."""
    figures = commands.add_parser(
        "figures",
        help="measure on counted boards: `name value unit` a line",
        description="Runs the counted measurements. Figures go to standard output as "
        "`name value unit`, progress to standard error, the record with revision, boards, "
        "kernels and package versions to a JSON file. Fails if one could not be measured or is "
        "over its bound.",
    )
    figures.add_argument("--only", action="append", default=[], metavar="PATTERN",
                         help="figures to measure, as in `boot.*`; repeatable")  # fmt: skip
    figures.add_argument("--json", type=Path, metavar="FILE",
                         help="the record, default build/figures.json")  # fmt: skip
    figures.add_argument("--list", action="store_true", help="name the figures, measure nothing")
    figures.add_argument("--compare", type=Path, nargs=2, metavar=("OLD", "NEW"),
                         help="as `lab compare OLD NEW`; measure nothing")  # fmt: skip
    cli_compare.add_within(figures)
    figures.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    if options.compare:
        return cli_compare.run(*options.compare, options.within)
    if options.list:
        for measurement in run.select(options.only):
            for name in measurement.figures:
                print(f"{name:32} {measurement.what}")
        return 0
    if options.json:
        paths.check_output(options.json)
    return measure(options.only, options.json or paths.checkout() / "build/figures.json")


def measure(patterns: list[str], file: Path) -> int:
    """Measure, write the record to `file` if anything was measured, and judge the figures."""
    figures, failures, ended = run.measure(patterns, say, lambda line: print(line, flush=True))
    if figures:
        run.write(file, run.record(figures, failures))
        say(f"{len(figures)} figures, the record is in {file}")
    else:
        say(f"nothing was measured, and {file} not written")
    verdicts = bounds.judge({figure.name: figure.value for figure in figures})
    for verdict in verdicts:
        say(f"{'within' if verdict.holds else 'OVER'} its bound: {verdict.text}")
    for failure in failures:
        say(f"not measured: {failure}")
    if ended:
        raise ended
    return 1 if failures or not all(verdict.holds for verdict in verdicts) else 0
