# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Lines `result NAME VALUE UNIT`, which guests and tools print what they measured with."""

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
    """The results in a program's output; the last of a name counts."""
    return {
        match[1]: Value(float(match[2]), match[3])
        for match in _LINE.finditer(text.replace("\r", ""))
    }


def instructions(text: str, name: str) -> float:
    """The result `name`, in ticks of the counter, as instructions of a counted board."""
    found = parse(text)
    prefix = name.rpartition(".")[0]
    frequency = found.get(f"{prefix}.cntfrq")
    if name not in found or frequency is None or found[name].unit != "ticks":
        last = "\n  ".join(text.strip().splitlines()[-8:])
        raise LabError(f"the run printed no result {name!r} in ticks; its last lines:\n  {last}")
    return found[name].value * _NANOSECONDS / frequency.value
