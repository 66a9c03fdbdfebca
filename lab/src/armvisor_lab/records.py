# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Reads records: the output of `lab figures`, `reach`, `model` and `demo`, all as named values.

A record is JSON that begins with `schema`, revision, time and emulator, and has one of `figures`
(values with a name each), `runs` (of `lab reach`) and `predictions` (of `lab model`), whose values
get their names here, and `demo` (the report of one VM). Any other file is refused with a sentence.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from armvisor_lab import timetable
from armvisor_lab.errors import LabError
from armvisor_lab.figures import classes, run
from armvisor_lab.figures.classes import Classes

# Schemas of a report and of a comparison as JSON.
SCHEMA = 1
# Schemas of records whose contents are read here; figures have classes and traps from CLASSES on.
READS = (1, run.SCHEMA)
CLASSES = 2
_LEAST, _MOST = 1e-18, 1e18
KINDS = {
    "figures": "bin/lab figures",
    "runs": "bin/lab reach",
    "predictions": "bin/lab model",
    "demo": "make demo",
}

# Values that `lab reach` models, by core, with their units.
_MODELLED = {"walks": "walks", "walk_references": "loads", "l1_misses": "misses"}


@dataclass(frozen=True)
class Value:
    """One value of a record; `classes` and `traps` are of an operation of a figure."""

    name: str
    value: float
    unit: str = ""
    what: str = ""
    board: Mapping[str, Any] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    samples: tuple[float, ...] = ()
    classes: Classes | None = None
    traps: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Guest:
    """What a demo's guest was, and the seconds of its clock at /init and at power-off."""

    system: str
    init: float | None = None
    off: float | None = None


@dataclass(frozen=True)
class Record:
    """What was read, by the name of its file."""

    file: str
    kind: str
    revision: str
    modified: bool
    time: str
    emulator: str
    values: Mapping[str, Value]
    failures: tuple[str, ...]
    groups: tuple[timetable.Group, ...] = ()  # where a VM's time went
    board: Value | None = None  # the board of that VM
    guest: Guest | None = None  # and the guest in it, if named
    counts_of: tuple[str, ...] = ()  # the revisions of a model's counts
    schema: int = READS[0]
    built: Mapping[str, str] = field(default_factory=dict)  # checksums, by file

    @property
    def label(self) -> str:
        """The revision, short; where there is none, the file."""
        return (self.revision[:9] + ("+" if self.modified else "")) or self.file

    @property
    def command(self) -> str:
        """What makes such a record."""
        return KINDS[self.kind]


class _Malformed(Exception):
    """A part of a record that is not as the lab writes it."""


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Malformed(f"{where} is not a number: {str(value)[:40]!r}")
    # No value of the lab is near these bounds; ratios of values within them fit in a float.
    if not (value == 0 or _LEAST < abs(value) < _MOST):
        raise _Malformed(f"{where} is not a measurable number")
    return float(value)


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise _Malformed(f"{where} is no text: {value!r}")
    return value


def _table(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _Malformed(f"{where} has no names: {str(value)[:40]!r}")
    return value


def _list(value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise _Malformed(f"{where} is no list: {str(value)[:40]!r}")
    return value


def _classes(content: object, name: str) -> Classes | None:
    try:
        return None if content is None else classes.from_json(content)
    except ValueError as error:
        raise _Malformed(f"{name}: {error}") from error


def _traps(content: object, name: str) -> Mapping[str, float] | None:
    if content is None:
        return None
    by = _table(content, f"{name}: traps")
    return {each: _number(value, f"{name}: traps: {each}") for each, value in by.items()}


def _figure(each: object, schema: int) -> Value:
    table = _table(each, "a figure")
    name = _text(table.get("name"), "a figure's name")
    if schema >= CLASSES and not table.keys() >= {"classes", "traps"}:
        raise _Malformed(f"{name} is not whole: it lacks classes or traps, which may be null")
    return Value(
        name,
        _number(table.get("value"), name),
        _text(table.get("unit", ""), f"{name}: unit"),
        _text(table.get("what", ""), f"{name}: what"),
        _table(table.get("board", {}), f"{name}: board"),
        tuple(_text(p, f"{name}: package") for p in _list(table.get("packages", []), name)),
        tuple(_number(s, f"{name}: sample") for s in _list(table.get("samples", []), name)),
        _classes(table.get("classes"), name),
        _traps(table.get("traps"), name),
    )


def _run_values(run: object) -> Iterator[Value]:
    """The values of one run of `lab reach`: reach.ROW.SETUP.PAGES.CORE.WHAT."""
    table = _table(run, "a run")
    row, setup, pages = (
        _text(table.get(key), f"a run's {key}") for key in ("row", "setup", "pages")
    )
    start = f"reach.{row}.{setup}.{pages.replace(' ', '-')}"
    what = _text(table.get("what", ""), start)
    board = _table(table.get("board", {}), start)

    def value(name: str, number: object, unit: str) -> Value:
        return Value(f"{start}.{name}", _number(number, f"{start}.{name}"), unit, what, board)

    insns = _table(table.get("insns", {}), start)
    counts = [n for by in insns.values() for n in _table(by, start).values()]
    yield value("instructions", sum(_number(n, start) for n in counts), "instructions")
    for core, modelled in _table(table.get("modelled", {}), start).items():
        of = _table(modelled, f"{start}.{core}")
        for key, unit in _MODELLED.items():
            yield value(f"{core}.{key}", of.get(key), unit)
        least, most = _cycles(of.get("cycles"), f"{start}.{core}")
        yield value(f"{core}.cycles_least", least, "cycles")
        yield value(f"{core}.cycles_most", most, "cycles")


def _cycles(value: object, where: str) -> tuple[float, float]:
    pair = [_number(each, where) for each in _list(value, f"{where}: cycles")]
    if len(pair) != 2 or pair[0] > pair[1]:
        raise _Malformed(f"{where}: cycles are two numbers, the least and the most")
    return pair[0], pair[1]


def _published_values(table: Mapping[str, Any]) -> Iterator[Value]:
    """Of KVM on a machine that others have measured: model.published.CORE.FIGURE.WHAT."""
    core, figure = (_text(table.get(key), f"a prediction's {key}") for key in ("core", "figure"))
    start = f"model.published.{core}.{figure}"
    what = f"predicted of KVM: {_text(table.get('source', ''), start)}"
    least, most = _cycles(table.get("counted_cycles"), start)
    yield Value(f"{start}.least", least, "cycles", what)
    yield Value(f"{start}.most", most, "cycles", what)
    if table.get("scaled_cycles") is not None:
        yield Value(f"{start}.scaled", _number(table["scaled_cycles"], start), "cycles", what)


def _row_values(table: Mapping[str, Any]) -> Iterator[Value]:
    """Of a row of `lat` from unit costs: model.rows.WHERE.ROW.WHAT."""
    row, on = (_text(table.get(key), f"a prediction's {key}") for key in ("row", "on"))
    start = f"model.rows.{on}.{row}"
    for key in ("native", "predicted", "counted"):
        value = _number(table.get(key), f"{start}.{key}")
        yield Value(f"{start}.{key}", value, "instructions", f"lat.{row} on {on} from unit costs")


# What `lab model cycles` says of a figure, and the beginning of the values' names.
_RANGES = (
    ("cycles", "", "cycles"),
    ("likely", "likely_", "cycles"),
    ("times_native", "native_", "times native"),
    ("likely_times_native", "native_likely_", "times native"),
)


def _core_values(table: Mapping[str, Any]) -> Iterator[Value]:
    """Of a figure in cycles of a core: model.cycles.CORE.FIGURE.WHAT."""
    core, figure = (_text(table.get(key), f"a prediction's {key}") for key in ("core", "figure"))
    start = f"model.cycles.{core}.{figure}"
    what = f"{figure} in cycles of {core}"
    for name, key, unit in _RANGES:
        # Older records have the first alone, and a native figure has no ratio to itself.
        if name == "cycles" or table.get(name) is not None:
            for end, value in zip(("least", "most"), _cycles(table.get(name), start), strict=True):
                yield Value(f"{start}.{key}{end}", value, unit, what)
    for key, unit in (("instructions", "instructions"), ("measured", "cycles")):
        if table.get(key) is not None:
            yield Value(f"{start}.{key}", _number(table[key], start), unit, what)


def _profile_values(profile: object) -> Iterator[Value]:
    """Of costs that were measured on silicon, beside the model's: model.costs.CORE.CLASS.WHAT."""
    table = _table(profile, "a profile")
    core = _text(table.get("name"), "a profile's name")
    for key, each in _table(table.get("costs", {}), f"model.costs.{core}").items():
        start = f"model.costs.{core}.{key}"
        cost = _table(each, start)
        what = f"{key}: {_text(cost.get('how', ''), start)}"
        for kind in ("modelled", "measured"):
            for end, value in zip(("least", "most"), _cycles(cost.get(kind), start), strict=True):
                yield Value(f"{start}.{kind}_{end}", value, "cycles", what)


_PREDICTIONS = {"published": _published_values, "rows": _row_values, "cycles": _core_values}


def _values(kind: str, content: Mapping[str, Any], schema: int) -> dict[str, Value]:
    found: dict[str, Value] = {}
    every: list[Value] = []
    if kind == "figures":
        every = [_figure(each, schema) for each in _list(content["figures"], "figures")]
    elif kind == "runs":
        every = [v for run in _list(content["runs"], "runs") for v in _run_values(run)]
    elif kind == "predictions":
        values = _PREDICTIONS.get(_text(content.get("what"), "what is predicted"))
        if values is None:
            raise _Malformed(f"what is predicted is none of {', '.join(_PREDICTIONS)}")
        lines = [_table(each, "a prediction") for each in _list(content[kind], kind)]
        every = [value for line in lines for value in values(line)]
        every += [v for each in _list(content.get("profiles", []), "profiles")
                  for v in _profile_values(each)]  # fmt: skip
    for each in every:
        if each.name in found:
            raise _Malformed(f"{each.name} is there twice")
        found[each.name] = each
    return found


def _groups(demo: Mapping[str, Any]) -> tuple[timetable.Group, ...]:
    """Where the time of a demo's VM went."""
    if "report" not in demo:
        return ()
    try:
        return tuple(timetable.groups(_table(demo["report"], "demo: report")))
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise _Malformed(f"demo: report: {error!r}") from error


def _guest(demo: Mapping[str, Any]) -> Guest | None:
    """What a demo's guest said of itself; it may have said nothing."""
    said = _table(demo.get("guest", {}), "demo: guest")
    if "system" not in said:
        return None
    points = (said.get(name) for name in ("init", "off"))
    times = (None if at is None else _number(at, "demo: guest: a time") for at in points)
    return Guest(_text(said["system"], "demo: guest: system"), *times)


def _record(file: str, content: object) -> Record:
    table = _table(content, "the record")
    kind = next((key for key in KINDS if key in table), "")
    if not kind:
        raise _Malformed(f"it has none of {', '.join(KINDS)}")
    schema = table.get("schema", READS[0])
    values = _values(kind, table, schema)
    failures = tuple(_text(f, "a failure") for f in _list(table.get("failures", []), "failures"))
    demo = _table(table.get("demo", {}), "demo")
    groups = _groups(demo)
    if not values and not groups:
        why = f": {failures[0]}" if failures else ""
        raise LabError(f"{file} has nothing measured in it{why}", _REMEDY[kind])
    return Record(
        file,
        kind,
        _text(table.get("revision", ""), "revision"),
        table.get("modified") is True,
        _text(table.get("time", ""), "time"),
        _text(table.get("emulator", ""), "emulator"),
        values,
        failures,
        groups,
        Value("demo", 0, board=_table(demo.get("board", {}), "demo: board")),
        _guest(demo),
        tuple(_text(each, "counts_of") for each in _list(table.get("counts_of", []), "counts_of")),
        schema,
        {name: _text(each, name) for name, each in _table(table.get("built", {}), "built").items()},
    )


_REMEDY = {
    "figures": "`bin/lab figures` measures again",
    "runs": "`bin/lab reach` measures again",
    "predictions": "`bin/lab model` predicts again",
    "demo": "`bin/lab demo` runs it again",
}
_MAKES = "`bin/lab figures`, `reach`, `model` and `demo` make records"


def read(file: Path) -> Record:
    """The record in a file."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise LabError(f"{file}: {error.strerror}", f"name a record; {_MAKES}") from error
    except (ValueError, RecursionError) as error:
        raise LabError(
            f"{file} is not a record of figures: it is not JSON, or cut short ({error})", _MAKES
        ) from error
    if isinstance(content, dict) and content.get("schema", READS[0]) not in READS:
        raise LabError(
            f"{file} is a record of schema {content['schema']!r}, which this lab does not know",
            f"it knows {' and '.join(map(str, READS))}: measure again, or use another lab",
        )
    try:
        return _record(file.name, content)
    except _Malformed as error:
        raise LabError(f"{file} is not a record of figures: {error}", _MAKES) from error
