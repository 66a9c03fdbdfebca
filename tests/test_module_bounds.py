# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""No guest and no VMM holds a CPU of the host for long, nor much memory that is not its own.

Counted boards: an instruction is a nanosecond, and figures repeat. What is measured is in
module/tests/kvm/meter.h: spinning locks, interrupts or preemption off, and on a kernel that is not
preemptible (6.1, 6.12) all that it does before it offers the CPU. Mutexes do not count.
"""

import platform
import re
import subprocess
from dataclasses import dataclass

import pytest
from bounds_runs import BOUND, measure, too_long
from built import TOP, make, module

KERNEL = "stable"
OTHERS = ("oldstable", "newest")


@dataclass(frozen=True)
class Row:
    """Rows of module/tests/kvm/bounds of one board, and what must have been reached."""

    names: str
    settings: str = ""
    # Shadow entries that the guest made first.
    entries: int = 0
    # Operations that must have been under the meter.
    measured: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return "-".join(f"{self.settings} {self.names}".split())


ROWS = (
    Row("frame", "ENTRIES=65536", 65536, ("frame.log_on", "frame.log_read")),
    Row("frame_zap", "", 2 << 20, ("frame.zap",)),
    Row("frame_slot", "", 2 << 20, ("frame.slot_deleted",)),
    Row("tables_all tables_asid", "", 512000, ("tables.all", "tables.asid")),
    Row("tables_block", "", 1 << 18, ("tables.block",)),
    Row("tables_budget tables_close", "", 512000, ("tables.budget", "tables.close")),
    Row("tables_exit tables_shrink", "", 512000, ("tables.exit", "tables.shrink")),
    Row("tables_unmap", "", 512000, ("tables.unmap",)),
    Row(
        "slot", "", 0,
        ("slot.create", "slot.drop", "slot.log_on", "slot.log_read", "slot.log_off", "slot.move",
         "slot.delete", "slot.unmap", "slot.close"),
    ),
    Row(
        "slots_many", "SLOTS=8190", 0,
        ("slots_many.create", "slots_many.flags", "slots_many.delete", "slots_many.drop_other",
         "slots_many.drop", "slots_many.close"),
    ),
    Row(
        "gic", "VCPUS=240", 0,
        ("gic.create", "gic.user", "gic.user_control", "gic.user_levels", "gic.guest",
         "gic.guest_control", "gic.guest_route", "gic.guest_sgi", "gic.lines", "gic.close"),
    ),
    Row(
        "its", "", 0,
        ("its.map", "its.raise", "its.invall", "its.movall", "its.save_pending", "its.lpis_off",
         "its.lpis_on", "its.off_on", "its.save", "its.reset", "its.restore", "its.messages",
         "its.mapd", "its.discard", "its.close"),
    ),
    Row("routes", "", 0, ("routes",)),
    Row("age_page age_huge", "", 0, ("age_page", "age_huge", "age_huge.drop")),
    Row("age_page age_huge", "FILLED=64", 32768, ("age_page", "age_huge", "age_huge.drop")),
)  # fmt: skip
# The same with as much as a host can stand, and on the other kernels.
LONG = (
    Row("frame", "", 2 << 20, ("frame.log_on", "frame.log_read")),
    Row("frame_zap", "ENTRIES=14680064", 14680064, ("frame.zap",)),
    Row("slots_many", "", 0, ("slots_many.create", "slots_many.drop_other", "slots_many.close")),
    Row("age_huge", "FILLED=1984", 1 << 20, ("age_huge", "age_huge.drop")),
)


def check(row: Row, kernel: str, memory: int = 1024, timeout: float = 250):
    script = "\n".join(f"{row.settings} /bounds {name}" for name in row.names.split())
    figures = measure(kernel, module(kernel), script, memory=memory, timeout=timeout)
    missing = {f"{name}.longest" for name in row.measured} - figures.keys()
    assert not missing and figures.get("entries", 0) >= row.entries, figures
    assert not too_long(figures), figures


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_no_cpu_is_held_for_long(row: Row):
    check(row, KERNEL)


@pytest.mark.conformance
@pytest.mark.parametrize("kernel", OTHERS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_no_cpu_is_held_for_long_on_other_kernels(row: Row, kernel: str):
    check(row, kernel)


@pytest.mark.conformance
@pytest.mark.parametrize("row", LONG, ids=lambda row: row.id)
def test_no_cpu_is_held_for_long_by_more(row: Row):
    check(row, KERNEL, memory=2048, timeout=1200)


ALL_KERNELS = [KERNEL, *(pytest.param(k, marks=pytest.mark.conformance) for k in OTHERS)]


@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_a_host_at_rest_is_far_from_the_bound(kernel: str):
    figures = measure(kernel, module(kernel), "/bounds idle")
    assert 20_000 < figures["idle.longest"] < BOUND / 2, figures


@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_the_meter_sees_what_holds_a_cpu(kernel: str):
    """A lock held and interrupts off for so long, the same work in parts, and the bound itself."""
    make(str(TOP / "module"), f"KVER={kernel}", "stall")
    stall = TOP / "build/module" / kernel / "tests/stall/stall.ko"
    script = """insmod /stall.ko
    for way in lock irq offered; do
        FILE=/sys/module/stall/parameters/$way WORD=300 NAME=$way /bounds write
        FILE=/sys/module/stall/parameters/$way WORD=150 NAME=short_$way /bounds write
    done"""
    figures = measure(kernel, module(kernel), script, {"/stall.ko": stall})
    for way in ("lock", "irq"):
        assert 300_000 < figures[f"{way}.longest"] < 350_000, figures
        assert 150_000 < figures[f"short_{way}.longest"] < BOUND, figures
    assert figures["offered.longest"] < 80_000 < figures["offered.total"], figures
    assert set(too_long(figures)) == {"lock.longest", "irq.longest"}


def test_empty_slots_take_no_memory():
    """Of 512 GiB of slots, KVM takes nothing that can be seen."""
    figures = measure(KERNEL, module(KERNEL), "/bounds slot_memory")
    assert figures["slot.memory"] < 16 << 10, figures


def test_what_a_vm_takes_is_its_groups():
    """All that a guest makes the host allocate is charged to the VMM's memory control group."""
    figures = measure(KERNEL, module(KERNEL), "/bounds slot_charged")
    assert 32 << 10 < figures["slot.taken"] < figures["slot.charged"] + 1024, figures


def test_one_user_does_not_take_all_asids():
    """32 VMs run 65,536 contexts; others' VMs run, and processes switch as fast as before."""
    figures = measure(KERNEL, module(KERNEL), "/bounds asids", memory=2048)
    assert figures["asids.other_user"] == 0, figures
    assert figures["asids.after.total"] < 1.1 * figures["asids.before.total"], figures
    assert figures["asids.contexts"] > 0 and not too_long(figures), figures


@pytest.mark.parametrize("act", ["va", "asid", "all"])
def test_one_vms_tlbi_is_no_others(act: str, flushes: dict[str, int]):
    """By the statistics: a VM of four vCPUs flushes, the VM beside it keeps all that it has."""
    assert flushes[f"flushes.{act}.asked"] > 0, flushes
    assert flushes[f"flushes.{act}.others"] == flushes[f"flushes.{act}.filled"] == 0, flushes


def test_a_context_that_is_taken_from_a_tree_is_counted(flushes: dict[str, int]):
    assert flushes["flushes.recycled"] > 0, flushes


@pytest.fixture(scope="module")
def flushes() -> dict[str, int]:
    return measure(KERNEL, module(KERNEL), "/bounds flushes")


def test_no_tlbi_of_the_whole_machine():
    """Where the host's mappings are global a CPU flushes its own TLB; nobody flushes all CPUs'."""
    prefix = "" if platform.machine() == "aarch64" else "aarch64-linux-gnu-"
    code = subprocess.run(
        [f"{prefix}objdump", "-d", str(module(KERNEL))], capture_output=True, text=True, check=True
    ).stdout
    issued = set(re.findall(r"\ttlbi\t(\w+)", code))
    assert "aside1is" in issued and "vmalle1is" not in issued, issued
