# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Lines `result NAME VALUE UNIT`, which guests and tools print for their measurements."""

import re
from dataclasses import dataclass

from armvisor_lab.errors import LabError

_LINE = re.compile(r"^result (\S+) (-?\d+(?:\.\d+)?) (\S+)\s*$", re.MULTILINE)

# A counted board runs at one instruction a virtual nanosecond.
_NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class Value:
    """One measured value."""

    value: float
    unit: str


def parse(text: str) -> dict[str, Value]:
    """The results in a program's output by name; of several with one name the last."""
    return dict(_every(text))


def _every(text: str) -> list[tuple[str, Value]]:
    matches = _LINE.finditer(text.replace("\r", ""))
    return [(match[1], Value(float(match[2]), match[3])) for match in matches]


def instructions(text: str, name: str) -> float:
    """The last result `name` as instructions of a counted board; LabError if there is none."""
    return all_instructions(text, name)[-1]


def all_instructions(text: str, name: str) -> list[float]:
    """Each result `name` as instructions, in the order of the text; LabError if there is none."""
    found = _every(text)
    rate = dict(found).get(f"{name.rpartition('.')[0]}.cntfrq")
    ticks = [each for key, each in found if key == name]
    if not ticks or rate is None or any(each.unit != "ticks" for each in ticks):
        last = "\n  ".join(text.strip().splitlines()[-8:])
        raise LabError(f"the run printed no result {name!r} in ticks; its last lines:\n  {last}")
    return [each.value * _NANOSECONDS / rate.value for each in ticks]


def count(text: str, name: str) -> float:
    """The last result `name` whose unit is count; LabError if there is none."""
    value = parse(text).get(name)
    if value is None or value.unit != "count":
        last = "\n  ".join(text.strip().splitlines()[-8:])
        raise LabError(f"the run printed no count {name!r}; its last lines:\n  {last}")
    return value.value


def all_counts(text: str, name: str) -> list[float]:
    """Each result `name` whose unit is count, in order; LabError if there is none."""
    count(text, name)
    return [each.value for key, each in _every(text) if key == name]


_COUNTER = r"^\[ *(\d+\.\d+)\] {name}: counter (\d+) at (\d+) Hz$"
_POWER_OFF = re.compile(r"^\[ *(\d+\.\d+)\] reboot: Power down$", re.MULTILINE)


def until_power_off(console: str, name: str) -> float:
    """Instructions of a counted board from reset to power-off; LabError if the console has no end.

    What the counter said at `name` stands in the kernel's log with the time of the kernel's
    clock, which is the same counter from a later start; so does the power-off.
    """
    text = console.replace("\r", "")
    at = re.search(_COUNTER.format(name=re.escape(name)), text, re.MULTILINE)
    off = _POWER_OFF.search(text)
    if not at or not off:
        last = "\n  ".join(text.strip().splitlines()[-8:])
        raise LabError(f"no {name!r} and power-off in the console; its last lines:\n  {last}")
    after = float(off[1]) - float(at[1])
    return (int(at[2]) / int(at[3]) + after) * _NANOSECONDS
