# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab bench`: the figures that repeat, or all of them, and a page of them."""

import argparse
from pathlib import Path
from typing import Any

from armvisor_lab import cli_figures, cli_model, cli_reach, paths, records
from armvisor_lab.cli_board import say
from armvisor_lab.cli_report import write_report
from armvisor_lab.errors import LabError

# Those that repeat to the digit or nearly so, of a quarter of an hour: no boot, which is random
# numbers to a hundredth part, and no emulator in the board, which takes longer than all the rest.
PATTERNS = (
    "hypercall.*", "hypercall_fast.*", "mmio_*", "irq_completion.*", "eoi.*", "ipi.*",
    "ipi_running.*", "timer.*", "share.*", "unshare.*", "unshare_used.*", "vm_switch.*", "io_*",
    "*.xen", "fault.[14]cpu.*",
    "lat.*.native", "lat.*.kvm", "lat.*.armvisor", "lat.*.armvisor-no-cheap",
    "traps.nothing*.armvisor", "traps.nothing*.armvisor-no-cheap",
)  # fmt: skip


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command to the command line's grammar."""
    bench = commands.add_parser(
        "bench",
        help="measure what repeats, or everything, and make a page of it",
        description="Runs the measurements that give the same on every machine, in less than a "
        "quarter of an hour on a quiet one, and writes build/bench.json and build/bench.html.",
    )
    bench.add_argument("--full", action="store_true",
                       help="all figures, and `lab reach`: build/bench-full.json, "
                       "build/bench-full-reach.json and build/bench-full.html")  # fmt: skip
    bench.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    folder = paths.checkout() / "build"
    name = "bench-full" if options.full else "bench"
    page, figures, reach = (folder / f"{name}{end}" for end in (".html", ".json", "-reach.json"))
    models = {"published": folder / f"{name}-model.json"}
    if options.full:
        models["rows"] = folder / f"{name}-rows.json"
    # No older run's record may stand in for what this one could not measure.
    records_ = (figures, reach, *models.values())
    for file in (page, *records_):
        file.unlink(missing_ok=True)
    status = 0
    try:
        status = cli_figures.measure([] if options.full else list(PATTERNS), figures)
        if options.full:
            status = cli_reach.run(cli_reach.defaults(reach)) or status
        for what, file in models.items():
            status = _model(what, file) or status
    finally:
        _page([file for file in records_ if file.exists()], page)
    return status


def _model(what: str, file: Path) -> int:
    """A model that cannot be had does not take the figures' page along."""
    try:
        return cli_model.run_model(cli_model.defaults(what, file))
    except LabError as error:
        say(str(error))
        return 1


def _page(files: list[Path], page: Path) -> None:
    """Also of a run that was interrupted, as far as it came."""
    some = []
    for file in files:
        try:
            records.read(file)
        except LabError as error:
            say(str(error))
        else:
            some.append(file)
    if some:
        write_report(some, page)
        say(f"as a page: {page}")
