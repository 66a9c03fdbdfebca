# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""docs/bench.json, the record of another machine, and a run's output about it."""

from pathlib import Path

import pytest

from armvisor_lab import paths, records
from armvisor_lab.cli import bench as cli_bench
from armvisor_lab.figures import run
from armvisor_lab.report import reference

BOARD = {"el2": False, "cpu": "cortex-a72", "smp": 1, "memory_mib": 1024,
         "kernel_role": "stable", "kernel_version": "6.12", "kernel": "6.12-cloud"}  # fmt: skip


def write(file: Path, values: dict[str, float], **changes) -> Path:
    board = BOARD | changes.pop("board", {})
    figures = [run.Figure(name, value, "instructions", "", board, (), ())
               for name, value in values.items()]  # fmt: skip
    content = {"schema": run.SCHEMA, "revision": "0123456789abcdef", "modified": False,
               "time": "2026-01-01T00:00:00+00:00", "emulator": "QEMU 7", "built": {}}  # fmt: skip
    file.parent.mkdir(exist_ok=True)
    run.write(file, run.record(figures, []) | content | changes)
    return file


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "checkout", lambda: tmp_path)
    return tmp_path


def test_it_has_all_that_bench_measures():
    have = records.read(reference.file())
    names = {name for each in run.select(list(cli_bench.PATTERNS)) for name in each.figures}
    assert {n for n in names if run.wanted(n, cli_bench.PATTERNS)} == {*have.values}
    assert not have.modified and not have.failures and len(have.built) == 4
    # A figure is a line: what a change of it is in the history.
    assert len(reference.file().read_text().splitlines()) < len(have.values) + 14


def test_what_agrees_is_told_in_one_sentence(checkout):
    write(checkout / "docs/bench.json", {"a": 1000.0, "b": 7.0, "gone": 1.0})
    record = write(checkout / "build/bench.json", {"a": 1004.0, "b": 7.0, "new": 2.0})
    assert reference.beside(record) == [
        "beside docs/bench.json, of revision 012345678: "
        "2 figures, 0 not within 0.5 %; most: a, +0.400 %"
    ]


def test_what_is_apart_is_told_the_most_first_with_what_else_differs(checkout):
    there = {f"f{number}": 100.0 for number in range(20)}
    write(checkout / "docs/bench.json", there, built={"armvisor": "a", "armvisor.ko": "c"})
    here = {name: 100.0 + number for number, name in enumerate(there)}
    record = write(checkout / "build/bench.json", here, emulator="QEMU 10",
                   built={"armvisor": "b", "armvisor.ko": "c", "more": "d"},
                   board={"kernel_version": "6.13"})  # fmt: skip
    *lines, programs, kernels, summary = reference.beside(record)
    assert len(lines) == 12 + 1 + 1
    assert programs == "not the same bytes, by other sources or compilers: armvisor"
    assert lines[0].startswith("apart: f19 ") and "+19.000 %" in lines[0]
    assert lines[12].startswith("apart: 7 more, which `bin/lab compare ")
    assert lines[13] == "emulators differ: QEMU 7; QEMU 10"
    assert "boards differ for f0, f1" in kernels and "6.12 (" in kernels and "6.13 (" in kernels
    assert summary.endswith("20 figures, 19 not within 0.5 %; most: f19, +19.000 %")


def test_nothing_is_told_where_there_is_nothing_to_compare(checkout):
    record = write(checkout / "build/bench.json", {"a": 1.0})
    assert reference.beside(record) == []
    write(checkout / "docs/bench.json", {"b": 1.0})
    assert reference.beside(record) == []
    assert reference.beside(checkout / "build/none.json") == []
