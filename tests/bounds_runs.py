# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Rows of module/tests/kvm/bounds on counted boards, and their figures.

A board is booted once for several rows, which are tests of their own: what one of them did is in
`measure()`'s cache, so rows of a board go to one worker (xdist_group).
"""

import fcntl
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from built import TOP, make, module
from guest_runs import KPTI, MARK, results

from armvisor_lab.boards.board import Board
from armvisor_lab.boards.initramfs import Module

# Counted instructions that nothing a guest or a VMM asks for may hold a CPU at a stretch.
BOUND = 200_000


@dataclass(frozen=True)
class Row:
    """One run of module/tests/kvm/bounds: its rows, and what must have come of them."""

    names: str
    settings: str = ""
    # Shadow entries that the guest made first.
    entries: int = 0
    # Operations that must have been under the meter.
    measured: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return "-".join(f"{self.settings} {self.names}".split())

    @property
    def command(self) -> str:
        return f"{self.settings} /bounds {self.names}"


def stall(kernel: str) -> Path:
    """The module that holds a CPU for a known time: `make module` builds none of the tests'."""
    built = TOP / "build/module" / kernel
    with (built / "stall.lock").open("w") as lock:
        # Workers come here at the same time.
        fcntl.flock(lock, fcntl.LOCK_EX)
        make(str(TOP / "module"), f"KVER={kernel}", "stall")
    return built / "tests/stall/stall.ko"


@cache
def measure(
    kernel: str,
    rows: Sequence[Row],
    memory: int = 1024,
    timeout: float = 900,
    cpu: str = "cortex-a72",
    el2: bool = False,
    modules: Sequence[str] = (),
    before: str = "",
) -> dict[Row, dict[str, int]]:
    """Figures by name, of each row; of one whose program failed there is nothing.

    `el2`: on KVM. `before`: a command that comes first, for which the host has these `modules`.
    """
    make(str(TOP / "module/tests/kvm"))
    lines = ["insmod /stall.ko", before]
    for row in rows:
        lines += [f"printf '{MARK}%s\\n' {shlex.quote(row.id)}", f"{row.command} || echo failed"]
    hypervisor = () if el2 else (Module(str(module(kernel))),)
    board = Board(
        el2=el2, kernel=kernel, cpu=cpu, count=True, append=KPTI, memory=memory, timeout=timeout,
        modules=[*hypervisor, *modules],
        files={
            "/bounds": TOP / "build/module/kvm/bounds",
            "/stall.ko": stall(kernel),
            "/script": "\n".join([*lines, ""]).encode(),
        },
    )  # fmt: skip
    result = board.run(["sh", "/script"])
    parts = dict(part.split("\n", 1) for part in result.check().text.split(MARK)[1:])
    for row in rows:
        if not parts[row.id].endswith("done\n"):
            parts[row.id] = ""
            print(result.stderr.decode("utf-8", "replace"))
    return {
        row: {name: int(value) for name, value in results(parts[row.id]).items()} for row in rows
    }


def too_long(figures: Mapping[str, int]) -> dict[str, int]:
    """Of figures of the meter those that are over the bound."""
    return {
        name: value
        for name, value in figures.items()
        if name.endswith(".longest") and value > BOUND
    }
