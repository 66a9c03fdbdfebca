# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The module on a host kernel with the kernel's own checkers on: `make test-debug`.

KASAN, UBSAN, lockdep with PROVE_RCU, DEBUG_ATOMIC_SLEEP, DEBUG_OBJECTS, DEBUG_LIST, DEBUG_VM and
kmemleak (lab/kernel/debug.config) watch the tests of stock kernels. Any line of theirs in the log
fails the board, and so does any leak that kmemleak finds after the module was unloaded. Boards
count instructions, except where two CPUs matter, so a slow kernel on a busy machine does not fail.
In the last test the guest's kernel has the checkers.
"""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from built import TOP, make
from guest_runs import results
from hostile_runs import (
    CASES,
    PARTS,
    Machine,
    fuzz_seconds,
    fuzzed_api,
    hostile_guests,
    hostile_vmm,
    programs,
)
from mix_runs import mix

from armvisor_lab.archive import debugkernel
from armvisor_lab.boards.board import Result
from armvisor_lab.figures import artefacts

pytestmark = pytest.mark.debug

KERNEL = "stable"
# Races need two CPUs; everything else is counted, on one.
TWO_CPUS = ("files", "processes", "close", "guests", "power", "protected")
FEWER = {"guests": "SEEDS=100", "many": "VMS=20", "protected": "SHARED=65536"}
CYCLES = 20

CHECKERS = (
    "KernelAddressSanitizer initialized",
    "RCU lockdep checking is enabled",
    "kmemleak: Kernel memory leak detector initialized",
)


@cache
def folder() -> Path:
    return debugkernel.get(KERNEL)


@cache
def module() -> Path:
    make(str(TOP / "module"), f"KVER=debug-{KERNEL}", f"KDIR={folder() / 'build'}")
    return TOP / f"build/module/debug-{KERNEL}/armvisor.ko"


def machine(two_cpus: bool = False) -> Machine:
    return Machine(
        str(folder()), module(), smp=2 if two_cpus else 1, count=not two_cpus, leaks=True,
        append="kasan_multi_shot", timeout=1500,
    )  # fmt: skip


def assert_watched(result: Result):
    """The checkers were on; otherwise their silence would mean nothing."""
    assert not [line for line in CHECKERS if line not in result.console], result.log


LOCKDEP = "grep debug_locks: /proc/lockdep_stats"


def assert_lockdep_to_the_end(result: Result):
    """Lockdep turns itself off after its first report."""
    assert re.search(r"debug_locks: +1\b", result.text), result.log


@pytest.mark.parametrize("part", PARTS)
def test_hostile_vmms(part: str):
    result = hostile_vmm(machine(part in TWO_CPUS), part, FEWER.get(part, ""))
    assert_watched(result)
    if part == "protected":
        assert result.text.count("\nprotected: ") + result.text.startswith("protected: ") > 5


def test_every_allocation_fails_once():
    result = hostile_vmm(machine(), "allocations")
    assert_watched(result)
    failed = re.search(r"^(\d+) allocations failed in turn$", result.text, re.MULTILINE)
    assert failed and int(failed[1]) > 50


def test_hostile_guests():
    assert_watched(hostile_guests(machine(two_cpus=True), CASES, seconds=8))


def test_fuzzed_api():
    """For an hour, or ARMVISOR_FUZZ_SECONDS."""
    result = fuzzed_api(machine(two_cpus=True), fuzz_seconds(3600), "LIMIT=600")
    assert_watched(result)


def test_every_call_of_the_api():
    files = {"/conform": programs() / "conform", "/memory": programs() / "memory"}
    result = machine().run(f"/conform >/tmp/out; tail -n 1 /tmp/out; /memory; {LOCKDEP}", files)
    assert result.check().text.count("done\n") == 2
    assert_watched(result)
    assert_lockdep_to_the_end(result)


def test_loads_and_unloads():
    """With a VM in between: nothing of it may remain for the next load."""
    files = {"/memory": programs() / "memory"}
    again = "rmmod armvisor; insmod /armvisor.ko; /memory >/dev/null"
    result = machine().run(f"for i in $(seq {CYCLES}); do {again}; done; {LOCKDEP}", files)
    result.check()
    assert result.console.count("/dev/kvm is ready") == CYCLES + 1
    assert_watched(result)
    assert_lockdep_to_the_end(result)


@pytest.mark.parametrize("disk", ["--disk /tmp/disk", "--protected"], ids=["plain", "protected"])
def test_boots_debian(disk: str):
    guest = artefacts.guest(KERNEL)
    files = {
        "/bin/armvisor": artefacts.vmm(),
        "/guest/vmlinuz": guest["vmlinuz"],
        "/guest/initrd": guest["initrd"],
    }
    # A stock kernel shares nothing: a protected one has no device but its console.
    tests = "cpus" if disk == "--protected" else "disk-write,disk-check,rng"
    run = (
        "truncate -s 16M /tmp/disk; armvisor run --kernel /guest/vmlinuz --initrd /guest/initrd "
        f"--memory 384M {disk} --append 'quiet console=ttyS0 armvisor.test={tests}'"
    )
    result = machine().run(f"{run}; {LOCKDEP}", files)
    told = results(result.check().text)
    assert told["guest.failures"] == "0", result.text[-3000:]
    assert_watched(result)
    assert_lockdep_to_the_end(result)


def test_bounce_buffers_in_a_guest_with_checkers(tmp_path: Path):
    """For an hour by the guest's clock, or ARMVISOR_MIX_SECONDS; the host's kernel is stock."""
    kernel = debugkernel.get(KERNEL, kind="guest")
    builder = [sys.executable, TOP / "guests/debian/build.py", "--out", tmp_path]
    subprocess.run(
        [*builder, "--tools", TOP / "build/guests/tools", kernel],
        env=os.environ | {"PYTHONPATH": str(TOP / "lab/src")}, check=True,
    )  # fmt: skip
    role = f"debug-guest-{KERNEL}"
    make(str(TOP / "bounce"), f"KVER={role}", f"KDIR={kernel / 'build'}")
    ours = TOP / f"build/bounce/{role}/armvisor_bounce.ko"
    guest = {name: tmp_path / f"debian-own/{name}" for name in ("Image", "initrd")}
    seconds = int(os.environ.get("ARMVISOR_MIX_SECONDS", "3600"))
    told = mix(guest, ours, seconds, memory=768, sectors=100, times=1)
    for checker in ("lockdep", "kmemleak", "dma_api"):
        assert told[f"mix.{checker}"] == "1", checker
    assert told["mix.leaks"] == told["mix.dma_errors"] == "0", told
