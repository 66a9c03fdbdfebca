# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""All records of a report together: the newest value of each name, and its origin.

A `Use` collects what a section used: the commands that made its values, and revision, boards and
packages. It also has the values that the section did not find, with the command that would measure
them if there is one.
"""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from armvisor_lab.figures import apps, beside, run
from armvisor_lab.records import Record, Value

# Values of `lab reach` for each run and core, by the names of records.py.
_REACH = ("walks", "walk_references", "l1_misses", "cycles_least", "cycles_most")


def patterns(names: Sequence[str]) -> list[str]:
    """Patterns for `lab figures` that have these figures, and few others: lat.*.native."""
    found: dict[str, None] = {}
    for name in names:
        words = name.split(".")
        if len(words) == 3:
            # A program that does nothing has its own rows, apart from those of `lat`.
            rows = "nothing*" if words[1].startswith("nothing") else "*"
            found[f"{words[0]}.{rows}.{words[2]}"] = None
        elif sum(other.split(".")[0] == words[0] for other in names) > 1:
            found[f"{words[0]}.*"] = None
        else:
            found[name] = None
    return list(found)


def commands(names: Iterable[str]) -> list[str]:
    """The commands that measure values of these names."""
    names = list(names)
    found = []
    figures = [name for name in names if name.partition(".")[0] not in ("reach", "model")]
    always = {name for each in run.registry() for name in each.figures}
    if made := [name for name in figures if name not in always and beside.can_make(name)]:
        figures = [name for name in figures if name not in made]
        rows, on = (dict.fromkeys(n.rpartition(".")[i] for n in made) for i in (0, 2))
        found.append(f"bin/lab compare {' '.join(rows)} --on {','.join(on)}")
    if figures:
        options = " ".join(f"--only {shlex.quote(each)}" for each in patterns(figures))
        found.append(f"bin/lab figures {options}")
    if any(name.startswith("reach.") for name in names):
        found.append("bin/lab reach")
    models = [name.split(".")[1:3] for name in names if name.startswith("model.")]
    # What was measured on silicon is in the same record as the cycles that it is beside.
    models = [["cycles", whose] if what == "costs" else [what, whose] for what, whose in models]
    for what, whose in models:
        found.append(f"bin/lab model {what}{f' --on {whose}' if what == 'rows' else ''}")
    return list(dict.fromkeys(found))


def describe_board(value: Value) -> str:
    """A board in a sentence's part, as far as the record says."""
    board = value.board
    if not board:
        return ""
    el2 = "with EL2" if board.get("el2") else "without EL2"
    text = f"{board.get('cpu', 'a CPU')} {el2}, {board.get('smp', '?')} CPU"
    text += f", {board.get('memory_mib', '?')} MiB, Debian {board.get('kernel_role', '')} "
    text += f"{board.get('kernel_version', '')} ({board.get('kernel', '')})"
    return text + (f", {board['append']}" if board.get("append") else "")


class Pool:
    """Records, the oldest first."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = sorted(records, key=lambda record: (record.time, record.file))
        self._newest = {
            name: (value, record)
            for record in self.records
            for name, value in record.values.items()
        }
        self._known = {name for each in run.registry() for name in each.figures}

    def find(self, name: str) -> tuple[Value, Record] | None:
        """The newest value of a name, and its record."""
        return self._newest.get(name)

    def names(self) -> list[str]:
        """All names, in the records' order."""
        return list(self._newest)

    def can_measure(self, name: str) -> bool:
        """Whether the lab has a command that measures it."""
        words = name.split(".")
        return (
            name in self._known
            or (words[0] == "reach" and words[-1] in _REACH)
            or words[0] == "model"
        )


@dataclass
class Use:
    """What a section took from a pool."""

    pool: Pool
    found: dict[str, tuple[Value, Record]] = field(default_factory=dict)
    missing: dict[str, None] = field(default_factory=dict)

    def get(self, name: str) -> Value | None:
        """The value of a name; remembered either way."""
        at = self.pool.find(name)
        if at is None:
            self.missing[name] = None
            return None
        self.found[name] = at
        return at[0]

    def commands(self) -> tuple[str, ...]:
        """The commands that made what was found."""
        return tuple(commands(self.found))

    def remedy(self) -> list[str]:
        """The commands that would measure what was not found."""
        return commands(name for name in self.missing if self.pool.can_measure(name))

    def provenance(self) -> tuple[str, ...]:
        """Revisions, boards, emulators and packages of what was found, a line each."""
        records = {record.file: record for _, record in self.found.values()}
        lines = [
            f"revision {record.label}"
            + (" with local changes" if record.modified else "")
            + (f", {record.time}" if record.time else "")
            + f", {record.file}"
            for record in sorted(records.values(), key=lambda r: (r.time, r.file))
        ]
        boards = {describe_board(value): None for value, _ in self.found.values()}
        lines += [f"board: {board}" for board in boards if board]
        emulators = {record.emulator: None for record in records.values()}
        lines += [f"emulator: {each}" for each in emulators if each]
        packages = {p: None for value, _ in self.found.values() for p in value.packages}
        counts = {r: None for record in records.values() for r in record.counts_of}
        lines += [f"counts of revision {each[:9]}" for each in counts]
        programs = ("qemu-system-arm", *apps.MEASURED)
        own = [p for p in packages if p.partition("=")[0] in programs]
        lines += [f"in the board: {each}" for each in own]
        return tuple(lines)
