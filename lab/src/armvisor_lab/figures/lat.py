# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lat.ROW.*`: system calls, signals, processes and memory, each repeated, the best taken.

`lat` measures with the counter, which a guest reads without leaving; it settles first and
prints at its end.
"""

from armvisor_lab.board import Board
from armvisor_lab.cli_board import describe
from armvisor_lab.figures import Measurement, Outcome, Progress, artefacts
from armvisor_lab.results import instructions

# In the order in which `lat` prints them.
ROWS = (
    "null", "read", "write", "open-close", "signal-install", "signal-catch", "arithmetic",
    "pipe", "unix-socket", "fork-exit", "fork-exec", "fork-sh", "map-touch-unmap",
    "protection-fault",
)  # fmt: skip


def _values(text: str, variant: str) -> dict[str, float]:
    return {f"lat.{row}.{variant}": instructions(text, f"lat.{row}") for row in ROWS}


def _names(variant: str) -> tuple[str, ...]:
    return tuple(f"lat.{row}.{variant}" for row in ROWS)


def _native(progress: Progress) -> Outcome:
    board = Board(count=True, files={"/bin/lat": artefacts.tool("lat")})
    result = board.run(["lat"], progress=progress).check()
    values = _values(result.text, "native")
    return Outcome(values, describe(board, result.kernel))


def measurements() -> list[Measurement]:
    """This family's measurements."""
    return [Measurement(_names("native"), "latencies on the board itself", _native)]
