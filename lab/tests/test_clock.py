# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The clock for an emulator's time limits, on a CPU that others keep busy."""

import os
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest

from armvisor_lab.boards.clock import Clock
from armvisor_lab.boards.machine import Deadline, Machine

BUSY = "while True: pass"
# So much of a CPU's time, whoever else has it in between.
WORK = "import time\nwhile time.process_time() < 1: pass"
RIVALS = 7


@pytest.fixture
def one_cpu():
    """One CPU for this process and all that it starts."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


@pytest.fixture
def rivals(one_cpu):
    """Others that want that CPU all the time.

    Each is a session of its own, as the machine is: the scheduler may share a CPU out by sessions
    (autogroup).
    """
    with ExitStack() as stack:
        for _ in range(RIVALS):
            rival = subprocess.Popen([sys.executable, "-c", BUSY], start_new_session=True)
            process = stack.enter_context(rival)
            stack.callback(process.kill)
        yield


def test_what_works_is_not_given_up_on_a_busy_machine(rivals, monkeypatch):
    """A second of work in less than three seconds, which take eight or more of real time."""
    monkeypatch.setenv("ARMVISOR_QEMU", sys.executable)
    machine = Machine(["-c", WORK], [])
    begin = time.monotonic()
    assert machine.run(machine.clock.deadline(3)) == 0
    assert time.monotonic() - begin > 3, "the machine was not busy: nothing was tested"


def test_what_hangs_is_given_up(rivals, monkeypatch):
    """A process that waits for nothing, and one that never ends: with the CPU that they had."""
    monkeypatch.setenv("ARMVISOR_QEMU", sys.executable)
    for program in ("import time; time.sleep(1000)", BUSY):
        machine = Machine(["-c", program], [])
        with pytest.raises(Deadline):
            machine.run(machine.clock.deadline(0.5))


def test_without_a_process_it_is_real_time():
    clock = Clock()
    before = time.monotonic()
    assert before <= clock.now() <= time.monotonic()
    assert clock.until(5.0) == 5.0
    clock.follow(1 << 30)
    assert before <= clock.now() <= time.monotonic()


def test_the_thread_that_waited_longest_counts(tmp_path, monkeypatch):
    monkeypatch.setattr("armvisor_lab.boards.clock._PROC", tmp_path)
    for name, told in {"7": "5 3000000000 1", "8": "9 2000000000 1", "9": "odd"}.items():
        (tmp_path / "7/task" / name).mkdir(parents=True)
        (tmp_path / "7/task" / name / "schedstat").write_text(told)
    clock = Clock()
    limit = clock.now() - 1  # over, if nothing was waited for
    clock.follow(7)
    assert clock.until(limit) == limit + 3
    (tmp_path / "7/task/7/schedstat").unlink()
    assert clock.until(limit) == limit + 3, "what is known is not forgotten"
