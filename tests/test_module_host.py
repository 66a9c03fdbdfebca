# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The host's total work for a VM when it looks at the VMM's memory or takes it back.

test_module_bounds.py has how long a CPU is held at a stretch; this is the sum, which somebody else
pays: who is short of memory, or whose page is next to a VM's. Counted boards, on which a nanosecond
is an instruction. The figures are those of module/tests/kvm/bounds: notify.c, age.c and reclaim.c.
Beside the module's are KVM's and those of the host's own reverse map.
"""

import pytest
from bounds_runs import Row, measure, too_long
from hostile_runs import SWAP, swap_modules

KERNEL = "stable"
OTHERS = ("oldstable", "newest")

# The extra cost, with a VM, of a page in no slot, and the extra cost of a page in a slot.
BESIDE = 5000 - 3296
IN_SLOT = 3000
# For each of the slots on one page that the guest has mapped through all of them: KVM takes 1,333.
SLOT = 900
# Whatever the number of entries: of one frame, and of frames of one host page that is split off
# from a huge one. Linux takes 1,650 for each mapping of a page.
ENTRIES = 2_000_000
ENTRIES_OF_FRAMES = 3_300_000

APART = Row("notify_apart", "SLOTS=4095")
ALIASES = {slots: Row("notify_aliases", f"SLOTS={slots}") for slots in (4094, 32760)}
FRAME = Row("notify_frame", "ENTRIES=32768", 32768)
FRAMES = Row("notify_frames", "ENTRIES=32768", 32768)
AGE = Row("age_apart", "SLOTS=4000")
GONE = Row("process_gone", "GIBS=28", 14336, ("process.gone",))
CHANGED = Row("process_changed", "SLOTS=2000", 4096, ("process.changed",))
ROWS = (APART, ALIASES[4094], FRAME, FRAMES, AGE, GONE, CHANGED)

# With the largest number possible.
LONG = (
    Row("notify_apart"),
    ALIASES[32760],
    Row("notify_frame", "ENTRIES=2097152", 1 << 21),
    Row("process_changed", "SLOTS=32760", 4096, ("process.changed",)),
)
HOST = Row("notify_host", "MAPS=60000")

RECLAIM = {slots: Row("reclaim", f"SLOTS={slots}") for slots in (0, 500)}

board = pytest.mark.xdist_group(f"host-{KERNEL}")


def assert_apart(figures: dict[str, int]):
    """No figure depends on the number of slots elsewhere."""
    assert figures["notify.no_slot"] - figures["notify.no_vm"] <= BESIDE, figures
    for name in ("slot", "mapped"):
        assert figures[f"notify.{name}"] - figures["notify.no_slot"] <= IN_SLOT, figures


def assert_aliases(slots: int, figures: dict[str, int], no_vm: int):
    """Each is visited, as by KVM; a page beside them costs the same as any other."""
    assert figures["notify.beside_aliases"] - no_vm <= BESIDE, figures
    assert figures["notify.unused_aliases"] < figures["notify.aliases"] <= SLOT * slots, figures


def assert_entries(row: Row, figures: dict[str, int], bound: int, *names: str):
    assert figures.get("entries", 0) >= row.entries, figures
    assert all(0 < figures[name] <= bound for name in names), figures


def assert_not_long(row: Row, figures: dict[str, int]):
    assert figures["entries"] >= row.entries, figures
    assert f"{row.measured[0]}.longest" in figures and not too_long(figures), figures


@board
def test_a_page_costs_as_much_with_thousands_of_slots_elsewhere():
    assert_apart(measure(KERNEL, ROWS)[APART])


@board
def test_thousands_of_slots_on_one_page():
    figures = measure(KERNEL, ROWS)
    assert_aliases(4094, figures[ALIASES[4094]], figures[APART]["notify.no_vm"])


@board
def test_a_page_that_the_guest_has_mapped_very_often():
    figures = measure(KERNEL, ROWS)
    assert_entries(FRAME, figures[FRAME], ENTRIES, "notify.frame", "notify.frame_again")
    assert_entries(FRAMES, figures[FRAMES], ENTRIES_OF_FRAMES, "notify.frames")


@board
def test_age_of_a_page_beside_thousands_of_slots():
    """Three looks of DAMON's thread, at pages that are in no slot."""
    figures = measure(KERNEL, ROWS)[AGE]
    assert 0 < figures["age_apart.took"] <= 100_000, figures


@board
@pytest.mark.parametrize("row", [GONE, CHANGED], ids=lambda row: row.id)
def test_tables_of_a_process_are_not_searched_for_long(row: Row):
    assert_not_long(row, measure(KERNEL, ROWS)[row])


def test_who_is_short_of_memory_does_not_pay_for_slots():
    """A process with two VMs and many slots has most of the memory: others wait no longer."""
    figures = measure(
        KERNEL, tuple(RECLAIM.values()), memory=512, modules=swap_modules(KERNEL), before=SWAP
    )
    without, with_slots = (figures[row]["reclaim.total"] for row in RECLAIM.values())
    assert 0 < with_slots < 2 * without, figures


@pytest.mark.conformance
@pytest.mark.parametrize("kernel", OTHERS)
def test_the_same_on_other_kernels(kernel: str):
    figures = measure(kernel, (APART, FRAME))
    assert_apart(figures[APART])
    assert_entries(FRAME, figures[FRAME], ENTRIES, "notify.frame", "notify.frame_again")


@pytest.mark.conformance
def test_as_many_as_there_may_be():
    figures = measure(KERNEL, LONG, memory=2048, timeout=1800)
    apart, aliases, frame, changed = (figures[row] for row in LONG)
    assert_apart(apart)
    assert_aliases(32760, aliases, apart["notify.no_vm"])
    assert_entries(LONG[2], frame, ENTRIES, "notify.frame", "notify.frame_again")
    assert_not_long(LONG[3], changed)


@pytest.mark.conformance
def test_no_more_than_kvm_and_the_host_take():
    """The same row on KVM, and a page of the host's that a process has mapped very often."""
    kvm = measure(KERNEL, (ALIASES[4094], HOST), el2=True)
    ours = measure(KERNEL, ROWS)
    many = "notify.aliases"
    assert 0 < ours[ALIASES[4094]][many] < kvm[ALIASES[4094]][many], (ours, kvm)
    assert 0 < ours[FRAME]["notify.frame"] < kvm[HOST]["notify.host"], (ours, kvm)
