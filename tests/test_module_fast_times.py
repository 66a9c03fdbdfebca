# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Times of fast traps: of each kind the module times those with count % 64 == 32.

So for any guest the number of samples is known exactly, and all figures must agree.
"""

import json
import re

import pytest
from built import TOP, module
from tiny_guests import HVC, SYSTEM_OFF, image, load, mrs, psci

from armvisor_lab.boards.board import Board
from armvisor_lab.figures import artefacts

pytestmark = pytest.mark.xdist_group("module_fast_times")

HEADER = (TOP / "module/stats/fast_time.h").read_text()
EVERY, PHASE, ROOM = (
    int(re.search(rf"#define AV_TIME_{name}\t(\d+)", HEADER)[1])
    for name in ("EVERY", "PHASE", "LOG")
)
NO_QUICK = 1023 & ~4
# The vCPU's registers: how often the guest reads each.
ESR, MIDR, CURRENTEL, TTBR1 = (3, 0, 5, 2, 0), (3, 0, 0, 0, 0), (3, 0, 4, 2, 2), (3, 0, 2, 0, 1)
READS = {"esr_el1": (ESR, 1000), "midr_el1": (MIDR, 416), "currentel": (CURRENTEL, 415)}
READS |= {"ttbr1_el1": (TTBR1, 31)}
MASKS, VERSIONS = 2000, 96


def times(count: int, *words: int) -> list[int]:
    """Execute these so many times, with x4 as the counter."""
    return [*load(4, count), *words, 0xF100_0484, 0xB500_0004 | (-len(words) - 1 & 0x7FFFF) << 5]


def known() -> bytes:
    words = []
    for register, count in READS.values():
        words += times(count, mrs(3, register))
    words += times(MASKS // 2, 0xD503_42DF, 0xD503_42FF)  # msr daifset, #2; daifclr
    words += times(VERSIONS, *load(0, 0x8400_0000), HVC)
    return image(*words, *psci(SYSTEM_OFF))


SCRIPT = f"""
insmod /armvisor.ko accounting=1 && cd /sys/module/armvisor/parameters || exit
run() {{ armvisor run --memory 64M --json --kernel /g/$1 </dev/null | grep '^{{"end"'; }}
run known && run hypercall && run units || exit
echo {NO_QUICK} >cheap_traps
run known && run units || exit
echo 0 >accounting; run known || exit
echo 1023 >cheap_traps
armvisor run --kernel /g/endless --memory 32M --name endless >/out 2>&1 </dev/null & vm=$!
for try in $(seq 6000); do armvisor list | grep -q '^endless ' && break; sleep 0.1; done
for time in 1 2 3; do
	armvisor stat endless --accounting on --json >/out || exit
	armvisor stat endless --accounting off --json >/out || exit
done
armvisor stat endless --accounting on --json >/before || exit
sleep 1
armvisor stat endless --json || exit
armvisor stat endless --since /before || exit
armvisor stop --force endless; wait $vm; exit 0
"""
NAMES = ("known", "hypercall", "units", "known-slow", "units-slow", "off")
# Reads ESR_EL1 and CurrentEL for ever.
ENDLESS = image(mrs(3, ESR), mrs(3, CURRENTEL), 0x17FF_FFFE)


@pytest.fixture(scope="module")
def text() -> str:
    files = {f"/g/{name}": artefacts.bare(name) for name in ("hypercall", "units")}
    files |= {"/g/known": known(), "/g/endless": ENDLESS, "/bin/armvisor": artefacts.vmm()}
    files |= {"/armvisor.ko": module("stable"), "/script": SCRIPT.encode()}
    done = Board(files=files, count=True, timeout=1200).run(["sh", "/script"])
    assert not done.failure and done.status == 0, f"{done.failure}\n{done.text}\n{done.stderr}"
    return done.text


@pytest.fixture(scope="module")
def told(text: str) -> dict[str, dict]:
    reports = [json.loads(line) for line in text.splitlines() if line.startswith('{"end"')]
    return dict(zip(NAMES, reports, strict=True))


def kinds(report: dict) -> dict[str, int]:
    names = re.findall(r'"(fast_\w+)"\)', (TOP / "module/stats/classes.h").read_text())
    exits = report["kvm_exits"]
    return {name: exits[name] for name in names if f"{name}_timed_ns" in exits}


@pytest.mark.parametrize("guest", NAMES[:-1])
def test_one_in_so_many_of_each_kind_is_timed_and_none_is_lost(told, guest: str):
    report = told[guest]
    counts = kinds(report)
    assert len(counts) > 20 and sum(counts.values()) > 3000
    for name, count in counts.items():
        timed = report["histograms"].get(f"{name}_hist", [])
        assert sum(timed) == (count + EVERY - PHASE) // EVERY, (name, count, timed)
        # Bucket n is from 2^(n-1) to 2^n ns; the total time is the sum of the samples.
        ns = report["kvm_exits"][f"{name}_timed_ns"]
        least = sum(n * (2 ** (i - 1) if i else 0) for i, n in enumerate(timed))
        assert least <= ns <= sum(n * 2**i for i, n in enumerate(timed)), (name, ns, timed)


def test_a_full_log_ends_the_stay(told):
    """Nothing else ends the stay of these guests: no interrupt comes during a thousand traps."""
    for guest in ("hypercall", "units", "units-slow"):
        timed = sum((n + EVERY - PHASE) // EVERY for n in kinds(told[guest]).values())
        assert timed > ROOM
        assert 0 < told[guest]["kvm_exits"]["other"] <= timed // ROOM, guest


@pytest.mark.parametrize(("guest", "quick"), [("known", True), ("known-slow", False)])
def test_a_kinds_times_are_those_of_its_way(told, guest: str, quick: bool):
    report = told[guest]
    counts = kinds(report)
    wanted = {name: count for name, (_, count) in READS.items()}
    wanted |= {"daif": MASKS, "hvc": VERSIONS}
    assert {name: counts[f"fast_{name}"] for name in wanted} == wanted
    assert sum(counts.values()) == sum(wanted.values())

    def mean(name: str) -> float:
        timed = sum(report["histograms"][f"fast_{name}_hist"])
        return report["kvm_exits"][f"fast_{name}_timed_ns"] / timed

    # A nanosecond is an instruction; the counter's ticks are 16 of them.
    for name in ("esr_el1", "daif", "hvc"):
        assert 25 < mean(name) < 70 if quick else 100 < mean(name) < 220, name
    # In both, av_fast() handles these.
    for name in ("midr_el1", "currentel"):
        assert 130 < mean(name) < 260, name
    assert "fast_ttbr1_el1_hist" not in report["histograms"]


def test_without_accounting_all_are_counted_and_none_is_timed(told):
    report = told["off"]
    assert kinds(report) == kinds(told["known"])
    assert not any(name.startswith("fast_") for name in report["histograms"])
    assert not any(report["kvm_exits"][f"{name}_timed_ns"] for name in kinds(report))


def test_accounting_goes_on_and_off_while_the_guest_traps(text: str):
    stat = next(json.loads(line) for line in text.splitlines() if line.startswith('{"name"'))
    fast = next(row for row in stat["cost"]["classes"] if row["name"] == "fast_trap")
    rows = {row["name"]: row for row in fast["rows"]}
    assert set(rows) == {"esr_el1", "currentel"}
    for name, row in rows.items():
        assert 100 < row["timed"] < row["count"] // EVERY, name
        assert sum(stat["histograms"][f"fast_{name}_hist"]) == row["timed"]
        assert row["ns"] == pytest.approx(row["mean_ns"] * row["count"], rel=0.001)
    assert fast["timed"] == sum(row["timed"] for row in rows.values())
    assert 2 * rows["esr_el1"]["mean_ns"] < rows["currentel"]["mean_ns"]
    assert stat["cost"]["fast_timed_every"] == EVERY


def test_stat_says_whose_times_they_are(text: str):
    lines = text[text.index("fast traps: ") :].splitlines()
    assert lines[0].startswith(f"fast traps: one in {EVERY} of each kind is timed")
    rows = {line.split()[0]: line for line in lines if line.split()}
    for name in ("fast_trap", "esr_el1", "currentel"):
        assert re.search(
            r"^ *\w+ +- +\d+ +\d+ +[\d.]+ [mu]?s +\d+ ns +<\d+ ns +[\d.]+%$", rows[name]
        ), rows[name]
