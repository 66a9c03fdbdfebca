# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Commands of several tests on one board, one after the other: each test has its own answer.

A boot is most of what a short test costs. Each part is a shell of its own. If the board's kernel
complains, or the board goes, that is of the part that ran then: the parts before it stand, and
those after it say which one ended their board.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from armvisor_lab.boards.board import Board, Failure, Result

# Not the one of guest_runs.py, which parts may print themselves.
BEGIN, END = "\x1d", "\x1c"
WORDS = "shared board: now "


@dataclass(frozen=True)
class Part:
    """What one part did."""

    name: str
    # None: it did not end.
    status: int | None
    stdout: bytes
    # Of the board, with the console's words; empty if there was none that is this part's.
    trouble: str
    # What all parts said there, and their board's kernel.
    stderr: str
    console: str

    @property
    def text(self) -> str:
        return self.stdout.decode("utf-8", "replace")

    def check(self) -> str:
        """Its output, if it and the board did well meanwhile."""
        assert not self.trouble, f"{self.name}: {self.trouble}\n{self.text[-3000:]}"
        assert self.status == 0, f"{self.name}: {self.status}\n{self.text[-3000:]}\n{self.stderr}"
        return self.text


def run_parts(board: Board, parts: Mapping[str, str]) -> dict[str, Part]:
    """Run these scripts, by name (no blanks), and tell how each went."""
    lines = []
    for name, script in parts.items():
        lines += [f"printf '{BEGIN}%s\\n' {name}", f"echo '{WORDS}{name}' >/dev/kmsg"]
        lines += [f"(\n{script}\n)", f"printf '{END}%s' $?"]
    files = dict(board.files) | {"/parts": "\n".join([*lines, "exit 0", ""]).encode()}
    return tell_apart(replace(board, files=files).run(["sh", "/parts"]), list(parts))


def tell_apart(result: Result, names: list[str]) -> dict[str, Part]:
    """The parts of a board's output, and the board's trouble where it belongs."""
    said = {}
    for piece in result.stdout.split(BEGIN.encode())[1:]:
        head, _, rest = piece.partition(b"\n")
        text, ended, status = rest.partition(END.encode())
        said[head.decode()] = (int(status) if ended and status.isdigit() else None, text)
    guilty = blamed(result, names, list(said)) if result.failure else None
    stderr = result.stderr.decode("utf-8", "replace")[-3000:]
    parts = {}
    for name in names:
        status, text = said.get(name, (None, b""))
        trouble = ""
        if result.failure and guilty in (None, name):
            trouble = f"{result.failure.message}\nlog: {result.log}"
        elif status is None:
            trouble = f"not run to its end: {guilty} ended the board"
        parts[name] = Part(name, status, text, trouble, stderr, result.console)
    return parts


def blamed(result: Result, names: list[str], begun: list[str]) -> str | None:
    """The part that ran when the board's trouble came; None: it is not to be told."""
    assert isinstance(result.failure, Failure)
    line = re.match(r"the board's kernel reported: (.*)", result.failure.message)
    if not line:
        return begun[-1] if begun else None
    before, found, _ = result.console.partition(line[1])
    marks = re.findall(rf"{WORDS}(\S+)", before)
    return marks[-1] if found and marks and marks[-1] in names else None
