# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Stock Debian guests on the module, with all their devices: every host kernel, every guest kernel.

The same runs as on KVM (test_guests_debian.py), with one CPU; and with four, on hosts that have
fewer. `make test` has a pair of test_devices_debian.py's. A board's log with a warning fails.
Counted boards: a guest's exits take QEMU so long that a board in real time, on a busy machine,
sees little but its own timer.
"""

import pytest
from built import module
from debian_runs import run_pairs
from guest_runs import KPTI, Host

KERNELS = ("oldstable", "stable", "newest")
# One of the two CPUs has global kernel mappings, the other does not.
HOSTS = [(cpu, kernel) for kernel in reversed(KERNELS) for cpu in ("cortex-a72", "neoverse-n1")]
ISOLATED = {"neoverse-n1": KPTI}
# Boots in a row on all hosts together: 6 hosts, 3 kernels, 2 boots a pair, 3 rounds: 108. They test
# booting, so little goes over their network.
ROUNDS = 3


def boots(
    cpu: str,
    kernel: str,
    guests: tuple[str, ...],
    rounds: int = 1,
    mebibytes: int = 8,
    smp: int = 1,
    cpus: int = 1,
):
    host = Host(
        cpu=cpu, kernel=kernel, el2=False, module=module(kernel), append=ISOLATED.get(cpu, ""),
        smp=smp,
    )  # fmt: skip
    run_pairs(
        host, guests, cpus=(cpus, cpus), rounds=rounds, count=True, mebibytes=mebibytes,
        timeout=300 + 600 * len(guests) * rounds * cpus,
    )  # fmt: skip


@pytest.mark.conformance
@pytest.mark.parametrize(("cpu", "kernel"), HOSTS)
def test_every_guest_on_every_host(cpu: str, kernel: str):
    boots(cpu, kernel, KERNELS)


@pytest.mark.conformance
@pytest.mark.parametrize("smp", (1, 2))
@pytest.mark.parametrize("kernel", KERNELS)
def test_four_cpus_on_fewer(kernel: str, smp: int):
    boots("cortex-a72", kernel, (kernel,), mebibytes=1, smp=smp, cpus=4)


@pytest.mark.soak
@pytest.mark.parametrize(("cpu", "kernel"), HOSTS)
def test_boots_many_times_in_a_row(cpu: str, kernel: str):
    boots(cpu, kernel, KERNELS, ROUNDS, mebibytes=1)
