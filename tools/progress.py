# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Progress of a run: one line, rewritten in place on a terminal, and printed now and then
elsewhere.

Output of suites goes through `show`, so that the line never ends up in the middle of it. A thread
updates the line's time; everything that prints holds the lock.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TextIO

# Seconds between lines where there is no terminal.
EVERY = 30
_CLEAR = "\r\x1b[K"


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


class Progress:
    """The line of one suite. `expected`: number of tests of its last run, if known."""

    def __init__(
        self, name: str, begin: float, expected: int = 0, out: TextIO = sys.stdout,
        what: str = "tests",
    ) -> None:  # fmt: skip
        self._name, self._begin, self._expected, self._out = name, begin, expected, out
        self._what = what
        self._start = self._last = time.monotonic()
        self._done = self._total = self._failed = 0
        self._terminal = out.isatty()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Progress:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._over.set()
        self._thread.join()
        with self._lock:
            self._clear()
            self._out.flush()

    def line(self, now: float) -> str:
        """The suite, the numbers of tests done and in all, the times of the suite and the run."""
        if self._total:
            of = f" of {self._total}"
        else:
            of = f" of about {self._expected}" if self._expected >= self._done > 0 else ""
        bad = f", {self._failed} failed" if self._failed else ""
        took = clock(now - self._start)
        run = clock(now - self._begin)
        return f"{self._name}: {self._done}{of} {self._what}{bad}, {took} (run: {run})"

    def reached(self, done: int, total: int = 0) -> None:
        """This many tests have ended, of this many."""
        with self._lock:
            self._done, self._total = done, total
            self._rewrite()

    def failed(self, name: str) -> None:
        """A test has failed: print it at once."""
        with self._lock:
            self._failed += 1
            self._print(f"FAILED {name}\n")

    def show(self, text: str) -> None:
        """Print output of a suite."""
        with self._lock:
            self._print(text)

    def _print(self, text: str) -> None:
        self._clear()
        self._out.write(text)
        self._rewrite()
        self._out.flush()

    def _clear(self) -> None:
        if self._terminal:
            self._out.write(_CLEAR)

    def _rewrite(self) -> None:
        if self._terminal and not self._over.is_set():
            self._out.write(_CLEAR + self.line(time.monotonic()))
            self._out.flush()

    def _tick(self) -> None:
        while not self._over.wait(1):
            with self._lock:
                now = time.monotonic()
                self._rewrite()
                if not self._terminal and now - self._last >= EVERY:
                    self._last = now
                    self._out.write(f"-- {self.line(now)}\n")
                    self._out.flush()
