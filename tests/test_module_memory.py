# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Memory slots under a running guest: moved, deleted, read-only, shared, logged; dirty rings.

`module/tests/kvm/memory` and `rings` check themselves. Real KVM must pass them too, or they test
the wrong thing.
"""

from functools import cache

import pytest
from built import TOP, make, module
from guest_runs import results
from shared_board import Part, run_parts

from armvisor_lab.boards.board import Board

CONFORMANCE = pytest.mark.conformance
KERNELS = [
    "stable",
    pytest.param("oldstable", marks=CONFORMANCE),
    pytest.param("newest", marks=CONFORMANCE),
]
PROGRAMS = ("memory", "rings")

pytestmark = pytest.mark.xdist_group("module_memory")


@cache
def programs_on(kernel: str, el2: bool = False) -> dict[str, Part]:
    """Both on one board: on its KVM, or on the module, which is loaded anew for each."""
    make(str(TOP / "module/tests/kvm"))
    files = {f"/{name}": TOP / "build/module/kvm" / name for name in PROGRAMS}
    line = "/{}" if el2 else "insmod /armvisor.ko && /{} && rmmod armvisor"
    files |= {} if el2 else {"/armvisor.ko": module(kernel)}
    board = Board(el2=el2, kernel=kernel, smp=2, paced=True, files=files, timeout=500)
    return run_parts(board, {name: line.format(name) for name in PROGRAMS})


def passed(parts: dict[str, Part], name: str) -> str:
    text = parts[name].check()
    assert text.endswith("done\n"), text
    return text


@CONFORMANCE
@pytest.mark.parametrize("name", PROGRAMS)
def test_on_kvm(name: str):
    passed(programs_on("stable", el2=True), name)


@pytest.mark.parametrize("kernel", KERNELS)
def test_on_module(kernel: str):
    passed(programs_on(kernel), "memory")


@pytest.mark.parametrize("kernel", KERNELS)
def test_rings_on_module(kernel: str):
    """Two vCPUs write, another thread copies what their rings have: in the end it has it all."""
    text = passed(programs_on(kernel), "rings")
    # KVM may have a page in both rings.
    assert results(text)["rings.twice"] == "0", text
