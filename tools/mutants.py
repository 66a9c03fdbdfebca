# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`make test-mutants`: change the code on purpose, and check that the unit tests notice.

The mutants are data, in the files of LISTS. A mutant has these keys:

    name     its own name
    file     the source, relative to the top
    find     text that the file has exactly once
    replace  the text to put there
    why      what goes wrong then
    tests    tests that must fail, all of them: programs of module/tests or bounce/tests, files
             of lab/tests, or PACKAGE:FILTER for `cargo test`

A run first checks that all these tests pass on the unchanged code. Then it mutates copies of the
tree in parallel, never the tree itself. Copies stay in build/mutants, so that only differences are
built again. The run fails if a mutant survives, does not build or has no place, or if its tests
fail without it.

    tools/mutants.py [--jobs N] [NAME or PATTERN…]
    tools/mutants.py --check    does each mutant have its place? (no test is run)
"""

from __future__ import annotations

import argparse
import fnmatch
import itertools
import os
import queue
import re
import resource
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from progress import Progress, clock

TOP = Path(__file__).resolve().parent.parent
OUT = TOP / "build" / "mutants"
LISTS = (
    "module/tests/mutants.toml",
    "bounce/tests/mutants.toml",
    "lab/tests/mutants.toml",
    "vmm/mutants.toml",
)
# CPU seconds of a test with a mutant: many times what it takes without one, plus a margin.
TIMES, MORE = 20, 60
# Real seconds after which a test that uses no CPU is given up. That is no verdict.
HANGS = 3600


class Bad(Exception):
    """A list that cannot be used, or an incomplete mutant."""


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    find: str
    replace: str
    why: str
    tests: tuple[str, ...]

    @staticmethod
    def parse(row: dict[str, object], where: str) -> Mutant:
        """A table of a list; Bad if it is none."""
        name = row.get("name", "without a name")
        keys = Mutant.__dataclass_fields__
        if set(row) != set(keys):
            wrong = ", ".join(sorted(set(row) ^ set(keys)))
            raise Bad(f"{where}: {name}: lacks or should not have {wrong}")
        tests = row["tests"]
        texts = [value for key, value in row.items() if key != "tests"]
        if not (isinstance(tests, list) and tests and all(isinstance(v, str) for v in texts)):
            raise Bad(f"{where}: {name}: texts, and a list of tests, are wanted")
        mutant = Mutant(**{**row, "tests": tuple(tests)})  # type: ignore[arg-type]
        if mutant.find == mutant.replace or not mutant.find.strip():
            raise Bad(f"{where}: {name}: changes nothing")
        return mutant

    @property
    def suite(self) -> str:
        return self.file.split("/")[0]

    @property
    def group(self) -> str:
        """Mutants that one worker handles in turn, so that the next one needs little building."""
        return self.suite if self.suite == "vmm" else self.file

    def text(self, top: Path = TOP) -> str:
        """The file with the mutant applied; Bad if it has no place."""
        try:
            source = (top / self.file).read_text()
        except OSError as error:
            raise Bad(f"{self.file}: {error.strerror}") from error
        if (count := source.count(self.find)) != 1:
            raise Bad(f"{self.file} has its text {count} times")
        changed = source.replace(self.find, self.replace)
        if self.file.endswith(".py"):
            try:
                compile(changed, self.file, "exec")
            except SyntaxError as error:
                raise Bad(f"{self.file} is no Python then: {error.msg}") from error
        return changed


def read(lists: Iterable[str] = LISTS, top: Path = TOP) -> list[Mutant]:
    """All mutants, in order; Bad if a list is invalid or two mutants have the same name."""
    mutants: dict[str, Mutant] = {}
    for name in lists:
        with (top / name).open("rb") as file:
            rows = tomllib.load(file).get("mutant", [])
        for row in rows:
            mutant = Mutant.parse(row, name)
            if mutant.name in mutants:
                raise Bad(f"{name}: two mutants are called {mutant.name}")
            mutants[mutant.name] = mutant
    return list(mutants.values())


def misplaced(mutants: Iterable[Mutant], top: Path = TOP) -> list[str]:
    """Complaints about mutants whose text is not in their file, or more than once."""
    found = []
    for mutant in mutants:
        try:
            mutant.text(top)
        except Bad as error:
            found.append(f"{mutant.name}: {error}")
    return found


# ---- suites --------------------------------------------------------------------------------


# Defined by a suite's tests, so that builds and dependencies of one copy are valid in another.
_OUT = "../../build/{}"


def _make(copy: Path, suite: str, jobs: int, tests: Iterable[str]) -> list[str]:
    """make of the C suites. Code that a mutant leaves unused is no error."""
    out = _OUT.format(suite)
    command = ["make", "-s", f"-j{jobs}", "-C", str(copy / suite / "tests"), f"OUT={out}"]
    return [*command, "MORE_CFLAGS=-Wno-error", *(f"{out}/tests/{test}" for test in tests)]


def build_commands(copy: Path, suite: str, tests: Sequence[str], jobs: int) -> list[list[str]]:
    """The command that builds a suite's tests in a copy."""
    if suite in ("module", "bounce"):
        return [_make(copy, suite, jobs, tests)]
    if suite == "vmm":
        packages = sorted({test.partition(":")[0] for test in tests})
        cargo = [str(copy / "tools/cargo"), "test", "--quiet", "--no-run"]
        return [[*cargo, *(word for name in packages for word in ("-p", name))]]
    return []


def run_command(copy: Path, suite: str, test: str) -> list[str]:
    """The command that runs a built test."""
    if suite in ("module", "bounce"):
        return _make(copy, suite, 1, [f"{test}.passed"])
    if suite == "vmm":
        package, _, words = test.partition(":")
        return [str(copy / "tools/cargo"), "test", "--quiet", "-p", package, words]
    return [sys.executable, "-m", "pytest", "-q", "-x", str(copy / "lab/tests" / test)]


def environment() -> dict[str, str]:
    own = {
        "ARMVISOR_TARGET": "host",
        # The VMM's dependencies are built once, for the tree and its copies.
        "CARGO_TARGET_DIR": str(TOP / "vmm/target"),
        # A mutant that allocates without end stops here.
        "ASAN_OPTIONS": "hard_rss_limit_mb=4096",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return {k: v for k, v in os.environ.items() if k != "MAKEFLAGS"} | own


@dataclass(frozen=True)
class Done:
    status: int
    output: str
    cpu: float


def execute(command: Sequence[str], copy: Path, cpu: float = 0) -> Done:
    """Run a command; `cpu`: seconds of a CPU that each of its processes may take."""

    def limit() -> None:
        if cpu:
            resource.setrlimit(resource.RLIMIT_CPU, (int(cpu), int(cpu) + 5))

    with subprocess.Popen(
        command, cwd=copy, env=environment(), text=True, errors="replace",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        preexec_fn=limit, start_new_session=True,
    ) as process:  # fmt: skip
        timer = threading.Timer(HANGS, lambda: os.killpg(process.pid, 9))
        timer.start()
        try:
            output = process.stdout.read() if process.stdout else ""
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            hung = not timer.is_alive()
            timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    if hung:
        raise Bad(f"{' '.join(command)} did not end within {HANGS} s")
    return Done(process.returncode, output, usage.ru_utime + usage.ru_stime)


# ---- copies --------------------------------------------------------------------------------


def files_of_the_tree() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=TOP, check=True, capture_output=True, text=True,
    ).stdout.split("\0")  # fmt: skip
    return [name for name in listed if name and (TOP / name).is_file()]


def bring_up_to_date(copy: Path) -> None:
    """Update the copy's sources from the tree, but leave unchanged files alone."""
    names = files_of_the_tree()
    kept = {copy / name for name in names}
    for name in names:
        source, target = TOP / name, copy / name
        if target.is_file() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        shutil.copymode(source, target)
    for path in copy.rglob("*"):
        inside = path.relative_to(copy).parts[0]
        if inside != "build" and path.is_file() and path not in kept:
            path.unlink()


def clone(first: Path, copy: Path) -> None:
    """Make another copy, with the first one's builds: make compares times."""
    shutil.rmtree(copy, ignore_errors=True)
    subprocess.run(["cp", "-a", "--reflink=auto", str(first), str(copy)], check=True)


# ---- a run ---------------------------------------------------------------------------------


class Run:
    """The state of a run, which its workers share."""

    def __init__(self, mutants: Sequence[Mutant], jobs: int, progress: Progress) -> None:
        self._mutants = mutants
        self._jobs = jobs
        self._progress = progress
        self._lock = threading.Lock()
        self._cpu: dict[tuple[str, str], float] = {}
        self._ended = 0
        self.killed: list[str] = []
        self.alive: list[str] = []
        self.bad: list[str] = []

    def everything(self) -> None:
        """Pass on the code as it is, then mutate."""
        first = OUT / "1"
        bring_up_to_date(first)
        self._pass_unmutated(first)
        copies = [first, *(OUT / str(n) for n in range(2, self._jobs + 1))]
        for copy in copies[1:]:
            clone(first, copy)
        groups: queue.SimpleQueue[list[Mutant]] = queue.SimpleQueue()
        by_group = sorted(self._mutants, key=lambda mutant: mutant.group)
        parts = [list(part) for _, part in itertools.groupby(by_group, lambda m: m.group)]
        for part in sorted(parts, key=len, reverse=True):
            groups.put(part)
        self._side_by_side([partial(self._worker, copy, groups) for copy in copies])

    def _side_by_side(self, jobs: Sequence[Callable[[], None]]) -> None:
        wrong: list[BaseException] = []

        def guarded(job: Callable[[], None]) -> None:
            try:
                job()
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if wrong:
            raise wrong[0]

    def _pass_unmutated(self, copy: Path) -> None:
        wanted: dict[str, set[str]] = {}
        for mutant in self._mutants:
            wanted.setdefault(mutant.suite, set()).update(mutant.tests)
        waiting: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        for suite, tests in wanted.items():
            self._progress.show(f"building {len(tests)} tests of {suite}\n")
            for command in build_commands(copy, suite, sorted(tests), self._jobs):
                done = execute(command, copy)
                if done.status:
                    raise Bad(f"the code as it is does not build:\n{done.output}")
            for test in sorted(tests):
                waiting.put((suite, test))
        self._progress.show(f"running {waiting.qsize()} tests of the code as it is\n")
        self._side_by_side([lambda: self._pass_some(copy, waiting)] * self._jobs)

    def _pass_some(self, copy: Path, waiting: queue.SimpleQueue[tuple[str, str]]) -> None:
        while True:
            try:
                suite, test = waiting.get_nowait()
            except queue.Empty:
                return
            done = execute(run_command(copy, suite, test), copy)
            if done.status:
                raise Bad(f"{test} does not pass the code as it is:\n{done.output[-4000:]}")
            if suite == "vmm" and not sum(map(int, re.findall(r"(\d+) passed", done.output))):
                raise Bad(f"{test} is no test")
            self._cpu[suite, test] = done.cpu

    def _worker(self, copy: Path, groups: queue.SimpleQueue[list[Mutant]]) -> None:
        while True:
            try:
                group = groups.get_nowait()
            except queue.Empty:
                return
            for mutant in group:
                self._judge(mutant, copy)

    def _judge(self, mutant: Mutant, copy: Path) -> None:
        target = copy / mutant.file
        try:
            changed = mutant.text()
            target.write_text(changed)
            survived = self._survived(mutant, copy)
        except Bad as error:
            self._say(self.bad, f"BAD     {mutant.name}: {error}", mutant)
        else:
            if survived:
                told = f"{mutant.file}: {mutant.why}\n  not noticed by {', '.join(survived)}"
                self._say(self.alive, f"ALIVE   {mutant.name}: {told}", mutant)
            else:
                self._say(self.killed, f"killed  {mutant.name} ({', '.join(mutant.tests)})", mutant)
        finally:
            target.write_text((TOP / mutant.file).read_text())

    def _survived(self, mutant: Mutant, copy: Path) -> list[str]:
        """Tests that pass with the mutant."""
        for command in build_commands(copy, mutant.suite, mutant.tests, 1):
            done = execute(command, copy)
            if done.status:
                raise Bad(f"does not build:\n{done.output[-2000:]}")
        survived = []
        for test in mutant.tests:
            limit = MORE + TIMES * self._cpu[mutant.suite, test]
            if not execute(run_command(copy, mutant.suite, test), copy, limit).status:
                survived.append(test)
        return survived

    def _say(self, where: list[str], line: str, mutant: Mutant) -> None:
        with self._lock:
            where.append(mutant.name)
            self._ended += 1
            self._progress.show(f"{line}\n")
            self._progress.reached(self._ended, len(self._mutants))


def chosen(mutants: Sequence[Mutant], patterns: Sequence[str]) -> list[Mutant]:
    """Those whose name one of the patterns matches, or all; Bad if a pattern matches none."""
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(mutant.name, pattern) for mutant in mutants):
            raise Bad(f"no mutant is called {pattern}")
    return [
        mutant
        for mutant in mutants
        if not patterns or any(fnmatch.fnmatchcase(mutant.name, p) for p in patterns)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="Mutate the code; the unit tests must notice.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at once")
    parser.add_argument("--check", action="store_true", help="only look up the mutants' places")
    parser.add_argument("name", nargs="*", help="which mutants, by name or pattern (all)")
    options = parser.parse_args()
    begin = time.monotonic()
    try:
        mutants = chosen(read(), options.name)
        if complaints := misplaced(mutants):
            raise Bad("\n".join(complaints))
        if options.check:
            return 0
        with Progress("mutants", begin, out=sys.stdout, what="mutants") as progress:
            run = Run(mutants, max(1, options.jobs), progress)
            run.everything()
    except Bad as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 1
    files = len({mutant.file for mutant in mutants})
    print(
        f"\nmutants: {len(run.killed)} killed, {len(run.alive)} alive, {len(run.bad)} bad, "
        f"in {files} files ({clock(time.monotonic() - begin)})"
    )
    return 1 if run.alive or run.bad else 0


if __name__ == "__main__":
    sys.exit(main())
