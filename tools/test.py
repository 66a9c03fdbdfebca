# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`make test`: runs every suite and closes with one line that counts the tests of all of them.

A suite is a row: name, command, and how to count its output. Every suite runs, even after an
earlier one failed. The exit status is 1 if a test failed, a suite ended badly, or a suite ran no
test. `tools/test.py NAME…` runs only those suites, even if they are not quick. While a suite runs,
a line shows the progress (progress.py).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from progress import Progress

TOP = Path(__file__).resolve().parent.parent
OUT = TOP / "build" / "test"
# Numbers of tests at the suites' last runs, for suites that do not know theirs in advance.
TOTALS = OUT / "totals.json"


@dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __iadd__(self, other: Counts) -> Counts:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        return self

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.skipped

    def __str__(self) -> str:
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


@dataclass(frozen=True)
class Suite:
    name: str
    command: list[str]
    count: Callable[[Suite, str], Counts]
    env: dict[str, str]
    what: str
    quick: bool = True

    @property
    def junit(self) -> Path:
        return OUT / f"{self.name}.xml"


def count_junit(suite: Suite, _output: str) -> Counts:
    """Counts of a pytest run, from its JUnit file."""
    if not suite.junit.exists():
        return Counts()
    counts = Counts()
    for node in ElementTree.parse(suite.junit).getroot().iter("testsuite"):
        number = {
            key: int(node.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")
        }
        bad = number["failures"] + number["errors"]
        counts += Counts(number["tests"] - bad - number["skipped"], bad, number["skipped"])
    return counts


def count_lines(pattern: str, last: bool = False) -> Callable[[Suite, str], Counts]:
    """Counts from a run's closing lines; the numbers are `pattern`'s named groups.

    `last`: the run sums up by itself, so only its last such line counts.
    """
    compiled = re.compile(pattern, re.M)

    def count(_suite: Suite, output: str) -> Counts:
        counts = Counts()
        matches = list(compiled.finditer(output))
        for match in matches[-1:] if last else matches:
            found = {key: int(value or 0) for key, value in match.groupdict().items()}
            counts += Counts(found["passed"], found["failed"], found.get("skipped", 0))
        return counts

    return count


CARGO = (
    r"^test result: .*? (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<skipped>\d+) ignored"
)
# A line with a name is one test on that many inputs, unless it has the suite's own name.
UNNAMED = r"^(?P<passed>\d+) passed, (?P<failed>\d+) failed(?:, (?P<skipped>\d+) skipped)?$"
PLAIN = r"^(?:\w+: )?(?P<passed>\d+) passed, (?P<failed>\d+) failed(?:, (?P<skipped>\d+) skipped)?$"


def pytest_suite(name: str, where: str, what: str, *options: str, quick: bool = True) -> Suite:
    junit = OUT / f"{name}.xml"
    command = [sys.executable, "-m", "pytest", "-q", f"--junit-xml={junit}", *options, where]
    command += ["-p", "pytest_counts"]
    return Suite(name, command, count_junit, {"PYTHONPATH": str(TOP / "tools")}, what, quick)


def suites() -> list[Suite]:
    cargo = [str(TOP / "tools/cargo"), "test", "--quiet", "--workspace"]
    module = ["make", f"-j{os.cpu_count() or 1}", "-Otarget", "-C", "module", "test"]
    guests = ["make", "-C", "guests", "check"]
    bounce = ["make", f"-j{os.cpu_count() or 1}", "-Otarget", "-C", "bounce/tests", "test"]
    plugins = ["make", "-s", "-C", "lab/plugins", "check"]
    host = {"ARMVISOR_TARGET": "host"}
    # In the order of tests/conftest.py, not by the number of tests in a group.
    in_order = ("--dist=loadgroup", "--no-loadscope-reorder")
    side_by_side = ("-n", "2", *in_order)
    return [
        pytest_suite("lab", "lab/tests", "the lab's unit tests", "-n", "2"),
        Suite("vmm", cargo, count_lines(CARGO), host, "the VMM's unit tests"),
        Suite("module", module, count_lines(UNNAMED), {}, "the module's unit tests"),
        Suite("bounce", bounce, count_lines(UNNAMED), {}, "the bounce-buffer module's unit tests"),
        Suite("plugins", plugins, count_lines(UNNAMED), {}, "the unit tests of QEMU's plugin"),
        Suite("guests", guests, count_lines(PLAIN, last=True), {}, "the guests' unit tests"),
        pytest_suite(
            # Boards also wait, for timers or for make: three of them keep two CPUs busy.
            "boards", "tests", "end to end, on emulated boards", "-n", "3", *in_order,
            "--durations=15", "-m", "not conformance and not soak and not work and not debug",
        ),
        pytest_suite(
            "conformance", "tests", "the whole matrix of hosts and guests", *side_by_side,
            "-m", "conformance", quick=False,
        ),
        pytest_suite(
            "soak", "tests", "258 boots of Debian guests on the module", *side_by_side,
            "-m", "soak", quick=False,
        ),
        pytest_suite(
            "work", "tests", "Debian guests on the module, busy for ten minutes", *side_by_side,
            "-m", "work", quick=False,
        ),
        pytest_suite(
            "debug", "tests", "the module on a kernel with checkers", *side_by_side,
            "-m", "debug", "-v", quick=False,
        ),
    ]  # fmt: skip


# pytest's dots, which the line of progress replaces.
POINTS = re.compile(r"[.FEsxX]*( *\[ *\d+%\])?\n")


def follow(descriptor: int, progress: Progress) -> None:
    """Read the reports of pytest_counts.py until the suite has ended."""
    with os.fdopen(descriptor) as told:
        for line in told:
            word, _, rest = line.strip().partition(" ")
            if word == "failed":
                progress.failed(rest)
            else:
                progress.reached(int(word), int(rest))


def output(suite: Suite, progress: Progress) -> tuple[str, int]:
    """Run a suite's command, showing its output; returns output and status."""
    told, telling = os.pipe()
    listener = threading.Thread(target=follow, args=(told, progress))
    listener.start()
    lines: list[str] = []
    with subprocess.Popen(
        suite.command, cwd=TOP, text=True, errors="replace", pass_fds=[telling],
        env=os.environ | suite.env | {"ARMVISOR_PROGRESS": str(telling)},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        os.close(telling)
        for line in process.stdout or ():
            lines.append(line)
            if suite.count is count_junit:
                if not POINTS.fullmatch(line):
                    progress.show(line)
            else:
                progress.show(line)
                progress.reached(suite.count(suite, "".join(lines)).total)
    listener.join()
    return "".join(lines), process.returncode


def run(suite: Suite, begin: float, expected: int) -> tuple[Counts, str]:
    """Run one suite, showing its output; returns its counts and, if it is bad, the reason."""
    print(f"\n== {suite.name}: {suite.what}", flush=True)
    suite.junit.unlink(missing_ok=True)
    with Progress(suite.name, begin, expected) as progress:
        text, status = output(suite, progress)
    counts = suite.count(suite, text)
    if status and not counts.failed:
        counts.failed += 1
        return counts, f"ended with status {status}"
    if not counts.total:
        counts.failed += 1
        return counts, "ran no test"
    return counts, f"{counts.failed} failed" if counts.failed else ""


def kernels() -> str:
    """The versions of the kernels in this run, by role."""
    done = subprocess.run(
        [str(TOP / "bin/lab"), "kernel", "list"], capture_output=True, text=True, check=False
    )
    rows = [line.split(None, 2) for line in done.stdout.splitlines()]
    return ", ".join(f"{role} {version}" for role, _suite, version in rows)


def main() -> int:
    every = suites()
    parser = argparse.ArgumentParser(description="Run the test suites and count them.")
    parser.add_argument("name", nargs="*", help=", ".join(f"{s.name} ({s.what})" for s in every))
    names = parser.parse_args().name
    if unknown := set(names) - {s.name for s in every}:
        parser.error(f"no suite called {', '.join(sorted(unknown))}; see --help")
    OUT.mkdir(parents=True, exist_ok=True)
    totals: dict[str, int] = {}
    with suppress(OSError, ValueError):
        totals = json.loads(TOTALS.read_text())
    total, bad = Counts(), []
    print()
    summary = []
    begin = time.monotonic()
    for suite in every:
        if suite.name not in names if names else not suite.quick:
            continue
        start = time.monotonic()
        counts, why = run(suite, begin, totals.get(suite.name, 0))
        total += counts
        totals[suite.name] = counts.total
        summary.append(f"{suite.name:8} {counts}  ({time.monotonic() - start:.0f} s)")
        if why:
            bad.append(f"{suite.name}: {why}")
    TOTALS.write_text(json.dumps(totals))
    print("\n" + "\n".join(summary))
    for line in bad:
        print(f"FAILED {line}")
    print(f"\nkernels: {kernels()}")
    print(f"\n{total}", flush=True)
    return 1 if total.failed or bad else 0


if __name__ == "__main__":
    sys.exit(main())
