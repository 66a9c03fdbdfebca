# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Protected VMs on real pKVM: a board with EL2 whose kernel has kvm-arm.mode=protected.

What KVM itself gives and refuses is asked by `private` (guests/tools), row by row, of a protected
VM and of a plain one on the same host: the plain one shows that each way to memory is one.
"""

import pytest
from built import module
from guest_runs import Guest, Host, results, run_guests
from tiny_guests import SYSTEM_RESET, image, psci

from armvisor_lab.board import Board
from armvisor_lab.figures import artefacts
from armvisor_lab.initramfs import Module

# One worker runs them all: the boards' answers are shared.
pytestmark = pytest.mark.xdist_group("protected")

MODE = "kvm-arm.mode=protected"
MARK = "\x1e"
KINDS = ("protected", "plain")
GROUPS = ("ways", "calls", "limits")

# What the host came to, and what the guest has: of a protected VM, and of a plain one. Accesses
# through the host's kernel see zeroes, and cost the guest its page: KVM_RUN then ends with EFAULT.
WAYS = {
    "load": ("SIGSEGV/2 kept", "secret kept"),
    "store": ("SIGSEGV/2 kept", "done lost"),
    "write": ("EFAULT kept", "secret kept"),
    "read": ("EFAULT kept", "done lost"),
    "map": ("SIGSEGV/2 kept", "secret kept"),
    "file-read": ("zero EFAULT", "secret kept"),
    "file-write": ("done EFAULT", "done lost"),
    "proc-mem": ("zero EFAULT", "secret kept"),
    "process-vm": ("zero EFAULT", "secret kept"),
    "ptrace": ("zero EFAULT", "secret kept"),
    "vmsplice": ("zero EFAULT", "secret kept"),
    "splice": ("zero EFAULT", "secret kept"),
    "fork": ("SIGSEGV/2 kept", "secret kept"),
    "core": ("zero EFAULT", "secret kept"),
    "punch": ("zero kept", "zero lost"),
    "plain-vm": ("EPERM kept", "secret kept"),
    "protected-vm": ("EPERM kept", "EPERM kept"),
    # KVM does not keep a protected VM's registers from its VMM yet: docs/protected.md says so.
    "register": ("secret kept", "secret kept"),
    "set-registers": ("secret kept", "secret kept"),
}

# Answers of x0, call by call; a share of no memory is an abort in the guest.
CALLS = {
    "uid": ("b66fb428-e911c52e-564bcaa9-743a004d",) * 2,
    "features": ("29", "3"),
    "meminfo": ("4096 -3", "-1 -1"),
    "mmio-guard": ("-1", "-1"),
    "share": ("0 -3 0 -3 0 7", "-1 -1 -1 -1 -1 7"),
    "untouched": ("-3 0 0", "-1 -1 -1"),
    "unaligned": ("-3 -3", "-1 -1"),
    "argument": ("-3 0 -3", "-1 -1 -1"),
    "no-memory": ("-3 esr:96000010 esr:96000010 -3", "-1 -1 -1 -1"),
    "contents": ("0 same 6 0 6", "-1 5"),
}

# What armvisor relies on, and what it leaves out.
LIMITS = {
    "slots": ("EPERM EPERM EPERM 0 0", "0 0 0 0 0"),
    "slots-later": ("0 EPERM EPERM EPERM", "0 0 0 0"),
    "target": ("0", "0"),
    "wires": ("0 0 0", "0 0 0"),
    "debug": ("0 stepped", "0 stepped"),
    "registers": ("0 seen 0", "0 seen 0"),
    "init-again": ("0 EINVAL", "0 EINVAL"),
    "anonymous": ("0", "0"),
    "huge-pool": ("EIO", "0"),
    "locked": ("ENOMEM", "0"),
    "end": ("private:zero shared:left", "private:left shared:left"),
}


@pytest.fixture(scope="module")
def tried() -> dict[tuple[str, str, str], str]:
    """What `private` says: the answer of each group's rows, of each kind of VM."""
    script = [
        "mkdir -p /tmp; cd /tmp",
        "echo /tmp/private.core >/proc/sys/kernel/core_pattern",
        "echo 4 >/proc/sys/vm/nr_hugepages",
    ]
    for group in GROUPS:
        for kind in KINDS:
            word = "plain" if kind == "plain" else ""
            script.append(f"printf '{MARK}{kind}\\n'; private {group} {word} || exit 1")
    tool = artefacts.tool("private")
    board = Board(el2=True, kernel="newest", append=MODE, files={"/bin/private": tool})
    done = board.run(["sh", "-c", "\n".join(script)])
    assert (done.failure, done.status) == (None, 0), done.text[-3000:]
    answers = {}
    for part in done.text.split(MARK)[1:]:
        kind, _, said = part.partition("\n")
        for line in said.splitlines():
            _, group, row, answer = line.split(" ", 3)
            answers[group, row, kind] = answer
    return answers


def rows(table: dict[str, tuple[str, str]]) -> list:
    return [
        pytest.param(row, kind, answer, id=f"{row}-{kind}")
        for row, both in table.items()
        for kind, answer in zip(KINDS, both, strict=True)
    ]


@pytest.mark.parametrize(("row", "kind", "answer"), rows(WAYS))
def test_way_to_memory(tried, row, kind, answer):
    assert tried["ways", row, kind] == answer


@pytest.mark.parametrize(("row", "kind", "answer"), rows(CALLS))
def test_call_of_the_guest(tried, row, kind, answer):
    assert tried["calls", row, kind] == answer


@pytest.mark.parametrize(("row", "kind", "answer"), rows(LIMITS))
def test_limit_of_the_vmm(tried, row, kind, answer):
    assert tried["limits", row, kind] == answer


def test_every_row_is_looked_at(tried):
    asked = {(group, row) for group, row, _ in tried}
    tables = {"ways": WAYS, "calls": CALLS, "limits": LIMITS}
    known = {(group, row) for group, table in tables.items() for row in table}
    assert asked - known == {("limits", "capabilities")}


PROTECTED = ("--protected",)
GUESTS = (
    Guest("hello", options=PROTECTED),
    Guest("hypercall", "loops=10", options=PROTECTED),
    Guest("mmio", options=PROTECTED),
    Guest("timer", options=PROTECTED),
    Guest("smp", cpus=2, options=PROTECTED),
    Guest("share", options=PROTECTED),
    Guest("share", disk=True, options=PROTECTED, name="share-disk"),
    Guest("share", disk=True, name="share-plain"),
    Guest("trap", "sweep=1", disk=True, options=("--access-platform",)),
)


def test_bare_guests_run_protected():
    outputs = run_guests(Host(kernel="newest", append=MODE), GUESTS)
    assert outputs["share"].results["share.protected"] == "1"
    assert outputs["share"].results["share.granule"] == "4096"
    assert outputs["share-plain"].results["share.protected"] == "0"
    with_disk = outputs["share-disk"]
    assert with_disk.results["share.disk"] == "1"
    assert with_disk.disk.startswith("what is shared")
    # A disk whose driver goes through the platform, in a VM that is not protected.
    assert "sweep" in outputs["trap"].disk


def test_a_stock_debian_guest_boots_protected():
    script = [
        # The VM is asked while it boots.
        "armvisor run --protected --name vm --kernel /guest/vmlinuz --initrd /guest/initrd "
        "--memory 256M --append 'console=ttyS0 quiet' >/tmp/console 2>/tmp/err & vm=$!",
        "until armvisor stat vm >/tmp/stat 2>/dev/null; do sleep 0.2; done",
        "cat /tmp/stat; armvisor list --json",
        "armvisor balloon vm 16M; echo balloon $?",
        "armvisor pause vm && armvisor resume vm; echo pause $?",
        "wait $vm; status=$?; cat /tmp/console /tmp/err; exit $status",
    ]
    guest = artefacts.guest("newest")
    board = Board(
        el2=True,
        kernel="newest",
        append=MODE,
        timeout=500,
        files={
            "/bin/armvisor": artefacts.vmm(),
            "/guest/vmlinuz": guest["vmlinuz"],
            "/guest/initrd": guest["initrd"],
        },
    )
    done = board.run(["sh", "-c", "\n".join(script)])
    said = done.text + done.stderr.decode("utf-8", "replace")
    assert (done.failure, done.status) == (None, 0), said[-3000:]
    assert results(done.text)["guest.failures"] == "0"
    assert "vm: running, protected, pid" in done.text
    assert '"protected":true' in done.text
    assert "it is a protected VM, whose memory stays its own" in said
    assert "balloon 4" in done.text
    assert "pause 0" in done.text


def test_a_protected_vm_starts_again_and_ends_when_it_is_told_to():
    script = [
        "armvisor run --protected --on-reset restart --name vm --kernel /reset.img --memory 64M "
        ">/tmp/err 2>&1 & vm=$!",
        "until armvisor stat vm --json 2>/dev/null | grep -q '\"resets\":[1-9][0-9]'; do",
        "kill -0 $vm || break; sleep 0.1; done",
        "armvisor stop --force vm; wait $vm; echo ended $?; cat /tmp/err; exit 0",
    ]
    board = Board(
        el2=True,
        kernel="newest",
        append=MODE,
        files={"/bin/armvisor": artefacts.vmm(), "/reset.img": image(*psci(SYSTEM_RESET))},
    )
    done = board.run(["sh", "-c", "\n".join(script)])
    assert not done.failure, done.failure
    assert "ended 8" in done.text, done.text


REFUSALS = (
    ("--pmu", 2, "KVM gives such a VM no PMU; leave --pmu out"),
    ("--huge-pages hugetlb", 2, "leave --huge-pages hugetlb out"),
    ("--overcommit", 2, "leave --overcommit out"),
    ("", 4, "this host's KVM does not make protected VMs: it needs a CPU with EL2"),
)


@pytest.mark.parametrize("el2", [True, False], ids=["kvm", "module"])
def test_a_host_without_protected_vms_refuses(el2):
    script = []
    for words, _, _ in REFUSALS:
        script.append(f"armvisor run --protected --kernel /hello.img --memory 64M {words} 2>&1")
        script.append(f"printf '%s{MARK}' $?")
    board = Board(
        el2=el2,
        kernel="newest" if el2 else "stable",
        modules=() if el2 else [Module(str(module("stable")), "")],
        files={"/bin/armvisor": artefacts.vmm(), "/hello.img": artefacts.bare("hello")},
    )
    done = board.run(["sh", "-c", "\n".join([*script, "ls /run/armvisor 2>/dev/null; exit 0"])])
    assert not done.failure, done.failure
    *said, left = done.text.split(MARK)
    assert left == "", "a refused VM leaves nothing behind"
    for (_, code, sentence), answer in zip(REFUSALS, said, strict=True):
        text, _, status = answer.strip().rpartition("\n")
        assert (int(status), text.count("\n")) == (code, 0), answer
        assert text.startswith("armvisor: ") and sentence in text, answer
