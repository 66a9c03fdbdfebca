# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""KVM's API, call by call: the module answers as real KVM, or the difference is declared with a
reason.

`module/tests/kvm/conform` makes several thousand calls, right and wrong ones, and prints a line for
each. It runs on the board with EL2, on its KVM, and on the board without, on the module; the lines
must agree but for those that `data/module_api.toml` declares. A declaration that no difference
needs any more fails too. Boards are paced: a second in which nothing comes, where nothing is to
come, is the same on a busy machine.

The reference is stable's KVM. On a host with another kernel, KVM's answer on that kernel is right
too: such differences are the kernel's, not the hypervisor's (a file like a vCPU's may no longer be
mapped executable). Where the module follows a newer KVM on purpose, the same file declares it.
"""

import fnmatch
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from answers import answers
from built import TOP, make
from built import module as built_module

from armvisor_lab.boards.board import Board

# One worker runs them all: they share the boards' output.
pytestmark = pytest.mark.xdist_group("module_api")

BUILD = TOP / "build/module"
TABLE = tomllib.loads((TOP / "tests/data/module_api.toml").read_text())
DECLARED, NEWER = TABLE["difference"], TABLE["newer"]
KERNEL = "stable"
CPU = "cortex-a72"
# Left to `make test-conformance`.
LATER = pytest.mark.conformance
HOSTS = [KERNEL, pytest.param("newest", marks=LATER), pytest.param("oldstable", marks=LATER)]
MOST_OF_THE_KERNELS_OWN = 10


@pytest.fixture(scope="module")
def programs() -> Path:
    make(str(TOP / "module/tests/kvm"))
    return BUILD / "kvm"


@cache
def on_kvm(program: Path, kernel: str, cpu: str = CPU) -> str:
    files = {"/program": program}
    board = Board(el2=True, cpu=cpu, kernel=kernel, paced=True, files=files, timeout=900)
    text = board.run(["/program"]).check().text
    assert text.endswith("done\n"), "the program did not finish on KVM"
    return text


def on_module(program: Path, kernel: str) -> str:
    files = {"/program": program, "/armvisor.ko": built_module(kernel)}
    board = Board(kernel=kernel, paced=True, files=files, timeout=900)
    script = "insmod /armvisor.ko && /program && rmmod armvisor"
    text = board.run(["sh", "-c", script]).check().text
    assert text.endswith("done\n"), "the program did not finish on the module"
    return text


def patterns(cpu: str = CPU) -> list[str]:
    rows = [row for row in DECLARED if row.get("cpu", cpu) == cpu]
    return [pattern for row in rows for pattern in row["lines"]]


def is_newer(name: str) -> bool:
    """Is it declared that a newer KVM answers differently?"""
    return any(fnmatch.fnmatch(name, pattern) for row in NEWER for pattern in row["lines"])


def test_declarations_have_reasons():
    assert all(len(row["reason"]) > 10 for row in [*DECLARED, *NEWER])
    assert not [pattern for pattern, n in Counter(patterns()).items() if n > 1]


@pytest.mark.parametrize("kernel", HOSTS)
def test_answers_are_kvms(programs: Path, kernel: str):
    program = programs / "conform"
    without = on_module(program, kernel)
    undeclared, unused = compare(on_kvm(program, KERNEL), without)
    if kernel != KERNEL:
        ours, of_kernel = answers(without), answers(on_kvm(program, kernel))
        same = {name for name in undeclared if ours.get(name) == of_kernel.get(name)}
        undeclared = {name: text for name, text in undeclared.items() if name not in same}
        # Most of the kernel's own answers are the same on both; otherwise KVM has changed.
        rest = {name for name in same if not is_newer(name)}
        assert len(rest) <= MOST_OF_THE_KERNELS_OWN, sorted(rest)
    assert not undeclared, f"{len(undeclared)} answers differ:\n" + "\n".join(undeclared.values())
    assert not unused, f"declared differences that are none: {sorted(unused)}"


@LATER
@pytest.mark.parametrize("cpu", [CPU, "cortex-a76"])
def test_beside_kvm(programs: Path, cpu: str):
    """Where the host has KVM (nVHE, VHE), the module is /dev/armvisor and answers the same."""
    files = {"/program": programs / "conform", "/armvisor.ko": built_module(KERNEL)}
    board = Board(el2=True, cpu=cpu, kernel=KERNEL, paced=True, files=files, timeout=900)
    script = "insmod /armvisor.ko && KVM_DEVICE=/dev/armvisor /program && "
    script += "rmmod armvisor && ! test -e /dev/armvisor && test -e /dev/kvm"
    ours = board.run(["sh", "-c", script]).check().text
    assert ours.endswith("done\n")
    # Some declarations for another CPU do not apply here: not all need be used.
    undeclared, _unused = compare(on_kvm(programs / "conform", KERNEL, cpu), ours, cpu)
    assert not undeclared, f"{len(undeclared)} answers differ:\n" + "\n".join(undeclared.values())


def compare(with_el2: str, without: str, cpu: str = CPU) -> tuple[dict[str, str], set[str]]:
    """Undeclared differences by name, and declarations that nothing needs."""
    kvm, ours = answers(with_el2), answers(without)
    assert len(kvm) > 3000

    unused = set(patterns(cpu))
    undeclared = {}
    for name in dict.fromkeys([*kvm, *ours]):
        if kvm.get(name) == ours.get(name):
            continue
        used = [pattern for pattern in patterns(cpu) if fnmatch.fnmatchcase(name, pattern)]
        unused -= set(used)
        if not used:
            undeclared[name] = f"{name}: KVM {kvm.get(name)}, module {ours.get(name)}"
    return undeclared, unused
