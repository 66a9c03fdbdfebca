# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The module on QEMU's `max`, which has nearly all features of newer CPUs.

Debian's kernels have 52 bits of address there (with LPA2, descriptors of another format), pointer
authentication, BTI, SVE and more. With `arm64.nolva` they have 48 bits, as on other CPUs.
"""

import pytest
from built import module
from debian_runs import run_pairs
from guest_runs import Guest, Host, run_guests

KERNELS = [pytest.param("stable", marks=pytest.mark.conformance), "newest"]


def host(kernel: str, append: str = "") -> Host:
    return Host("max", kernel, el2=False, module=module(kernel), count=True, append=append)


@pytest.mark.parametrize("kernel", KERNELS)
def test_guests_run_where_the_host_has_52_bits(kernel: str):
    outputs = run_guests(
        host(kernel),
        [Guest("hello"), Guest("memory"), Guest("smp", cpus=4), Guest("pmu", pmu=True)],
    )
    # PMMIR_EL1, which Linux reads on CPUs with FEAT_PMUv3p4, says nothing and is there.
    assert outputs["pmu"].results["pmu.slots"] == "0"


@pytest.mark.conformance
@pytest.mark.parametrize("append", ["", "arm64.nolva", "nokaslr kpti=1"])
def test_debian_boots_on_a_cpu_with_everything(append: str):
    run_pairs(host("stable", append), ["stable"], cpus=(1, 1), count=True, mebibytes=1)
