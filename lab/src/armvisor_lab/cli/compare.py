# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab compare`: rows on several hypervisors in one run, or two records.

`lab figures --compare` also compares two records.
"""

import argparse
import json
import math
from pathlib import Path
from typing import Any

from armvisor_lab import paths, records, side_by_side
from armvisor_lab.cli.board import say
from armvisor_lab.errors import LabError
from armvisor_lab.figures import beside, hosts, run
from armvisor_lab.report import columns, compare

_MORE = f"""\
With --on, rows are measured on each variant and printed side by side, each with its ratio to the
first column. A figure is ROW.VARIANT, as in `lab figures --list`; --list shows the rows and
variants. A variant may also be
{hosts.HOW};
{hosts.BOARDS}.
The record is like that of `lab figures`.

  lab compare lat.null hypercall --on native,kvm,armvisor,armvisor-no-cheap
  lab compare 'mmio_*' --on kvm-vhe,kvm-nvhe,kvm-protected,kvm-pvm
  lab compare lat.pipe --on armvisor,armvisor:no-copies+no-stubs,armvisor:cheap_traps=0+huge_pages=0

Without --on, two records are compared and nothing is measured. A line has a figure's value in A and
in B, and how much larger B is.

If a figure is a mean of samples, a permutation test gives the probability of so large a difference
by chance; a difference likelier than {compare.CHANCE:.0%} does not count.

Exit status: with --on, 0 all measured, 1 not all; of two records, 0 all agree, 1 some do not or
are in one record only; 125 a record cannot be read, or there is no such row or variant.
"""


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command to the command line's grammar."""
    command = commands.add_parser(
        "compare",
        help="rows on several hypervisors side by side, or two records, figure by figure",
        description="Measures rows on several hypervisors and prints them side by side, or "
        "compares two records of `lab figures` or `lab reach`.",
        usage="lab compare ROW… --on VARIANT,VARIANT… [--record FILE] [--json]\n"
        "       lab compare A.json B.json [--within PERCENT] [--json]\n"
        "       lab compare --list [--on VARIANT,…]",
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("what", nargs="*", metavar="ROW",
                         help="a row, or a pattern such as `lat.*`; else a record")  # fmt: skip
    command.add_argument("--on", action="append", default=[], metavar="VARIANT,…",
                         help="variants; the first is the one to compare with")  # fmt: skip
    command.add_argument("--record", type=Path, metavar="FILE",
                         help="record to write, default build/compare.json")  # fmt: skip
    command.add_argument("--list", action="store_true",
                         help="name the variants, or the rows of those with --on")  # fmt: skip
    add_within(command)
    command.add_argument("--json", action="store_true", help="as JSON")
    command.set_defaults(run=_run)


def add_within(command: argparse.ArgumentParser) -> None:
    """The option for how far apart figures may be."""
    command.add_argument("--within", type=percentage, default=compare.LIMIT, metavar="PERCENT",
                         help="largest difference that passes, default %(default)s")  # fmt: skip


def percentage(text: str) -> float:
    """Percent, as an option has it; ValueError if it is negative or no finite number."""
    value = float(text)
    if not math.isfinite(value) or value < 0:
        raise ValueError
    return value


def _run(options: argparse.Namespace) -> int:
    on = [name for each in options.on for name in each.split(",") if name]
    if options.list:
        return _list(on)
    if on:
        return _measure(options.what, on, options.record, options.json)
    if options.record:
        raise LabError("--record needs rows to measure", "name variants with --on")
    if len(options.what) != 2:
        raise LabError("give two records, or rows with --on",
                       "such as `lab compare lat.null --on native,armvisor`")  # fmt: skip
    a, b = options.what
    rows = [each for each in (a, b) if not Path(each).exists() and not each.endswith(".json")]
    if rows:
        raise LabError(f"{rows[0]}: there is no such record",
                       "to measure rows, name variants with --on")  # fmt: skip
    return run_records(Path(a), Path(b), options.within, options.json)


def _list(on: list[str]) -> int:
    if not on:
        print("\n".join([*beside.variants(), hosts.HOW, hosts.BOARDS]))
        return 0
    for variant in on:
        have = beside.rows(variant)
        if not have:
            beside.plan(["*"], [variant])  # prints those that exist
        print("\n".join(f"{row} {variant}" for row in have))
    return 0


def _measure(rows: list[str], on: list[str], file: Path | None, as_json: bool) -> int:
    """Measure rows on variants and print them side by side; 1 if some could not be."""
    if not rows:
        raise LabError("no rows are named", "`lab compare --list --on VARIANT` has them")
    plan = beside.plan(rows, on)
    if file:
        paths.check_output(file)
    file = file or paths.checkout() / "build/compare.json"
    figures, failures, ended = run.measure_these(
        plan.measurements, lambda name: name in plan.names, say, lambda _line: None,
        jobs=side_by_side.jobs(),
    )  # fmt: skip
    if figures:
        record = run.record(figures, failures)
        run.write(file, record)
        _print(plan, figures, failures, record if as_json else None)
        say(f"{len(figures)} figures, the record is in {file}")
    else:
        say(f"nothing was measured, and {file} not written")
    for failure in failures:
        say(f"not measured: {failure}")
    if ended:
        raise ended
    return 1 if failures else 0


def _print(plan: beside.Plan, figures: list[run.Figure], failures: list[str],
           record: dict[str, Any] | None) -> None:  # fmt: skip
    if record is None:
        print("\n".join(columns.table(plan, figures)))
        print("\n".join(["", *columns.boards(plan, figures)]))
        return
    keys = ("revision", "modified", "time", "emulator")
    content = {
        "schema": records.SCHEMA,
        **{key: record[key] for key in keys},
        "variants": list(plan.variants),
        "boards": columns.boards(plan, figures),
        "rows": columns.as_json(plan, figures),
        "failures": failures,
    }
    print(json.dumps({"compare": content}, indent=1))


def _readable(file: Path) -> records.Record:
    record = records.read(file)
    if not record.values:
        raise LabError(f"{file} has no figures, but {record.command}'s report of one VM")
    return record


def run_records(a: Path, b: Path, within: float, as_json: bool = False) -> int:
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
