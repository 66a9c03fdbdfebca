# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The boards that run the program, their page sizes, and the model for each run."""

import itertools
import json
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from armvisor_lab.boards.board import Board, describe
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.boards.results import instructions, parse
from armvisor_lab.errors import LabError
from armvisor_lab.figures import Progress, artefacts, vms
from armvisor_lab.reach import plugin
from armvisor_lab.reach.cores import Core
from armvisor_lab.reach.plugin import Model, Section

SMALL, HUGE = 12, 21
_PAGES = {"small": SMALL, "huge": HUGE}
_HOST_PAGES = {"off": SMALL, "thp": HUGE}

# Linux enables huge pages for programs by default on machines with 512 MiB or more.
GUEST_MIB = 768
PATTERNS = ("random", "stride", "fresh")
_MAX_MIB = 512
_MARK = "\x1e"


@dataclass(frozen=True)
class Setup:
    """Where the program runs."""

    name: str
    what: str
    regime: str
    el2: bool = False
    modules: Callable[[], tuple[Module, ...]] = tuple
    append: str = ""


SETUPS = {
    setup.name: setup
    for setup in (
        Setup("native", "the board itself", "native"),
        Setup("kvm", "armvisor on KVM (nVHE)", "kvm", el2=True),
        Setup("armvisor", "armvisor on its module, without EL2; entries flush the TLB", "armvisor",
              modules=vms.module),
        # Without KASLR a host's own mappings are global, unless it uses KPTI; see docs/tlb.md.
        Setup("armvisor-kpti", "armvisor on its module, without EL2; entries flush nothing",
              "armvisor", modules=vms.module, append="kpti=1"),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """What the program does, and with which pages."""

    pattern: str
    mib: int
    pages: str

    @property
    def name(self) -> str:
        """As the program takes it."""
        return f"{self.pattern}-{self.mib}-{self.pages}"

    @property
    def workload(self) -> str:
        """Without the pages."""
        return f"{self.pattern}-{self.mib}"


@dataclass
class Run:
    """One section: where, what, with which pages, and the models that stand for it."""

    setup: Setup
    row: Row
    host: str  # the host's pages, "" without a guest
    section: Section
    board: dict[str, Any]
    evidence: dict[str, int] = field(default_factory=dict)

    @property
    def pages(self) -> str:
        """The pages that the memory really had: the program's, in the host's."""
        inner = plugin.SHIFTS[_PAGES[self.row.pages]]
        return f"{inner} in {plugin.SHIFTS[_HOST_PAGES[self.host]]}" if self.host else inner

    def model(self, core: str) -> Model:
        """The model of the translation that this run had on a core."""
        s1 = _PAGES[self.row.pages]
        if not self.host:
            return Model(core, s1, 0)
        s2 = _HOST_PAGES[self.host]
        if self.setup.regime == "kvm":
            return Model(core, s1, s2)
        # A shadow entry is as large as the part that both map in one piece.
        return Model(core, min(s1, s2), 0)

    def invalidations(self, kind: str) -> int:
        """TLBIs of a kind that were executed; those of armvisor's guests trap, and are not."""
        trapped = ("guest-user", "guest-kernel") if self.setup.regime == "armvisor" else ()
        return sum(
            each.get(kind, 0) for who, each in self.section.tlbi.items() if who not in trapped
        )

    def as_json(self) -> dict[str, Any]:
        """For a record."""
        return {
            "setup": self.setup.name,
            "what": self.setup.what,
            "row": self.row.name,
            "pages": self.pages,
            "evidence": self.evidence,
            "board": self.board,
            **self.section.as_json(),
        }


def parse_workload(text: str) -> tuple[str, int]:
    """Pattern and MiB, from `random-128`."""
    match = re.fullmatch(r"([a-z]+)-(\d+)", text)
    if not match or match[1] not in PATTERNS or not 1 <= int(match[2]) <= _MAX_MIB:
        raise LabError(
            f"{text!r} is not a workload",
            f"write one of {', '.join(PATTERNS)}, a dash and 1 to {_MAX_MIB} MiB: random-128",
        )
    return match[1], int(match[2])


def rows(workloads: Sequence[str]) -> list[Row]:
    """The rows of some workloads: each with both sizes of pages, but `fresh`, which has 4 KiB."""
    found = []
    for pattern, mib in map(parse_workload, workloads):
        pages = ("small",) if pattern == "fresh" else ("small", "huge")
        found += [Row(pattern, mib, each) for each in pages]
    return list(dict.fromkeys(found))


Pages = tuple[int, int]


def parse_pages(text: str) -> Pages:
    """The shifts of `2M in 4K`, or of `64K`, which is one stage: then the second is 0."""
    shifts = {name: shift for shift, name in plugin.SHIFTS.items()}
    inner, _, outer = text.partition(" in ")
    if inner not in shifts or (outer and outer not in shifts) or text.endswith(" in "):
        raise LabError(
            f"{text!r} is not a choice of pages",
            f"write {', '.join(shifts)}, or two as in `2M in 4K`: a guest's pages in its host's",
        )
    return shifts[inner], shifts[outer] if outer else 0


def models(regime: str, cores: Sequence[Core], as_if: Sequence[Pages] = ()) -> list[Model]:
    """What a board's accesses are given to: all that a run on it may have had.

    Natively also what is asked for `as_if` it had been so.
    """
    sizes = (SMALL, HUGE)
    pairs = list(itertools.product(sizes, sizes) if regime == "kvm" else ((s, 0) for s in sizes))
    if regime == "native":
        pairs += as_if
    return [Model(core.name, s1, s2) for s1, s2 in dict.fromkeys(pairs) for core in cores]


def _check_pages(text: str, row: Row) -> dict[str, int]:
    """The program had the pages that it asked for; that, and what took how long by the clock."""
    found = parse(text).get(f"reach.{row.name}.huge")
    if found is None:
        raise LabError(f"the program did not say what pages {row.name} had; it said: {text[-800:]}")
    wanted = row.mib << 10 if row.pages == "huge" else 0
    if found.value != wanted:
        raise LabError(
            f"{row.name}: {found.value:.0f} KiB of huge pages where {wanted} were asked for",
            "less memory may be found in one piece: name a smaller workload",
        )
    clock = round(instructions(text, f"reach.{row.name}.ticks"))
    return {"program_huge_kib": int(found.value), "instructions_by_clock": clock}


def _check_clock(run: Run) -> Run:
    """The plugin counted what the board's clock did, but for what faults, which begins twice."""
    counted, clock = run.section.instructions(), run.evidence["instructions_by_clock"]
    if abs(counted - clock) > clock / 1000:
        raise LabError(
            f"{run.setup.name}, {run.row.name}: {counted} instructions were counted in a time of "
            f"{clock}",
            "a machine that waits cannot be counted so; else the plugin is wrong",
        )
    return run


_THP = re.compile(r"^thp_file_mapped (\d+)$", re.M)


def _check_host(text: str, host: str) -> dict[str, int]:
    """The guest had the host's pages that were asked for."""
    before, after = (int(each) for each in _THP.findall(text))
    blocks = after - before
    if (blocks > 0) != (host == "thp"):
        raise LabError(f"the host mapped {blocks} blocks of 2 MiB for --huge-pages {host}")
    evidence = {"host_blocks_mapped": blocks}
    report = next((line for line in text.splitlines() if line.startswith('{"end"')), None)
    if report is None:
        raise LabError(f"the VM left no report; it said: {text[-800:]}")
    exits = json.loads(report)["kvm_exits"]
    if "shadow_block_fill" in exits:
        evidence["shadow_blocks_filled"] = exits["shadow_block_fill"]
    return evidence


def _check_shadow(found: list[Run]) -> None:
    """Shadow tables had blocks where, and only where, guest and host had them."""
    for run in found:
        filled = run.evidence.get("shadow_blocks_filled")
        wanted = run.row.mib // 2 if run.model("").s1 == HUGE else 0
        if filled is not None and (filled < wanted or (run.host == "off" and filled)):
            raise LabError(f"{run.setup.name}, {run.pages}: {filled} blocks in the shadow tables")


def _native(setup: Setup, wanted: list[Row], told: plugin.Told, progress: Progress) -> list[Run]:
    board = Board(
        count=True, memory=2048, timeout=900, append=setup.append,
        files={"/bin/reach": artefacts.tool("reach")},
    )  # fmt: skip
    result, sections = plugin.run(board, ["reach", *(row.name for row in wanted)], told, progress)
    _check_sections(sections, len(wanted))
    where = describe(board, result.kernel)
    return [
        _check_clock(Run(setup, row, "", section, where, _check_pages(result.text, row)))
        for row, section in zip(wanted, sections, strict=True)
    ]


def _check_sections(sections: list[Section], wanted: int) -> None:
    if len(sections) != wanted:
        raise LabError(f"the plugin saw {len(sections)} sections where {wanted} were run")


def _vm_script(wanted: list[Row]) -> str:
    """A VM for each size of the host's pages, each runs all rows."""
    append = f"{vms.SAME} armvisor.test=reach armvisor.rows={','.join(r.name for r in wanted)}"
    command = ["armvisor", "run", "--json", "--kernel", "/guest/Image", "--initrd", "/guest/initrd"]
    command += ["--memory", f"{GUEST_MIB}M", "--no-randomness", "--append", append]
    thp = "grep ^thp_file_mapped /proc/vmstat"
    return " && ".join(
        f"printf '{_MARK}' && {thp} && {shlex.join([*command, '--huge-pages', host])} && {thp}"
        for host in _HOST_PAGES
    )


def _in_vm(setup: Setup, wanted: list[Row], told: plugin.Told, progress: Progress) -> list[Run]:
    guest = artefacts.guest(vms.GUEST)
    board = Board(
        el2=setup.el2, count=True, memory=2560, timeout=1800, append=setup.append,
        modules=setup.modules(),
        files={"/bin/armvisor": artefacts.vmm(),
               **{f"/guest/{name}": guest[name] for name in ("Image", "initrd")}},
    )  # fmt: skip
    result, sections = plugin.run(board, ["sh", "-c", _vm_script(wanted)], told, progress)
    _check_sections(sections, len(wanted) * len(_HOST_PAGES))
    where = describe(board, result.kernel)
    texts = result.text.split(_MARK)[1:]
    rest = iter(sections)
    found = [
        _check_clock(
            Run(setup, row, host, next(rest), where,
                _check_pages(text, row) | _check_host(text, host))
        )
        for host, text in zip(_HOST_PAGES, texts, strict=True)
        for row in wanted
    ]  # fmt: skip
    if setup.regime == "armvisor":
        _check_shadow(found)
    return found


def run(
    setup: Setup,
    wanted: list[Row],
    cores: Sequence[Core],
    progress: Progress,
    as_if: Sequence[Pages] = (),
) -> list[Run]:
    """All rows on one board."""
    where = _native if setup.regime == "native" else _in_vm
    told = (setup.regime, cores, models(setup.regime, cores, as_if))
    return where(setup, wanted, told, progress)
