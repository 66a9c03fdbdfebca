# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""What the module tells of itself: counts and times by class of exit, and tracepoints.

The guests are a few instructions each, so counts are known exactly.
"""

import json
import re
import struct

import pytest
from built import TOP, module
from tiny_guests import ISB, RTC, SYSTEM_OFF, WFI_LOOP, image, ldr, load, msr, psci

from armvisor_lab.board import Board
from armvisor_lab.figures import artefacts
from armvisor_lab.initramfs import Module

# One worker runs them all, on one board.
pytestmark = pytest.mark.xdist_group("module_stats")

MARK = "\x1e"
READS = 50
CONTEXTS = 100
SCTLR, TTBR0, TCR, MAIR = (3, 0, 1, 0, 0), (3, 0, 2, 0, 0), (3, 0, 2, 0, 2), (3, 0, 10, 2, 0)


def contexts() -> bytes:
    """A guest that runs itself under many ASIDs, by a table of one block, and then waits."""
    start, table, block = 0x4000_0000, 0x4000_1000, 0x4000_0701
    words = [*load(2, 0xFF), msr(MAIR, 2), *load(2, 0x0080_3519), msr(TCR, 2)]
    words += [*load(1, table), msr(TTBR0, 1), ISB, *load(2, 0x00C5_0079), msr(SCTLR, 2), ISB]
    words += [*load(4, CONTEXTS), 0xD2E0_0026]  # x6 = 1 << 48
    words += [0x8B06_0021, msr(TTBR0, 1), ISB, 0xF100_0484]  # x1 += x6; …; x4 -= 1
    words += [0xB500_0004 | (-4 & 0x7FFFF) << 5, *WFI_LOOP]  # again while x4
    code = image(*words, size=0x2000).ljust(table - start, b"\0")
    return code + struct.pack("<2Q", 0, block).ljust(0x1000, b"\0")


GUESTS = {
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
for try in $(seq 100); do armvisor list | grep -q '^waiting ' && break; sleep 0.1; done
sleep 1
printf '\\036'; armvisor stat waiting --json || exit
printf '\\036'; armvisor stat waiting || exit
armvisor stop --force waiting; wait $vm
armvisor run --kernel /g/contexts --memory 32M --name contexts >/out 2>&1 </dev/null & vm=$!
for try in $(seq 100); do armvisor list | grep -q '^contexts ' && break; sleep 0.1; done
sleep 1
printf '\\036'; armvisor stat contexts --json || exit
echo 2 >/proc/sys/vm/drop_caches
printf '\\036'; armvisor stat contexts --json || exit
armvisor stop --force contexts; wait $vm; exit 0
"""
# What armvisor calls them (vmm/armvisor/src/exits.rs).
NAMES = {"hvc_exit_stat": "hvc", "wfi_exit_stat": "wfi", "wfe_exit_stat": "wfe"}
NAMES |= {"mmio_exit_user": "mmio_user", "mmio_exit_kernel": "mmio_kernel"}
NAMES |= {"signal_exits": "signal"}


@pytest.fixture(scope="module")
def told() -> list[str]:
    files = {f"/g/{name}": data for name, data in GUESTS.items()}
    files |= {"/g/timer": artefacts.bare("timer"), "/bin/armvisor": artefacts.vmm()}
    files |= {"/armvisor.ko": module("stable")}
    files |= {"/script": f"insmod /armvisor.ko\n{SCRIPT}".encode()}
    done = Board(files=files, count=True, timeout=120).run(["sh", "/script"])
    assert not done.failure and done.status == 0, f"{done.failure}\n{done.text}\n{done.stderr}"
    return done.text.split(MARK)[1:]


def groups() -> dict[str, list[str]]:
    """The statistics that each group is the sum of."""
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
        # What was before the first exit is "other"; an exit not yet over has no time.
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
    """The board has: no KASLR, no KPTI. With KPTI it has none (docs/tlb.md)."""
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
    assert re.search(r"vcpu0 kvm .* wfi [1-9]", told[3])
    assert re.search(r"kvm .*shadow_pages [1-9]", told[3])


def test_a_host_short_of_memory_gets_shadow_tables_back(told):
    before, after = (json.loads(text.splitlines()[0])["kvm"] for text in told[4:6])
    assert before["shadow_trees"] >= CONTEXTS and before["shadow_reclaim"] == 0
    # What the vCPU has at hand stays.
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
