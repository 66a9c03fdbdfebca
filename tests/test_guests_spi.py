# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""An SPI that one vCPU handles, as another sees it (guests/bare/spi.c).

The module lets a vCPU acknowledge and end it without an exit (module/irq/lease.c).
"""

import pytest
from built import module
from guest_runs import Guest, Host, run_guests

KERNEL = "stable"
ROUNDS = 30
# Twice when pending again, twice when deactivated, once before it is routed away, and once more.
TAKEN = (2 + 2 + 1 + 1) * ROUNDS
GUESTS = [Guest("spi", cpus=2, append=f"rounds={ROUNDS}")]


@pytest.mark.parametrize("host", ["kvm", "module"])
def test_another_vcpu_sees_an_spi_as_it_is(host: str):
    ours = module(KERNEL) if host == "module" else None
    board = Host("cortex-a72", KERNEL, el2=not ours, module=ours, count=True, smp=2)
    output = run_guests(board, GUESTS, timeout=600)["spi"]
    assert output.results["spi.taken"] == str(TAKEN)
    # KVM shows no SPI that is pending in a list register.
    assert output.results["spi.unseen"] == "0" or host == "kvm"
