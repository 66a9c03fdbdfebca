# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Tasks in parallel, each in its own process: boards that count keep one CPU busy.

Processes, not threads: all that a task has opened or started is cleaned up with it, when it fails
and when the run is interrupted.
"""

import multiprocessing
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NoReturn

from armvisor_lab.boards.machine import keeps_time
from armvisor_lab.errors import LabError

# The memory of this machine that a large board and its QEMU take.
_BOARD_BYTES = 4 << 30
_MOST = 64
_AGAIN_SECONDS = 0.2

Say = Callable[[str], None]
Task = Callable[[Say], Any]


def jobs() -> int:
    """How many boards this machine runs side by side; ARMVISOR_JOBS says another number.

    One for each processor, as far as memory goes: a counted board has one thread that is busy.
    Another one moves the clock on; where it may not have priority (boards/machine.py) and has to
    wait, figures of processes repeat to a percent and no longer to the instruction, so there it is
    one board for every two processors.
    """
    if wanted := os.environ.get("ARMVISOR_JOBS"):
        return number(wanted)
    processors = len(os.sched_getaffinity(0)) // (1 if keeps_time() else 2)
    return max(1, min(processors, _available() // _BOARD_BYTES))


def number(text: str) -> int:
    """A number of boards, as a user wrote it; LabError unless it is from 1 to 64."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= _MOST:
        raise LabError(f"{text!r} boards side by side", f"write a number from 1 to {_MOST}")
    return int(text)


def _available() -> int:
    lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvail")), 0)


def run(
    tasks: Sequence[Task], at_once: int, starting: Callable[[int], None], say: Say
) -> Iterator[tuple[int, Any]]:
    """Each task's number with what it returned, or the LabError that it raised, as they end.

    They are started in their order, after `starting` of the number, and `say` tells what they
    say. One at a time they run in this process. If the caller stops, or an exception comes to it
    here, those that still run are ended.
    """
    if at_once == 1:
        for number, task in enumerate(tasks):
            starting(number)
            yield number, _outcome(task, say)
        return
    waiting = iter(enumerate(tasks))
    running: dict[Connection, tuple[int, Any]] = {}
    try:
        while True:
            while len(running) < at_once and (following := next(waiting, None)):
                starting(following[0])
                process, pipe = _start(following[1])
                running[pipe] = following[0], process
            if not running:
                return
            ready = wait(list(running))
            for pipe in [each for each in running if each in ready]:
                message = _receive(pipe, running[pipe][1])
                if isinstance(message, str):
                    say(message)
                    continue
                number, process = running.pop(pipe)
                pipe.close()
                process.join()
                yield number, message[0]
    finally:
        for _number, process in running.values():
            process.terminate()
        for pipe, (_number, process) in running.items():
            # Its output may block it: close the pipe.
            pipe.close()
            _join(process)


def _join(process: Any) -> None:  # noqa: ANN401
    """Wait for a process that was told to end.

    It is told again: a signal that comes just before a system call that waits is noticed after it.
    """
    while process.is_alive():
        process.join(_AGAIN_SECONDS)
        if process.is_alive():
            process.terminate()


def _outcome(task: Task, say: Say) -> Any:  # noqa: ANN401
    try:
        return task(say)
    except LabError as error:
        return error


def _start(task: Task) -> tuple[Any, Connection]:
    # Forked: tasks are closures, and modules need not be loaded again.
    ours, theirs = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("fork")
    # Opened here, not by the process: by then the caller may be gone, and another have its number.
    caller = os.pidfd_open(os.getpid())
    process = context.Process(target=_in_process, args=(task, ours, theirs, caller), daemon=True)
    process.start()
    os.close(caller)
    theirs.close()
    return process, ours


def _terminated(number: int, _frame: Any) -> NoReturn:  # noqa: ANN401
    # Once, and as an exception, so that boards are taken down and temporary files removed.
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def _end_with(caller: int) -> None:
    """Tell this process to end when its caller ends, killed or not; again, as _join() does."""
    gone = select.poll()
    gone.register(caller, select.POLLIN)
    gone.poll()
    while True:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_AGAIN_SECONDS)


def _in_process(task: Task, ours: Connection, theirs: Connection, caller: int) -> None:
    # A terminal sends SIGINT to all processes at once; only the caller handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _terminated)
    # A signal must reach the working thread, to interrupt its system call.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    threading.Thread(target=_end_with, args=(caller,), daemon=True).start()
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    ours.close()
    # The caller may be gone, or may not need more.
    with suppress(BrokenPipeError):
        theirs.send((_outcome(task, theirs.send),))


def _receive(pipe: Connection, process: Any) -> Any:  # noqa: ANN401
    """What it says, or a tuple of its outcome."""
    try:
        return pipe.recv()
    except EOFError:
        process.join()
        status = process.exitcode
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        return (LabError(f"what measures it ended {how}", "its own words, if any, are above"),)
