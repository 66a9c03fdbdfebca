# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""QEMU's plugin on a board: it counts a program's known instructions, accesses and pages.

`guests/tools/reach` reads a word of each 4 KiB of 8 MiB in turn, 2^20 times, in a loop of six
instructions. 2,048 pages of 4 KiB are more than a Cortex-A72's L2 TLB has entries; four blocks of 2
MiB are fewer than its first level has.
"""

import subprocess
from pathlib import Path

import pytest
from built import HANGS, TOP, make

from armvisor_lab.boards.board import Board
from armvisor_lab.errors import LabError
from armvisor_lab.figures import artefacts
from armvisor_lab.reach import cores, plugin, runs

READS = 1 << 20
LOOP = 6
CORES = cores.choose(["cortex-a72"])
# One worker runs them all: they share what was counted.
pytestmark = pytest.mark.xdist_group("reach")


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    make(str(TOP / "lab/plugins"))
    make(str(TOP / "guests"), "tools")


@pytest.fixture(scope="module")
def counted() -> list[runs.Run]:
    wanted = runs.rows(["stride-8"])
    return runs.run(runs.SETUPS["native"], wanted, CORES, lambda _: None)


def test_instructions_and_accesses_are_the_program_s(counted: list[runs.Run]):
    for run in counted:
        insns = run.section.insns["host-user"]
        assert READS * LOOP <= insns["ordinary"] <= READS * LOOP + 100, insns
        assert set(insns) == {"ordinary"}
        accesses = run.section.accesses["host-user"]["data"]
        assert READS <= accesses <= READS + 100
        # As many exceptions to the kernel as returns to the program.
        kernel = run.section.insns["host-kernel"]
        assert 0 < kernel["eret"] < 1000
        first, last = run.section.range
        assert last - first + 1 == 8 << 20


def test_the_clock_has_counted_the_same(counted: list[runs.Run]):
    """On a counted board an instruction is a nanosecond; a tick is sixteen."""
    for run in counted:
        clock = run.evidence["instructions_by_clock"]
        assert abs(run.section.instructions() - clock) < 200


def test_pages_of_2_mib_take_a_hundredth_of_the_walks(counted: list[runs.Run]):
    small, huge = (run.section.models[run.model("cortex-a72")]["host-user"] for run in counted)
    assert READS <= small.walks[0] <= READS + 100
    assert READS <= small.refs[0] <= READS * 1.01
    assert huge.walks[0] <= small.walks[0] / 100
    assert small.lookups[0] == huge.lookups[0] >= READS


def refusal(config: str, folder: Path) -> str:
    """QEMU's message for the plugin with this configuration."""
    file = folder / "config"
    file.write_text(config)
    option = f"{artefacts.plugin()},config={file}"
    result = Board(qemu_args=["-plugin", option]).run(["true"])
    assert result.failure and result.failure.kind == "set-up"
    return result.failure.message


def test_a_bad_configuration_is_refused_with_a_sentence(tmp_path: Path):
    good = plugin.configuration("native", tmp_path / "out", CORES, [])
    said = refusal(good.replace("regime native", "regime hyperv"), tmp_path)
    assert 'line 1, "regime hyperv": a regime is native, kvm, vhe, armvisor or xen' in said
    said = refusal(good.replace(str(tmp_path / "out"), "/nosuch/out"), tmp_path)
    assert "/nosuch/out: cannot be written" in said


def test_what_is_no_plugin_is_refused_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "count.so"
    file.write_text("no program")
    monkeypatch.setattr(artefacts, "plugin", lambda: file)
    with pytest.raises(LabError, match=r"QEMU did not take the plugin(?s:.*)before 9\.0"):
        plugin.run(Board(), ["true"], ("native", CORES, []), lambda _: None)


@pytest.mark.parametrize("row", ["", "stride", "stride-0-small", "walk-1-small", "fresh-1-huge"])
def test_the_program_refuses_what_is_no_row(row: str):
    command = ["qemu-aarch64-static", str(artefacts.tool("reach")), row]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"reach: no such row: {row}" in done.stderr and "usage: reach " in done.stderr


def test_the_command(tmp_path: Path):
    """The documents' test runs `bin/lab reach` from end to end: here, its record is written."""
    file = tmp_path / "reach.json"
    command = [str(TOP / "bin/lab"), "reach", "--on", "native", "--workload", "fresh-1"]
    command += ["--core", "cortex-a72", "--json", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "fresh-1 MiB on cortex-a72 (modelled)\n" in done.stdout
    assert '"walk_references"' in file.read_text()
