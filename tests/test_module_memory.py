# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Memory slots under a running guest: moved, deleted, read-only, shared, logged; dirty rings.

`module/tests/kvm/memory` and `rings` check themselves. Real KVM must pass them too, or they test
the wrong thing.
"""

from pathlib import Path

import pytest
from built import TOP, make, module
from guest_runs import results

from armvisor_lab.boards.board import Board


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


@pytest.fixture(scope="module")
def rings(program: Path) -> Path:
    return program.with_name("rings")


def test_rings_on_kvm(rings: Path):
    board = Board(
        el2=True, kernel="stable", smp=2, paced=True, files={"/rings": rings}, timeout=200
    )
    assert board.run(["/rings"]).check().text.endswith("done\n")


@pytest.mark.parametrize("kernel", ["oldstable", "stable", "newest"])
def test_rings_on_module(rings: Path, kernel: str):
    """Two vCPUs write, another thread copies the pages in their rings: it ends up with all."""
    files = {"/rings": rings, "/armvisor.ko": module(kernel)}
    board = Board(kernel=kernel, smp=2, paced=True, files=files, timeout=300)
    script = "insmod /armvisor.ko && /rings && rmmod armvisor"
    text = board.run(["sh", "-c", script]).check().text
    assert text.endswith("done\n"), text
    # KVM may have a page in both rings.
    assert results(text)["rings.twice"] == "0", text
