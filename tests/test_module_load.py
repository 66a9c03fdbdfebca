# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The module on QEMU's `max`, which has nearly all features of newer CPUs.

Debian's kernels have 52 bits of address there (with LPA2, descriptors of another format), pointer
authentication, BTI, SVE and more. With `arm64.nolva` they have 48 bits, as on other CPUs. Where the
module cannot run, it refuses to load, with a sentence.
"""

import pytest
from built import module
from debian_runs import run_pairs
from guest_runs import Guest, Host, run_guests

from armvisor_lab.boards.board import Board

LOAD = """
insmod /armvisor.ko; status=$?
dmesg; test -e /dev/kvm || echo no device
exit $status
"""
KERNELS = [pytest.param("stable", marks=pytest.mark.conformance), "newest"]


@pytest.mark.conformance
@pytest.mark.parametrize("kernel", ["stable", "newest"])
@pytest.mark.parametrize(
    ("flavour", "says"),
    [
        ("16k", "this kernel has pages of another size than 4 KiB"),
        ("rt", "this is a PREEMPT_RT kernel"),
    ],
)
def test_other_kernels_of_debian_are_refused(kernel: str, flavour: str, says: str):
    """The module is built for them, and so can say why it does not run there."""
    files = {"/armvisor.ko": module(kernel, flavour)}
    board = Board(cpu="max", kernel=kernel, flavour=flavour, files=files)
    done = board.run(["sh", "-c", LOAD])
    assert not done.failure, done.failure
    assert done.status != 0
    assert f"armvisor: cannot run here: {says}" in done.text
    assert "no device" in done.text.splitlines()


def host(kernel: str, append: str = "") -> Host:
    return Host("max", kernel, el2=False, module=module(kernel), count=True, append=append)


@pytest.mark.parametrize("kernel", KERNELS)
def test_guests_run_where_the_host_has_52_bits(kernel: str):
    guests = [Guest("hello"), Guest("memory"), Guest("smp", cpus=4), Guest("pmu", pmu=True)]
    outputs = run_guests(host(kernel), guests)
    # PMMIR_EL1, which Linux reads on CPUs with FEAT_PMUv3p4, says nothing and is there.
    assert outputs["pmu"].results["pmu.slots"] == "0"


@pytest.mark.conformance
@pytest.mark.parametrize("append", ["", "arm64.nolva", "nokaslr kpti=1"])
def test_debian_boots_on_a_cpu_with_everything(append: str):
    run_pairs(host("stable", append), ["stable"], cpus=(1, 1), count=True, mebibytes=1)
