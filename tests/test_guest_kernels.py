# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Guests' kernels that test themselves: each test says the same on KVM and on the module.

One is built from Debian's linux-source (lab/kernel/self-test.config) and uses the CPU as few
kernels do. It tests its tracers, probes, debugger, atomic operations and KASAN as it boots, each
in a boot of its own here, and makes the faults of lkdtm. The others are Debian's, generic and rt.
All of them load the modules that test the compiler of packet filters and static keys.
"""

import re

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
# Jumps to an address with a tag, which TCR_EL1.TBID1 makes part of the address. It is RES0 on a CPU
# without pointer authentication, as guests of the module see and a Cortex-A72 is; QEMU's has it.
TAGGED = ("EXEC_STACK", "EXEC_KMALLOC", "EXEC_VMALLOC")
NOT_EXECUTABLE = "Unable to handle kernel execute from non-executable memory"
MODULES = ("test_static_keys", "test_bpf")
# Tests at boot that have initcalls of their own.
INITCALLS = {
    "tracers": "init_trace_selftests",
    "events": "event_trace_self_tests_init",
    "ring-buffer": "test_ringbuffer",
}
# Single steps over a function, and then forks with a breakpoint each.
KGDB = "V1F100I1000"
# What the log must have of each.
PASSED = {
    "tracers": (
        "Testing tracer function:", "Testing dynamic ftrace:", "Testing dynamic ftrace ops #2:",
        "Testing tracer function_graph:", "Testing tracer irqsoff:", "Testing tracer preemptoff:",
        "Testing tracer wakeup:",
    ),
    "events": (
        "Testing event sched_switch:", "Testing all events:", "along with the function tracer",
    ),
    "ring-buffer": ("Ring buffer PASSED!",),
    "kgdb": (
        "kgdbts:RUN singlestep [0/1000]", "kgdbts:RUN kernel_clone for 100 breakpoints",
        "KGDB: Unregistered I/O driver kgdbts",
    ),
    "kunit": ("ok 1 kasan", "ok 2 kprobes_test", "atomic64_test: passed"),
}  # fmt: skip
# Parts that test what CPUs have to do with each other.
SMP = ("ring-buffer", "kgdb")
BAD = ("FAILED", "not ok", "kgdbts: ERROR", "SingleStep failed", "BUG:", "WARNING:", "Oops")
SECTION = re.compile(r"^== (\S+) (\d+)$", re.MULTILINE)
STAMP = re.compile(r"^\[ *\d+\.\d+\] ", re.MULTILINE)
# Verdicts that each right machine gives.
VERDICT = re.compile(r"Testing [^:]+:|\b(?:not )?ok \d+ .*|kgdbts:RUN .*")
# Lines of a fault that say what it is. Addresses, hashed in some lines, differ from boot to boot.
FAULT = re.compile(
    r"lkdtm:|ESR = |EC = |FSC = |Internal error|Unable to handle|BUG|WARNING:|usercopy|refcount_t:"
    r"|list_(add|del)|detected buffer overflow"
)
NOISE = re.compile(
    r"\b(0x)?(?!00000000)[0-9a-f]{16}\b|\b0{8}(?!0{8})[0-9a-f]{8}(?=-|$)"
    r"|\[#\d+\]|\bCPU: \d+|\bPID: \d+|\+0x[0-9a-f]+/0x[0-9a-f]+"
    r"|/\d+\b|\b[0-9a-f]{2}\b"
)


def hosts() -> dict[str, Host]:
    """KVM, and the module on the same CPU. A counted board has as much time as its guest needs."""
    return {"kvm": Host(), "module": Host(el2=False, module=module("stable"))}


def sections(said: Said) -> dict[str, tuple[int, list[str]]]:
    """Status and log of each row of guests/debian/self-test."""
    assert said.status == 0 and said.results.get("guest.failures") == "0", said.console[-4000:]
    _, *parts = SECTION.split(said.console)
    texts = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return {name: (int(status), STAMP.sub("", log).splitlines()) for name, status, log in texts}


def guest(kernel: kernels.Kernel, rows: tuple[str, ...], append: str = "", cpus: int = 1) -> Linux:
    """A guest with a kernel and modules of its own, which goes through the rows.

    vCPUs that share the board's CPU wait for each other up to a tick of the host's, at each change
    of code or page tables: so a guest has more than one only where its test needs them.
    """
    files = module_files(kernel.modules, MODULES)
    initrd = with_files(artefacts.guest("stable")["initrd"].read_bytes(), "self-test", files)
    # quiet is not enough: with any other level, a kernel shows all from its first oops on.
    words = f"loglevel=0 {append} armvisor.test=cpus,own,cpus armvisor.rows={','.join(rows)}"
    return Linux(kernel.image, initrd, words, cpus, "768M")


def self_test(rows: tuple[str, ...], part: str = "") -> Linux:
    """The kernel that tests itself, which at boot tests nothing but a part of PASSED."""
    kernel = kernels.from_folder(debugkernel.get("stable", kind="self-test"))
    others = ",".join(call for name, call in INITCALLS.items() if name != part)
    words = (
        f"irqchip.gicv3_pseudo_nmi=1 initcall_blacklist={others} "
        f"kunit.enable={int(part == 'kunit')} kgdbts={KGDB * (part == 'kgdb')}"
    )
    return guest(kernel, rows, words, 1 + (part in SMP))


def on_both(made: Linux) -> dict[str, dict[str, tuple[int, list[str]]]]:
    """What a guest said on each host."""
    return {name: sections(run(host, [made])[0]) for name, host in hosts().items()}


def assert_passed(part: str, log: list[str]) -> None:
    """A part of what the kernel tests at boot has run and passed."""
    text = "\n".join(log)
    for words in PASSED[part]:
        assert words in text, (words, text[-4000:])
    # KASAN's test makes faults, which the kernel reports.
    bad = [word for word in BAD if part != "kunit" or word != "BUG:"]
    assert not [line for line in log if any(word in line for word in bad)]
    passed = re.findall(r"(?:\bOK|\bPASSED)$", text, re.MULTILINE)
    assert len(passed) == len(re.findall(r"\bTesting [^:]+:", text)), text[-4000:]


@pytest.mark.parametrize("part", PASSED)
def test_boot(part: str):
    """A part of the kernel's tests of itself passes on KVM and on the module, and says the same."""
    both = on_both(self_test(("settle",), part))
    logs = {name: said["boot"][1] + said["settle"][1] for name, said in both.items()}
    for log in logs.values():
        assert_passed(part, log)
    verdicts = {name: VERDICT.findall("\n".join(log)) for name, log in logs.items()}
    assert verdicts["kvm"] == verdicts["module"]


def faults(log: list[str]) -> list[str]:
    """What a log says of faults, without what differs from boot to boot."""
    return [NOISE.sub("*", line) for line in log if FAULT.search(line)]


def test_faults():
    """A fault that the kernel makes in itself is the same fault on both."""
    both = on_both(self_test(tuple(f"lkdtm.{name}" for name in FAULTS)))
    differ = {}
    for name in FAULTS:
        kvm, ours = both["kvm"][f"lkdtm.{name}"], both["module"][f"lkdtm.{name}"]
        assert any("lkdtm: Performing direct entry" in line for line in kvm[1]), name
        said = (kvm[0], faults(kvm[1])), (ours[0], faults(ours[1]))
        if name in TAGGED:
            same = kvm[0] == ours[0] and any(NOT_EXECUTABLE in line for line in ours[1])
        else:
            same = said[0] == said[1]
        if not same:
            differ[name] = said
    assert not differ, "\n".join(f"{name}:\n{a}\n{b}" for name, (a, b) in differ.items())


def summary(said: dict[str, tuple[int, list[str]]]) -> list[str]:
    """What test_bpf counted. Each module has been loaded, found nothing wrong, and has gone."""
    for name in MODULES:
        status, log = said[name]
        assert status == 0, (name, log[-20:])
    sums = [line for line in said["test_bpf"][1] if "Summary: " in line]
    assert sums and all(" 0 FAILED" in line for line in sums), said["test_bpf"][1][-20:]
    return sums


@pytest.mark.parametrize("kernel", ("generic", "rt", "self-test"))
def test_modules(kernel: str):
    """test_static_keys and test_bpf, in kernels that have them."""
    made = (
        self_test(MODULES)
        if kernel == "self-test"
        else guest(kernels.get("stable", kernel), MODULES)
    )
    both = on_both(made)
    assert summary(both["kvm"]) == summary(both["module"])
