# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab report`."""

import argparse
import json
from pathlib import Path
from typing import Any

from armvisor_lab import paths, records
from armvisor_lab.cli.board import say
from armvisor_lab.errors import LabError
from armvisor_lab.report import build, page, reference, text
from armvisor_lab.report import demo as demo_page

# Inputs of a report if no record is named: those of these that exist.
_DEFAULT = (
    "bench.json", "bench-model.json", "figures.json", "compare.json", "reach.json",
    "model-published.json", "model-rows.json", "demo.json",
)  # fmt: skip

_MORE = """\
If several records have a figure, the newest value is in the tables, and all are in its history.
The page is one file with its style and charts, and loads nothing.

examples:
  lab report                                  the records in build/, as build/report.html
  lab report old.json new.json -o report.html
  lab report build/figures.json --text
"""


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command to the command line's grammar."""
    report = commands.add_parser(
        "report",
        help="our figures beside published ones: one HTML page, text or JSON",
        description="Makes a report from records of `lab figures`, `reach`, `model` and `demo`: "
        "each table and figure of the works behind the project with ours beside, charts, "
        "latencies, where the time went, and the history of figures. Figures without a "
        "measurement are marked.",
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    report.add_argument("record", type=Path, nargs="*",
                        help="JSON; default: those that exist of "
                        f"build/{', build/'.join(_DEFAULT)}")  # fmt: skip
    report.add_argument("-o", "--output", type=Path, metavar="FILE",
                        help="default build/report.html, and standard output for text and "
                        "JSON")  # fmt: skip
    form = report.add_mutually_exclusive_group()
    form.add_argument("--text", action="store_true", help="as plain text")
    form.add_argument("--json", action="store_true", help="as JSON")
    report.set_defaults(run=_run)


def _default() -> list[Path]:
    folder = paths.checkout() / "build"
    found = [folder / name for name in _DEFAULT if (folder / name).exists()]
    if not found:
        raise LabError("there is no record in build/", "name one, or make one: `make bench`")
    return found


def write_report(files: list[Path], target: Path) -> None:
    """The page of some records."""
    made = build.report([records.read(file) for file in files])
    paths.write_atomically(target, page.render(made).encode())


def write_demo(record: Path, target: Path) -> None:
    """The page of one VM's run, with the figures of the record that the checkout has."""
    shipped = records.read(reference.file()) if reference.file().exists() else None
    made = demo_page.report(records.read(record), shipped)
    paths.write_atomically(target, page.render(made).encode())


def _run(options: argparse.Namespace) -> int:
    if options.output:
        paths.check_output(options.output)
    made = build.report([records.read(file) for file in options.record or _default()])
    if options.json:
        content = json.dumps(build.as_json(made), indent=1, ensure_ascii=False) + "\n"
    elif options.text:
        content = text.render(made)
    else:
        content = page.render(made)
    if options.output is None and (options.json or options.text):
        print(content, end="")
        return 0
    target = options.output or paths.checkout() / "build/report.html"
    paths.write_atomically(target, content.encode())
    say(f"the report is in {target}")
    return 0
