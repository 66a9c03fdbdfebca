# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Where the module cannot run, it refuses to load, with a sentence and a remedy; the remedy works.

The machine is QEMU's `max`, which has nearly all features of newer CPUs: Debian's kernels use 52
bits of address there, pointer authentication, BTI, SVE and more.
"""

import pytest
from built import module
from debian_runs import run_pairs
from guest_runs import Guest, Host, run_guests

from armvisor_lab.boards.board import Board

REMEDY = "arm64.nolva"
LOAD = """
insmod /armvisor.ko; status=$?
dmesg; test -e /dev/kvm || echo no device
exit $status
"""


@pytest.mark.parametrize(
    "kernel", [pytest.param("stable", marks=pytest.mark.conformance), "newest"]
)
def test_a_kernel_with_wider_addresses_is_refused(kernel: str):
    board = Board(cpu="max", kernel=kernel, files={"/armvisor.ko": module(kernel)})
    done = board.run(["sh", "-c", LOAD])
    assert not done.failure, done.failure
    assert done.status != 0
    assert "armvisor: cannot run here: the kernel half of this kernel is not 48 bits" in done.text
    assert f"boot with {REMEDY}" in done.text
    assert "no device" in done.text.splitlines()


def host() -> Host:
    return Host("max", "stable", el2=False, module=module("stable"), count=True, append=REMEDY)


def test_with_the_remedy_it_runs_guests():
    outputs = run_guests(host(), [Guest("hello"), Guest("memory"), Guest("pmu", pmu=True)])
    # PMMIR_EL1, which Linux reads on CPUs with FEAT_PMUv3p4, says nothing and is there.
    assert outputs["pmu"].results["pmu.slots"] == "0"


@pytest.mark.conformance
def test_debian_boots_on_a_cpu_with_everything():
    run_pairs(host(), ["stable"], cpus=(1, 1), count=True, mebibytes=1)
