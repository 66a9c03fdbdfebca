# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`make bench` from end to end: a record and a page of it, and figures that repeat."""

import json
import subprocess
from pathlib import Path

import pytest
from built import TOP

from armvisor_lab.records import read
from armvisor_lab.report.build import report
from armvisor_lab.report.compare import LIMIT

pytestmark = pytest.mark.conformance

LAB = str(TOP / "bin/lab")
RECORD, PAGE = (TOP / f"build/bench.{end}" for end in ("json", "html"))
RECORDS = (RECORD, TOP / "build/bench-vm.json", TOP / "build/bench-model.json")
# Everything that it measures, and the parts with more than nothing.
MEASURED = {"armvisor-figure-7", "armvisor-table-7", "armvisor-speedup", "isca16-micro",
            "avf-table-1", "elsewhere-cycles", "elsewhere-ns", "operations", "time"}  # fmt: skip
IN_PART = {"latencies", "model", "armvisor-figure-6"}


def call(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)


def test_it_leaves_a_page_with_values_that_repeat(tmp_path: Path):
    done = call("make", "bench")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "left" in done.stderr and str(PAGE) in done.stderr
    states = {each.id: each.state for each in report(list(map(read, RECORDS))).sections}
    assert {states[name] for name in MEASURED} == {"measured"}
    assert {states[name] for name in IN_PART} == {"in part"}
    assert all(f'id="{name}"' in PAGE.read_text() for name in states)

    again = tmp_path / "again.json"
    names = ("hypercall.[!q]*", "lat.*.native", "lat.null.armvisor")
    only = [word for name in names for word in ("--only", name)]
    done = call(LAB, "figures", *only, "--json", again)
    assert done.returncode == 0, done.stderr[-2000:]
    done = call(LAB, "compare", RECORD, again, "--json")
    rows = json.loads(done.stdout)["compare"]["figures"]
    both = [row for row in rows if row["verdict"] != "only in A"]
    assert len(both) > 15
    assert not [row for row in both if row["verdict"] != "same"], f"not within {LIMIT} %"
