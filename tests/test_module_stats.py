# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The module's statistics: counts, times, histograms by class of exit, and tracepoints.

The guests are a few instructions each, so counts are known exactly.
"""

import json
import re
import struct
from pathlib import Path

import pytest
from built import TOP, module
from tiny_guests import HVC, ISB, RTC, SYSTEM_OFF, WFI_LOOP, image, ldr, load, msr, psci

from armvisor_lab import records
from armvisor_lab.boards.board import Board
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.figures import artefacts
from armvisor_lab.report import build, page

# One worker runs them all, on one board.
pytestmark = pytest.mark.xdist_group("module_stats")

MARK = "\x1e"
READS = 50
CONTEXTS = 200
SCTLR, TTBR0, TCR, MAIR = (3, 0, 1, 0, 0), (3, 0, 2, 0, 0), (3, 0, 2, 0, 2), (3, 0, 10, 2, 0)


def contexts() -> bytes:
    """A guest that runs itself under many ASIDs, with a table of one block, and then waits."""
    start, table, block = 0x4000_0000, 0x4000_1000, 0x4000_0701
    words = [*load(2, 0xFF), msr(MAIR, 2), *load(2, 0x0080_3519), msr(TCR, 2)]
    words += [*load(1, table), msr(TTBR0, 1), ISB, *load(2, 0x00C5_0079), msr(SCTLR, 2), ISB]
    words += [*load(4, CONTEXTS), 0xD2E0_0026]  # x6 = 1 << 48
    words += [0x8B06_0021, msr(TTBR0, 1), ISB, 0xF100_0484]  # x1 += x6; …; x4 -= 1
    words += [0xB500_0004 | (-4 & 0x7FFFF) << 5, *WFI_LOOP]  # again while x4
    code = image(*words, size=0x2000).ljust(table - start, b"\0")
    return code + struct.pack("<2Q", 0, block).ljust(0x1000, b"\0")


READ_ID, READ_ESR = 0xD538_0403, 0xD538_5203  # mrs x3, ID_AA64PFR0_EL1 and ESR_EL1
MIGRATE_INFO_TYPE = 0x8400_0006
CALLS, IDS, FASTS = 41, 37, 23


def known(*end: int) -> bytes:
    """A guest with a known number of traps of each kind, and a known end."""
    words = [*load(1, RTC), *[ldr(2, 1)] * READS]
    words += [*load(0, MIGRATE_INFO_TYPE), HVC] * CALLS
    words += [READ_ID] * IDS + [READ_ESR] * FASTS
    return image(*words, *end)


GUESTS = {
    "known": known(*WFI_LOOP),
    "known-off": known(*psci(SYSTEM_OFF)),
    "reads": image(*load(1, RTC), *[ldr(2, 1)] * READS, *psci(SYSTEM_OFF)),
    "waiting": image(*WFI_LOOP),
    "contexts": contexts(),
}
SCRIPT = """
cd /sys/kernel/tracing/
echo 1 >events/armvisor/enable
armvisor run --kernel /g/timer --memory 64M >/dev/null </dev/null || exit
echo 0 >events/armvisor/enable
printf '\\036'; grep -o ' av_[a-z]*: .*' trace | sort -u -k1,1
printf '\\036'; armvisor run --kernel /g/reads --memory 32M --json </dev/null || exit
armvisor run --kernel /g/waiting --memory 32M --name waiting >/out 2>&1 </dev/null & vm=$!
for try in $(seq 6000); do armvisor list | grep -q '^waiting ' && break; sleep 0.1; done
sleep 1
printf '\\036'; armvisor stat waiting --json || exit
printf '\\036'; armvisor stat waiting || exit
armvisor stop --force waiting; wait $vm
armvisor run --kernel /g/contexts --memory 32M --name contexts >/out 2>&1 </dev/null & vm=$!
for try in $(seq 6000); do armvisor list | grep -q '^contexts ' && break; sleep 0.1; done
sleep 1
printf '\\036'; armvisor stat contexts --json || exit
echo 2 >/proc/sys/vm/drop_caches
printf '\\036'; armvisor stat contexts --json || exit
armvisor stop --force contexts; wait $vm
echo 1 >/sys/module/armvisor/parameters/accounting
armvisor run --kernel /g/known --memory 32M --name known >/out 2>&1 </dev/null & vm=$!
for try in $(seq 6000); do armvisor list | grep -q '^known ' && break; sleep 0.1; done
sleep 1
printf '\\036'; armvisor stat known --json | tee /before || exit
printf '\\036'; armvisor stat known || exit
sleep 1
printf '\\036'; armvisor stat known --accounting off --since /before --json || exit
(sleep 3; armvisor stop --force known) &
printf '\\036'; armvisor stat known --accounting on --watch || exit
wait $vm
printf '\\036'; armvisor stat known 2>&1; echo "status $?"
printf '\\036'; armvisor run --kernel /g/known-off --memory 32M --json </dev/null; exit
"""
# armvisor's names for them (vmm/armvisor/src/exits.rs).
NAMES = {"hvc_exit_stat": "hvc", "wfi_exit_stat": "wfi", "wfe_exit_stat": "wfe"}
NAMES |= {"mmio_exit_user": "mmio_user", "mmio_exit_kernel": "mmio_kernel"}
NAMES |= {"signal_exits": "signal"}


@pytest.fixture(scope="module")
def told() -> list[str]:
    files = {f"/g/{name}": data for name, data in GUESTS.items()}
    files |= {"/g/timer": artefacts.bare("timer"), "/bin/armvisor": artefacts.vmm()}
    files |= {"/armvisor.ko": module("stable")}
    files |= {"/script": f"insmod /armvisor.ko\n{SCRIPT}".encode()}
    done = Board(files=files, count=True, timeout=1200).run(["sh", "/script"])
    assert not done.failure and done.status == 0, f"{done.failure}\n{done.text}\n{done.stderr}"
    return done.text.split(MARK)[1:]


def groups() -> dict[str, list[str]]:
    """The statistics that add up to each group."""
    text = (TOP / "module/stats/classes.h").read_text()
    members: dict[str, list[str]] = {}
    for name, group in re.findall(r'X\(\w+,\s+"(\w+)",\s+([A-Z_]+)\)', text):
        members.setdefault(group, []).append(NAMES.get(name, name))
    names = dict(re.findall(r'X\(([A-Z_]+),\s+"(\w+)"\)', text))
    return {names[group]: classes for group, classes in members.items()}


def assert_adds_up(exits: dict[str, int]):
    assert len(groups()) > 10
    for group, classes in groups().items():
        for unit in ("", "_ns"):
            assert exits[group + unit] == sum(exits[name + unit] for name in classes), group
        # Time before the first exit is "other"; an exit that is not over has no time yet.
        for name in set(classes) - {"other"}:
            assert exits[name] or not exits[f"{name}_ns"], name


def test_exits_are_counted_by_class_with_their_time(told):
    exits = json.loads(told[1].splitlines()[-1])["kvm_exits"]
    assert_adds_up(exits)
    assert (exits["mmio_user"], exits["mmio_kernel"], exits["hvc"]) == (READS, 0, 1)
    assert exits["pabt_hidden"] >= 1
    # The guest has no floating point.
    assert exits["fp_load"] == exits["fp_first_use"] == 0
    for name in ("guest", "vmm", "mmio_user", "hvc", "pabt_hidden"):
        assert exits[f"{name}_ns"] > 0, name


def test_an_entry_flushes_where_the_host_has_global_mappings(told):
    """The board has them: no KASLR, no KPTI. With KPTI it has none (docs/tlb.md)."""
    exits = json.loads(told[1].splitlines()[-1])["kvm_exits"]
    assert exits["entry_flush"] == exits["total"] >= READS
    board = Board(
        files={"/g/reads": GUESTS["reads"], "/bin/armvisor": artefacts.vmm()},
        modules=(Module(str(module("stable"))),), count=True, append="kpti=1",
    )  # fmt: skip
    done = board.run(["armvisor", "run", "--kernel", "/g/reads", "--memory", "32M", "--json"])
    exits = json.loads(done.check().text.splitlines()[-1])["kvm_exits"]
    assert exits["total"] >= READS and exits["entry_flush"] == 0


def test_stat_shows_a_running_vms_exits(told):
    exits = json.loads(told[2])["vcpus"][0]["kvm"]
    assert_adds_up(exits)
    assert exits["wfi"] >= 1 and exits["mmio_user"] == 0
    assert re.search(r"^  wfi +wfi_exit_stat +[1-9]", told[3], re.M)
    assert re.search(r"shadow memory: [1-9]\d* KiB in [1-9]", told[3])


def test_a_host_short_of_memory_gets_shadow_tables_back(told):
    before, after = (json.loads(text.splitlines()[0])["kvm"] for text in told[4:6])
    assert before["shadow_trees"] >= CONTEXTS and before["shadow_reclaim"] == 0
    # The vCPU keeps its recent trees: 32.
    assert 0 < after["shadow_trees"] <= CONTEXTS // 4
    assert after["shadow_pages"] <= before["shadow_pages"] // 4
    assert after["shadow_reclaim"] > 0


def test_tracepoints_tell_of_entry_exit_fault_and_injection(told):
    lines = {line.split(":")[0].strip(): line for line in told[0].splitlines() if line.strip()}
    assert set(lines) == {"av_entry", "av_exit", "av_fault", "av_inject"}
    assert re.search(r"vcpu=0 pc=0x[0-9a-f]+ pstate=0x[0-9a-f]+$", lines["av_entry"])
    assert re.search(r"vcpu=0 exit=\d+ pc=0x\w+ ec=\w+ esr=0x\w+ far=0x\w+$", lines["av_exit"])
    assert re.search(r"va=0x\w+ ipa=0x\w+ esr=0x\w+ result=-?\d+$", lines["av_fault"])
    assert re.search(r"vector=0x\w+ pc=0x\w+ esr=0x\w+ far=0x\w+$", lines["av_inject"])


def classes(stat: dict) -> dict[str, dict]:
    """The rows of `armvisor stat --json` by name, including those within others."""
    rows = stat["cost"]["classes"] + stat["cost"]["places"]
    return {row["name"]: row for each in rows for row in (each, *each.get("rows", ()))}


def p99(buckets: list[int]) -> int:
    """The upper end of the bucket that holds the 99th percentile."""
    samples = [2**i for i, number in enumerate(buckets) for _ in range(number)]
    return samples[-(-len(samples) * 99 // 100) - 1]


def test_stat_is_right_for_a_guest_that_traps_a_known_number_of_times(told):
    stat = json.loads(told[6])
    rows = classes(stat)
    assert {name: rows[name]["count"] for name in ("mmio_user", "hvc", "id_reg", "esr_el1")} == {
        "mmio_user": READS, "hvc": CALLS, "id_reg": IDS, "esr_el1": FASTS,
    }  # fmt: skip
    assert rows["fast_trap"]["count"] == FASTS
    # One sample per exit; everything except fast traps is timed.
    for name, count in (("mmio_user", READS), ("hvc", CALLS), ("id_reg", IDS)):
        buckets = stat["histograms"][f"{name}_hist"]
        assert sum(buckets) == count
        assert rows[name]["p99_ns"] == p99(buckets)
        # Bucket n is from 2^(n-1) to 2^n; the total time is the sum of the samples.
        least = sum(n * (2 ** (i - 1) if i else 0) for i, n in enumerate(buckets))
        assert least <= rows[name]["ns"] <= sum(n * 2**i for i, n in enumerate(buckets))
    assert sum(stat["histograms"]["vmm_hist"]) == READS
    assert rows["fast_trap"]["ns"] is None


def test_the_page_is_right_for_a_guest_that_traps_a_known_number_of_times(told, tmp_path: Path):
    vm = json.loads(told[11].splitlines()[-1])
    file = tmp_path / "demo.json"
    file.write_text(json.dumps({"schema": 1, "demo": {"report": vm}}))
    made = build.report([records.read(file)])
    time = next(each for each in made.sections if each.id == "time")
    shown = {row[0].text: row[1].text for table in time.tables for row in table.rows}
    # The guest ends with one more call.
    wanted = {"hypercall": CALLS + 1, "mmio": READS, "fast_trap": FASTS, "mmio_user_read": READS}
    assert {name: int(shown[name]) for name in wanted} == wanted
    assert vm["kvm_exits"]["id_reg"] == IDS and vm["kvm_exits"]["hvc"] == CALLS + 1
    assert f"<td>{READS}</td>" in re.sub(r"<td[^>]*>", "<td>", page.render(made))


def test_the_terms_are_the_vcpus_life(told):
    cost = json.loads(told[6])["cost"]
    assert 0 < cost["terms"]["guest_performance_ratio"] < 1
    cost = json.loads(told[8])["cost"]
    terms = {name: value for name, value in cost["terms"].items() if isinstance(value, int)}
    assert set(terms) == {"native", "cpu", "mem", "io", "suspend", "idle", "epsilon"}
    life = cost["seconds"] * 1e9
    assert abs(sum(terms.values()) - life) < life / 1000
    # It waits.
    assert terms["idle"] > life * 0.9


def test_stat_shows_a_table(told):
    lines = told[7].splitlines()
    table = {line.split()[0]: line for line in lines if line.split()}
    assert re.search(
        rf"^  hvc +hvc_exit_stat +{CALLS} +\d+ +\S+ [mun]s +\S+ [un]s +<\S+ [un]s +\d", table["hvc"]
    )
    assert re.search(rf"^  esr_el1 +- +{FASTS} +\d+ +- +- +- +-$", table["esr_el1"])
    assert "Guest Performance Ratio 0." in told[7]
    assert re.search(r"faults: \d+ hidden, 0 true; mapped: [1-9]\d* pages of 4 KiB", told[7])


def test_since_shows_what_came_since(told):
    stat = json.loads(told[8])
    rows = classes(stat)
    assert rows["hypercall"]["count"] == rows["mmio"]["count"] == 0 and "hvc" not in rows
    assert stat["cost"]["accounting"] is False and 1 < stat["cost"]["seconds"] < 2


def test_watching_goes_on_until_the_vm_ends(told):
    lines = told[9].splitlines()
    assert 2 <= len(lines) <= 5
    assert f"hypercall {CALLS}" in lines[0]
    assert all("hypercall" not in line and "idle" in line for line in lines[1:]), lines
    assert "VM known: no VM of that name runs" in told[10] and "status 9" in told[10]
