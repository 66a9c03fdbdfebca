# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""What programs, debuggers and tracers ask of a kernel, each of it once, in a guest of the module.

The program is the one of the figures `ops.*` (guests/tools/ops), which fails where an operation
does not do what it should: a watchpoint that is not hit, a function that is not the one just made.
"""

import pytest
from built import module
from guest_runs import Host
from linux_runs import Linux, run, with_files

from armvisor_lab.archive import kernels
from armvisor_lab.boards.results import instructions
from armvisor_lab.figures import artefacts, ops

# Instructions. Where every trap of the guest's kernel leaves the window while a process is stepped
# or has a watchpoint, where tables that move are filled again, and where an alignment fault goes
# the whole way, these take 1.4 to six times as many.
BOUNDS = {
    "move-4m": 90_000,
    "sigbus-unaligned": 7_500,
    "read-midr": 800,
    "ptrace-step": 28_000,
    "watchpoint-hit": 24_000,
    "watchpoint-set": 32_000,
    "watchpoint-switch": 42_000,
}


# Rows that a kernel has not: userfaultfd protects from writes on arm64 since 6.10.
LACKS = {"oldstable": ("uffd-protect",)}


def rows_of(role: str) -> list[str]:
    return [row for row in ops.ROWS if row not in LACKS.get(role, ())]


def guest(role: str, cpus: int) -> Linux:
    kernel, files = kernels.get(role), {"bin/ops": artefacts.tool("ops").read_bytes()}
    initrd = with_files(artefacts.guest(role)["initrd"].read_bytes(), "", files)
    words = "quiet nokaslr armvisor.test=ops armvisor.rounds=1"
    if role in LACKS:
        words += f" armvisor.rows={','.join(rows_of(role))}"
    return Linux(kernel.image, initrd, words, cpus, "512M")


def done(host: Host, role: str, cpus: int) -> str:
    """What a guest printed that has done all of them."""
    (said,) = run(host, [guest(role, cpus)])
    assert said.status == 0 and said.results.get("guest.failures") == "0", said.console[-4000:]
    missing = [row for row in rows_of(role) if f"ops.{row}" not in said.results]
    assert not missing, said.console[-4000:]
    return said.console


def test_each_operation_and_what_debugging_costs():
    host = Host(el2=False, module=module("stable"), count=True)
    text = done(host, "stable", 1)
    over = {
        row: took
        for row, most in BOUNDS.items()
        if (took := instructions(text, f"ops.{row}")) > most
    }
    assert not over, over


@pytest.mark.conformance
@pytest.mark.parametrize("el2", (False, True), ids=("module", "kvm"))
@pytest.mark.parametrize("role", ("oldstable", "stable", "newest"))
def test_each_operation_on_two_vcpus(role: str, el2: bool):
    ours = None if el2 else module("stable")
    done(Host(el2=el2, module=ours, smp=2), role, 2)
