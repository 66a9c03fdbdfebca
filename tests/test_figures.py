# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab figures` from end to end, on its cheapest rows: lines and JSON, and that figures repeat.

To repeat means to equal another machine's counts: docs/bench.json.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest
from built import HANGS, TOP, module

from armvisor_lab import records
from armvisor_lab.boards.board import Board
from armvisor_lab.boards.machine import keeps_time
from armvisor_lab.figures import artefacts
from armvisor_lab.report import compare, reference
from armvisor_lab.report.pool import describe_board

NAME = "hypercall.kvm-vhe"


def measure(path: Path, *names: str) -> subprocess.CompletedProcess[str]:
    command = [str(TOP / "bin/lab"), "figures", "--json", str(path)]
    for name in names:
        command += ["--only", name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == 0, done.stderr
    return done


def assert_repeats(path: Path) -> None:
    """Counts equal those of docs/bench.json, from another machine.

    That holds only with the same emulator, board and bytes. Some bytes are not ours to keep:
    kernels come from an archive that changes, and programs from this machine's compilers.
    """
    measured, there = records.read(path), records.read(reference.file())
    other = {name for name, each in there.built.items() if measured.built.get(name) != each}
    found = reference.differences(there, measured)
    assert found
    if not keeps_time():
        pytest.skip("measured; not compared: QEMU's main thread has no priority here")
    if measured.emulator != there.emulator or other & {"armvisor", "bare guests"}:
        pytest.skip(f"measured; not compared with {reference.file()}: other bytes or emulator")
    found = [each for each in found if describe_board(each.a) == describe_board(each.b)
             and not ("armvisor.ko" in other and ".armvisor" in each.name)]  # fmt: skip
    if not found:
        pytest.skip(f"measured; not compared with {reference.file()}: other kernels or module")
    assert not [e.line(compare.LIMIT) for e in found if not e.agrees(compare.LIMIT)]


def test_the_modules_exits_are_within_their_bounds(tmp_path: Path):
    """A figure above its bound fails the run."""
    names = ("hypercall", "hypercall_fast", "mmio_user", "irq_completion", "eoi")
    module("stable")
    wanted = [f"{name}.armvisor" for name in names] + ["hypercall.armvisor-accounting"]
    done = measure(tmp_path / "figures.json", *wanted)
    found = re.findall(r"^(\w+)\.armvisor ([\d.]+) instructions$", done.stdout, re.M)
    # At least the cost of saving the necessary state.
    assert {name: float(value) > 40 for name, value in found} == dict.fromkeys(names, True)
    # Accounting makes it dearer, by no more than the bound allows.
    judged = re.search(r"within its bound: hypercall\.armvisor-accounting (\S+) times", done.stderr)
    assert judged and 1 < float(judged[1]) <= 1.02
    assert_repeats(tmp_path / "figures.json")


def test_what_takes_two_is_within_its_bounds(tmp_path: Path):
    """VMs on one CPU; a guest and its device's thread on two."""
    module("stable")
    names = ("vm_switch", "io_out", "io_in")
    done = measure(tmp_path / "figures.json", *(f"{name}.armvisor" for name in names))
    found = dict(re.findall(r"^(\w+)\.armvisor (\d+) instructions$", done.stdout, re.M))
    # Each includes a switch of threads.
    assert {name: int(found[name]) > 2000 for name in names} == dict.fromkeys(names, True)
    assert done.stderr.count("within its bound") == len(names)
    assert_repeats(tmp_path / "figures.json")


def test_sharing_a_page_is_within_its_bounds(tmp_path: Path):
    """For a protected VM of 64 MiB, and for one of 16 GiB."""
    module("stable")
    variants = ("armvisor-pvm", "armvisor-pvm-16g")
    rows = ("share", "unshare", "unshare_used")
    rows += tuple(f"{row}_range" for row in rows)
    names = [f"{row}.{variant}" for row in rows for variant in variants]
    done = measure(tmp_path / "figures.json", *names)
    lines = re.findall(r"^(\w+)\.([\w-]+) ([\d.]+) instructions$", done.stdout, re.M)
    found = {(what, variant): float(value) for what, variant, value in lines}
    for what in rows:
        small, large = (found[what, variant] for variant in variants)
        assert 20 < large < 1.02 * small
    assert_repeats(tmp_path / "figures.json")


@pytest.mark.parametrize("program", ("lat fork-exit", "forks 1"))
def test_what_forks_is_counted_without_randomization(program: str):
    """With it, native fork-exit takes 153,000, 160,000 or 166,000, depending on the tables that a
    fork copies.
    """
    name = program.split()[0]
    # Until it has started again; the file of a process that has ended cannot be read.
    script = f"""{program} >/dev/null &
        while read -r has </proc/$!/personality && [ $has != 00040000 ]; do :; done
        echo layout $has; wait"""
    done = Board(files={f"/bin/{name}": artefacts.tool(name)}).run(["sh", "-c", script])
    assert done.text.split() == ["layout", "00040000"], done.text


def test_rows_are_measured_side_by_side(tmp_path: Path):
    """On hosts for which figures are not always measured: the module with options."""
    module("stable")
    record = tmp_path / "compare.json"
    on = ["armvisor", "armvisor:cheap_traps=0+accounting=1"]
    command = [TOP / "bin/lab", "compare", "hypercall", "--on", ",".join(on), "--record", record]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    full, none = json.loads(done.stdout)["compare"]["rows"]
    assert [full["variant"], none["variant"]] == on
    # Without the parts that make traps cheap, a call takes more than twice as many.
    assert 40 < full["value"] < 420 and none["times_first"] > 2
    names = {figure["name"] for figure in json.loads(record.read_text())["figures"]}
    assert names == {f"hypercall.{variant}" for variant in on}


def test_a_figure_is_a_line_and_json(tmp_path: Path):
    path = tmp_path / "figures.json"
    done = measure(path, NAME)
    line = re.fullmatch(rf"{re.escape(NAME)} (\d+) instructions\n", done.stdout)
    assert line, done.stdout
    figures = json.loads(path.read_text())
    assert str(figures).count(NAME) == 1
    for key in ("revision", "board", "kernel"):
        assert key in path.read_text(), figures
    # Counted on QEMU's cortex-a76: no hypervisor needs fewer, and KVM at most ten times as many.
    assert 200 < int(line[1]) < 15000
    assert_repeats(path)
