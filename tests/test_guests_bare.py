# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The bare-metal guests under `armvisor run`: on KVM, nVHE and VHE, and on the module."""

from functools import cache

import pytest
from built import module
from guest_runs import KPTI, Guest, Host, Output, run_guests

KERNEL = "stable"
CONFORMANCE = pytest.mark.conformance
# Of one board.
together = pytest.mark.xdist_group("guests_bare")

MIB = 1 << 20
PROGRAMS = [
    Guest("hello", append="some=thing", memory="96M", cpus=3),
    Guest("hypercall", append="loops=200"),
    Guest("mmio", append="loops=100"),
    Guest("memory", memory="128M"),
    Guest("timer"),
    # The host's clock is slow, and its timers are late.
    Guest("timer", name="timer-late", before="adjtimex -q -t 9000"),
    Guest("smp", cpus=4, before="adjtimex -q -t 10000"),
    Guest("pmu", pmu=True),
    Guest("smp", cpus=1, name="smp-alone"),
    Guest("smp", cpus=64, name="smp-64"),
    # To a running CPU: see the figures (test_figures.py); on one host CPU it would spin.
    Guest("ipi", cpus=2, append="loops=20 running=0"),
    Guest("irq", append="loops=20"),
    Guest("icc", exits=True),
    Guest("touch", cpus=2, append="mebibytes=8"),
    Guest("lock", cpus=2, append="turns=20"),
    Guest("units", append="loops=20"),
    # Two halves of the address space: the largest, and one that ends within the last GiB.
    Guest("top", cpus=2),
    Guest("top", cpus=2, append="t1sz=39", name="top-small"),
    Guest("annex", append="rounds=200 shots=100"),
    Guest("annex", cpus=2, append="rounds=100 shots=50 seed=2", name="annex-two"),
]


# Output of guests/bare/top.c about its faults, in order: exception class, and level and kind.
TOP_FAULTS = [
    "EL1 reads nothing: esr 96000007",
    "EL1 executes data: esr 8600000f",
    "EL1 executes nothing: esr 86000007",
    "EL0 reads EL1's: esr 9200000f",
    "EL0 reads nothing: esr 92000007",
    "EL0 executes EL1's: esr 8200000f",
    "EL1 reads nothing where it runs: esr 96000007",
    "EL1 reads where no table is: esr 96000006",
    "EL0 reads where no table is: esr 92000006",
    "EL1 reads outside of its half: esr 96000004",
]


def syndromes(console: str) -> list[str]:
    return [line for line in console.replace("\r", "").splitlines() if ": esr " in line]


def without_el2(cpu: str) -> Host:
    return Host(cpu, KERNEL, el2=False, module=module(KERNEL), count=True)


# A guest and its protected twin, for which the VMM does nothing else.
LAST_GIB = [
    Guest("top", append="rounds=1", options=options, name=name)
    for name, options in (("last-gib", ()), ("last-gib-protected", ("--protected",)))
]


@cache
def on_module() -> dict[str, Output]:
    return run_guests(without_el2("cortex-a72"), [*PROGRAMS, *LAST_GIB])


@together
def test_programs_on_the_module():
    assert_programs(on_module())
    # Most of guests/bare/icc.c's 8 x 32 registers, in both halves.
    exits = on_module()["icc"].exits
    assert min(exits["fast_icc_iar1_el1"], exits["fast_icc_eoir1_el1"]) > 400


@CONFORMANCE
@pytest.mark.parametrize("cpu", ["cortex-a72", "cortex-a76"])
def test_programs_on_kvm(cpu: str):
    # Counted, for costs are compared: on a busy machine the difference of two times may be none.
    assert_programs(run_guests(Host(cpu, KERNEL, count=True), PROGRAMS))


def assert_programs(outputs: dict[str, Output]):
    hello = outputs["hello"]
    assert hello.results["hello.cpus"] == "3"
    assert hello.results["hello.memory"] == str(96 * MIB)
    assert "some=thing" in hello.console

    # Calls that a hypervisor answers itself are cheaper than calls for user space.
    assert outputs["hypercall"].results["hypercall.version"] in (
        "65536",
        "65537",
        "65539",
    )
    hypercall = float(outputs["hypercall"].results["hypercall.cost"])
    assert 0 < hypercall < float(outputs["mmio"].results["mmio.read"])

    # All memory except the image, the device tree and their pages.
    verified = int(outputs["memory"].results["memory.verified"])
    assert 126 * MIB < verified < 128 * MIB

    assert outputs["timer"].results["timer.interrupts"] == "21"
    assert outputs["smp"].results["smp.cpus"] == "4"
    assert outputs["smp-alone"].results["smp.cpus"] == "1"
    assert outputs["pmu"].results["pmu.interrupts"] == "1"
    assert outputs["smp-64"].results["smp.cpus"] == "64"
    assert float(outputs["ipi"].results["ipi.cost"]) > 0
    assert float(outputs["irq"].results["irq.completion"]) > 0
    assert outputs["icc"].results["icc.registers"] == "32"
    assert float(outputs["touch"].results["touch.page"]) > 0
    assert outputs["lock"].results["lock.turns"] == "40"
    # The only one of these operations that every hypervisor traps.
    assert float(outputs["units"].results["units.id-register"]) > 0
    # In the sequences, and at so many places of them.
    assert int(outputs["annex"].results["annex.interrupts"]) > 1000
    assert int(outputs["annex"].results["annex.places"]) > 40
    # The same faults, with the same syndromes, on all hosts.
    for name, parts in (("top", 512), ("top-small", 16)):
        assert TOP_FAULTS[: 9 if parts == 512 else 10] == syndromes(outputs[name].console)
        assert outputs[name].results["top.parts"] == str(parts)
        assert outputs[name].results["top.accesses"] == str(2 * 2 * parts)


@CONFORMANCE
@pytest.mark.parametrize("hypervisor", ["kvm", "module"])
def test_a_pmu_of_a_newer_cpu(hypervisor: str):
    """PMMIR_EL1, which Linux reads on CPUs with FEAT_PMUv3p4, exists and reads as zero."""
    host = Host("max", KERNEL, count=True)
    if hypervisor == "module":
        host = without_el2("max")
    output = run_guests(host, [Guest("pmu", pmu=True)])["pmu"]
    assert output.results["pmu.slots"] == "0"


# Instructions that end in a trap belong to the guest on one host and to the hypervisor on another.
TRAPS = 100


@CONFORMANCE
def test_pmu_counts_the_guests_instructions():
    """On counted boards, whose emulated PMU counts them: the same on KVM and on the module."""
    hosts = [Host("cortex-a72", KERNEL, count=True), without_el2("cortex-a72")]
    guest = Guest("pmu", pmu=True)
    kvm, module = (run_guests(host, [guest])["pmu"] for host in hosts)
    for output in (kvm, module):
        assert output.console.count(" instructions\n") == 6
    assert kvm.results["pmu.counters"] == module.results["pmu.counters"]
    # The VMM's work for an exit is not counted.
    exits = [int(output.results["pmu.exits"]) for output in (kvm, module)]
    assert abs(exits[0] - exits[1]) < TRAPS and 40_000 < min(exits) < 45_000


# Each way to have an upper half, and more CPUs than the host has.
TOP = [
    *(Guest("top", append=f"t1sz={size}", cpus=3, name=f"top-{size}")
      for size in (16, 17, 20, 24, 25, 26, 33, 34, 35, 39)),
    Guest("top", append="t1sz=16 rounds=20", cpus=4, name="top-long"),
]  # fmt: skip


@CONFORMANCE
@pytest.mark.parametrize("kernel", ["oldstable", "stable", "newest"])
@pytest.mark.parametrize("append", ["", KPTI])
def test_the_last_gib_is_the_guests(kernel: str, append: str):
    """The window is in no guest's way, wherever it is, with host CPUs that run at the same time."""
    host = Host("cortex-a72", kernel, el2=False, module=module(kernel), smp=2, append=append)
    outputs = run_guests(host, TOP, timeout=1500)
    kvm = run_guests(Host("cortex-a72", kernel, smp=2), TOP, timeout=1500)
    for guest in TOP:
        assert outputs[guest.key].console == kvm[guest.key].console


@together
def test_the_last_gib_is_a_protected_guests():
    """Its VMM does nothing else than for a plain one."""
    plain, protected = (on_module()[guest.key] for guest in LAST_GIB)
    assert plain.console == protected.console
