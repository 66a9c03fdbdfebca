# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The host survives hostile VMMs and hostile guests on stock kernels, and gets everything back.

test_debug_kernel.py runs them under the kernel's own checkers. The hostile guests also run on KVM,
where they must end the same.
"""

from functools import cache

import pytest
from built import module
from hostile_runs import (
    CASES,
    FEW_CASES,
    NEWEST_PART,
    PARTS,
    Machine,
    assert_comes_back,
    assert_no_harm,
    hostile_guests,
    hostile_vmm,
    hostile_vmms,
)
from shared_board import Part

HOSTS = [
    "stable",
    pytest.param("oldstable", marks=pytest.mark.conformance),
    pytest.param("newest", marks=pytest.mark.conformance),
]
# The long ones have a board each, and are for `make test-conformance`; so is the whole of those
# that `make test` has for a moment.
LONG = ("processes", "many", "swap", "power")
MOMENT = {
    "memory": "PERCENT=20",
    "arguments": "PERCENT=20",
    "guests": "SEEDS=60",
    "messages": "PERCENT=20",
    "changed": "EXITS=3000",
    "protected": "SIEGE_MS=300 SHARED=8192 PERCENT=20",
}
# The others share one.
SHORT = {part: MOMENT.get(part, "") for part in PARTS if part not in LONG}


@cache
def short_parts(kernel: str) -> dict[str, Part]:
    return hostile_vmms(Machine(kernel, module(kernel)), SHORT)


@pytest.mark.xdist_group("hostile")
@pytest.mark.parametrize("kernel", HOSTS)
@pytest.mark.parametrize("part", SHORT)
def test_no_vmm_harms_the_host(part: str, kernel: str):
    """Memory taken away, files closed, wild arguments, pages that somebody holds, odd calls."""
    assert_no_harm(short_parts(kernel)[part])


@pytest.mark.conformance
@pytest.mark.parametrize("kernel", ("stable", "oldstable", "newest"))
@pytest.mark.parametrize("part", (*LONG, *MOMENT))
def test_no_vmm_harms_the_host_for_long(part: str, kernel: str):
    """Processes killed and forked, many VMs, swap, sleep; a siege of seconds."""
    hostile_vmm(Machine(kernel, module(kernel)), part)


@pytest.mark.conformance
def test_no_vmm_harms_the_host_by_its_guest_memfd():
    """Pages punched out, files closed, slots created and deleted while the guest runs."""
    result = hostile_vmm(Machine("newest", module("newest")), NEWEST_PART)
    assert "a guest_memfd" in result.text


def test_no_guest_harms_the_host():
    hostile_guests(Machine("stable", module("stable")), FEW_CASES, seconds=1)


@pytest.mark.conformance
@pytest.mark.parametrize("kernel", ("stable", "oldstable", "newest"))
def test_no_guest_harms_the_host_with_any_seed(kernel: str):
    hostile_guests(Machine(kernel, module(kernel)), CASES, seconds=2)


@pytest.mark.conformance
def test_hostile_guests_on_kvm():
    hostile_guests(Machine("stable"), CASES)


def test_what_a_host_kept_is_found():
    """A test of the bookkeeper: growth within that of caches passes, more fails."""

    def figures(unreclaimable: int) -> str:
        names = {"SUnreclaim": unreclaimable, "PageTables": 9, "VmallocUsed": 9, "Shmem": 9}
        return "\x1efigures\n" + "".join(f"{k}: {v} kB\n" for k, v in names.items()) + "\x1e\n"

    assert_comes_back(figures(20000) + "done\n" + figures(21000))
    with pytest.raises(AssertionError, match="SUnreclaim': 9000"):
        assert_comes_back(figures(20000) + "done\n" + figures(29000))
