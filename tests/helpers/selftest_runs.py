# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Linux's KVM selftests on a board, in turn, and their results.

The board is paced, so a time limit means the same on a busy machine. Its CPUs take turns, and a
broadcast TLBI ends a turn: a test that flushes much runs better alone. The programs are those of
the board's own kernel (armvisor_lab/archive/selftests.py).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from guest_runs import MARK

from armvisor_lab.archive import selftests
from armvisor_lab.boards.board import Board

# Exit statuses of the selftests (kselftest.h), and of a time limit.
WORDS = {0: "pass", 4: "skip", 137: "hang"}
# Seconds of board time for a test, if the table has no number for it.
SECONDS = 240
# Seconds of the lab for a board, even on a busy machine.
BOARD_SECONDS = 5400

ONE = """
run() {{
    name=$1; seconds=$2; shift 2
    timeout -s KILL $seconds "/st/$name" "$@" </dev/null >/tmp/said 2>&1; status=$?
    printf '{mark}%s %s %s\\n' "$name" $status "$(cut -d' ' -f1 /proc/uptime)"
    tail -c 2000 /tmp/said
}}
"""


@dataclass(frozen=True)
class Outcome:
    """A test's result, and the end of its output."""

    result: str
    said: str


@dataclass(frozen=True)
class Run:
    """A test's program and arguments."""

    name: str
    arguments: str = ""
    cpus: int = 2
    seconds: int = SECONDS


def outcomes(role: str, module: Path | None, tests: Sequence[Run]) -> dict[str, Outcome]:
    """The results of the tests on the role's kernel, on its KVM or on the module; one board per
    number of CPUs.
    """
    found = {}
    for cpus in sorted({test.cpus for test in tests}):
        found |= _board(role, module, cpus, [test for test in tests if test.cpus == cpus])
    return found


def _board(role: str, module: Path | None, cpus: int, tests: Sequence[Run]) -> dict[str, Outcome]:
    programs = selftests.get(role)
    lines = [ONE.format(mark=MARK)]
    lines += [f"run {test.name} {test.seconds} {test.arguments}" for test in tests]
    files: dict[str, Path | bytes] = {f"/st/{test.name}": programs / test.name for test in tests}
    if module:
        files["/armvisor.ko"] = module
        lines = ["set -e", "insmod /armvisor.ko", "set +e", *lines, "rmmod armvisor"]
    files["/script"] = "\n".join([*lines, f"printf '{MARK}end 0 0\\n'"]).encode()
    board = Board(
        el2=not module, kernel=role, smp=cpus, memory=4096, paced=True, files=files,
        timeout=BOARD_SECONDS,
    )  # fmt: skip
    text = board.run(["sh", "/script"]).check().text
    assert text.endswith(f"{MARK}end 0 0\n"), text[-2000:]
    found = {}
    for part in text.split(MARK)[1:-1]:
        head, _, said = part.partition("\n")
        name, status, _when = head.split()
        found[name] = Outcome(WORDS.get(int(status), "fail"), said)
    return found


def named(text: str) -> str:
    """A test's name in all series: the folder for arm64 used to be called aarch64."""
    return re.sub(r"^aarch64/", "arm64/", text)
