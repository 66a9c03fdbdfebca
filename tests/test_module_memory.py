# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Memory slots under a running guest: moved, deleted, read-only, shared, logged.

`module/tests/kvm/memory` checks itself; real KVM must pass it too, or it asks for the wrong thing.
"""

import subprocess
from pathlib import Path

import pytest

from armvisor_lab.board import Board

TOP = Path(__file__).resolve().parents[1]
BUILD = TOP / "build/module"


def make(*words: str) -> None:
    done = subprocess.run(["make", "-s", "-C", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"make {' '.join(words)}:\n{done.stdout}{done.stderr}"


@pytest.fixture(scope="module")
def program() -> Path:
    make(str(TOP / "module/tests/kvm"))
    return BUILD / "kvm/memory"


def test_on_kvm(program: Path):
    board = Board(el2=True, kernel="6.12", files={"/memory": program}, timeout=200)
    assert board.run(["/memory"]).check().text.endswith("done\n")


@pytest.mark.parametrize("kernel", ["6.1", "6.12", "7.2"])
def test_on_module(program: Path, kernel: str):
    make(str(TOP / "module"), f"KVER={kernel}")
    files = {"/memory": program, "/armvisor.ko": BUILD / kernel / "armvisor.ko"}
    board = Board(kernel=kernel, files=files, timeout=300)
    script = "insmod /armvisor.ko && /memory && rmmod armvisor"
    assert board.run(["sh", "-c", script]).check().text.endswith("done\n")
