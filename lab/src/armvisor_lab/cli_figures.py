# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab figures`."""

import argparse
from pathlib import Path
from typing import Any

from armvisor_lab import paths
from armvisor_lab.cli_board import say
from armvisor_lab.errors import LabError
from armvisor_lab.figures import bounds, classes, compare, run
from armvisor_lab.reach import cores, table


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
    figures.add_argument("--classes", action="store_true",
                         help="also instructions by class and exception level, and modelled page "
                         "walks; they go into the record")  # fmt: skip
    figures.add_argument("--core", action="append", default=[], metavar="NAME",
                         help="whose TLBs the walks are of; repeatable, default "
                         f"{' and '.join(cores.DEFAULT)}")  # fmt: skip
    figures.add_argument("--compare", type=Path, nargs=2, metavar=("OLD", "NEW"),
                         help="compare two records; measure nothing")  # fmt: skip
    figures.add_argument("--within", type=float, default=compare.LIMIT, metavar="PERCENT",
                         help="what --compare lets pass, default %(default)s")  # fmt: skip
    figures.set_defaults(run=_run)


def _compare(options: argparse.Namespace) -> int:
    old, new = (compare.read(file) for file in options.compare)
    differences = compare.compare(old, new)
    for each in differences:
        print(each.line(options.within))
    say(compare.summary(differences, options.within))
    return 0 if all(each.agrees(options.within) for each in differences) else 1


def _print_classes(figures: list[run.Figure]) -> None:
    for figure in figures:
        if figure.classes is None:
            continue
        counted = classes.from_json(figure.classes)
        print(f"\n{figure.name}: {run.show(figure.value)} instructions (counted)")
        print("\n".join(table.aligned(classes.table(counted), 2)))
        for core, walks in counted.walks.items():
            print(f"page walks on {core} (modelled): {walks.get('walks', 0):.3f}, "
                  f"{walks.get('refs', 0):.3f} loads")  # fmt: skip


def _run(options: argparse.Namespace) -> int:
    if options.compare:
        return _compare(options)
    if options.list:
        chosen = run.select(options.only)
        for measurement in run.with_classes(chosen) if options.classes else chosen:
            for name in measurement.figures:
                print(f"{name:32} {measurement.what}")
        return 0
    if options.core and not options.classes:
        raise LabError("--core is for --classes", "ask for both, or for none")
    chosen_cores = cores.choose(options.core or list(cores.DEFAULT)) if options.classes else None
    file = options.json or paths.checkout() / "build/figures.json"
    figures, failures = run.measure(
        options.only, say, lambda line: print(line, flush=True), chosen_cores
    )
    run.write(file, run.record(figures, failures))
    say(f"{len(figures)} figures, the record is in {file}")
    _print_classes(figures)
    verdicts = bounds.judge({figure.name: figure.value for figure in figures})
    for verdict in verdicts:
        say(f"{'within' if verdict.holds else 'OVER'} its bound: {verdict.text}")
    for failure in failures:
        say(f"not measured: {failure}")
    return 1 if failures or not all(verdict.holds for verdict in verdicts) else 0
