# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The progress of `make test`: the runner's output, on a terminal and elsewhere."""

import io
import os
import subprocess
import sys
import time

import pytest

from armvisor_lab import paths

TOOLS = paths.checkout() / "tools"
sys.path.append(str(TOOLS))
progress = pytest.importorskip("progress")

TESTS = """
import pytest
@pytest.mark.parametrize("n", range(5))
def test_numbers(n): assert n != 3
@pytest.mark.skip
def test_skipped(): pass
@pytest.fixture
def broken(): raise OSError
def test_set_up(broken): pass
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_elsewhere_there_are_plain_lines_now_and_then(monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0)
    out = io.StringIO()
    with progress.Progress("boards", time.monotonic() - 100, 0, out) as line:
        line.show("something\n")
        line.reached(37, 170)
        line.failed("test_x.py::test_y")
        time.sleep(1.2)
    said = out.getvalue()
    assert said.startswith(
        "something\nFAILED test_x.py::test_y\n-- boards: 37 of 170 tests, 1 failed"
    )
    assert ", 0:01 (run: 1:41)\n" in said
    assert not set(said) & {"\r", "\x1b", "\b"}


def test_a_terminal_has_one_line_which_goes_for_output_and_at_the_end():
    out = Terminal()
    with progress.Progress("module", time.monotonic(), 40, out) as line:
        line.reached(7)
        line.show("something\n")
    clear = "\r\x1b[K"
    parts = out.getvalue().split(clear)
    assert parts[1] == "module: 7 of about 40 tests, 0:00 (run: 0:00)"
    assert parts[2] == "something\n" and parts[3] == parts[1]
    assert parts[-1] == ""


@pytest.mark.parametrize(
    ("done", "expected", "says"),
    [(0, 40, "x: 0 tests"), (50, 40, "x: 50 tests"), (3, 0, "x: 3 tests")],
)
def test_a_number_that_is_not_known_is_not_said(done, expected, says):
    line = progress.Progress("x", 0, expected, io.StringIO())
    line.reached(done)
    assert line.line(3600).startswith(f"{says}, ")


@pytest.mark.parametrize("options", [(), ("-n", "2"), ("-p", "no:xdist")])
def test_pytest_tells_how_far_it_is(tmp_path, options):
    (tmp_path / "test_some.py").write_text(TESTS)
    told, telling = os.pipe()
    env = os.environ | {"PYTHONPATH": str(TOOLS), "ARMVISOR_PROGRESS": str(telling)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "pytest_counts", *options, "."]
    done = subprocess.run(
        command, cwd=tmp_path, env=env, pass_fds=[telling], capture_output=True, check=False
    )
    os.close(telling)
    with os.fdopen(told) as pipe:
        lines = pipe.read().splitlines()
    assert done.returncode == 1
    assert lines[-1] == "7 7"
    counts = [line for line in lines if not line.startswith("failed")]
    assert [int(line.split()[0]) for line in counts if line.endswith(" 7")][-7:] == [*range(1, 8)]
    failed = {line for line in lines if line.startswith("failed")}
    assert failed == {
        "failed test_some.py::test_numbers[3]: assert 3 != 3",
        "failed test_some.py::test_set_up: OSError",
    }  # fmt: skip


def test_nobody_listening_is_no_failure(tmp_path):
    (tmp_path / "test_some.py").write_text("def test_it(): pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "pytest_counts", "."]
    for descriptor in ("", "99"):
        env = os.environ | {"PYTHONPATH": str(TOOLS), "ARMVISOR_PROGRESS": descriptor}
        subprocess.run(command, cwd=tmp_path, env=env, check=True, capture_output=True)
