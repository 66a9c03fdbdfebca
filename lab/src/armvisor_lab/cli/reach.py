# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab reach`."""

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

from armvisor_lab import paths, side_by_side
from armvisor_lab.cli.board import say
from armvisor_lab.errors import LabError
from armvisor_lab.figures.run import provenance, write
from armvisor_lab.reach import cores, plugin, runs, table

WORKLOADS = ("random-128", "fresh-4")

_MORE = """\
Instructions, accesses and invalidations are counted on an emulated board. A model of the core
gives misses, walks and cycles (docs/reach.md). `pages` are the program's, and in a VM the host's
(2M in 4K); an entry of armvisor's shadow tables has the smaller size. `flushes` are TLBIs of a
whole address space or VM. `lookups` include those of the kernels and the hypervisor: one for each
load or store, one for each page of a block of code. `loads` are the memory references of a walk, of
both stages. `cycles` are the cycles of all misses and walks.

examples:
  lab reach --on native --on kvm --workload random-256
  lab reach --core firestorm --classes --json reach.json
"""


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command to the command line's grammar."""
    reach = commands.add_parser(
        "reach",
        help="page walks by a TLB model: native, two stages on KVM, one on armvisor",
        description="Runs a program with a known access pattern, natively and in VMs with pages of "
        "4 KiB and 2 MiB, and prints the cost of its accesses in a model of a core's TLBs.",
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = reach.add_argument
    option("--on", action="append", default=[], choices=runs.SETUPS, metavar="WHERE",
           help=f"{', '.join(runs.SETUPS)}; repeatable, default all")  # fmt: skip
    option("--core", action="append", default=[], metavar="NAME",
           help="cores whose TLBs to model; repeatable, default "
           f"{' and '.join(cores.DEFAULT)}")  # fmt: skip
    option("--workload", action="append", default=[], metavar="NAME-MIB",
           help=f"{', '.join(runs.PATTERNS)} with so many MiB; repeatable, default "
           f"{' and '.join(WORKLOADS)}")  # fmt: skip
    option("--as-if", action="append", default=[], metavar="PAGES",
           help="also the cost of the native run's accesses with other pages, such as 64K or "
           "'2M in 1G'; repeatable")  # fmt: skip
    option("--classes", action="store_true",
           help="also instructions by class and exception level")  # fmt: skip
    option("--json", type=Path, metavar="FILE", help="the record, default build/reach.json")
    option("--list", action="store_true", help="print the cores' profiles, run nothing")
    reach.set_defaults(run=run)


def defaults(file: Path) -> argparse.Namespace:
    """The options of `lab reach` without any, but where its record goes."""
    return argparse.Namespace(
        on=[], core=[], workload=[], as_if=[], classes=False, json=file, list=False
    )


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        say(text)


def _list() -> int:
    for core in cores.known().values():
        print(f"{core.name}: {core.what}")
        for key, value in core.values.items():
            numbers = " ".join(f"{k} {v}" for k, v in value.items() if k not in _NOT_NUMBERS)
            estimated = "estimated; " if value.get("estimated") else ""
            print(f"  {key:13} {numbers:24} ({estimated}{value['source']})")
    return 0


_NOT_NUMBERS = ("source", "estimated")


def _record(found: list[runs.Run], chosen: list[cores.Core], failures: list[str]) -> dict[str, Any]:
    return {
        **provenance(),
        "cores": {core.name: {"what": core.what, **core.values} for core in chosen},
        "runs": [
            {
                **run.as_json(),
                "modelled": {core.name: _modelled(run, core) for core in chosen},
            }
            for run in found
        ],
        "failures": failures,
    }


def _modelled(run: runs.Run, core: cores.Core) -> dict[str, Any]:
    """A core's figures for a run, of the model that stands for it."""
    model = run.model(core.name)
    counts = run.section.total(model)
    low, high = plugin.cycles(core, counts, run.invalidations("va"))
    return {
        "model": str(model),
        "lookups": sum(counts.lookups),
        "l1_misses": sum(counts.l1_misses),
        "walks": sum(counts.walks),
        "walk_references": sum(counts.refs),
        "walk_references_missed": sum(counts.refs_missed),
        "cycles": [low, high],
    }


def run(options: argparse.Namespace) -> int:
    """Run what the options ask for; the exit status, or LabError before anything was measured."""
    if options.list:
        return _list()
    if options.json:
        paths.check_output(options.json)
    chosen = cores.choose(options.core or list(cores.DEFAULT))
    wanted = runs.rows(options.workload or WORKLOADS)
    as_if = [runs.parse_pages(text) for text in options.as_if]
    failures: list[str] = []
    ended: BaseException | None = None
    setups = [runs.SETUPS[name] for name in dict.fromkeys(options.on or runs.SETUPS)]
    tasks = [partial(runs.run, each, wanted, chosen, as_if=as_if) for each in setups]
    of: dict[int, list[runs.Run]] = {}

    def starting(number: int) -> None:
        setup = setups[number]
        _progress(f"{number + 1}/{len(setups)} {setup.name}: {setup.what}")

    try:
        for number, outcome in side_by_side.run(tasks, side_by_side.jobs(), starting, _progress):
            of[number] = [] if isinstance(outcome, LabError) else outcome
            if isinstance(outcome, LabError):
                failures.append(f"{setups[number].name}: {outcome}")
    except (KeyboardInterrupt, SystemExit) as early:
        rest = (each.name for number, each in enumerate(setups) if number not in of)
        failures.append(f"interrupted before {', '.join(rest)}")
        ended = early
    found = [each for number in sorted(of) for each in of[number]]
    _show(found, chosen, as_if, options.classes)
    file = options.json or paths.checkout() / "build/reach.json"
    if found:
        write(file, _record(found, chosen, failures))
        _progress(f"the record is in {file}")
    else:
        say(f"nothing was measured, and {file} not written")
    for failure in failures:
        say(f"not measured: {failure}")
    if ended:
        raise ended
    return 1 if failures else 0


def _show(
    found: list[runs.Run], chosen: list[cores.Core], as_if: list[runs.Pages], classes: bool
) -> None:
    if found:
        print(table.walks(found, chosen, as_if))
    if found and classes:
        print()
        print(table.classes(found))
