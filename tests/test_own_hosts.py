# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The module on host kernels that are configured as no kernel of Debian's is.

The lab builds them from Debian's linux-source: `phone` (lab/kernel/phone.config) has 39 bits of
address, software PAN, cleared registers and, by clang, CFI; `distribution`
(lab/kernel/distribution.config) has 52 bits, preemption chosen at boot, pseudo-NMIs, versions of
symbols. x18 is a second stack of both (SHADOW_CALL_STACK), so a host that took a guest's x18 for
its own would not live long.
"""

from functools import cache

import pytest
from built import own_kernel, own_module
from debian_runs import run_pairs
from guest_runs import KPTI, Guest, Host, Output, run_guests
from hostile_runs import CASES, Machine, assert_no_harm, hostile_guests, hostile_vmms
from trap_runs import TRAPS, assert_as_kvm, kvm, sequences

from armvisor_lab.archive import kernels
from armvisor_lab.boards.board import Board
from armvisor_lab.figures import artefacts

pytestmark = [pytest.mark.conformance, pytest.mark.xdist_group("own-hosts")]

KINDS = ("phone", "distribution")
# Without PAN, so with software PAN; with PAN; with much that is newer, and 52 bits of address.
CORES = [
    ("phone", "cortex-a72"),
    ("phone", "cortex-a76"),
    ("distribution", "cortex-a72"),
    ("distribution", "cortex-a76"),
    ("distribution", "max"),
]
SEQUENCES = 300
# Words for the host's kernel. A counted board has no KASLR.
PREEMPT = ("preempt=none", "preempt=voluntary", "preempt=full")
PARTS = (
    "memory", "files", "arguments", "odd", "close", "guests", "messages", "changed", "protected",
)  # fmt: skip
MOMENT = "PERCENT=20 SEEDS=60 EXITS=3000 SIEGE_MS=300 SHARED=8192"
# The phone's kernel ends at each sample of `perf record`, with this module or without: with CFI and
# KVM, 6.12 calls __static_call_return0() as a function of another type (perf_guest_state()).
ALSO = {"phone": " NO_PERF=1", "distribution": ""}
HELD = Guest("hostile", append="case=held", exits=True)


def host(kind: str, cpu: str = "cortex-a72", append: str = "", count: bool = True) -> Host:
    return Host(
        cpu, str(own_kernel(kind)), el2=False, module=own_module(kind), count=count, append=append,
        newest_qemu=kvm(cpu).newest_qemu,
    )  # fmt: skip


@cache
def oracle(cpu: str) -> dict[str, Output]:
    return run_guests(kvm(cpu), [TRAPS, sequences(SEQUENCES)], timeout=900)


@pytest.mark.parametrize(("kind", "cpu"), CORES)
def test_it_traps_and_runs_sequences_as_kvm(kind: str, cpu: str):
    ours = run_guests(host(kind, cpu), [TRAPS, sequences(SEQUENCES)], timeout=900)
    assert_as_kvm(oracle(cpu), ours, SEQUENCES)


@pytest.mark.parametrize("append", ["", KPTI])
@pytest.mark.parametrize("kind", KINDS)
def test_light_exits_with_any_x18(kind: str, append: str):
    """The guest holds rubbish in x18 while light exits go back to the host's stack."""
    exits = run_guests(host(kind, append=append), [HELD])["hostile"].exits
    # An abort, a TLBI and an abort again in each of 480 rounds.
    assert exits["exit_short"] > 3 * 480
    assert (exits["entry_flush"] == 0) == (append == KPTI)


def test_light_exits_in_the_image_have_a_shadow_call_stack():
    """The thread's is in vmalloc: pushing to it would miss at each light exit. A core with PAN, as
    there is no image with software PAN.
    """
    exits = run_guests(host("distribution", "cortex-a76"), [HELD])["hostile"].exits
    assert exits["exit_short"] > 3 * 480
    assert exits["image_miss_vmalloc"] == 0 < exits["image_miss_new"] < 100


@pytest.mark.parametrize("kind", KINDS)
def test_no_guest_harms_the_host(kind: str):
    hostile_guests(Machine(str(own_kernel(kind)), own_module(kind)), CASES, seconds=2)


@pytest.mark.parametrize("kind", KINDS)
def test_no_vmm_harms_the_host(kind: str):
    machine = Machine(str(own_kernel(kind)), own_module(kind))
    parts = hostile_vmms(machine, dict.fromkeys(PARTS, MOMENT + ALSO[kind]))
    for part in PARTS:
        assert_no_harm(parts[part])


@pytest.mark.parametrize("cpu", ["cortex-a72", "cortex-a76"])
@pytest.mark.parametrize("append", ["", "nokaslr kpti=1", "kpti=0"])
def test_debian_boots_on_a_phones_kernel(cpu: str, append: str):
    run_pairs(host("phone", cpu, append, count=False), ["stable"], cpus=(1, 2), mebibytes=1)


@pytest.mark.parametrize("append", [*PREEMPT, "nokaslr kpti=1"])
def test_debian_boots_on_a_distributions_kernel(append: str):
    done = run_pairs(
        host("distribution", "cortex-a76", append, count=False), ["stable"], (1, 2), mebibytes=1
    )
    if append in PREEMPT:
        assert f"Dynamic Preempt: {append.removeprefix('preempt=')}" in done.console


def test_pseudo_nmis_are_refused():
    """The kernel has them; they are on where the command line says so."""
    board = Board(
        kernel=str(own_kernel("distribution")), append="irqchip.gicv3_pseudo_nmi=1",
        files={"/armvisor.ko": own_module("distribution"), "/bin/armvisor": artefacts.vmm()},
    )  # fmt: skip
    done = board.run(["sh", "-c", "insmod /armvisor.ko; echo $?; ls /dev/kvm; armvisor doctor"])
    assert not done.failure, done.failure
    status, *doctor = done.text.splitlines()
    assert status != "0" and b"ls: /dev/kvm: No such file" in done.stderr
    assert "IRQ priority masking" in done.console
    says = "this kernel uses non-maskable interrupts"
    remedy = "boot without irqchip.gicv3_pseudo_nmi=1"
    assert f"armvisor: cannot run here: {says}; {remedy}" in done.console
    assert doctor[0].startswith(f"No: {says}") and doctor[1] == f"  1. {remedy}"


@pytest.mark.parametrize(
    ("kind", "cpu", "bits", "calls"),
    [
        ("phone", "cortex-a72", 39, "checks indirect calls (CFI), and the module's with them"),
        ("distribution", "max", 52, "does not check indirect calls (CFI)"),
    ],
)
def test_the_doctor_is_right_about_the_kernel(kind: str, cpu: str, bits: int, calls: str):
    release = kernels.from_folder(own_kernel(kind)).release
    files = {
        "/bin/armvisor": artefacts.vmm(), "/armvisor.ko": own_module(kind),
        f"/boot/config-{release}": own_kernel(kind) / "config",
    }  # fmt: skip
    board = Board(kernel=str(own_kernel(kind)), cpu=cpu, files=files)
    before, after = "armvisor doctor", "insmod /armvisor.ko && armvisor doctor"
    done = board.run(["sh", "-c", f"{before}; {after}"])
    assert not done.failure and done.status == 0, (done.failure, done.text)
    assert done.text.count(f"  ok    addresses are {bits} bits wide\n") == 2
    # Only who is about to load the module is told.
    assert done.text.count(f"  ok    the kernel {calls}\n") == 1
    assert "\nYes: armvisor's module is loaded" in done.text
