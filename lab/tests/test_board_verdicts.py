# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The verdict on a board's end, with a stand-in for QEMU that plays the board."""

import sys
from pathlib import Path

import pytest

from armvisor_lab.archive.kernels import Kernel
from armvisor_lab.boards import board as boards
from armvisor_lab.boards.board import Board

# Finds its channels as QEMU does and plays what $PLAY says: (channel, text) or seconds to wait.
STAND_IN = """#!{python}
import ast, os, re, sys, time
line = " ".join(sys.argv)
fds = dict(re.findall(r"socket,id=(\\w+),fd=(\\d+)", line))
for step in ast.literal_eval(os.environ["PLAY"]):
    if isinstance(step, tuple):
        os.write(int(fds[step[0]]), step[1].encode())
    elif isinstance(step, str):
        sys.exit(step)
    else:
        time.sleep(step)
"""

BOOT = ("status", "boot\nrun\n")
EXIT = ("status", "exit 0\n")


@pytest.fixture
def play(tmp_path, monkeypatch):
    stand_in = tmp_path / "qemu"
    stand_in.write_text(STAND_IN.replace("{python}", sys.executable))
    stand_in.chmod(0o755)
    kernel = Kernel("6.12", "cloud", "6.12-x", Path("/nowhere"), ())
    monkeypatch.setenv("ARMVISOR_QEMU", str(stand_in))
    monkeypatch.setenv("ARMVISOR_CACHE", str(tmp_path))
    monkeypatch.setattr("armvisor_lab.archive.kernels.get", lambda *_: kernel)
    monkeypatch.setattr("armvisor_lab.boards.initramfs.build", lambda *_: [b""])
    monkeypatch.setattr("armvisor_lab.boards.autopsy.SECONDS", 0.2)

    def play(*steps: object, **options: object) -> boards.Result:
        monkeypatch.setenv("PLAY", repr(list(steps)))
        return Board(**options).run(["true"])

    return play


def test_a_good_end(play):
    result = play(BOOT, ("stdout", "out"), ("stderr", "err"), ("status", "exit 5\n"))
    assert (result.status, result.stdout, result.stderr) == (5, b"out", b"err")
    assert result.failure is None
    assert result.exit_status == 5


def test_output_behind_the_status_is_not_lost(play):
    result = play(BOOT, EXIT, ("stdout", "late"))
    assert result.stdout == b"late"


def test_a_board_that_does_not_boot(play, monkeypatch):
    monkeypatch.setattr(boards, "BOOT_SECONDS", 2)
    result = play(("console", "[    0.000000] Booting\n"), 100_000)
    assert result.failure is not None
    assert result.failure.kind == "hang"
    assert "did not get to running the command" in result.failure.message
    assert result.exit_status == 124
    assert result.log.read_bytes() == b"[    0.000000] Booting\n"


def test_a_command_that_does_not_end(play):
    result = play(BOOT, ("stdout", "so far"), 100_000, timeout=0.5)
    assert result.exit_status == 124
    assert result.stdout == b"so far"


def test_a_board_that_does_not_go_off(play, monkeypatch):
    monkeypatch.setattr(boards, "POWER_OFF_SECONDS", 0.5)
    result = play(BOOT, EXIT, 100_000)
    assert result.status == 0
    assert result.failure is not None
    assert "did not go off" in result.failure.message
    assert result.exit_status == 124


def test_a_board_that_goes_off_too_early(play):
    for steps, says in [((), "during boot"), ((BOOT,), "before the command ended")]:
        result = play(*steps)
        assert result.failure is not None
        assert says in result.failure.message
        assert result.exit_status == 126


def test_an_emulator_that_does_not_start(play):
    result = play("qemu: no such machine")
    assert result.failure is not None
    assert "no such machine" in result.failure.message
    assert result.exit_status == 125


def test_a_refusal_of_the_board_s_init(play):
    result = play(("status", "boot\nfail module x does not load\n"))
    assert result.failure is not None
    assert result.failure.message == "module x does not load"
    assert result.exit_status == 125


def test_a_splat_outweighs_success_and_hang(play):
    splat = ("console", "[    9.000000] BUG: scheduling while atomic: sh/7/0x2\n")
    assert play(BOOT, splat, EXIT).exit_status == 126
    result = play(BOOT, splat, 100_000, timeout=0.5)
    assert result.failure is not None
    assert result.failure.kind == "bug"


def test_an_oops_shortens_the_wait(play, monkeypatch):
    monkeypatch.setattr(boards, "SPLAT_SECONDS", 0.5)
    oops = ("console", "[    9.000000] Internal error: Oops: 0000000096000004 [#1] SMP\n")
    # One that waits for the command's limit does not end.
    result = play(BOOT, oops, 100_000, timeout=100_000)
    assert result.exit_status == 126


def test_failures_raise_when_checked(play):
    with pytest.raises(boards.LabError, match="returned 3"):
        play(BOOT, ("status", "exit 3\n")).check()
    out = ("stdout", "FAILED: seed 7")
    with pytest.raises(boards.LabError, match="FAILED: seed 7"):
        play(BOOT, out, ("status", "exit 3\n")).check()
    with pytest.raises(boards.LabError, match="returned 3: no memory"):
        play(BOOT, out, ("stderr", "no memory\n"), ("status", "exit 3\n")).check()
    with pytest.raises(boards.LabError, match="went off"):
        play().check()
    assert play(BOOT, EXIT).check().status == 0
