# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Parts of a board that tests share: trouble is told by the test whose it is."""

from pathlib import Path

import pytest
from shared_board import run_parts, tell_apart

from armvisor_lab.archive import kernels
from armvisor_lab.boards.board import Board, Failure, Result

NAMES = ["one", "two", "three"]


def result(stdout: str, failure: Failure | None = None, console: str = "") -> Result:
    return Result(0, stdout.encode(), b"", console, Path("log"), failure, 1, kernels.get("stable"))


def test_each_has_its_own_output_and_status():
    said = "\x1done\na\nb\x1c0\x1dtwo\n\x1c7\x1dthree\nc\x1c0"
    parts = tell_apart(result(said), NAMES)
    assert [(part.status, part.text) for part in parts.values()] == [(0, "a\nb"), (7, ""), (0, "c")]
    assert parts["one"].check() == "a\nb"
    with pytest.raises(AssertionError, match="two: 7"):
        parts["two"].check()


def test_a_board_that_goes_is_of_the_part_that_ran():
    gone = Failure("stop", "the board went off before the command ended", 126)
    parts = tell_apart(result("\x1done\na\x1c0\x1dtwo\nb", gone), NAMES)
    assert parts["one"].check() == "a"
    with pytest.raises(AssertionError, match="two: the board went off"):
        parts["two"].check()
    with pytest.raises(AssertionError, match="three: not run to its end: two ended the board"):
        parts["three"].check()


def test_a_complaint_of_the_kernel_is_of_the_part_that_ran():
    said = "\x1done\n\x1c0\x1dtwo\n\x1c0\x1dthree\n\x1c0"
    console = (
        "shared board: now one\n[1.0] BUG: bad\nshared board: now two\nshared board: now three"
    )
    bad = Failure("bug", "the board's kernel reported: [1.0] BUG: bad\nmore", 126)
    parts = tell_apart(result(said, bad, console), NAMES)
    with pytest.raises(AssertionError, match="one: the board's kernel reported"):
        parts["one"].check()
    assert parts["two"].check() == parts["three"].check() == ""


def test_what_is_of_no_part_is_of_all():
    bad = Failure("bug", "the board's kernel reported: BUG: early\n", 126)
    parts = tell_apart(result("\x1done\n\x1c0", bad, "BUG: early\nshared board: now one"), NAMES)
    for part in parts.values():
        with pytest.raises(AssertionError, match="BUG: early"):
            part.check()


def test_on_a_board():
    """The kernel's complaint between two parts that are well, and a part that ends badly."""
    bad = "echo 'BUG: KASAN: slab-use-after-free in nothing+0x1/0x2' >/dev/kmsg; sleep 1"
    parts = run_parts(Board(), {"one": "echo a; exit 0", "two": bad, "three": "echo c; exit 3"})
    assert parts["one"].check() == "a\n"
    assert "KASAN" in parts["two"].trouble and not parts["three"].trouble
    assert (parts["three"].status, parts["three"].text) == (3, "c\n")
