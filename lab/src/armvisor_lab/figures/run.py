# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Runs measurements: one line per figure on standard output, and the record as JSON."""

import contextlib
import datetime
import fnmatch
import hashlib
import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from armvisor_lab import paths, side_by_side
from armvisor_lab.boards.machine import find_qemu
from armvisor_lab.errors import LabError, remedy
from armvisor_lab.figures import (
    Measurement,
    Outcome,
    Progress,
    apps,
    artefacts,
    boot,
    cheap,
    classes,
    exits,
    io,
    lat,
    ops,
    pages,
    pairs,
    sharing,
    smp,
    traps,
    units,
    xen,
)
from armvisor_lab.reach.cores import Core

SCHEMA = 2

FAMILIES = (boot, exits, pairs, lat, ops, smp, io, apps, cheap, traps, pages, units, sharing, xen)


@dataclass(frozen=True)
class Figure:
    """One figure as it goes into the record."""

    name: str
    value: float
    unit: str
    what: str
    board: Mapping[str, Any]
    packages: tuple[str, ...]
    samples: tuple[float, ...]
    classes: Mapping[str, Any] | None = None
    traps: Mapping[str, float] | None = None


def registry() -> list[Measurement]:
    """All measurements; no two give the same figure."""
    found = [each for family in FAMILIES for each in family.measurements()]
    seen: set[str] = set()
    for measurement in found:
        for name in measurement.figures:
            if name in seen:
                raise LabError(f"two measurements give the figure {name}")
            seen.add(name)
    return found


def select(patterns: list[str]) -> list[Measurement]:
    """The measurements with a figure that a pattern names, quick ones first.

    Then the longest, so that what runs side by side ends at about the same time.
    """
    found = registry()
    for pattern in patterns:
        if not any(fnmatch.fnmatch(name, pattern) for each in found for name in each.figures):
            every = [name for each in found for name in each.figures]
            raise LabError(f"no figure matches {pattern!r}",
                           remedy(pattern, every, "`lab figures --list` has all"))  # fmt: skip
    if patterns:
        found = [narrow(each, patterns) for each in found
                 if any(wanted(n, patterns) for n in each.figures)]  # fmt: skip
    return sorted(found, key=lambda each: (each.slow, -each.about if each.slow else 0))


def narrow(measurement: Measurement, patterns: Sequence[str]) -> Measurement:
    """The measurement of what is selected alone, if it can be had."""
    names = [name for name in measurement.figures if wanted(name, patterns)]
    if measurement.part is None or len(names) == len(measurement.figures):
        return measurement
    return measurement.part(names)


def wanted(name: str, patterns: Sequence[str]) -> bool:
    """Whether a figure is selected: by a pattern, or as there is none."""
    return not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def show(value: float) -> str:
    """A value as it is printed: whole from a thousand on, else to four digits."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _left(done: Sequence[Measurement], rest: Sequence[Measurement], elapsed: float) -> str:
    """How much time is left, by how fast this machine was so far."""
    if not done:
        return ""
    before, after = (sum(each.about for each in part) for part in (done, rest))
    minutes = elapsed * after / before / 60
    return f", about {minutes:.0f} min left" if minutes >= 1 else ", under a minute left"


def measure(
    patterns: list[str],
    progress: Progress,
    emit: Callable[[str], None],
    cores: Sequence[Core] | None = None,
    jobs: int = 1,
) -> tuple[list[Figure], list[str], BaseException | None]:
    """Measure what the patterns select; the figures, and the failures as sentences.

    With `cores` also the classes, of what has them, with page walks by these cores' models. So
    many `jobs` run side by side; side_by_side.jobs() says how many should. What is measured is
    not lost when the run is ended early: then the third is by what.
    """
    chosen = select(patterns)
    if cores is not None:
        chosen = with_classes(chosen)
    return measure_these(chosen, lambda name: wanted(name, patterns), progress, emit, cores, jobs)


def measure_these(
    chosen: Sequence[Measurement],
    keep: Callable[[str], bool],
    progress: Progress,
    emit: Callable[[str], None],
    cores: Sequence[Core] | None = None,
    jobs: int = 1,
) -> tuple[list[Figure], list[str], BaseException | None]:
    """The same for measurements that are chosen already; of their figures those to `keep`."""
    found: dict[int, list[Figure]] = {}
    failures: list[str] = []
    ended: BaseException | None = None
    begin = time.monotonic()
    done: list[int] = []

    def rest() -> list[Measurement]:
        return [each for number, each in enumerate(chosen) if number not in done]

    def starting(number: int) -> None:
        left = _left([chosen[each] for each in done], rest(), time.monotonic() - begin)
        progress(f"{number + 1}/{len(chosen)} {chosen[number].what}{left}")

    tasks = [partial(_task, each, cores, f"{number}: " if jobs > 1 else "")
             for number, each in enumerate(chosen, 1)]  # fmt: skip
    try:
        for number, outcome in side_by_side.run(tasks, jobs, starting, progress):
            done.append(number)
            some, failed = _kept(chosen[number], outcome, keep)
            found[number] = some
            failures += failed
            for sentence in failed:
                progress(f"failed: {sentence}")
            for figure in some:
                emit(f"{figure.name} {show(figure.value)} {figure.unit}")
    except (KeyboardInterrupt, SystemExit) as early:
        ended = early
        names = [name for each in rest() for name in each.figures]
        failures.append(f"interrupted before {', '.join(names)}")
    return [figure for number in sorted(found) for figure in found[number]], failures, ended


def _task(
    measurement: Measurement, cores: Sequence[Core] | None, mark: str, progress: Progress
) -> tuple[list[Figure], Mapping[str, str]]:
    """A measurement's figures, and which are missing why; `mark` begins what it says."""
    outcome, counted = _run(measurement, cores, lambda text: progress(mark + text))
    return _figures(measurement, outcome, counted), outcome.missing


def _kept(
    measurement: Measurement,
    outcome: tuple[list[Figure], Mapping[str, str]] | LabError,
    keep: Callable[[str], bool],
) -> tuple[list[Figure], list[str]]:
    """What to keep of a measurement's figures, and why some are not there."""
    if isinstance(outcome, LabError):
        return [], [f"{', '.join(measurement.figures)}: {outcome}"]
    figures, missing = outcome
    failures = [f"{name}: {why}" for name, why in missing.items() if keep(name)]
    return [each for each in figures if keep(each.name)], failures


def with_classes(chosen: list[Measurement]) -> list[Measurement]:
    """Those whose classes can be counted, of which there is one."""
    if found := [each for each in chosen if each.marked]:
        return found
    have = sorted({f"{n.partition('.')[0]}.*.{n.rpartition('.')[2]}" for each in registry()
                   if each.marked for n in each.figures})  # fmt: skip
    raise LabError("no classes can be counted of these figures", f"they can of {', '.join(have)}")


def _run(
    measurement: Measurement, cores: Sequence[Core] | None, progress: Progress
) -> tuple[Outcome, dict[str, classes.Classes]]:
    if cores is None or measurement.marked is None:
        return measurement.run(progress), {}
    return classes.measure(measurement.marked, cores, progress)


def _figures(
    measurement: Measurement, outcome: Outcome, counted: Mapping[str, classes.Classes]
) -> list[Figure]:
    missing = set(measurement.figures) ^ {*outcome.values, *outcome.missing}
    if missing:
        raise LabError(f"{measurement.what}: declared and measured figures differ: {missing}")
    return [
        Figure(name, outcome.values[name], measurement.unit, measurement.what, outcome.board,
               outcome.packages, tuple(outcome.samples.get(name, ())),
               counted[name].as_json() if name in counted else None, outcome.traps.get(name))
        for name in measurement.figures if name in outcome.values
    ]  # fmt: skip


def _said(*command: str) -> str:
    done = subprocess.run(
        command, cwd=paths.checkout(), capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def provenance() -> dict[str, Any]:
    """What every record begins with: revision, emulator and time."""
    return {
        "schema": SCHEMA,
        "revision": _said("git", "rev-parse", "HEAD"),
        "modified": bool(_said("git", "status", "--porcelain", "--untracked-files=no")),
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "emulator": _said(find_qemu(), "--version").partition("\n")[0],
    }


# Files of most boards, and their builders; those of a role are stable's.
_BUILT: dict[str, Callable[[], Path]] = {
    "armvisor": artefacts.vmm,
    "armvisor.ko": partial(artefacts.module, "stable"),
    "the guest's initrd": lambda: artefacts.guest("stable")["initrd"],
}
# The bare-metal guests that `lab bench` uses.
_BARE = ("hypercall", "mmio", "irq", "ipi", "timer", "share", "touch", "domains")


def built() -> dict[str, str]:
    """The beginnings of checksums of what is there; another compiler makes other bytes."""
    found = {}
    for name, find in _BUILT.items():
        with contextlib.suppress(LabError):
            found[name] = hashlib.sha256(find().read_bytes()).hexdigest()[:16]
    with contextlib.suppress(LabError):
        content = b"".join(artefacts.bare(name).read_bytes() for name in _BARE)
        found["bare guests"] = hashlib.sha256(content).hexdigest()[:16]
    return found


def record(figures: list[Figure], failures: list[str]) -> dict[str, Any]:
    """The record of a run: figures with revision, emulator, time and what was built."""
    return {
        **provenance(),
        "built": built(),
        "figures": [asdict(figure) for figure in figures],
        "failures": failures,
    }


def write(file: Path, content: dict[str, Any]) -> None:
    """Write the record: a figure, or what else is in a list, is a line, which `diff` then shows."""
    parts = []
    for key, value in content.items():
        text = json.dumps(value)
        if isinstance(value, list) and value:
            text = "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]"
        parts.append(f" {json.dumps(key)}: {text}")
    paths.write_atomically(file, ("{\n" + ",\n".join(parts) + "\n}\n").encode())
