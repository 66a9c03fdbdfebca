# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Tasks in parallel: their results, their failures, and that none outlives its caller."""

import json
import os
import signal
import time
from functools import partial
from itertools import count

import pytest

from armvisor_lab import cli, side_by_side
from armvisor_lab.errors import LabError
from armvisor_lab.figures import Measurement, Outcome, run


def everything(tasks, at_once):
    started, said = [], []
    found = dict(side_by_side.run(tasks, at_once, started.append, said.append))
    return found, started, said


def answers(value, say):
    say(f"at {value}")
    return value, os.getpid()


@pytest.mark.parametrize("at_once", [1, 2, 9])
def test_each_task_s_result_is_under_its_number(at_once):
    found, started, said = everything([partial(answers, n) for n in range(5)], at_once)
    assert {number: value for number, (value, _) in found.items()} == dict(enumerate(range(5)))
    assert started == list(range(5))
    assert sorted(said) == [f"at {n}" for n in range(5)]
    own = {pid == os.getpid() for _, pid in found.values()}
    assert own == {at_once == 1}


def test_of_none_there_is_nothing():
    assert everything([], 2) == ({}, [], [])


def test_as_many_run_at_once_as_are_asked_for(tmp_path):
    def task(number, _say):
        (tmp_path / str(number)).touch()
        wait_for((tmp_path / str(1 - number)).exists)
        return number

    assert everything([partial(task, 0), partial(task, 1)], 2)[0] == {0: 0, 1: 1}


def test_a_failure_is_a_result_and_the_others_go_on():
    def fails(_say):
        raise LabError("the board hung", "look at the log")

    for at_once in (1, 2):
        found, _, _ = everything([fails, partial(answers, 7)], at_once)
        assert isinstance(found[0], LabError) and str(found[0]) == str(
            LabError("the board hung", "look at the log")
        )
        assert found[1][0] == 7


@pytest.mark.parametrize(
    ("end", "how"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "by signal 9"),
        (lambda: os._exit(3), "with status 3"),
    ],
)
def test_a_process_that_is_killed_is_a_failure(end, how):
    found, _, _ = everything([lambda _say: end(), partial(answers, 7)], 2)
    assert isinstance(found[0], LabError) and how in str(found[0])
    assert found[1][0] == 7


def test_more_than_a_pipe_holds_comes_through():
    text = "x" * (1 << 20)
    found, _, said = everything([lambda say: (say(text), text)[1]] * 2, 2)
    assert found == {0: text, 1: text} and said == [text, text]


def waits(tmp_path, say):
    """Says its process, and cleans up when it is ended."""
    try:
        say(str(os.getpid()))
        time.sleep(100_000)  # who is not ended hangs the test
    finally:
        (tmp_path / str(os.getpid())).touch()


@pytest.mark.parametrize("early", [KeyboardInterrupt(), SystemExit(143)])
def test_an_interrupted_caller_takes_its_tasks_along(tmp_path, early):
    pids = []

    def say(text):
        pids.append(text)
        if len(pids) == 2:
            raise early

    with pytest.raises(type(early)):
        list(side_by_side.run([partial(waits, tmp_path)] * 3, 2, lambda _: None, say))
    assert sorted(pids) == sorted(file.name for file in tmp_path.iterdir())
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def loses_the_first(tmp_path, say):
    """As a process does that is told to end just before it waits."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    say("ready")
    signal.sigwait([signal.SIGTERM])
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    waits(tmp_path, lambda _: None)


def test_a_task_that_lost_a_signal_is_told_again(tmp_path):
    def say(_text):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(side_by_side.run([partial(loses_the_first, tmp_path)] * 2, 2, lambda _: None, say))


@pytest.mark.parametrize("task", [waits, loses_the_first])
def test_a_killed_caller_takes_its_tasks_along(tmp_path, task):
    said, ended = tmp_path / "said", tmp_path / "ended"
    said.mkdir()
    ended.mkdir()
    caller = os.fork()
    if not caller:
        numbers = count()

        def say(_text):
            (said / str(next(numbers))).touch()

        try:
            list(side_by_side.run([partial(task, ended)] * 2, 2, lambda _: None, say))
        finally:
            os._exit(1)
    wait_for(lambda: len(list(said.iterdir())) == 2)
    os.kill(caller, signal.SIGKILL)
    os.waitpid(caller, 0)
    wait_for(lambda: len(list(ended.iterdir())) == 2)


def wait_for(there):
    """However long it takes: what does not come hangs the test."""
    while not there():
        time.sleep(0.01)


def test_a_task_is_not_interrupted_by_a_terminal_s_own_signal(tmp_path):
    def task(_say):
        os.kill(os.getpid(), signal.SIGINT)
        return "whole"

    assert everything([task] * 2, 2)[0] == {0: "whole", 1: "whole"}


@pytest.mark.parametrize(
    ("cpus", "available", "late", "in_time"),
    [(4, 64 << 30, 2, 4), (64, 9 << 30, 2, 2), (8, 1 << 30, 1, 1), (2, 64 << 30, 1, 2),
     (1, 64 << 30, 1, 1)],
)  # fmt: skip
def test_there_are_as_many_as_processors_and_memory_let(
    monkeypatch, cpus, available, late, in_time
):
    monkeypatch.undo()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cpus)))
    monkeypatch.setattr(side_by_side, "_available", lambda: available)
    monkeypatch.setattr(side_by_side, "keeps_time", lambda: False)
    assert side_by_side.jobs() == late
    monkeypatch.setattr(side_by_side, "keeps_time", lambda: True)
    assert side_by_side.jobs() == in_time


def test_another_number_is_the_environment_s(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setenv("ARMVISOR_JOBS", "7")
    assert side_by_side.jobs() == 7
    for wrong in ("0", "-1", "65", "many", "²"):
        monkeypatch.setenv("ARMVISOR_JOBS", wrong)
        with pytest.raises(LabError, match="from 1 to 64"):
            side_by_side.jobs()


def test_this_machine_s_memory_is_read():
    assert side_by_side._available() > 1 << 20


@pytest.fixture
def four(monkeypatch):
    """Four measurements, of which the last is the first to end, and one fails."""

    def measure(name, seconds, progress) -> Outcome:
        time.sleep(seconds)
        progress("boots")
        if name == "boot.c":
            raise LabError("the board hung")
        return Outcome({name: 1.0}, {"cpu": "x"})

    some = [Measurement((f"boot.{name}",), f"measures {name}", partial(measure, f"boot.{name}", s))
            for name, s in (("a", 0.5), ("b", 0.2), ("c", 0.1), ("d", 0))]  # fmt: skip
    monkeypatch.setattr(run, "registry", lambda: some)


def test_the_record_is_in_order_however_they_end(four, tmp_path, capsys):
    file = tmp_path / "figures.json"
    assert cli.main(["figures", "--jobs", "4", "--json", str(file)]) == 1
    record = json.loads(file.read_text())
    assert [each["name"] for each in record["figures"]] == ["boot.a", "boot.b", "boot.d"]
    assert record["failures"] == ["boot.c: the board hung"]
    said = capsys.readouterr()
    assert sorted(said.out.split("\n")) == ["", *(f"boot.{n} 1 instructions" for n in "abd")]
    for number, name in enumerate("abcd", 1):
        assert f"{number}/4 measures {name}" in said.err and f"{number}: boots" in said.err


@pytest.mark.parametrize("jobs", ["0", "-1", "65", "many", ""])
def test_a_number_of_jobs_that_makes_no_sense_is_refused(four, jobs, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["figures", "--jobs", jobs])
    assert stop.value.code == 125
    assert "--jobs" in capsys.readouterr().err
