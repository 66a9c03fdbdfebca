# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A guest never sees what is no more, though most of its faults are answered from what is known.

`module/tests/kvm/stale` checks itself: pages that the VMM replaces, protects, shares, swaps, merges
and logs, a page that leads to one frame after the other, rights and tables that another vCPU
changes, leaves of a GiB, slots whose frames are adjacent, faults of EL0 by tables that others
change or replace. Real KVM must pass it too,
or it asks for the wrong thing.
"""

from pathlib import Path

import pytest
from built import TOP, make, module
from guest_runs import results
from hostile_runs import SWAP, swap_modules

from armvisor_lab.boards.board import Board

CONFORMANCE = pytest.mark.conformance
PARTS = (
    "replaced", "kept", "logged", "poked", "rights", "moved", "leaf", "adjacent", "own", "user",
)  # fmt: skip
# Without light exits or their short way, without copies, without these, without the guest's own
# aborts in the window, with nothing (module/cpu/cheap.h).
NO_FAULTS = 511
CHEAP = (895, 767, 1015, 887, NO_FAULTS, 0)


@pytest.fixture(scope="module")
def program() -> Path:
    make(str(TOP / "module/tests/kvm"))
    return TOP / "build/module/kvm/stale"


def run(
    program: Path, kernel: str, words: str, cheap: int | None = None, timeout: float = 200
) -> dict[str, str]:
    """`words` are settings and parts. On KVM, or on the module with that of cheap.h."""
    files: dict[str, Path | bytes] = {"/stale": program}
    lines = ["set -e", SWAP]
    if cheap is not None:
        files["/armvisor.ko"] = module(kernel)
        lines.append(f"insmod /armvisor.ko cheap_traps={cheap}")
    # Linux 6.1 does not swap what was used a moment ago, on KVM neither.
    swap = "may" if kernel == "oldstable" else "must"
    lines.append(f"SWAP={swap} KSM=1 {words}")
    if cheap is not None:
        lines.append("rmmod armvisor")
    files["/script"] = "\n".join([*lines, ""]).encode()
    board = Board(
        el2=cheap is None, kernel=kernel, smp=2, files=files, modules=swap_modules(kernel),
        timeout=timeout,
    )  # fmt: skip
    text = board.run(["sh", "/script"]).check().text
    assert text.endswith("done\n")
    return results(text)


SHORT = "TIMES=1 ROUNDS=3 /stale"


@pytest.mark.parametrize(
    ("cheap", "in_window"), [(1023, True), pytest.param(NO_FAULTS, False, marks=CONFORMANCE)]
)
def test_the_guests_own_faults(program: Path, cheap: int, in_window: bool):
    """Most of EL0's end in the window, and the guest cannot tell.

    How many depends on the other vCPU where that changes the table all the time, and so on how
    the two take turns.
    """
    told = run(program, "stable", "ROUNDS=10 /stale own user", cheap=cheap)
    for part, most in (("own", 0.5), ("user", 0)):
        faults, ended = (int(told[f"{part}.{name}"]) for name in ("faults", "in_window"))
        assert faults > 500 and (ended > faults * most if in_window else ended == 0), told


@CONFORMANCE
def test_on_kvm(program: Path):
    run(program, "stable", SHORT)


@pytest.mark.parametrize("parts", ["replaced kept", "logged poked rights moved leaf adjacent"])
def test_on_module(program: Path, parts: str):
    run(program, "stable", f"{SHORT} {parts}", cheap=1023)


@CONFORMANCE
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kernel", ["oldstable", "stable", "newest"])
def test_longer(program: Path, kernel: str, part: str):
    run(program, kernel, f"TIMES=20 ROUNDS=200 /stale {part}", cheap=1023, timeout=900)


@CONFORMANCE
@pytest.mark.parametrize("cheap", CHEAP)
def test_with_less_that_is_cheap(program: Path, cheap: int):
    run(program, "stable", SHORT, cheap=cheap)
