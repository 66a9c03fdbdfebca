# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab figures`."""

import argparse
from pathlib import Path
from typing import Any

from armvisor_lab import paths, side_by_side
from armvisor_lab.cli import compare as cli_compare
from armvisor_lab.cli.board import say
from armvisor_lab.errors import LabError
from armvisor_lab.figures import beside, bounds, classes, hosts, run
from armvisor_lab.reach import cores, table
from armvisor_lab.reach.cores import Core

# The models' counts of caches, in words.
_CACHES = {"l1i_cache_misses": "L1I", "l1d_cache_misses": "L1D", "l2_cache_misses": "L2"}


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command to the command line's grammar."""
    figures = commands.add_parser(
        "figures",
        help="measure on counted boards; prints lines of `name value unit`",
        description="Runs the counted measurements. Figures go to standard output as "
        "`name value unit`, progress to standard error, the record with revision, boards, "
        "kernels and package versions to a JSON file. Fails if a figure cannot be measured or is "
        "over its bound.",
    )
    figures.add_argument("--only", action="append", default=[], metavar="PATTERN",
                         help="figures to measure, such as `boot.*`; repeatable")  # fmt: skip
    figures.add_argument("--on", action="append", default=[], metavar="VARIANT,…",
                         help="measure on these variants, as `lab compare` does; --only then has "
                         f"rows, as `lat.null`. A variant may be {hosts.BOARDS}")  # fmt: skip
    figures.add_argument("--json", type=Path, metavar="FILE",
                         help="the record, default build/figures.json")  # fmt: skip
    figures.add_argument("--list", action="store_true", help="name the figures, measure nothing")
    figures.add_argument("--classes", action="store_true",
                         help="also instructions by class and exception level, and modelled page "
                         "walks and cache misses; they go into the record")  # fmt: skip
    figures.add_argument("--core", action="append", default=[], metavar="NAME",
                         help="cores whose TLBs and caches to model; repeatable, default "
                         f"{' and '.join(cores.DEFAULT)}")  # fmt: skip
    figures.add_argument("--jobs", type=_number, metavar="N",
                         help="boards to run side by side; default ARMVISOR_JOBS, or one per CPU "
                         "as far as memory goes, or one per two CPUs without "
                         "CAP_SYS_NICE")  # fmt: skip
    figures.add_argument("--compare", type=Path, nargs=2, metavar=("OLD", "NEW"),
                         help="like `lab compare OLD NEW`; measure nothing")  # fmt: skip
    cli_compare.add_within(figures)
    figures.set_defaults(run=_run)


def _number(text: str) -> int:
    try:
        return side_by_side.number(text)
    except LabError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _print_classes(figures: list[run.Figure]) -> None:
    for figure in figures:
        if figure.classes is None:
            continue
        counted = classes.from_json(figure.classes)
        print(f"\n{figure.name}: {run.show(figure.value)} instructions (counted)")
        print("\n".join(table.aligned(classes.table(counted), 2)))
        for core, walks in counted.walks.items():
            print(f"page walks on {core} (modelled): {walks.get('walks', 0):.3f}, "
                  f"{walks.get('refs', 0):.3f} loads, "
                  f"{max(walks.get('refs_missed', 0), 0):.3f} of them not in L2")  # fmt: skip
            if "cache_lookups" in walks:
                # A difference of two rounds may be slightly negative.
                some = {word: max(walks.get(name, 0), 0) for name, word in _CACHES.items()}
                misses = ", ".join(f"{number:.3f} in {word}" for word, number in some.items())
                print(f"cache misses on {core} (modelled): {misses}")


def _run(options: argparse.Namespace) -> int:
    if options.compare:
        old, new = options.compare
        return cli_compare.run_records(old, new, options.within)
    plan = _plan(options)
    if options.list:
        selected = list(plan.measurements) if plan else run.select(options.only)
        for measurement in run.with_classes(selected) if options.classes else selected:
            for name in measurement.figures:
                if plan is None or name in plan.names:
                    print(f"{name:32} {measurement.what}")
        return 0
    if options.core and not options.classes:
        raise LabError("--core is for --classes", "ask for both, or for none")
    chosen = cores.choose(options.core or list(cores.DEFAULT)) if options.classes else None
    if options.json:
        paths.check_output(options.json)
    file = options.json or paths.checkout() / "build/figures.json"
    return measure(options.only, file, chosen, options.jobs, plan)


def _plan(options: argparse.Namespace) -> beside.Plan | None:
    """What is measured on the variants that were named; None where none were."""
    on = [name for each in options.on for name in each.split(",") if name]
    return beside.plan(options.only or ["*"], on) if on else None


def measure(
    patterns: list[str],
    file: Path,
    chosen: list[Core] | None = None,
    jobs: int | None = None,
    plan: beside.Plan | None = None,
) -> int:
    """Measure, write the record to `file` if anything was measured, and judge the figures.

    With cores also the classes, as `run.measure` does; `jobs` at once, or as many as go. A plan
    names the measurements and figures instead of patterns.
    """
    wanted = run.select(patterns) if plan is None else list(plan.measurements)
    if chosen is not None:
        wanted = run.with_classes(wanted)

    def keep(name: str) -> bool:
        return run.wanted(name, patterns) if plan is None else name in plan.names

    figures, failures, ended = run.measure_these(
        wanted, keep, say, lambda line: print(line, flush=True), chosen, jobs or side_by_side.jobs()
    )
    if figures:
        run.write(file, run.record(figures, failures))
        say(f"{len(figures)} figures, the record is in {file}")
    else:
        say(f"nothing was measured, and {file} not written")
    _print_classes(figures)
    verdicts = bounds.judge({figure.name: figure.value for figure in figures})
    for verdict in verdicts:
        say(f"{'within' if verdict.holds else 'OVER'} its bound: {verdict.text}")
    for failure in failures:
        say(f"not measured: {failure}")
    if ended:
        raise ended
    return 1 if failures or not all(verdict.holds for verdict in verdicts) else 0
