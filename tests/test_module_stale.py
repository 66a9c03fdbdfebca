# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A guest never sees stale memory, although most of its faults are answered from cached state.

`module/tests/kvm/stale` checks itself: pages that the VMM replaces, protects, shares, swaps, merges
and logs; a page that leads to several frames in turn; rights and tables that another vCPU changes;
leaves of a GiB; slots whose frames are adjacent; faults of EL0 by tables that others change or
replace. Real KVM must pass it too, or it tests the wrong thing.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from built import TOP, make, module
from guest_runs import results
from hostile_runs import SWAP, swap_modules
from shared_board import Part, run_parts

from armvisor_lab.boards.board import Board

CONFORMANCE = pytest.mark.conformance
PARTS = (
    "replaced", "kept", "logged", "poked", "rights", "moved", "leaf", "adjacent", "own", "user",
)  # fmt: skip
# Without light exits or their short way, without copies, without both, without guest aborts in the
# window, with nothing (module/cpu/cheap.h).
NO_FAULTS = 511
CHEAP = (895, 767, 1015, 887, NO_FAULTS, 0)


def programs() -> Path:
    make(str(TOP / "module/tests/kvm"))
    return TOP / "build/module/kvm/stale"


def script(kernel: str, words: str, cheap: int | None = None) -> str:
    """`words` are settings and parts. On KVM, or on the module with that of cheap.h."""
    # Linux 6.1 does not swap what was used a moment ago, on KVM neither.
    swap = "may" if kernel == "oldstable" else "must"
    line = f"SWAP={swap} KSM=1 {words}"
    if cheap is None:
        return line
    return f"set -e\ninsmod /armvisor.ko cheap_traps={cheap}\n{line}\nrmmod armvisor"


def board(kernel: str, el2: bool = False, timeout: float = 200) -> Board:
    files: dict[str, Path | bytes] = {"/stale": programs()}
    if not el2:
        files["/armvisor.ko"] = module(kernel)
    return Board(
        el2=el2, kernel=kernel, smp=2, files=files, modules=swap_modules(kernel), timeout=timeout
    )


def run_all(kernel: str, rows: Mapping[str, tuple[str, int | None]], **more) -> dict[str, Part]:
    """Rows of words and what is cheap, one after the other on one board of memory with swap."""
    scripts = {name: script(kernel, words, cheap) for name, (words, cheap) in rows.items()}
    el2 = all(cheap is None for _, cheap in rows.values())
    return run_parts(board(kernel, el2, **more), {"swap": SWAP} | scripts)


def passed(parts: Mapping[str, Part], name: str) -> dict[str, str]:
    """What a row told, in which nothing was stale."""
    parts["swap"].check()
    text = parts[name].check()
    assert text.endswith("done\n"), text[-3000:]
    return results(text)


def run(kernel: str, words: str, cheap: int | None = None, timeout: float = 200) -> dict[str, str]:
    """A row alone."""
    return passed(run_all(kernel, {"alone": (words, cheap)}, timeout=timeout), "alone")


SHORT = "TIMES=1 ROUNDS=3 /stale"
OWN = "ROUNDS=10 /stale own user"
BLOCKS = f"{SHORT} replaced kept logged"
# Of one board; those with blocks are test_module_huge.py's.
ROWS = {
    "replaced-kept": (f"{SHORT} replaced kept", 1023),
    "others": (f"{SHORT} logged poked rights moved leaf adjacent", 1023),
    "own": (OWN, 1023),
    "blocks": (f"HUGE=must {BLOCKS}", 255),
    "pages-of-a-block": (f"HUGE=pages {BLOCKS}", 1023),
}
on_one_board = pytest.mark.xdist_group("stale")


@cache
def of_rows() -> dict[str, Part]:
    return run_all("stable", ROWS, timeout=600)


def assert_faults(told: dict[str, str], in_window: bool) -> None:
    for part, most in (("own", 0.5), ("user", 0)):
        faults, ended = (int(told[f"{part}.{name}"]) for name in ("faults", "in_window"))
        assert faults > 500 and (ended > faults * most if in_window else ended == 0), told


@on_one_board
def test_the_guests_own_faults():
    """Most of EL0's end in the window, and the guest cannot tell.

    How many depends on the other vCPU where that changes the table all the time, and so on how
    the two take turns.
    """
    assert_faults(passed(of_rows(), "own"), in_window=True)


@CONFORMANCE
def test_the_guests_own_faults_without_the_window():
    assert_faults(run("stable", OWN, cheap=NO_FAULTS), in_window=False)


@CONFORMANCE
def test_on_kvm():
    run("stable", SHORT)


@on_one_board
@pytest.mark.parametrize("name", ["replaced-kept", "others"])
def test_on_module(name: str):
    passed(of_rows(), name)


@CONFORMANCE
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kernel", ["oldstable", "stable", "newest"])
def test_longer(kernel: str, part: str):
    run(kernel, f"TIMES=20 ROUNDS=200 /stale {part}", cheap=1023, timeout=900)


@CONFORMANCE
@pytest.mark.parametrize("cheap", CHEAP)
def test_with_less_that_is_cheap(cheap: int):
    run("stable", SHORT, cheap=cheap)
