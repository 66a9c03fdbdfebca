# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The page of `make bench-full`: with all of the lab's measurements no section lacks values."""

import json
from pathlib import Path
from typing import Any

import pytest

from armvisor_lab import records
from armvisor_lab.cli import bench as cli_bench
from armvisor_lab.cli import reach as cli_reach
from armvisor_lab.figures import lat, run
from armvisor_lab.model import published as predicted
from armvisor_lab.model.rows import CONFIGURATIONS
from armvisor_lab.reach import cores, plugin, runs
from armvisor_lab.report import build
from armvisor_lab.report.model import MEASURED, NOT_YET, PUBLISHED, Report

HEAD = {"schema": run.SCHEMA, "revision": "c0ffee" * 6, "modified": False,
        "time": "2026-11-25T10:00:00+00:00", "emulator": "QEMU 7"}  # fmt: skip
VM = {"wall_seconds": 2.0, "phases": [{"name": "run", "seconds": 1.5}], "exits": {"x": 7},
      "kvm_exits": {"hypercall": 42}}  # fmt: skip
CORE = {"walks": 1, "walk_references": 2, "l1_misses": 3, "cycles": [4, 5]}
# What has no values of ours at all, and what one run cannot have.
PUBLISHED_ONLY = {"crosvm-table-1"}
TAKES_TWO = {"history"}


def reached() -> list[dict[str, Any]]:
    """The runs of `lab reach` without options."""
    found = []
    for setup in runs.SETUPS.values():
        for row in runs.rows(cli_reach.WORKLOADS):
            for host in [""] if setup.regime == "native" else runs._HOST_PAGES:
                one = runs.Run(setup, row, host, plugin.Section((0, 1)), {})
                modelled = dict.fromkeys(cores.DEFAULT, CORE)
                found.append(one.as_json() | {"modelled": modelled})
    return found


def figure(name: str) -> dict[str, Any]:
    """A figure of no matter what value."""
    return {"name": name, "value": 5.0, "unit": "instructions", "what": "w", "board": {},
            "packages": [], "samples": [], "classes": None, "traps": None}  # fmt: skip


def everything(folder: Path, left_out: str = "") -> Report:
    """The report of all that `make bench-full` measures, but for figures of some names."""
    figures = [figure(name) for each in run.registry() for name in each.figures
               if not left_out or left_out not in name]  # fmt: skip
    says = [{"core": row.core, "figure": row.figure, "source": row.title, "scaled_cycles": 1,
             "counted_cycles": [1, 2]} for row in predicted.rows()]  # fmt: skip
    rows = [{"on": on, "row": row, "native": 3, "predicted": 4, "counted": 4}
            for on in CONFIGURATIONS for row in lat.ROWS]  # fmt: skip
    contents = {
        "figures": {"figures": figures, "failures": []},
        "vm": {"demo": {"board": {}, "report": VM}},
        "reach": {"runs": reached(), "failures": []},
        "published": {"what": "published", "predictions": says, "counts_of": []},
        "rows": {"what": "rows", "predictions": rows, "counts_of": []},
    }
    for name, content in contents.items():
        (folder / f"{name}.json").write_text(json.dumps(HEAD | content))
    return build.report([records.read(folder / f"{name}.json") for name in contents])


@pytest.fixture(scope="module")
def full(tmp_path_factory) -> Report:
    return everything(tmp_path_factory.mktemp("full"))


def test_a_full_run_fills_every_section(full):
    states = {each.id: each.state for each in full.sections if each.state}
    assert len(states) > 15
    assert {name for name, state in states.items() if state == PUBLISHED} == PUBLISHED_ONLY
    assert {name for name, state in states.items() if state == NOT_YET} == TAKES_TWO
    rest = set(states) - PUBLISHED_ONLY - TAKES_TWO
    assert {states[name] for name in rest} == {MEASURED}


def test_and_every_cell(full):
    left = [(section.id, row[0].text) for section in full.sections for table in section.tables
            for row in table.rows for cell in row if cell.note == "not measured yet"]  # fmt: skip
    assert not left
    assert not [each.id for each in full.sections if each.missing and each.id not in TAKES_TWO]


def test_a_figure_that_is_left_out_is_seen(tmp_path):
    of = everything(tmp_path, left_out="share.kvm-pvm")
    table = next(each for each in of.sections if each.id == "avf-table-1")
    assert table.state == "in part" and "Share Hypercall" in table.missing[0]


def test_what_the_short_run_fills(tmp_path):
    """As tests/test_bench.py has it of a real one."""
    figures = [figure(name) for each in run.registry() for name in each.figures
               if run.wanted(name, cli_bench.PATTERNS)]  # fmt: skip
    (tmp_path / "bench.json").write_text(json.dumps(HEAD | {"figures": figures, "failures": []}))
    of = build.report([records.read(tmp_path / "bench.json")])
    states = {each.id: each.state for each in of.sections}
    whole = {name for name, state in states.items() if state == MEASURED}
    assert whole == {"armvisor-figure-7", "armvisor-table-7", "armvisor-speedup", "isca16-micro",
                     "avf-table-1", "elsewhere-cycles", "elsewhere-ns", "operations"}  # fmt: skip
    assert states["latencies"] == states["armvisor-figure-6"] == "in part"
