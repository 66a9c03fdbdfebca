# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""No guest and no VMM holds a CPU of the host for long, or takes much memory that is not its own.

Counted boards: an instruction is a nanosecond, and figures repeat. What is measured is in
module/tests/kvm/bounds/meter.h: spinning locks, interrupts or preemption off, and on a kernel that
is not preemptible (6.1, 6.12) all that it does before it offers the CPU. Mutexes do not count.
"""

import platform
import re
import subprocess

import pytest
from bounds_api import flat, surface, table
from bounds_runs import BOUND, Figures, Row, measure, too_long
from built import module

from armvisor_lab.archive import kernels

KERNEL = "stable"
OTHERS = ("oldstable", "newest")
ALL_KERNELS = [KERNEL, *(pytest.param(k, marks=pytest.mark.conformance) for k in OTHERS)]


def operations(group: str, names: str) -> tuple[str, ...]:
    return tuple(f"{group}.{name}" for name in names.split())


PAGE_OF_TREES = operations("tables", "page_va page_vaa page_again")

# Rows are as large as it takes for a hold that grows with them to be over the bound: a hundred
# instructions a table, ten an entry. `make test-conformance` has the most that there may be.
#
# So many leaf tables, with 16 entries each.
TABLES = "TABLES=3000"
TABLES_ENTRIES = 48_000
WINDOW = Row("window", "TABLES=3000", 3000, operations("window", "moves close"))
KEPT = Row("tables_kept", TABLES, TABLES_ENTRIES, operations("tables", "kept kept_not"))

# More address spaces than the vCPUs keep trees for, with a run in each. `make test-conformance` has
# the largest VM.
VCPUS, PLACES = 130, 32
SPACES = Row("spaces", f"VCPUS={VCPUS}", VCPUS * (PLACES + 1),
             operations("spaces", "run vaa all close"))  # fmt: skip

IRQFDS = operations("irqfd_many", "assign deassign close resample routes resample_deassign vm")

# A call of the notifier drops 12,288 of these one by one, and then unlinks all tables.
MANY_BLOCKS = 16384
BLOCKS = Row("blocks", f"ENTRIES={MANY_BLOCKS}", MANY_BLOCKS,
             operations("blocks", "count log_on log_read log_off punch"))  # fmt: skip
BLOCKS_SLOT = Row("blocks_slot", f"ENTRIES={MANY_BLOCKS}", MANY_BLOCKS, ("blocks.slot_deleted",))
SLOTS_MANY = Row("slots_many", "SLOTS=8190", 0, operations(
    "slots_many", "first last create flags delete drop_other drop close"))  # fmt: skip

TOPICS = {
    "frames": (
        Row("frame", "ENTRIES=32768", 32768, operations("frame", "log_on log_read")),
        Row("frame_zap", "ENTRIES=65536", 1 << 16, ("frame.zap",)),
        Row("frame_slot", "ENTRIES=65536", 1 << 16, ("frame.slot_deleted",)),
    ),
    "tables": (
        Row("tables_all tables_asid", TABLES, TABLES_ENTRIES, operations("tables", "all asid")),
        Row("tables_block", "PAGES=1", 1 << 18, ("tables.block",)),
        Row("tables_exit tables_shrink tables_close", TABLES, TABLES_ENTRIES,
            operations("tables", "exit shrink close")),
        KEPT,
        Row("tables_trees", "TREES=1000", 1000, ("tables.trees",)),
        # Two trees an address space: as many as a VM with few vCPUs may have.
        Row("tables_page", "TREES=2000", 32000, PAGE_OF_TREES),
        Row("tables_sparse", "", 4096, operations("tables", "sparse_va sparse_all")),
        Row("tables_unmap", TABLES, TABLES_ENTRIES, ("tables.unmap",)),
        WINDOW,
    ),
    "blocks": (BLOCKS, BLOCKS_SLOT),
    "copies": (
        Row("copies", "COPIES=2048", 2048, operations("copies", "zap slot_deleted forgotten")),
        Row("copies_aliases", "ENTRIES=16384", 16384, ("copies_aliases.forgotten",)),
        Row("copies_frame", "ENTRIES=16384", 16384, operations("copies_frame", "written zap")),
    ),
    "log": (
        Row("log", "ENTRIES=16384", 2 * 16320, operations("log", "on read clear")),
        Row("ring", "ENTRIES=16384", 16319 + 63 * 256, operations("ring", "on create reset apart")),
    ),
    "contexts": (Row("contexts", "", 253 * 8, operations("contexts", "asid zap")),),
    "slots": (
        Row(
            "slot", "", 0,
            operations("slot", "create drop log_on log_read log_off move delete unmap close"),
        ),
        SLOTS_MANY,
        Row(
            "slot_among_many", "SLOTS=4090 PAGES=8192", 8192,
            operations("slot_among_many", "log_on delete close"),
        ),
    ),
    "protected": (
        Row("gmem", "MIB=8", 0, operations("gmem", "seal close")),
        Row("gmem_large", "", 0, operations("gmem_large", "tib largest")),
        Row("gmem_slots", "SLOTS=4090", 0, operations("gmem_slots", "create delete seal close")),
    ),
    "interrupts": (
        Row(
            "gic", "VCPUS=240", 0,
            operations("gic", "create user user_control user_levels guest guest_control "
                       "guest_route guest_sgi lines close"),
        ),
        Row(
            "its", "EVENTS=16384", 0,
            operations("its", "map raise invall movall save_pending lpis_off lpis_on off_on save "
                       "reset restore messages mapd discard close"),
        ),
        Row("routes", "", 0, ("routes",)),
    ),
    "spaces": (
        SPACES,
        Row("roots", "", 30 * 480, ("roots.close",)),
    ),
    # The rest of the API: data/bounds_api.toml.
    "api": (
        Row("api_system", "", 0,
            operations("api", "get_api_version get_vcpu_mmap_size check_extension create_vm")),
        Row("api_vm", "", 0, operations(
            "api", "create_vcpu irq_line create_irqchip set_device_addr preferred_target "
            "reg_writable_masks test_device counter_offset enable_manual_protect enable_suspend "
            "enable_nisv enable_halt_poll enable_accounting enable_accounting_off has_vm_attr "
            "smccc_filter vm_stats vcpu_stats close enable_imp_ids enable_cheap enable_ring "
            "enable_ring_bitmap")),
        Row("api_vcpu", "", 200, operations(
            "api", "reg_list_count reg_list one_reg vcpu_init finalize get_mp_state set_mp_state "
            "get_events set_events signal_mask guest_debug guest_debug_off set_regs translate "
            "has_pvtime set_pvtime get_pvtime has_vtimer set_vtimer get_vtimer has_ptimer "
            "set_ptimer get_ptimer vcpu_close")),
        Row("api_vgic", "", 300, operations("api", "vgic_regions vgic_registers")),
        Row("api_its", "", 10, operations("api", "its_place its_registers")),
        Row("ioeventfd", "", 0, operations("ioeventfd", "assign deassign close")),
        Row("coalesced", "", 0, operations("coalesced", "register unregister close")),
    ),
    # A CPU with PMUv3.1, which has 65,536 events.
    "pmu": (
        Row("api_pmu", "", 0, operations(
            "api", "pmu_set_pmu pmu_filter pmu_filter_again pmu_counters pmu_irq pmu_init "
            "pmu_close")),
    ),
    "irqfds": (
        Row("irqfd_shared", "", 0, operations("irqfd_shared", "signal close")),
        Row("irqfd_many", "IRQFDS=2048", 0, IRQFDS),
    ),
    "calls": (
        Row("calls", "", 0, operations(
            "calls", "smccc_version arch_features pv_time_features pv_time_st trng_version "
            "trng_features trng_get_uuid trng_rnd32 trng_rnd64 vendor_uid vendor_features "
            "vendor_ptp psci_version migrate_info_type psci_features affinity_info cpu_on "
            "cpu_on_again cpu_suspend cpu_off system_suspend system_off system_reset "
            "system_reset2 system_off2 unknown smc")),
        Row("traps", "", 0, operations(
            "traps", "svc brk hlt udf wfi wfe eret fp sve pc_align dabt_device dabt_none "
            "ldxr_device daifset daifclr spsel pan sysreg sys")),
        Row("private", "MIB=4", 0, operations(
            "private", "hyp_meminfo measurement mem_share mem_unshare")),
    ),
    "ages": (
        Row("age_page age_huge", "", 0, ("age_page", "age_huge", "age_huge.drop")),
        Row("age_page age_huge", "PAGES=1 FILLED=64", 32768,
            ("age_page", "age_huge", "age_huge.drop")),
        Row("age_huge", "PAGES=1 FILLED=64 FLUSHED=1", 32768, ("age_huge", "age_huge.drop")),
        Row("age_huge", "FILLED=1984", 1984, ("age_huge", "age_huge.drop")),
    ),
}  # fmt: skip
# What is on one board.
BOARDS = {
    board: tuple(row for topic in topics for row in TOPICS[topic])
    for board, topics in {
        "tables": ("frames", "tables", "blocks"),
        "pages": ("copies", "log", "contexts", "slots", "protected", "ages"),
        "calls": ("interrupts", "spaces", "api", "irqfds", "calls"),
        "pmu": ("pmu",),
    }.items()
}
# Boards of another CPU.
CPUS = {"pmu": "cortex-a76"}
# With as much load as a host can stand, one board each.
LONG = (
    Row("tables_all tables_asid", "", 512000, operations("tables", "all asid")),
    Row("tables_exit tables_shrink", "", 512000, operations("tables", "exit shrink")),
    Row("tables_kept", "", 512000, operations("tables", "kept kept_not")),
    Row("tables_unmap", "", 512000, ("tables.unmap",)),
    Row("tables_budget tables_close", "", 512000, operations("tables", "budget close")),
    Row("its", "", 0, operations("its", "map raise invall movall save restore mapd discard close")),
    Row("gmem", "", 0, operations("gmem", "seal close")),
    Row("gmem_slots", "SLOTS=8190", 0, operations("gmem_slots", "create delete seal close")),
    Row("private", "", 0, operations("private", "mem_share mem_unshare")),
    Row("tables_trees", "", 2000, ("tables.trees",)),
    Row("tables_page", "TREES=1000", 16000, PAGE_OF_TREES),
    Row("log", "", 2 * 65472, operations("log", "on read clear")),
    Row("ring", "", 65471 + 63 * 1024, operations("ring", "on create reset apart")),
    Row("window", "", 256000, operations("window", "moves close")),
    Row("frame_slot", "", 2 << 20, ("frame.slot_deleted",)),
    Row("blocks", "", 65536, operations("blocks", "count log_on log_read log_off punch")),
    Row("copies_aliases", "", 65536, ("copies_aliases.forgotten",)),
    # With any number of free pages on the host's lists.
    Row(
        "copies copies_limit",
        "LISTS=1",
        8192,
        operations("copies", "zap slot_deleted forgotten limit shrink close"),
    ),
    Row("tables_all tables_close", "LISTS=1", 512000, operations("tables", "all close")),
    Row("copies_frame", "ENTRIES=2097152", 2 << 20, operations("copies_frame", "written zap")),
    Row("frame", "", 2 << 20, operations("frame", "log_on log_read")),
    Row("frame_zap", "ENTRIES=14680064", 14680064, ("frame.zap",)),
    Row("slots_many", "", 0, operations("slots_many", "create drop_other close")),
    Row("slot_among_many", "", 16384, operations("slot_among_many", "log_on delete close")),
    Row("age_huge", "PAGES=1 FILLED=1984", 1984 * 512, ("age_huge", "age_huge.drop")),
    Row("irqfd_many", "", 0, IRQFDS),
    Row("spaces", "SPACES=40 AGAIN=1", 10160, operations("spaces", "run again.run vaa all close")),
    Row("spaces_bases", "SPACES=40", 10160, operations("spaces_bases", "run vaa all close")),
    Row("spaces_high", "SPACES=40", 10160, operations("spaces_high", "run vaa all close")),
)

# Where the host may not sleep, only a preemptible kernel offers the CPU. In blocks, and in pages.
REAPS = (Row("reap", "", 128, ("reap",)), Row("reap", "PAGES=1", 65536, ("reap",)))

# For rows on a board without a bound, or with a different one.
IDLE = Row("idle")
MEMORY = Row("slot_memory")
CHARGED = Row("slot_charged")
ASIDS = Row("asids")
FLUSHES = Row("flushes")
# Ways to hold a CPU, for 300 and 150 microseconds.
STALLS = {
    (way, us): Row("write", f"FILE=/sys/module/stall/parameters/{way} WORD={us} NAME={way}")
    for way in ("lock", "irq", "offered")
    for us in (300, 150)
}
OTHER_ROWS = (IDLE, *STALLS.values(), FLUSHES, MEMORY, CHARGED, ASIDS)


def rows_of_boards(kernels: tuple[str, ...]) -> list:
    return [
        pytest.param(kernel, board, row, marks=pytest.mark.xdist_group(f"bounds-{kernel}-{board}"),
                     id=f"{kernel}-{row.id}")
        for kernel in kernels
        for board, rows in BOARDS.items()
        for row in rows
    ]  # fmt: skip


def measure_board(kernel: str, board: str) -> dict[Row, Figures]:
    if board in CPUS:
        return measure(kernel, BOARDS[board], cpu=CPUS[board])
    return measure(kernel, BOARDS[board])


def board_of(row: Row) -> str:
    return next(board for board, rows in BOARDS.items() if row in rows)


def beside(row: Row) -> pytest.MarkDecorator:
    """For a test that looks at what a row told."""
    return pytest.mark.xdist_group(f"bounds-{KERNEL}-{board_of(row)}")


def figures_of(row: Row) -> Figures:
    return measure_board(KERNEL, board_of(row))[row]


def assert_within(row: Row, figures: dict[str, int]):
    missing = {f"{name}.longest" for name in row.measured} - figures.keys()
    assert not missing and figures.get("entries", 0) >= row.entries, figures
    assert not too_long(figures), figures


def test_all_that_can_be_asked_for_has_a_figure():
    """Each ioctl, capability, attribute, call, trap and operation of the source, and no other."""
    there, listed = set(flat(surface())), set(table())
    assert there == listed, f"without a figure: {there - listed}; not there: {listed - there}"


def test_figures_are_measured():
    """Some row measures each figure of the table."""
    boards = [row for rows in BOARDS.values() for row in rows]
    measured = {name for row in (*boards, *LONG) for name in row.measured}
    named = {figure for figures in table().values() for figure in figures}
    assert not named - measured, f"no row measures {named - measured}"


@pytest.mark.parametrize(("kernel", "board", "row"), rows_of_boards((KERNEL,)))
def test_no_cpu_is_held_for_long(kernel: str, board: str, row: Row):
    assert_within(row, measure_board(kernel, board)[row])


@beside(KEPT)
def test_kept_tables_were_compared():
    figures = figures_of(KEPT)
    assert figures["tables.kept_agreed"] >= 512, figures
    assert figures["tables.kept_agreed_then"] == figures["tables.kept_agreed"], figures
    # The program's own table each time, too.
    assert figures["tables.kept_relinked"] == 4, figures


@beside(WINDOW)
def test_trees_go_when_the_window_has_moved():
    """512 moves, each to other trees: no more stay than a vCPU has at a time."""
    assert figures_of(WINDOW)["window.trees"] < 8


@beside(SPACES)
def test_all_places_have_their_trees():
    """No run failed. What the VM has at once is within its limits, and charged to its group."""
    figures = figures_of(SPACES)
    # A tree of the low half for each place, and those of the high half that all share.
    assert figures["spaces.trees"] > 7 / 8 * VCPUS * PLACES, figures
    # mmu/shadow/limits.h: a table is two pages, or three.
    assert figures["spaces.pages"] <= 3 * (2048 + 4 * VCPUS * PLACES), figures
    assert figures["spaces.charged"] >= 4 * figures["spaces.pages"], figures


@beside(BLOCKS)
def test_blocks_go_with_a_page_and_come_back():
    """A huge page mapped at many addresses: one in eight by a page, the others by blocks."""
    row, deleted = figures_of(BLOCKS), figures_of(BLOCKS_SLOT)
    assert row["blocks.mapped"] >= row["blocks.again"] >= MANY_BLOCKS * 7 // 8 - 64, row
    assert row["blocks.logged"] == row["blocks.punched"] == deleted["blocks.left"] == 0, row


@beside(SLOTS_MANY)
def test_a_slot_takes_no_longer_among_thousands():
    """512 slots added to 7,678 cost what the first 512 did."""
    figures = figures_of(SLOTS_MANY)
    assert figures["slots_many.last.total"] < 1.5 * figures["slots_many.first.total"], figures


@pytest.mark.conformance
@pytest.mark.parametrize(("kernel", "board", "row"), rows_of_boards(OTHERS))
def test_no_cpu_is_held_for_long_on_other_kernels(kernel: str, board: str, row: Row):
    if (
        row in TOPICS["ages"]
        and "\nCONFIG_DAMON_SYSFS=y\n" not in kernels.get(kernel).config.read_text()
    ):
        pytest.skip("only DAMON asks for the age of a process's pages, and this kernel has none")
    assert_within(row, measure_board(kernel, board)[row])


@pytest.mark.conformance
@pytest.mark.parametrize("row", LONG, ids=lambda row: row.id)
def test_no_cpu_is_held_for_long_by_more(row: Row):
    assert_within(row, measure(KERNEL, (row,), memory=2048, timeout=1800)[row])


@pytest.mark.conformance
@pytest.mark.parametrize("row", REAPS, ids=lambda row: row.id)
def test_no_lock_is_held_for_long_when_a_dying_vmm_is_reaped(row: Row):
    assert_within(row, measure("newest", (row,))[row])


@pytest.mark.xdist_group("bounds-others")
@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_a_host_at_rest_is_far_from_the_bound(kernel: str):
    figures = measure(kernel, OTHER_ROWS)[IDLE]
    assert 20_000 < figures["idle.longest"] < BOUND / 2, figures


@pytest.mark.xdist_group("bounds-others")
@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_the_meter_sees_what_holds_a_cpu(kernel: str):
    """A lock held and interrupts off for a known time; the same work in parts does not count."""
    figures = measure(kernel, OTHER_ROWS)
    for way in ("lock", "irq"):
        assert 300_000 < figures[STALLS[way, 300]][f"{way}.longest"] < 350_000, figures
        assert too_long(figures[STALLS[way, 300]]), figures
        assert 150_000 < figures[STALLS[way, 150]][f"{way}.longest"] < BOUND, figures
    offered = figures[STALLS["offered", 300]]
    assert offered["offered.longest"] < 80_000 < 300_000 < offered["offered.total"], offered


@pytest.mark.xdist_group("bounds-others")
def test_empty_slots_take_no_memory():
    """For 512 GiB of slots, KVM takes no measurable memory."""
    figures = measure(KERNEL, OTHER_ROWS)[MEMORY]
    assert figures["slot.memory"] < 16 << 10, figures


@pytest.mark.xdist_group("bounds-others")
def test_what_a_vm_takes_is_its_groups():
    """All memory that the host allocates for a guest is charged to the VMM's memory cgroup."""
    figures = measure(KERNEL, OTHER_ROWS)[CHARGED]
    assert 32 << 10 < figures["slot.taken"] < figures["slot.charged"] + 1024, figures


@pytest.mark.xdist_group("bounds-others")
def test_one_user_does_not_take_all_asids():
    """32 VMs run 65,536 contexts; other users' VMs run, and processes switch as fast as before."""
    figures = measure(KERNEL, OTHER_ROWS)[ASIDS]
    assert figures["asids.other_user"] == 0, figures
    assert figures["asids.after.total"] < 1.1 * figures["asids.before.total"], figures
    # A program has at most a quarter of them.
    assert 0 < figures["asids.contexts"] <= 1 << 14 and not too_long(figures), figures


@pytest.mark.xdist_group("bounds-others")
@pytest.mark.parametrize("act", ["va", "asid", "all"])
def test_one_vms_tlbi_is_no_others(act: str):
    """By the statistics: a VM of four vCPUs flushes, and the VM beside it loses nothing."""
    figures = measure(KERNEL, OTHER_ROWS)[FLUSHES]
    assert figures[f"flushes.{act}.asked"] > 0, figures
    assert figures[f"flushes.{act}.others"] == figures[f"flushes.{act}.filled"] == 0, figures


@pytest.mark.xdist_group("bounds-others")
def test_a_context_that_is_taken_from_a_tree_is_counted():
    figures = measure(KERNEL, OTHER_ROWS)[FLUSHES]
    assert figures["flushes.recycled"] > 0, figures


def test_no_tlbi_of_the_whole_machine():
    """Where the host's mappings are global a CPU flushes its own TLB; nobody flushes all CPUs'."""
    prefix = "" if platform.machine() == "aarch64" else "aarch64-linux-gnu-"
    code = subprocess.run(
        [f"{prefix}objdump", "-d", str(module(KERNEL))], capture_output=True, text=True, check=True
    ).stdout
    issued = set(re.findall(r"\ttlbi\t(\w+)", code))
    assert "aside1is" in issued and "vmalle1is" not in issued, issued
