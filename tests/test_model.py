# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab figures --classes` and `lab model` from end to end, on their cheapest rows."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from built import HANGS, TOP, make, module

LAB = str(TOP / "bin/lab")
# One worker runs them all: they share what was counted.
pytestmark = pytest.mark.xdist_group("model")


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    make(str(TOP / "lab/plugins"))
    make(str(TOP / "guests"))


def lab(*arguments: str) -> str:
    command = [LAB, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For one board with one CPU."""
    file = tmp_path_factory.mktemp("model") / "counts.json"
    cores = ("--core", "cortex-a72", "--core", "x-gene")
    said = lab("figures", "--classes", *cores, "--only", "hypercall.kvm-nvhe", "--json", str(file))
    assert "page walks on x-gene (modelled)" in said
    return file


def test_a_hypercall_is_what_kvm_without_vhe_must_do(counts: Path):
    [figure] = json.loads(counts.read_text())["figures"]
    classes = figure["classes"]
    insns = classes["insns"]
    # The guest's call leads to EL2 and to the host; the host's call, to EL2 and to the guest.
    assert insns["guest-kernel"]["call"] == 1 and insns["host-kernel"]["call"] == 1
    assert insns["hypervisor"]["eret"] == 2
    assert classes["levels"] == {"host-kernel": 1, "hypervisor": 2, "guest-kernel": 1}
    # No hypervisor isolates a guest with fewer.
    assert insns["hypervisor"]["sysreg-write"] > 20 and insns["hypervisor"]["sysreg-read"] > 20
    assert abs(classes["instructions"] - figure["value"]) <= 3


def test_under_armvisor_host_window_and_guest_are_told_apart(tmp_path: Path):
    """The host's kernel does ERET when it boots, which is no way into a guest."""
    module("stable")
    file = tmp_path / "counts.json"
    lab("figures", "--classes", "--only", "hypercall.armvisor", "--json", str(file))
    classes = json.loads(file.read_text())["figures"][0]["classes"]
    assert classes["levels"] == {"host-kernel": 1, "hypervisor": 1, "guest-kernel": 0}
    assert classes["insns"]["guest-kernel"]["call"] == 1
    assert classes["insns"]["hypervisor"]["eret"] == 1
    assert "eret" not in classes["insns"]["guest-kernel"]


def test_counts_become_cycles_of_a_core(counts: Path, tmp_path: Path):
    out = tmp_path / "cycles.json"
    said = lab("model", "cycles", "--core", "x-gene", "--record", str(counts), "--json", str(out))
    likely = r"\d+ - \d+ +\d+ +- +- +-"
    line = re.search(rf"^hypercall\.kvm-nvhe +(\d+) +(\d+) - (\d+) +{likely}$", said, re.M)
    assert line, said
    instructions, low, high = map(int, line.groups())
    # Between the cost of an instruction that takes one issue slot and of one that takes ten cycles.
    assert instructions / 4 < low < high < instructions * 10
    [found] = json.loads(out.read_text())["predictions"]
    assert found["core"] == "x-gene" and found["cycles"][0] < found["cycles"][1]


def test_a_published_row_is_predicted_and_the_others_are_missed(counts: Path):
    command = [LAB, "model", "published", "--record", str(counts)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == 1
    assert re.search(r"^x-gene +hypercall\.kvm-nvhe +6500 +\d+ - \d+ ", done.stdout, re.M)
    assert "ampere-altra: the record has no figure hypercall.kvm-vhe" in done.stderr


@pytest.mark.conformance
def test_a_row_is_measured_and_predicted():
    """The row in which a guest does the same as the board."""
    said = lab("model", "rows", "--on", "kvm", "--row", "arithmetic")
    line = re.search(r"^arithmetic +(\d+) +(\d+) +(\S+) +(\S+) +(\d+) +(\d+) +(\S+)$", said, re.M)
    assert line, said
    assert line[1] == line[5] == line[6]
    assert "1 of 1 rows within 10 %" in said


@pytest.mark.conformance
def test_several_cpus_are_counted_together(tmp_path: Path):
    """The plugin's counts are compared with the clock: `figures` fails where they differ."""
    file = tmp_path / "ipi.json"
    lab("figures", "--classes", "--only", "ipi_running.kvm-nvhe", "--json", str(file))
    [figure] = json.loads(file.read_text())["figures"]
    insns = figure["classes"]["insns"]
    # Both sides leave the guest, and one of them takes an interrupt in it.
    assert insns["hypervisor"]["eret"] >= 4 and insns["guest-kernel"]["eret"] == 1
    assert figure["classes"]["walks"] == {}
