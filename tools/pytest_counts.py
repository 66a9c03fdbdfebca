# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A pytest plugin for tools/test.py: reports progress, and each failure as it happens.

It writes lines to the descriptor in ARMVISOR_PROGRESS: `DONE TOTAL` after each test, and `failed
NAME: REASON`. With pytest-xdist only the process that distributes the tests writes.
"""

import os
from collections.abc import Sequence
from contextlib import suppress

import pytest


def _reason(report: pytest.TestReport) -> str:
    """The first line of what went wrong, if pytest knows."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = str(getattr(crash, "message", "")).splitlines()
    return f": {lines[0]}" if lines else ""


class Counts:
    """Numbers of collected and of finished tests."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._total = 0
        self._done = 0

    def _say(self, line: str) -> None:
        # The reader may be gone: no reason for a test to fail.
        with suppress(OSError):
            os.write(self._descriptor, f"{line}\n".encode())

    def _count(self) -> None:
        self._say(f"{self._done} {self._total}")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Without xdist: the tests that will run."""
        self._total = max(self._total, len(session.items))
        self._count()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A part of a test has ended; its tear-down is the last."""
        if report.failed:
            self._say(f"failed {report.nodeid}{_reason(report)}")
        if report.when == "teardown":
            self._done += 1
            self._count()


class Distributed(Counts):
    """The same for the process that distributes tests, which does not collect them itself."""

    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """A worker has collected the tests, each the same ones."""
        self._total = len(ids)
        self._count()


def pytest_configure(config: pytest.Config) -> None:
    """Speak, if somebody listens and this is no worker."""
    descriptor = os.environ.get("ARMVISOR_PROGRESS")
    if descriptor and not hasattr(config, "workerinput"):
        kind = Distributed if config.pluginmanager.hasplugin("xdist") else Counts
        config.pluginmanager.register(kind(int(descriptor)), "armvisor-counts")
