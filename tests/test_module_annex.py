# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Instructions that the module emulates without a trap (module/mmu/code/annex.h), under
guests/annex.

The guest checks their effects itself, on KVM too (test_guests_bare.py). Here, the counters must
show that they do not trap.
"""

from functools import cache

import pytest
from built import module
from guest_runs import Guest, Host, Output, run_guests

# One worker runs them all: they share the boards' output.
pytestmark = pytest.mark.xdist_group("annex")

# Bits of cheap_traps: all, and all but stubs (module/cpu/cheap.h).
ALL, NO_STUBS = 1023, 1023 & ~64


def host(smp: int = 1) -> Host:
    return Host(
        kernel="stable", el2=False, module=module("stable"), parameters=f"cheap_traps={ALL}",
        count=smp == 1, smp=smp,
    )  # fmt: skip


def guest(name: str, rounds: str, more: str = "", cpus: int = 1, before: str = "") -> Guest:
    append = f"{rounds} {more}"
    return Guest("annex", append=append, cpus=cpus, exits=True, name=name, before=before)


LONG = "rounds=1400 shots=10"
ALONE = (
    guest("long", LONG),
    guest("long-hole", LONG, "hole=1"),
    guest("long-used", LONG, "used=1"),
)
# Older kernels begin like this: their code is mapped with the header, right behind it.
STARTS = (
    guest("start-used", "rounds=200 shots=50", "used=1"),
    guest("start-hole", "rounds=200 shots=50", "hole=1"),
)
TWO = (
    guest("two", "rounds=300 shots=50", cpus=2),
    guest("two-hole", "rounds=300 shots=50", "hole=1", cpus=2),
)


WITHOUT = guest(
    "without", LONG, before=f"echo {NO_STUBS} >/sys/module/armvisor/parameters/cheap_traps"
)


@cache
def run() -> dict[str, Output]:
    return run_guests(host(), [*ALONE, *STARTS, *TWO, WITHOUT])


def traps(output: Output) -> int:
    return output.exits["fast_trap"] + output.exits["sen_inst_trap"]


def test_what_traps_often_does_not_trap_any_more():
    """While no other CPU is in the guest, a place is changed in the copy that there is."""
    stubs, none = run()["long"], run()["without"]
    assert stubs.exits["code_sites"] > 200 and not none.exits["code_sites"]
    more = stubs.exits["code_copies_made"] - none.exits["code_copies_made"]
    assert more < stubs.exits["code_sites"] / 4, more
    assert traps(stubs) < traps(none) * 0.4, (traps(stubs), traps(none))
    # The last runs execute code that has its stubs.
    costs = [int(output.results["annex.last"]) for output in (stubs, none)]
    assert costs[0] < costs[1], costs


def test_older_kernels_have_a_place_too():
    """In the hole that Linux leaves in its image when it frees its init sections."""
    hole, none = run()["long-hole"], run()["long-used"]
    assert hole.exits["code_sites"] > 200 and not none.exits["code_sites"]
    assert traps(hole) < traps(none) * 0.4, (traps(hole), traps(none))


@pytest.mark.parametrize("name", [guest.key for guest in TWO])
def test_two_cpus_and_code_that_changes(name):
    assert run()[name].exits["code_sites"] > 200


@pytest.mark.conformance
def test_an_image_whose_start_is_code_on_kvm():
    run_guests(Host(), STARTS)


@pytest.mark.parametrize("name", [guest.key for guest in STARTS])
def test_an_image_whose_start_is_code(name):
    assert run()[name].results["annex.failures"] == "0"


@pytest.mark.conformance
def test_two_cpus_at_the_same_time():
    run_guests(host(smp=2), [Guest("annex", cpus=2, append="rounds=100 shots=20")])
