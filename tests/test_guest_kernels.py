# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Guests' kernels that test themselves: each test says the same on KVM and on the module.

One is built from Debian's linux-source (lab/kernel/self-test.config) and uses the CPU as few
kernels do. It tests its tracers, probes, debugger, atomic operations and KASAN as it boots; then
it makes the faults of lkdtm. The others are Debian's, generic and rt, with the modules that test
the compiler of packet filters and static keys.
"""

import re
from functools import cache

import pytest
from built import module
from guest_runs import Host
from linux_runs import Linux, Said, module_files, run, with_files

from armvisor_lab.archive import debugkernel, kernels
from armvisor_lab.figures import artefacts

pytestmark = pytest.mark.conformance

# Faults after which the kernel goes on: others panic, or keep a CPU for ever.
FAULTS = (
    "BUG", "WARNING", "WARNING_MESSAGE", "EXCEPTION", "UNALIGNED_LOAD_STORE_WRITE",
    "CORRUPT_LIST_ADD", "CORRUPT_LIST_DEL", "STACK_GUARD_PAGE_LEADING", "STACK_GUARD_PAGE_TRAILING",
    "WRITE_RO", "WRITE_RO_AFTER_INIT", "WRITE_KERN", "EXEC_DATA", "EXEC_STACK", "EXEC_KMALLOC",
    "EXEC_VMALLOC", "EXEC_RODATA", "EXEC_USERSPACE", "EXEC_NULL", "ACCESS_USERSPACE", "ACCESS_NULL",
    "CFI_BACKWARD", "SLAB_LINEAR_OVERFLOW", "VMALLOC_LINEAR_OVERFLOW", "WRITE_AFTER_FREE",
    "READ_AFTER_FREE", "SLAB_FREE_DOUBLE", "REFCOUNT_INC_OVERFLOW", "REFCOUNT_DEC_NEGATIVE",
    "REFCOUNT_ADD_ZERO", "USERCOPY_SLAB_SIZE_TO", "USERCOPY_STACK_FRAME_TO", "USERCOPY_VMALLOC",
    "USERCOPY_KERNEL", "FORTIFY_STR_OBJECT",
)  # fmt: skip
MODULES = ("test_static_keys", "test_bpf")
SECTION = re.compile(r"^== (\S+) (\d+)$", re.MULTILINE)
STAMP = re.compile(r"^\[ *\d+\.\d+\] ", re.MULTILINE)
# Lines of a fault that say what it is. Kernel and stack addresses differ from boot to boot.
FAULT = re.compile(
    r"lkdtm:|ESR = |EC = |FSC = |Internal error|Unable to handle|BUG|WARNING:|usercopy|refcount_t:"
    r"|list_(add|del)|detected buffer overflow"
)
NOISE = re.compile(
    r"\b(0x)?(?!00000000)[0-9a-f]{16}\b|\[#\d+\]|\bCPU: \d+|\bPID: \d+|\+0x[0-9a-f]+/0x[0-9a-f]+"
    r"|/\d+\b|\b[0-9a-f]{2}\b"
)
# What tests say at boot, each with the words that say how it ended.
TRACERS = re.compile(r"Testing (tracer [^:]+|dynamic ftrace(?: ops #\d)?|event(?: system)? [^:]+):")
STEPS = tuple(range(0, 1000, 100))
BAD = ("FAILED", "not ok", "kgdbts: ERROR", "SingleStep failed", "BUG:", "WARNING:", "Oops")


def hosts() -> dict[str, Host]:
    """KVM, and the module on the same CPU. A counted board has as much time as its guest needs."""
    return {"kvm": Host(), "module": Host(el2=False, module=module("stable"))}


def sections(said: Said) -> dict[str, tuple[int, list[str]]]:
    """Status and log of each row of guests/debian/self-test."""
    assert said.status == 0 and said.results.get("guest.failures") == "0", said.console[-4000:]
    _, *parts = SECTION.split(said.console)
    texts = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return {name: (int(status), STAMP.sub("", log).splitlines()) for name, status, log in texts}


def guest(kernel: kernels.Kernel, rows: tuple[str, ...], append: str = "") -> Linux:
    """A guest with a kernel and modules of its own, which goes through the rows."""
    files = module_files(kernel.modules, MODULES)
    initrd = with_files(artefacts.guest("stable")["initrd"].read_bytes(), "self-test", files)
    words = f"quiet {append} armvisor.test=cpus,own,cpus armvisor.rows={','.join(rows)}"
    return Linux(kernel.image, initrd, words, memory="768M")


def faults(log: list[str]) -> list[str]:
    """What a log says of faults, without what differs from boot to boot."""
    return [NOISE.sub("*", line) for line in log if FAULT.search(line)]


def verdicts(log: list[str]) -> dict[str, object]:
    """What the tests at boot said: the same on each machine that is right."""
    text = "\n".join(log)
    return {
        "tracers": sorted(set(TRACERS.findall(text))),
        "passed": text.count("PASSED"),
        "events": len(re.findall(r"\bOK$", text, re.MULTILINE)),
        "kunit": re.findall(r"^(?:not )?ok \d+ .*$", text, re.MULTILINE),
        "kgdb": re.findall(r"kgdbts:RUN .*$", text, re.MULTILINE),
        "atomic64": text.count("atomic64_test: passed"),
    }


def assert_passed(log: list[str]) -> None:
    """Each test at boot has run and passed."""
    found = verdicts(log)
    text = "\n".join(log)
    # KASAN's test makes faults, which the kernel reports.
    said = re.sub(r"^(=+|BUG: KASAN: .*)$", "", text, flags=re.MULTILINE)
    assert not [line for line in said.splitlines() if any(word in line for word in BAD)]
    assert found["atomic64"] == 1 and "Ring buffer PASSED!" in text, text[-4000:]
    for name in ("function", "function_graph", "irqsoff", "preemptoff", "wakeup"):
        assert f"tracer {name}" in found["tracers"], found["tracers"]
    for name in ("kprobes_test", "kasan"):
        assert any(line.endswith(name) for line in found["kunit"]), found["kunit"]
    for step in STEPS:
        assert f"kgdbts:RUN singlestep [{step}/1000]" in found["kgdb"], found["kgdb"]
    assert found["events"] > 100


@cache
def self_test() -> dict[str, dict[str, tuple[int, list[str]]]]:
    """What the kernel that tests itself said on each host, after its boot and each fault."""
    kernel = kernels.from_folder(debugkernel.get("stable", kind="self-test"))
    rows = (*(f"lkdtm.{name}" for name in FAULTS), *MODULES)
    return {
        name: sections(run(host, [guest(kernel, rows, "irqchip.gicv3_pseudo_nmi=1")])[0])
        for name, host in hosts().items()
    }


def test_kernel_that_tests_itself():
    """All of its tests at boot pass; what they say is the same on KVM and on the module."""
    said = self_test()
    for name in said:
        assert_passed(said[name]["boot"][1])
    assert verdicts(said["kvm"]["boot"][1]) == verdicts(said["module"]["boot"][1])


def test_its_modules():
    """They say what they found by their status; the packet filters' test counts them, too."""
    for said in self_test().values():
        assert_modules(said)


def test_its_faults():
    """A fault that the kernel makes in itself is the same fault on both."""
    kvm, ours = self_test()["kvm"], self_test()["module"]
    for name in FAULTS:
        status, log = kvm[f"lkdtm.{name}"]
        assert any("lkdtm: Performing direct entry" in line for line in log), name
        found, other = ours[f"lkdtm.{name}"]
        assert (found, faults(other)) == (status, faults(log)), name


def assert_modules(said: dict[str, tuple[int, list[str]]]) -> None:
    """Each module has been loaded, found nothing wrong, and has gone."""
    for name in MODULES:
        status, log = said[name]
        assert status == 0, (name, log[-20:])
    sums = [line for line in said["test_bpf"][1] if "Summary: " in line]
    assert sums and all(" 0 FAILED" in line for line in sums), said["test_bpf"][1][-20:]


def summary(said: dict[str, tuple[int, list[str]]]) -> list[str]:
    """What test_bpf counted."""
    return [line for line in said["test_bpf"][1] if "Summary: " in line]


@pytest.mark.parametrize("flavour", ("generic", "rt"))
def test_modules_of_debians_kernels(flavour: str):
    """test_static_keys and test_bpf, in the kernels of Debian's that have them."""
    kernel = kernels.get("stable", flavour)
    said = {name: sections(run(h, [guest(kernel, MODULES)])[0]) for name, h in hosts().items()}
    for each in said.values():
        assert_modules(each)
    assert summary(said["kvm"]) == summary(said["module"])
