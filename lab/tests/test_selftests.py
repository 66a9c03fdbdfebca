# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The selftests of a kernel's source: the source, the programs, and paced boards."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from armvisor_lab.archive import linuxsource, selftests
from armvisor_lab.archive.packages import Package, Packages
from armvisor_lab.boards.board import Board
from armvisor_lab.errors import LabError

SOURCE = Package("linux-source-9.8", "9.8.7-6", "all", "linux-source-9.8_9.8.7-6_all.deb")


@pytest.fixture(autouse=True)
def archive(monkeypatch, tmp_path):
    """A kernel of a series that no list has, its source, and an empty cache."""
    kernel = SimpleNamespace(version="9.8.7-6~bpo1")
    monkeypatch.setenv("ARMVISOR_CACHE", str(tmp_path))
    monkeypatch.setattr(linuxsource.kernels, "get", lambda *_, **__: kernel)
    monkeypatch.setattr(
        Packages, "get", lambda self, name: SOURCE if name == SOURCE.name else pytest.fail(name)
    )


def test_the_source_is_of_the_kernels_series():
    assert linuxsource.series("stable") == "9.8"
    assert linuxsource.package("newest") is SOURCE


def test_what_the_makefile_lists_is_built_once(monkeypatch):
    unpacked = []

    def unpack(source: Package, target: Path, parts):
        unpacked.append((source, tuple(parts)))
        target.mkdir()

    def run(*command: str) -> str:
        if command[0] == "aarch64-linux-gnu-strip":
            Path(command[2]).write_text("program")
        out = next((word[7:] for word in command if word.startswith("OUTPUT=")), "")
        return f"{out}/steal_time {out}/arm64/psci_test\n" if "list-them" in command else ""

    monkeypatch.setattr(linuxsource, "unpack", unpack)
    monkeypatch.setattr(selftests, "_run", run)
    programs = selftests.get("stable")
    assert selftests.names(programs) == ["arm64/psci_test", "steal_time"]
    assert selftests.get("stable") == programs
    assert len(unpacked) == 1 and "tools" in unpacked[0][1]


def test_a_makefile_that_lists_nothing_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(linuxsource, "unpack", lambda *_: None)
    monkeypatch.setattr(selftests, "_run", lambda *_: "\n")
    with pytest.raises(LabError, match="list nothing for arm64"):
        selftests.get("stable")
    assert not list((tmp_path / "selftests").iterdir())


def test_a_failed_build_says_why():
    with pytest.raises(LabError, match="no such thing"):
        selftests._run("sh", "-c", "echo no such thing >&2; exit 2")


def test_a_paced_board_counts_whatever_its_cpus():
    arguments = Board(paced=True, smp=2).machine_arguments()
    assert "shift=3,sleep=off" in arguments and "tcg,thread=single" in arguments
    assert "shift=2,sleep=off" in Board(paced=True, pace_ns=4).machine_arguments()
    assert "-icount" not in Board(smp=2).machine_arguments()


@pytest.mark.parametrize("pace", (0, 3, -8, 32))
def test_a_pace_is_a_power_of_two(pace: int):
    with pytest.raises(LabError, match="ns an instruction"):
        Board(paced=True, pace_ns=pace).validate()
