# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Trap tests and random sequences: a guest must see the same exceptions on every hypervisor.

Real KVM is the oracle, without VHE (cortex-a72) and with it (cortex-a76); the two must agree. The
module, on the board without EL2, is compared with KVM on the same CPU. The sequences must end the
same. The trap tests must print the same lines, except those that `data/module_traps.toml` declares
with a reason. A declaration that no difference needs any more fails too.
"""

import os
import re
import subprocess
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
from built import HANGS, TOP, module
from guest_runs import KPTI, Guest, Host, Output, run_guests
from trap_runs import (
    ALONG,
    DECLARED,
    FIRST,
    KERNEL,
    TRAPS,
    assert_as_kvm,
    assert_same_sequences,
    compare,
    declared_by,
    hashes,
    kvm,
    patterns,
    sequences,
    trap_differences,
    undeclared,
)

# One worker runs them all: they share the outputs of boards.
pytestmark = pytest.mark.xdist_group("trap")

NO_SHORT = 1023 & ~256  # module/cpu/cheap.h
CPUS = ["cortex-a72", "neoverse-n1"]
# The cores that people rent or have, and QEMU's newest; `make test-conformance` has a row for each.
CORES = [
    "cortex-a53", "cortex-a55", "cortex-a57", "cortex-a710", "cortex-a76", "max", "neoverse-n2",
    "neoverse-v1",
]  # fmt: skip

# `make test-conformance` compares so many once, and a tenth of them wherever it is only to be seen
# that nothing depends on the CPU or the host's kernel. `make test` compares a few.
# By hand any others: ARMVISOR_SEQUENCES=50000 ARMVISOR_FIRST_SEED=10001 on pytest's environment.
SEQUENCES = int(os.environ.get("ARMVISOR_SEQUENCES", "10000"))
TENTH = min(1_000, SEQUENCES)
FEW = min(150, SEQUENCES)


def without_el2(cpu: str, kernel: str = KERNEL) -> Host:
    """On one CPU the kernel's mappings are global, on the other they are not."""
    append = KPTI if cpu == "neoverse-n1" else ""
    host = Host(cpu, kernel, el2=False, module=module(kernel), count=True, append=append)
    return replace(host, **ALONG.get(cpu, {}))


# Seeds that also run alone, and the name of such a run.
ALONE = {f"seed-{seed}": seed for seed in (FIRST, FIRST + FEW // 7, FIRST + FEW - 1)}
# A PMU's registers, which it has for a guest with one.
PMU = Guest("trap", append="sweep=1", disk=True, pmu=True, name="sweep-pmu")


@cache
def quick_outputs_of(host: Host) -> dict[str, Output]:
    """What `make test` looks at: all programs on one board."""
    guests = [TRAPS, sequences(FEW)]
    if host.el2:
        guests += [
            Guest("random", append=f"seed={seed} count=1 trace=1", disk=True, name=name)
            for name, seed in ALONE.items()
        ]
    return run_guests(host, guests, timeout=900)


@cache
def outputs_of(host: Host) -> dict[str, Output]:
    """The same of `make test-conformance`; a host that several tests want is run once."""
    return run_guests(host, [TRAPS, sequences(TENTH)], timeout=900)


@cache
def many_sequences_on(host: Host) -> Output:
    return run_guests(host, [sequences(SEQUENCES)], timeout=900 + SEQUENCES / 10)["random"]


def differences(cpu: str, kernel: str = KERNEL, of=outputs_of) -> dict[str, str]:
    """Between KVM and the module: of the trap tests, by name."""
    return trap_differences(*(of(host)["trap"] for host in (kvm(cpu), without_el2(cpu, kernel))))


def test_one_worker_runs_them_all(request):
    """Otherwise each worker would run the longest boards again."""
    together = request.config.getoption("loadgroup", default=False)
    assert not together or request.node.nodeid.endswith("@trap"), "see pytest in lab/pyproject.toml"


@pytest.mark.conformance
def test_kvm_with_and_without_vhe_trap_alike():
    plain, vhe = (outputs_of(kvm(cpu)) for cpu in ("cortex-a72", "cortex-a76"))
    result = compare.compare(plain["trap"].disk, vhe["trap"].disk)
    assert not result.differences, "\n".join(list(result.differences.values())[:40])
    assert result.same > 2400
    assert_same_sequences(plain["random"], vhe["random"], TENTH)


HOSTS = [(cpu, kernel) for kernel in (KERNEL, "oldstable", "newest") for cpu in CPUS]
# What `make test` runs of the matrix; `make test-conformance` has all of it.
QUICK = ("cortex-a72", KERNEL)


def test_module_traps_as_kvm():
    wrong = undeclared(differences(*QUICK, of=quick_outputs_of))
    assert not wrong, f"{len(wrong)} tests differ:\n" + "\n".join(wrong[:40])


def test_module_runs_sequences_as_kvm():
    hosts = (kvm(QUICK[0]), without_el2(*QUICK))
    assert_same_sequences(*(quick_outputs_of(host)["random"] for host in hosts), FEW)


@pytest.mark.conformance
@pytest.mark.parametrize(("cpu", "kernel"), HOSTS)
def test_module_traps_as_kvm_on_every_host(cpu: str, kernel: str):
    wrong = undeclared(differences(cpu, kernel))
    assert not wrong, f"{len(wrong)} tests differ:\n" + "\n".join(wrong[:40])


@pytest.mark.conformance
@pytest.mark.parametrize(("cpu", "kernel"), HOSTS)
def test_module_runs_sequences_as_kvm_on_every_host(cpu: str, kernel: str):
    oracle, ours = (outputs_of(host)["random"] for host in (kvm(cpu), without_el2(cpu, kernel)))
    assert_same_sequences(oracle, ours, TENTH)


@pytest.mark.conformance
@pytest.mark.parametrize("cpu", CORES)
def test_module_is_as_kvm_on_every_core(cpu: str):
    assert_as_kvm(outputs_of(kvm(cpu)), outputs_of(without_el2(cpu)), TENTH)


@pytest.mark.conformance
@pytest.mark.parametrize("cpu", [QUICK[0], "neoverse-n2"])
def test_module_runs_many_sequences_as_kvm(cpu: str):
    oracle, ours = (many_sequences_on(host) for host in (kvm(cpu), without_el2(cpu)))
    assert_same_sequences(oracle, ours, SEQUENCES)


# A newer CPU has more to put back: DIT, tag checks, pointer authentication.
@pytest.mark.conformance
@pytest.mark.parametrize(
    ("cpu", "append"), [("cortex-a72", ""), ("max", ""), ("max", "arm64.nolva")]
)
def test_the_short_way_is_the_whole_one(cpu: str, append: str):
    """Light exits leave most registers of host and guest as they are: the short way.

    Without it they take the full way, and a guest cannot tell.
    """
    host = replace(without_el2(cpu), append=append)
    whole = outputs_of(replace(host, parameters=f"cheap_traps={NO_SHORT}"))
    short = outputs_of(host)
    for name in ("trap", "random"):
        assert short[name].disk == whole[name].disk != ""
        assert short[name].exits["exit_short"] > whole[name].exits["exit_short"] == 0


@pytest.mark.conformance
# None; each part that can be on alone; each part off in turn.
@pytest.mark.parametrize(
    "cheap", [0, *(1 << bit for bit in range(10)), *(1023 & ~(1 << bit) for bit in range(10))]
)
def test_what_makes_traps_cheap_can_be_off(cheap: int):
    """The guest cannot tell which parts of module/cpu/cheap.h are on."""
    host = replace(without_el2("cortex-a72"), parameters=f"cheap_traps={cheap}")
    oracle, outputs = outputs_of(kvm("cortex-a72")), outputs_of(host)
    result = compare.compare(oracle["trap"].disk, outputs["trap"].disk, strict=True)
    assert not [name for name in result.differences if not declared_by(name)]
    assert result.same > 2400
    assert_same_sequences(oracle["random"], outputs["random"], TENTH)


@pytest.mark.conformance
def test_the_short_way_is_the_long_one_in_a_hundred_million_states():
    """`make test` tries a million of them."""
    done = subprocess.run(
        ["make", "-s", "-C", str(TOP / "module/tests"), "fuzz_fast"],
        capture_output=True, text=True, timeout=HANGS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^\d+ passed, 0 failed$", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.conformance
def test_sequences_run_as_well_from_copies():
    """Their probe is in the lower half, where copies are not used; they are used again at once."""
    host = replace(without_el2("cortex-a72"), parameters="copies_left_for=8")
    oracle, outputs = outputs_of(kvm("cortex-a72")), outputs_of(host)
    result = compare.compare(oracle["trap"].disk, outputs["trap"].disk, strict=True)
    assert not [name for name in result.differences if not declared_by(name)]
    assert result.same > 2400
    assert_same_sequences(oracle["random"], outputs["random"], TENTH)


@pytest.mark.conformance
def test_declared_differences_are_there_and_have_reasons():
    assert all(len(row["reason"]) > 10 for row in DECLARED)
    assert not [pattern for pattern, n in Counter(patterns()).items() if n > 1]
    found = (name for cpu in [*CPUS, *CORES] for name in differences(cpu))
    used = {pattern for name in found for pattern in declared_by(name)}
    assert not set(patterns()) - used, "declared differences that are none"


def test_a_seed_runs_alone_as_among_others():
    """What a failing seed prints can be looked into: alone it does the same, in every detail."""
    outputs = quick_outputs_of(kvm("cortex-a72"))
    among = hashes(outputs["random"])
    for name, seed in ALONE.items():
        output = outputs[name]
        assert hashes(output) == {seed: among[seed]}
        events = output.disk.count("\nevent ")
        assert events == int(among[seed].split()[1]) + 1
        assert "\nmemory=" in output.disk and f"trace {seed} " in output.disk


@pytest.mark.conformance
def test_a_pmu_is_where_kvms_is():
    """The registers of a PMU that a guest with one has, of all encodings, at EL1.

    At EL0 KVM's answers are those of QEMU 7.2, which does not trap accesses that PMUSERENR_EL0
    denies.
    """
    hosts = (kvm("cortex-a72"), without_el2("cortex-a72"))
    there = [
        sorted(re.findall(r"^trap (sweep\S+\?pmu el1h: .*)$", output.disk, re.MULTILINE))
        for output in (run_guests(host, [PMU], timeout=900)[PMU.key] for host in hosts)
    ]
    assert there[0] == there[1]
    # Six counters, and all registers without a number.
    assert len(there[0]) > 20


# ---- the comparison itself ------------------------------------------------------------------


def test_comparison_finds_what_differs():
    same = "id midr_el1 1\ntrap a el1h: end spsr=3c5\ntrap b?pan=1 el1h: end\n"
    other_feature = "id midr_el1 2\ntrap a el1h: end spsr=3c5\ntrap b?pan=0 el1h: sync.el1h\n"
    result = compare.compare(same, other_feature)
    assert (result.same, result.left_out, result.differences) == (1, 2, {})
    strict = compare.compare(same, other_feature, strict=True)
    assert set(strict.differences) == {"id midr_el1", "b?pan=1 el1h", "b?pan=0 el1h"}

    changed = same.replace("3c5", "3c4")
    assert compare.compare(same, changed).differences == {
        "a el1h": "a el1h:\n  end spsr=3c5\n  end spsr=3c4"
    }
    assert compare.compare(same, "trap b?pan=1 el1h: end").differences == {
        "a el1h": "a el1h: only in the first: end spsr=3c5"
    }
    assert compare.compare("", same).differences
    with pytest.raises(ValueError, match="twice"):
        compare.parse(same + same)
