# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The clock for an emulator's time limits: real time, without the time that it waited for a CPU.

A limit ends the wait for a machine that hangs. It must not end one whose host CPUs are busy with
other work. So the time in which a thread of the emulator was ready to run and had no CPU does not
count. Of several threads the one that waited longest counts: it delayed the others at most that
long.
"""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

_PROC = Path("/proc")


class Clock:
    """Time in seconds, of no particular origin. It is real time until a process is followed."""

    def __init__(self) -> None:
        self._tasks: Path | None = None
        self._waited = 0.0

    def follow(self, pid: int) -> None:
        """From now on leave out what this process waits for a CPU."""
        self._tasks = _PROC / str(pid) / "task"

    def now(self) -> float:
        """Seconds since some moment, without those that the process waited for a CPU."""
        self._look()
        return time.monotonic() - self._waited

    def until(self, limit: float) -> float:
        """The real, monotonic time before which the clock does not show `limit`.

        It is over when the clock shows it: ask again once it has come.
        """
        real = limit + self._waited
        if time.monotonic() >= real:
            self._look()
            real = limit + self._waited
        return real

    def deadline(self, seconds: float) -> Callable[[], float]:
        """`until` for this many seconds of the clock from now, as `Machine.run` wants it."""
        limit = self.now() + seconds
        return lambda: self.until(limit)

    def _look(self) -> None:
        """Where the kernel does not tell what threads wait, that is nothing."""
        if self._tasks is None:
            return
        waits = [self._waited]
        # The process, or one of its threads, has ended: its waits are known from the last look.
        with contextlib.suppress(OSError):
            for task in self._tasks.iterdir():
                with contextlib.suppress(OSError, ValueError, IndexError):
                    waits.append(int((task / "schedstat").read_text().split()[1]) / 1e9)
        self._waited = max(waits)
