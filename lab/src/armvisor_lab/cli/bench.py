# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab bench`: the figures that repeat, or all of them, and a page of them."""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from armvisor_lab import paths, records
from armvisor_lab.cli import demo
from armvisor_lab.cli import figures as cli_figures
from armvisor_lab.cli import model as cli_model
from armvisor_lab.cli import reach as cli_reach
from armvisor_lab.cli.board import say
from armvisor_lab.cli.report import write_report
from armvisor_lab.errors import LabError
from armvisor_lab.reach import cores
from armvisor_lab.report import reference

# Figures that repeat to the digit or nearly so, in a quarter of an hour: no boots, which vary by
# one percent with random numbers, and no emulator in the board, which takes longer than all the
# rest.
PATTERNS = (
    *(f"{row}.[!q]*" for row in ("hypercall", "hypercall_fast", "mmio_*", "irq_completion", "eoi",
                                 "ipi", "ipi_running", "lpi", "timer")),
    "share*", "unshare*", "vm_switch.*", "io_*",
    "*.xen", "fault.[14]cpu.*",
    "lat.*.native", "lat.*.kvm", "lat.*.armvisor", "lat.*.armvisor-no-cheap",
    "ops.*", "traps.nothing*.armvisor", "traps.nothing*.armvisor-no-cheap",
)  # fmt: skip


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command to the command line's grammar."""
    bench = commands.add_parser(
        "bench",
        help="measure the repeatable figures, or all, and make a page",
        description="Runs the measurements that repeat on every machine, in less than a quarter of "
        "an hour on a quiet one, then one VM from start to end, and the model against published "
        "values: build/bench.json, bench-vm.json, bench-model.json and bench.html. At the end it "
        "compares the figures with those of another machine in docs/bench.json.",
    )
    bench.add_argument("--full", action="store_true",
                       help="all figures, `lab reach` and all of `lab model`: "
                       "build/bench-full.json, bench-full-*.json and bench-full.html")  # fmt: skip
    bench.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    folder = paths.checkout() / "build"
    name = "bench-full" if options.full else "bench"

    def file(end: str) -> Path:
        return folder / f"{name}{end}"

    page, figures, vm = map(file, (".html", ".json", "-vm.json"))
    reach, lat = file("-reach.json"), file("-lat.json")
    models = [cli_model.defaults("published", file("-model.json"))]
    if options.full:
        # These costs are among the figures, except for the classes of one kind of VM.
        models += [
            cli_model.defaults("rows", file("-rows.json"), "armvisor", [figures, lat]),
            cli_model.defaults("rows", file("-rows-kvm.json"), "kvm", [figures]),
        ]
    # An older run's record must not replace figures that this run could not measure.
    records_ = (figures, lat, vm, reach, *(model.json for model in models))
    for each in (page, *records_):
        each.unlink(missing_ok=True)
    status = 0
    try:
        status = cli_figures.measure([] if options.full else list(PATTERNS), figures)
        status = _without_losing_the_page(partial(_vm, vm)) or status
        if options.full:
            status = cli_reach.run(cli_reach.defaults(reach)) or status
            status = _without_losing_the_page(partial(_classes, lat)) or status
        for model in models:
            status = _without_losing_the_page(partial(cli_model.run_model, model)) or status
        for line in reference.beside(figures):
            say(line)
    finally:
        _page([each for each in records_ if each.exists()], page)
    return status


def _classes(file: Path) -> int:
    """What rows of `lat` are by class."""
    return cli_figures.measure(["lat.*.armvisor"], file, cores.choose([cores.DEFAULT[0]]))


def _vm(file: Path) -> int:
    """Where the time of one VM goes."""
    say("a Debian VM from start to end")
    ran = demo.run_vm(demo.defaults(), lambda _: None)
    demo.write_record(ran, file)
    return ran.status


def _without_losing_the_page(do: Callable[[], int]) -> int:
    """What cannot be had does not take the figures' page along."""
    try:
        return do()
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
