# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Where a VM's time went: the final report of `armvisor run --json`, in groups of lines.

On the module every class of exits has its time, and the rest is the guest's; on KVM exits are only
counted. Raises ValueError, KeyError, TypeError, AttributeError or ArithmeticError for an invalid
report.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# The module's exits by class, the rows of ARMvisor's Table 7, which add up; each has its time.
_CLASSES = ("sen_inst_trap", "irq", "fast_trap", "dat_trans", "protection", "mmio", "dabt_true",
            "pabt_kvm", "pabt_true", "mem_pv", "guest_exc", "hypercall", "suspend",
            "other_trap")  # fmt: skip

# Counters of time or of polling, which do not show where exits went.
_NOT_EXITS = ("_ns", "_poll", "_invalid", "_wakeup")


@dataclass(frozen=True)
class Line:
    """One line; None where there is no such number. `share` is of the whole time."""

    label: str
    count: int | None = None
    seconds: float | None = None
    share: float = 0

    def text(self, counted: bool) -> str:
        """For a console; `counted` where lines of its group have counts."""
        time = "" if self.seconds is None else f"{self.seconds:8.2f} s  {self.share:4.0%}"
        count = "" if self.count is None else str(self.count)
        return (f"{count:>8} {time}" if counted else time).rstrip()


@dataclass(frozen=True)
class Group:
    """Lines under a title; the first group's title has a time too."""

    title: str
    lines: tuple[Line, ...]
    seconds: float | None = None

    @property
    def counted(self) -> bool:
        """Whether any line has a count."""
        return any(line.count is not None for line in self.lines)


def groups(report: Mapping[str, Any]) -> list[Group]:
    """What a report says of time and exits."""
    wall = _finite(report["wall_seconds"])
    phases = tuple(
        Line(str(p["name"]), None, _finite(p["seconds"]), p["seconds"] / wall if wall else 0)
        for p in report["phases"]
    )
    found = [Group("start to end", phases, wall), _counts("exits to the VMM", report["exits"])]
    exits = report["kvm_exits"]
    if "guest_ns" in exits:
        return [*found, _classes(exits, wall)]
    in_kvm = {k: v for k, v in exits.items() if not k.endswith(_NOT_EXITS)}
    return [*found, _counts("exits within KVM", in_kvm)]


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError(f"{number} is no time")
    return float(number)


def _counts(title: str, counts: Mapping[str, int]) -> Group:
    some = sorted(((int(n), name) for name, n in counts.items() if n), reverse=True)
    return Group(title, tuple(Line(name, number) for number, name in some))


def _classes(exits: Mapping[str, int], wall: float) -> Group:
    """The module's exits: how many of each class, their time, and the time between them."""

    def line(label: str, count: int | None, nanoseconds: int) -> Line:
        seconds = _finite(nanoseconds / 1e9)
        # A fast trap's time is part of the guest's: it is not worth reading a clock for.
        return Line(label, count, seconds or None, seconds / wall if wall else 0)

    some = sorted(((exits[f"{name}_ns"], name) for name in _CLASSES if exits[name]), reverse=True)
    first = [line("guest, with fast traps", None, exits["guest_ns"])]
    if idle := exits.get("idle_ns"):
        first.append(line("idle", None, idle))
    lines = (line(name, int(exits[name]), time) for time, name in some)
    return Group("within the hypervisor", (*first, *lines))
