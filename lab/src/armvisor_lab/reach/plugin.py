# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A board with QEMU's plugin (lab/plugins): its configuration, and its output for each section.

A section is the work of a program between two marks. Its values are by executor: the host's
programs and kernel, the hypervisor (EL2, or armvisor's window), the guest's programs and kernel.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from armvisor_lab.boards.board import Board, Result
from armvisor_lab.errors import LabError
from armvisor_lab.figures import Progress, artefacts, on_board
from armvisor_lab.reach.cores import Core

WHOS = ("host-user", "host-kernel", "hypervisor", "guest-user", "guest-kernel")
CLASSES = (
    "ordinary", "isb", "dsb", "dmb", "call", "eret", "sysreg-read", "sysreg-write", "tlbi", "cache",
)  # fmt: skip

# The exception level of each of WHOS.
LEVELS = {
    "native": (0, 1, None, None, None),
    "kvm": (0, 1, 2, 0, 1),
    "vhe": (0, 2, None, None, 1),
    "armvisor": (0, 1, 1, 0, 0),
    "xen": (None, None, 2, None, 1),
}

# A guest of 40 bits of IPA: KVM's stage 2 begins at level 1.
STAGE2_LEVELS = 3

SHIFTS = {12: "4K", 16: "64K", 21: "2M", 30: "1G"}


@dataclass(frozen=True)
class Model:
    """A core with a size of pages for large memory; `s2` is 0 where there is one stage."""

    core: str
    s1: int
    s2: int

    def __str__(self) -> str:
        inner = SHIFTS[self.s1]
        return f"{inner} in {SHIFTS[self.s2]}" if self.s2 else inner


# The plugin's configuration: the regime, the cores, the models.
Told = tuple[str, Sequence[Core], Sequence[Model]]


@dataclass(frozen=True)
class Counts:
    """What a model counted: of data, of fetches; references to stage 1's tables, and 2's.

    `refs_missed` are the references that the L2 cache lacked.
    """

    lookups: tuple[int, int] = (0, 0)
    l1_misses: tuple[int, int] = (0, 0)
    walks: tuple[int, int] = (0, 0)
    refs: tuple[int, int] = (0, 0)
    refs_missed: tuple[int, int] = (0, 0)

    def __add__(self, other: "Counts") -> "Counts":
        def both(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
            return a[0] + b[0], a[1] + b[1]

        return Counts(
            both(self.lookups, other.lookups), both(self.l1_misses, other.l1_misses),
            both(self.walks, other.walks), both(self.refs, other.refs),
            both(self.refs_missed, other.refs_missed),
        )  # fmt: skip


@dataclass(frozen=True)
class Caches:
    """What the model of a core's caches counted: of data, of fetches."""

    lookups: tuple[int, int] = (0, 0)
    l1_misses: tuple[int, int] = (0, 0)
    l2_misses: tuple[int, int] = (0, 0)


@dataclass
class Section:
    """What was counted between two marks, by who executed."""

    range: tuple[int, int]
    insns: dict[str, dict[str, int]] = field(default_factory=dict)
    tlbi: dict[str, dict[str, int]] = field(default_factory=dict)
    accesses: dict[str, dict[str, int]] = field(default_factory=dict)
    entries: dict[str, dict[str, int]] = field(default_factory=dict)
    models: dict[Model, dict[str, Counts]] = field(default_factory=dict)
    caches: dict[str, dict[str, Caches]] = field(default_factory=dict)

    def total(self, model: Model) -> Counts:
        """A model's counts, of all who executed."""
        return sum(self.models[model].values(), Counts())

    def instructions(self) -> int:
        """Instructions executed in the section, by all."""
        return sum(sum(each.values()) for each in self.insns.values())

    def as_json(self) -> dict[str, Any]:
        """For a record."""
        counts = {key: getattr(self, key) for key in ("insns", "tlbi", "accesses", "entries")}
        models = [
            {**asdict(model), "by": {who: asdict(each) for who, each in by.items()}}
            for model, by in self.models.items()
        ]
        caches = {
            core: {who: asdict(each) for who, each in by.items()}
            for core, by in self.caches.items()
        }
        return {"range": list(self.range), **counts, "models": models, "caches": caches}


def _words(section: Section, words: list[str]) -> None:
    """One line of a section."""
    match words:
        case ["insns" | "tlbi" | "accesses" | "entries" as what, who, name, number]:
            getattr(section, what).setdefault(who, {})[name] = int(number)
        case ["model", core, s1, s2, who, *numbers] if len(numbers) == 10:
            n = [int(each) for each in numbers]
            counts = Counts(*((n[i], n[i + 1]) for i in range(0, 10, 2)))
            section.models.setdefault(Model(core, int(s1), int(s2)), {})[who] = counts
        case ["caches", core, who, *numbers] if len(numbers) == 6:
            n = [int(each) for each in numbers]
            found = Caches((n[0], n[1]), (n[2], n[3]), (n[4], n[5]))
            section.caches.setdefault(core, {})[who] = found
        case _:
            raise ValueError


def parse(text: str) -> list[Section]:
    """The sections in the plugin's output."""
    found: list[Section] = []
    section: Section | None = None
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        try:
            if words[:1] == ["section"] and section is None:
                section = Section((int(words[2], 16), int(words[3], 16)))
            elif words == ["end"] and section is not None:
                found.append(section)
                section = None
            elif section is not None:
                _words(section, words)
            else:
                raise ValueError
        except (ValueError, IndexError):
            raise LabError(
                f"line {number} of the plugin's output is unknown: {line!r}",
                "plugin and lab are of different revisions: run `make plugins`",
            ) from None
    if section is not None:
        raise LabError("the plugin's output has no end: the board ended within a section")
    return found


def configuration(regime: str, out: Path, cores: Sequence[Core], models: Sequence[Model],
                  whole: bool = False) -> str:  # fmt: skip
    """What the plugin is told."""
    lines = ["whole"] if whole else []
    lines += [f"regime {regime}", f"out {out}", f"stage2 {STAGE2_LEVELS}"]
    lines += [line for core in cores for line in (core.line(), core.caches())]
    lines += [f"model {model.core} {model.s1} {model.s2}" for model in models]
    return "\n".join(lines) + "\n"


def run(
    board: Board,
    command: Sequence[str],
    told: Told,
    progress: Progress,
    do: Callable[[Board, Sequence[str], Progress], Any] = on_board,
    whole: bool = False,
) -> tuple[Any, list[Section]]:
    """Run a command on a board with the plugin: the result, which is good, and the sections.

    `do` is how it is run. `whole`: the board's life is the section, from its reset to its end.
    """
    if board.smp != 1 and told[2]:
        raise LabError(f"the plugin's models follow one CPU, not {board.smp}")
    if board.smp != 1 and not board.count:
        raise LabError("the plugin counts where CPUs take turns: on a counted board")
    plugin = artefacts.plugin()
    with tempfile.TemporaryDirectory(prefix="reach.") as folder:
        out, config = Path(folder, "sections"), Path(folder, "config")
        regime, cores, models = told
        config.write_text(configuration(regime, out, cores, models, whole))
        option = f"{str(plugin).replace(',', ',,')},config={str(config).replace(',', ',,')}"
        with_plugin = replace(board, qemu_args=[*board.qemu_args, "-plugin", option])
        result = do(with_plugin, command, progress)
        if not isinstance(result, Result):
            return result, parse(out.read_text())
        failure = result.failure
        if failure and failure.kind == "set-up" and plugin.name in failure.message:
            raise LabError(
                f"QEMU did not take the plugin: {failure.message}",
                "it is for QEMU before 9.0, as Debian 12 has; ARMVISOR_QEMU names the one to use",
            )
        result.check()
        return result, parse(out.read_text())


def cycles(core: Core, counts: Counts, unseen: int = 0) -> tuple[float, float]:
    """The least and the most cycles of a core for misses and walks.

    `unseen` are invalidations by address. Each may have dropped an entry that the model still
    has: at the most as many walks more, of as many references as the others have.
    """
    misses, walks, missed = sum(counts.l1_misses), sum(counts.walks), sum(counts.refs_missed)
    found = sum(counts.refs) - missed
    hit, here, beyond = (core.cycles(key) for key in ("l2_hit", "walk_hit", "walk_miss"))
    low, high = (found * here[i] + missed * beyond[i] for i in (0, 1))
    each = high / walks if walks else 0
    return misses * hit[0] + low, misses * hit[1] + high + unseen * (hit[1] + each)


def by_level(section: Section, regime: str) -> Mapping[str, tuple[int, dict[str, int]]]:
    """Instructions by who and class, with the exception level of each who."""
    levels = dict(zip(WHOS, LEVELS[regime], strict=True))
    found: dict[str, tuple[int, dict[str, int]]] = {}
    for who in WHOS:
        level = levels[who]
        if who in section.insns and level is not None:
            found[who] = level, section.insns[who]
    return found
