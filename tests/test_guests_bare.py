# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The bare-metal guests under `armvisor run` on KVM, nVHE and VHE."""

import pytest
from guest_runs import Guest, Host, run_guests

MIB = 1 << 20
PROGRAMS = [
    Guest("hello", append="some=thing", memory="96M", cpus=3),
    Guest("hypercall", append="loops=200"),
    Guest("mmio", append="loops=100"),
    Guest("memory", memory="128M"),
    Guest("timer"),
    Guest("smp", cpus=4),
    Guest("smp", cpus=1, name="smp-alone"),
]


@pytest.mark.parametrize("cpu", ["cortex-a72", "cortex-a76"])
def test_programs(cpu: str):
    outputs = run_guests(Host(cpu), PROGRAMS)

    hello = outputs["hello"]
    assert hello.results["hello.cpus"] == "3"
    assert hello.results["hello.memory"] == str(96 * MIB)
    assert "some=thing" in hello.console

    # What a hypervisor answers itself is cheaper than what user space does.
    assert outputs["hypercall"].results["hypercall.version"] in ("65536", "65537", "65539")
    hypercall = float(outputs["hypercall"].results["hypercall.cost"])
    assert 0 < hypercall < float(outputs["mmio"].results["mmio.read"])

    # All memory but the image, the device tree and what they share a page with.
    verified = int(outputs["memory"].results["memory.verified"])
    assert 126 * MIB < verified < 128 * MIB

    assert outputs["timer"].results["timer.interrupts"] == "21"
    assert outputs["smp"].results["smp.cpus"] == "4"
    assert outputs["smp-alone"].results["smp.cpus"] == "1"
