# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Memory slots under a running guest: moved, deleted, read-only, shared, logged.

`module/tests/kvm/memory` checks itself; real KVM must pass it too, or it asks for the wrong thing.
"""

from pathlib import Path

import pytest
from built import TOP, make, module

from armvisor_lab.board import Board


@pytest.fixture(scope="module")
def program() -> Path:
    make(str(TOP / "module/tests/kvm"))
    return TOP / "build/module/kvm/memory"


def test_on_kvm(program: Path):
    board = Board(el2=True, kernel="stable", files={"/memory": program}, timeout=200)
    assert board.run(["/memory"]).check().text.endswith("done\n")


@pytest.mark.parametrize("kernel", ["oldstable", "stable", "newest"])
def test_on_module(program: Path, kernel: str):
    files = {"/memory": program, "/armvisor.ko": module(kernel)}
    board = Board(kernel=kernel, files=files, timeout=300)
    script = "insmod /armvisor.ko && /memory && rmmod armvisor"
    assert board.run(["sh", "-c", script]).check().text.endswith("done\n")
