# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab model`."""

import argparse
import fnmatch
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from armvisor_lab import paths, side_by_side
from armvisor_lab.cli.board import say
from armvisor_lab.errors import LabError, remedy
from armvisor_lab.figures import hosts, run
from armvisor_lab.model import cycles, published, record, rows, tables
from armvisor_lab.model.cycles import Range
from armvisor_lab.model.record import Record
from armvisor_lab.reach import cores, profile
from armvisor_lab.reach.cores import Core
from armvisor_lab.reach.profile import Measured

_MORE = """\
Counts come from `lab figures --classes`: from --record, or measured now. Cycles are these counts
times a core's profile (lab/src/armvisor_lab/reach/cores.toml has the source of each value;
`lab reach --list` shows them). Nothing in these profiles was measured by this project on silicon. A
profile that was is a file, as --core FILE.json; what is measured is then shown beside what is
modelled. docs/model.md has its format.

examples:
  lab figures --classes --only 'lat.*.native' --only 'lat.*.armvisor' --json counts.json
  lab model cycles --record counts.json --core neoverse-n1 --figure 'lat.null.*'
  lab model rows --row fork-exit --kinds
  lab model published
"""


@dataclass(frozen=True)
class Done:
    """What was predicted: for people, for a record, what was not, and of which counts.

    `profiles` are those that were made on silicon.
    """

    text: str
    lines: list[dict[str, Any]]
    failures: list[str]
    counts: Record
    profiles: Sequence[Measured] = ()


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command to the command line's grammar."""
    model = commands.add_parser(
        "model",
        help="cycles of a core from counts; rows predicted from the cost of single traps",
        description="Converts counts by class to a range of cycles on a core, predicts rows from "
        "the cost of single traps, and the cost of KVM on machines that others have measured.",
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = model.add_subparsers(dest="what", required=True, metavar="WHAT")
    one = _sub(what, "cycles", "figures in cycles, and their ratio to native", _cycles)
    one.add_argument("--figure", action="append", default=[], metavar="PATTERN",
                     help="such as `lat.*.armvisor`; repeatable, default all of the record, "
                     "lat.null.* without one")  # fmt: skip
    one.add_argument("--core", action="append", default=[], metavar="NAME",
                     help="a core, or the file of a profile that was made on silicon; "
                     "repeatable, default all with page walks in the record")  # fmt: skip
    one = _sub(what, "rows", "rows of lat from native figures and the cost of a trap", _rows)
    one.add_argument("--row", action="append", default=[], metavar="ROW",
                     help="a row of lat; repeatable, default all")  # fmt: skip
    one.add_argument("--on", choices=rows.CONFIGURATIONS, default="armvisor",
                     help="the hypervisor, default %(default)s")  # fmt: skip
    one.add_argument("--kinds", action="store_true", help="also print the traps of a row by kind")
    _sub(what, "published", "the cost of KVM on silicon: predicted, and published", _published)


def _sub(
    what: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    text: str,
    do: Callable[[argparse.Namespace], Done],
) -> argparse.ArgumentParser:
    one = what.add_parser(name, help=text, description=text)
    one.add_argument("--record", action="append", default=[], type=Path, metavar="FILE",
                     help="a record of `lab figures --classes`; repeatable, the last one with a "
                     "figure counts; without one, measure now")  # fmt: skip
    one.add_argument("--json", type=Path, metavar="FILE", help="the predictions as JSON")
    one.set_defaults(run=run_model, do=do)
    return one


def defaults(
    what: str, file: Path, on: str = "armvisor", record: Sequence[Path] = ()
) -> argparse.Namespace:
    """The options of `lab model WHAT` but for where its predictions go, where for and of what."""
    do = {"rows": _rows, "published": _published}[what]
    return argparse.Namespace(
        what=what, do=do, record=list(record), json=file, row=[], on=on, kinds=False
    )


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        say(text)


def _measured(patterns: list[str], chosen: list[Core]) -> Record:
    """Measure what is wanted: what has classes with them, the rest without."""
    marked = [each for each in run.select(patterns) if each.marked]
    names = [n for each in marked for n in each.figures]
    with_classes = [p for p in patterns if any(fnmatch.fnmatch(n, p) for n in names)]
    plain = [p for p in patterns if p not in with_classes]
    figures: list[run.Figure] = []
    failures: list[str] = []
    ended: BaseException | None = None
    for some, by in ((with_classes, chosen), (plain, None)):
        if some and ended is None:
            found, failed, ended = run.measure(some, _progress, _progress, by, side_by_side.jobs())
            figures += found
            failures += failed
    for failure in failures:
        say(f"not measured: {failure}")
    file = paths.checkout() / "build/model-counts.json"
    if figures:
        run.write(file, run.record(figures, failures))
    if ended:
        say(f"{len(figures)} figures, the record is in {file}" if figures else "nothing measured")
        raise ended
    if not figures:
        raise LabError("nothing was measured", "so nothing can be predicted")
    return record.load([file])


def _counts(options: argparse.Namespace, patterns: list[str], chosen: list[Core]) -> Record:
    """The counts: of the records that were named, or measured."""
    if not options.record:
        return _measured(patterns, chosen)
    found = record.load(options.record)
    if len(found.revisions) > 1:
        say(f"the records are of {len(found.revisions)} revisions: figures may not go together")
    return found


def _native(name: str) -> str:
    """The figure that is the same on the board itself; kernels and cores of others have theirs.

    Of a board with words on its kernel's command line it is the same board without them.
    """
    what, _, variant = name.rpartition(".")
    base, at, board = variant.partition(hosts.AT)
    if at:
        return f"{what}.native{at}{board.partition('+')[0] if base == 'native' else board}"
    _, _, suffix = variant.partition("-")
    return (
        f"{what}.native-{suffix}" if suffix in ("n1", "oldstable", "newest") else f"{what}.native"
    )


def _cores_of(counts: Record, names: list[str]) -> list[Core]:
    """The cores that were asked for; else all whose walks are there."""
    if names:
        return cores.choose(names)
    shapes = [
        cores.choose([core])[0].tlbs()
        for name in counts.names
        if (found := counts.figure(name).classes)
        for core in found.walks
    ]
    return [core for core in cores.known().values() if core.tlbs() in shapes or not shapes]


def _cycles(options: argparse.Namespace) -> Done:
    wanted = options.figure or ["lat.null.*"]
    profiles = [profile.read(Path(name)) for name in options.core if profile.is_file(name)]
    named = [name for name in options.core if not profile.is_file(name)]
    likes = [each.like.name for each in profiles]
    chosen = cores.choose([*named, *likes] or list(cores.DEFAULT))
    patterns = wanted + [p for p in map(_native, wanted) if p not in wanted]
    if not options.record:
        patterns = [p for p in patterns if any(each.marked for each in _matching(p))]
    counts = _counts(options, patterns, chosen)
    names = [n for n in counts.names if counts.figure(n).classes is not None
             and (not options.figure or any(fnmatch.fnmatch(n, p) for p in wanted))]  # fmt: skip
    if not names:
        asked = " ".join(options.figure)
        words = remedy(asked, counts.names) if counts.names else "the record has none"
        raise LabError(f"no figure with classes matches {asked or 'anything'}", words)
    figures = {each.core.name: each.figures for each in profiles}
    modelled = _cores_of(counts, named) if named or not profiles else []
    costs, failures = [], []
    for core in [*modelled, *(each.core for each in profiles)]:
        for name in names:
            try:
                cost = _cost(counts, name, core)
            except LabError as error:
                failures.append(str(error))
            else:
                measured = figures.get(core.name, {}).get(name)
                costs.append(replace(cost, measured=measured))
    text = tables.cycles(costs) + "\n" + tables.narrow(costs) if costs else ""
    text = "\n\n".join([*filter(None, [text]), *map(tables.measured, profiles)])
    return Done(text, [_line(each) for each in costs], failures, counts, profiles)


def _pair(value: Range | None) -> list[float] | None:
    return None if value is None else [value.low, value.high]


def _line(cost: tables.Cost) -> dict[str, Any]:
    """A figure on a core, for a record."""
    return {
        "figure": cost.figure, "core": cost.core, "instructions": cost.instructions,
        "cycles": _pair(cost.cycles), "likely": _pair(cost.likely),
        "times_native": _pair(cost.ratio), "likely_times_native": _pair(cost.likely_ratio),
        "measured": cost.measured,
    }  # fmt: skip


def _matching(pattern: str) -> list[Any]:
    try:
        return run.select([pattern])
    except LabError:
        return []


def _cost(counts: Record, name: str, core: Core) -> tables.Cost:
    of = cycles.amounts(name, counts.classes(name), core)
    found = tables.Cost(
        name, core.name, counts.figure(name).value, cycles.cost(of, core), cycles.likely(of, core)
    )
    native = _native(name)
    if native == name or native not in counts or counts.figure(native).classes is None:
        return found
    to = cycles.amounts(native, counts.classes(native), core)
    return replace(
        found, ratio=cycles.ratio(of, to, core), likely_ratio=cycles.likely_ratio(of, to, core)
    )


def _rows(options: argparse.Namespace) -> Done:
    wanted = rows.choose(options.row)
    configuration = rows.CONFIGURATIONS[options.on]
    patterns = [f"lat.{row}.{who}" for row in wanted for who in ("native", options.on)]
    patterns += ["hypercall.*", "mmio_*.*"] + (["units.*"] if options.on == "armvisor" else [])
    patterns += [p for row in wanted if _matching(p := f"traps.{row}.{options.on}")]
    counts = _counts(options, patterns, cores.choose([cores.DEFAULT[0]]))
    found, failures = [], []
    for row in wanted:
        try:
            found.append(rows.predict(configuration, counts, row))
        except LabError as error:
            failures.append(f"{row}: {error}")
    text = ""
    if found:
        text = tables.predicted(options.on, found) + "\n" + tables.verdict(found)
        text += "\n\n" + tables.kinds(found) if options.kinds else ""
    lines = [{"on": options.on, **row.as_json()} for row in found]
    return Done(text, lines, failures, counts)


def _published(options: argparse.Namespace) -> Done:
    wanted = published.rows()
    patterns = list(dict.fromkeys(row.figure for row in wanted))
    shapes = {str(core.tlbs()): core for core in cores.choose([row.core for row in wanted])}
    counts = _counts(options, patterns, list(shapes.values()))
    there, failures = [], []
    for row in wanted:
        try:
            published.counted_cycles(row, counts)
            there.append(row)
        except LabError as error:
            failures.append(f"{row.core}: {error}")
    found = published.predict(there, counts)
    lines = [each.as_json() for each in found]
    return Done(tables.published(found), lines, failures, counts)


def run_model(options: argparse.Namespace) -> int:
    """Predict, print and record; 1 if something could not be predicted."""
    if options.json:
        paths.check_output(options.json)
    done = options.do(options)
    if done.text:
        print(done.text)
    if options.json and done.lines:
        content = {
            **run.provenance(),
            "what": options.what,
            "counts_of": done.counts.revisions,
            "predictions": done.lines,
            **({"profiles": [each.as_json() for each in done.profiles]} if done.profiles else {}),
            "failures": done.failures,
        }
        run.write(options.json, content)
    for failure in dict.fromkeys(done.failures):
        say(f"not predicted: {failure}")
    return 1 if done.failures or not done.lines else 0
