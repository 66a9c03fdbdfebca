# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Rows of module/tests/kvm/bounds on counted boards, and their figures.

A board is booted once for several rows, which are tests of their own and its parts
(shared_board.py): what one of them did is in `measure()`'s cache, so rows of a board go to one
worker (xdist_group).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from built import TOP, make, module, of_tests
from guest_runs import KPTI, results
from shared_board import Part, run_parts

from armvisor_lab.boards.board import Board
from armvisor_lab.boards.initramfs import Module

# Most counted instructions for which a guest's or VMM's request may hold a CPU at a stretch.
BOUND = 200_000


@dataclass(frozen=True)
class Row:
    """One run of module/tests/kvm/bounds: its rows, and their expected results."""

    names: str
    settings: str = ""
    # Shadow entries that the guest made first.
    entries: int = 0
    # Operations that the meter must have covered.
    measured: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return "-".join(f"{self.settings} {self.names}".split())

    @property
    def command(self) -> str:
        return f"{self.settings} /bounds {self.names}"


class Figures(dict[str, int]):
    """Figures by name, of a row; none of one whose program failed, but for what it said."""

    def __init__(self, part: Part):
        good = not part.trouble and part.status == 0 and part.text.endswith("done\n")
        super().__init__({k: int(v) for k, v in results(part.text).items()} if good else {})
        self.failure = "" if good else f"{part.trouble}\n{part.text[-1000:]}\n{part.stderr}"

    def __repr__(self) -> str:
        return self.failure or super().__repr__()


@cache
def measure(
    kernel: str,
    rows: Sequence[Row],
    memory: int = 1024,
    timeout: float = 1800,
    cpu: str = "cortex-a72",
    el2: bool = False,
    modules: Sequence[str] = (),
    before: str = "",
) -> dict[Row, Figures]:
    """Figures of each row.

    `el2`: on KVM. `before`: a command that comes first, for which the host has these `modules`.
    The first row makes the host quiet for all of them.
    """
    make(str(TOP / "module/tests/kvm"))
    scripts = {"before": f"set -e\ninsmod /stall.ko\n{before}"}
    for number, row in enumerate(rows):
        scripts[f"row{number}"] = f"QUIET={int(number > 0)} {row.command}"
    hypervisor = () if el2 else (Module(str(module(kernel))),)
    board = Board(
        el2=el2, kernel=kernel, cpu=cpu, count=True, append=KPTI, memory=memory, timeout=timeout,
        modules=[*hypervisor, *modules],
        files={
            "/bounds": TOP / "build/module/kvm/bounds",
            "/stall.ko": of_tests("stall", kernel),
        },
    )  # fmt: skip
    parts = run_parts(board, scripts)
    parts["before"].check()
    return {row: Figures(parts[f"row{number}"]) for number, row in enumerate(rows)}


def too_long(figures: Mapping[str, int]) -> dict[str, int]:
    """The meter's figures that exceed the bound."""
    return {
        name: value
        for name, value in figures.items()
        if name.endswith(".longest") and value > BOUND
    }
