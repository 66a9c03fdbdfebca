# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The host survives hostile VMMs and hostile guests on stock kernels, and gets everything back.

What the kernel's own checkers say to the same is test_debug_kernel.py's matter. The hostile guests
also run on KVM, where they end alike.
"""

import pytest
from built import module
from hostile_runs import (
    CASES,
    NEWEST_PART,
    PARTS,
    Machine,
    assert_comes_back,
    hostile_guests,
    hostile_vmm,
)

HOSTS = [
    "stable",
    pytest.param("oldstable", marks=pytest.mark.conformance),
    pytest.param("newest", marks=pytest.mark.conformance),
]
# The long ones are for `make test-conformance`, and so is the whole of those that `make test` has
# for a moment.
LONG = ("processes", "many", "swap", "power")
MOMENT = {"changed": "EXITS=5000", "protected": "SIEGE_MS=1000 SHARED=32768"}
PART_ROWS = [
    *(pytest.param(part, settings, id=f"{part}-for-a-moment") for part, settings in MOMENT.items()),
    *(
        pytest.param(
            part, "", id=part, marks=pytest.mark.conformance if part in (*LONG, *MOMENT) else ()
        )
        for part in PARTS
    ),
]


@pytest.mark.parametrize("kernel", HOSTS)
@pytest.mark.parametrize(("part", "settings"), PART_ROWS)
def test_no_vmm_harms_the_host(part: str, settings: str, kernel: str):
    """Memory taken away, files closed, processes killed and forked, wild arguments, many VMs."""
    hostile_vmm(Machine(kernel, module(kernel)), part, settings)


@pytest.mark.conformance
def test_no_vmm_harms_the_host_by_its_guest_memfd():
    """Pages punched out, files closed and slots that come and go while the guest runs."""
    result = hostile_vmm(Machine("newest", module("newest")), NEWEST_PART)
    assert "a guest_memfd" in result.text


@pytest.mark.parametrize(
    ("kernel", "seconds"),
    [("stable", 1),
     *(pytest.param(kernel, 2, marks=pytest.mark.conformance)
       for kernel in ("stable", "oldstable", "newest"))],
)  # fmt: skip
def test_no_guest_harms_the_host(kernel: str, seconds: int):
    hostile_guests(Machine(kernel, module(kernel)), CASES, seconds=seconds)


@pytest.mark.conformance
def test_hostile_guests_on_kvm():
    hostile_guests(Machine("stable"), CASES)


def test_what_a_host_kept_is_found():
    """The bookkeeper itself: so much is within what caches grow by, and so much is not."""

    def figures(unreclaimable: int) -> str:
        names = {"SUnreclaim": unreclaimable, "PageTables": 9, "VmallocUsed": 9, "Shmem": 9}
        return "\x1efigures\n" + "".join(f"{k}: {v} kB\n" for k, v in names.items()) + "\x1e\n"

    assert_comes_back(figures(20000) + "done\n" + figures(21000))
    with pytest.raises(AssertionError, match="SUnreclaim': 9000"):
        assert_comes_back(figures(20000) + "done\n" + figures(29000))
