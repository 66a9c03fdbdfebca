# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Protected VMs on real pKVM, on a board with EL2 whose kernel has kvm-arm.mode=protected, and on
the module.

`private` (guests/tools) tests, row by row, what KVM itself permits and refuses, with a protected VM
and with a plain one on the same host. The plain one shows that each way to memory works.
"""

import re
from collections.abc import Sequence
from functools import cache

import pytest
from built import module
from guest_runs import Guest, Host, results, run_guests
from shared_board import Part, run_parts
from tiny_guests import LOOP, SYSTEM_RESET, image, mrs, msr, psci

from armvisor_lab.boards.board import Board
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.figures import artefacts

# One worker runs them all: they share the boards' output.
pytestmark = pytest.mark.xdist_group("protected")

MODE = "kvm-arm.mode=protected"
SCTLR = (3, 0, 1, 0, 0)
ORR_EE = 0xB267_0000  # orr x0, x0, #SCTLR_EL1.EE
MARK = "\x1e"
# Of KVM, a protected VM and a plain one; on the module, a protected one, of a guest_memfd.
KINDS = ("protected", "plain", "module")
GROUPS = ("ways", "calls", "limits", "sharers")

# The host's result, and what the guest has. On pKVM accesses through the host's kernel see zeroes,
# and cost the guest its page: KVM_RUN then ends with EFAULT. On the module no process's tables have
# a private page, and no access costs anything.
WAYS = {
    "load": ("SIGSEGV/2 kept", "secret kept", "SIGBUS/2 kept"),
    "store": ("SIGSEGV/2 kept", "done lost", "SIGBUS/2 kept"),
    "write": ("EFAULT kept", "secret kept", "EFAULT kept"),
    "read": ("EFAULT kept", "done lost", "EFAULT kept"),
    "map": ("SIGSEGV/2 kept", "secret kept", "SIGBUS/2 kept"),
    "file-read": ("zero EFAULT", "secret kept", "ESPIPE kept"),
    "file-write": ("done EFAULT", "done lost", "ESPIPE kept"),
    "proc-mem": ("zero EFAULT", "secret kept", "EIO kept"),
    "process-vm": ("zero EFAULT", "secret kept", "EFAULT kept"),
    "ptrace": ("zero EFAULT", "secret kept", "EIO kept"),
    "vmsplice": ("zero EFAULT", "secret kept", "EFAULT kept"),
    "splice": ("zero EFAULT", "secret kept", "EINVAL kept"),
    "fork": ("SIGSEGV/2 kept", "secret kept", "SIGBUS/2 kept"),
    "core": ("zero EFAULT", "secret kept", "zero kept"),
    "punch": ("zero kept", "zero lost", "ENODEV kept"),
    "plain-vm": ("EPERM kept", "secret kept", "EFAULT kept"),
    "protected-vm": ("EPERM kept", "EPERM kept", "EINVAL kept"),
    # KVM does not keep a protected VM's registers from its VMM yet: docs/protected.md says so.
    "register": ("secret kept", "secret kept", "EPERM kept"),
    "set-registers": ("secret kept", "secret kept", "EPERM kept"),
}

# Answers of x0, call by call; a share of no memory is an abort in the guest.
CALLS = {
    "uid": ("b66fb428-e911c52e-564bcaa9-743a004d",) * 3,
    "features": ("29", "3", "29"),
    "meminfo": ("4096 -3", "-1 -1", "4096 -3"),
    # Only on the module; the fixture knows what it measures.
    "measurement": ("-1 -1 -1 -1 sha256:", "-1 -1 -1 -1 sha256:", "0 0 -3 -3 sha256:SUM"),
    # Everything that a VMM can choose before the first run changes it.
    "measured": ("-", "-", "62 differ, again same"),
    "mmio-guard": ("-1", "-1", "-1"),
    "share": ("0 -3 0 -3 0 7", "-1 -1 -1 -1 -1 7", "0 -3 0 -3 0 7"),
    "untouched": ("-3 0 0", "-1 -1 -1", "-3 0 0"),
    "unaligned": ("-3 -3", "-1 -1", "-3 -3"),
    "argument": ("-3 0 -3 -3", "-1 -1 -1 -1", "-3 0 -3 -3"),
    "no-memory": (
        "-3 esr:96000010 esr:96000010 -3",
        "-1 -1 -1 -1",
        "-3 esr:96000010 esr:96000010 -3",
    ),
    "contents": ("0 same 6 0 6", "-1 5", "0 same 6 0 6"),
}

NOTHING_4 = "esr:96000010 esr:96000010 esr:96000010 esr:96000010"
NO_8 = "-1 -1 -1 -1 -1 -1 -1 -1"

# A guest that shares in a hostile way. The page behind the last address of 40 bits: see `types`.
SHARERS = {
    "share-others": (f"{NOTHING_4} esr:96000010 -3 -3 -3", NO_8, f"{NOTHING_4} -3 -3 -3 -3"),
    "unshare-others": ("-3 -3 -3 -3 -3 -3 -3 -3", NO_8, "-3 -3 -3 -3 -3 -3 -3 -3"),
    "code": ("0 -3 seen 0 -3", "-1 -1 seen -1 -1", "0 -3 seen 0 -3"),
    "twice": ("0 448 0 448", "448 448 448 448", "0 448 0 448"),
    # On the module the call waits until the pipe is empty; on pKVM the pipe's reader gets nothing.
    "in-use": ("0 0 no-secret", "-1 -1 secret", "0 0 no-secret"),
    # Linux's pKVM has no calls for ranges; the module's are Android's.
    "range": (
        "-3 -3 -3 -3 -3 -3 -3 -3",
        NO_8,
        "0 of:2 0 of:3 -3 0 of:5 0 of:1 0 of:1 esr:96000010 -3",
    ),
    # Only on the module.
    "range-of-slots": (
        "-",
        "-",
        "0 of:1 0 0 of:1 0 seen:1 0 of:1 0 of:2 0 of:2 seen:4 0 of:4 seen:0",
    ),
    "range-in-use": ("-3", "-1", "0 of:4 zero 0 of:2 0 of:1 no-secret 0"),
    "millions": ("0 of ALL 0 0", "8960 of 8960 -1 -1", "0 of ALL 0 0"),
}

REFUSED = "EPERM KVM_SET_USER_MEMORY_REGION"
INVALID_4 = "EINVAL EINVAL EINVAL EINVAL"

# Features that armvisor relies on, and those that it leaves out.
LIMITS = {
    "slots": ("EPERM EPERM EPERM 0 0", "0 0 0 0 0", "EPERM EPERM EPERM 0 EPERM"),
    "slots-later": ("0 EPERM EPERM EPERM", "0 0 0 0", "EPERM EPERM EPERM EPERM"),
    "target": ("0", "0", "0"),
    # pKVM does not refuse a capability that it reports as 0: it works without asking.
    "capabilities": (
        "irqfd:1 ioeventfd:0 coalesced:1 readonly:0 immediate:0 pmu:0 debug:0 psci:1 one-reg:0 "
        "vcpus:1",
        "irqfd:1 ioeventfd:1 coalesced:1 readonly:1 immediate:1 pmu:1 debug:1 psci:1 one-reg:1 "
        "vcpus:1",
        "irqfd:1 ioeventfd:1 coalesced:1 readonly:0 immediate:1 pmu:0 debug:0 psci:1 one-reg:1 "
        "vcpus:1",
    ),
    "wires": ("0 0 0", "0 0 0", "0 0 0"),
    "others": ("0 EINVAL", "0 EINVAL", "0 EPERM"),
    "guest-memfd": ("0 0 EIO", "0 0 0", "0 0 0"),
    "debug": ("0 stepped", "0 stepped", "EPERM ran"),
    "registers": ("0 seen 0", "0 seen 0", "EPERM hidden EPERM"),
    "init-again": ("0 EINVAL", "0 EINVAL", "EPERM EPERM"),
    "pmu": ("0", "0", "0"),
    "taken": ("EFAULT exit:0", "0 exit:0", "ESPIPE 0 exit:0"),
    "anonymous": ("0", "0", REFUSED),
    "huge-pool": ("EIO", "0", REFUSED),
    "locked": ("ENOMEM", "0", REFUSED),
    "end": ("private:zero shared:left", "private:left shared:left", "private:zero shared:left"),
    # A KVM with pKVM ignores the size of a VM's address space.
    "types": (
        f"0 0 0 0 {INVALID_4}",
        f"0 0 0 0 {INVALID_4}",
        f"EINVAL 0 EINVAL EINVAL {INVALID_4}",
    ),
    "memfd-sizes": ("EINVAL EINVAL EINVAL 0 EINVAL EINVAL EINVAL",) * 3,
    "memfd-flags": (f"0 0 0 {INVALID_4}",) * 3,
    "memfd-offsets": (f"{INVALID_4} EINVAL EINVAL EINVAL 0 EEXIST EINVAL EINVAL",) * 3,
    "memfd-files": (f"{INVALID_4} EBADF {INVALID_4}",) * 3,
}

TABLES = {"ways": WAYS, "calls": CALLS, "limits": LIMITS, "sharers": SHARERS}

PREPARE = (
    "mkdir -p /tmp; cd /tmp",
    "echo /tmp/private.core >/proc/sys/kernel/core_pattern",
    "echo 4 >/proc/sys/vm/nr_hugepages",
)


BOARDS = {
    "pkvm": lambda: {"el2": True, "kernel": "newest", "append": MODE},
    "module": lambda: {"kernel": "stable", "modules": [Module(str(module("stable")))]},
}
HOST_KINDS = {"pkvm": {"protected": "", "plain": "plain"}, "module": {"module": "gmem"}}


# A million calls of a guest, and the number in `make test`.
ROUNDS, FEW = 1200, 60
CALLS_A_ROUND = 2 * 448  # so many pages are shared, and taken back


def try_rows(
    board: Board, kinds: dict[str, str], rounds: int = ROUNDS
) -> dict[tuple[str, str, str], str]:
    """The output of `private` on a board: the answer of each group's rows, for each kind of VM."""
    script = [*PREPARE, f"export ROUNDS={rounds}"]
    for group in GROUPS:
        for kind, word in kinds.items():
            script.append(f"printf '{MARK}{kind}\\n'; private {group} {word} || exit 1")
    script.append(f"printf '{MARK}sum\\n'; sha256sum </tmp/private.measured")
    done = board.run(["sh", "-c", "\n".join(script)])
    assert (done.failure, done.status) == (None, 0), done.text[-3000:]
    *parts, summed = done.text.split(MARK)[1:]
    measured = summed.split()[1]
    answers = {}
    for part in parts:
        kind, _, said = part.partition("\n")
        for line in said.splitlines():
            _, group, row, answer = line.split(" ", 3)
            # The guest's measurement is the one that the host's own program computes.
            answer = answer.replace(f"sha256:{measured}", "sha256:SUM")
            answers[group, row, kind] = answer.replace(f"of {rounds * CALLS_A_ROUND} ", "of ALL ")
    return answers


def try_on(host: str) -> dict[tuple[str, str, str], str]:
    files = {"/bin/private": artefacts.tool("private")}
    board = Board(**BOARDS[host](), timeout=600, files=files)
    return try_rows(board, HOST_KINDS[host], ROUNDS if host == "pkvm" else FEW)


# Fixtures, so that a board that fails is not run again for each of its rows.
@pytest.fixture(scope="module")
def tried_on_pkvm() -> dict[tuple[str, str, str], str]:
    return try_on("pkvm")


@pytest.fixture(scope="module")
def tried_on_module() -> dict[tuple[str, str, str], str]:
    return try_on("module")


# KVM's own answers, to compare with the module's, change with KVM only.
HOST_ROWS = [pytest.param("pkvm", marks=pytest.mark.conformance), "module"]


def rows(table: dict[str, tuple[str, str, str]]) -> list:
    return [
        pytest.param(
            row, kind, answer, id=f"{row}-{kind}",
            marks=() if kind == "module" else pytest.mark.conformance,
        )
        for row, all_kinds in table.items()
        for kind, answer in zip(KINDS, all_kinds, strict=True)
    ]  # fmt: skip


@pytest.fixture
def answer_to(request):
    """A group's answer for one kind of VM; only that kind's board is run."""

    def answer(group: str, row: str, kind: str) -> str:
        host = "module" if kind == "module" else "pkvm"
        return request.getfixturevalue(f"tried_on_{host}")[group, row, kind]

    return answer


@pytest.mark.parametrize(("row", "kind", "answer"), rows(WAYS))
def test_way_to_memory(answer_to, row, kind, answer):
    assert answer_to("ways", row, kind) == answer


@pytest.mark.parametrize(("row", "kind", "answer"), rows(CALLS))
def test_call_of_the_guest(answer_to, row, kind, answer):
    assert answer_to("calls", row, kind) == answer


@pytest.mark.parametrize(("row", "kind", "answer"), rows(LIMITS))
def test_limit_of_the_vmm(answer_to, row, kind, answer):
    assert answer_to("limits", row, kind) == answer


@pytest.mark.parametrize(("row", "kind", "answer"), rows(SHARERS))
def test_hostile_sharer(answer_to, row, kind, answer):
    assert answer_to("sharers", row, kind) == answer


@pytest.mark.parametrize("host", HOST_ROWS)
def test_every_row_is_looked_at(request, host):
    tried = request.getfixturevalue(f"tried_on_{host}")
    asked = {(group, row) for group, row, _ in tried}
    known = {(group, row) for group, table in TABLES.items() for row in table}
    assert asked == known


@pytest.mark.conformance
@pytest.mark.parametrize("kernel", ["oldstable", "stable", "newest"])
def test_other_hosts_answer_the_same(kernel):
    files = {"/bin/private": artefacts.tool("private")}
    board = Board(kernel=kernel, modules=[Module(str(module(kernel)))], timeout=600, files=files)
    wanted = {
        (group, row, "module"): answers[KINDS.index("module")]
        for group, table in TABLES.items()
        for row, answers in table.items()
    }
    assert try_rows(board, {"module": "gmem"}) == wanted


# Programs that look all the time, while the guest shares its pages and takes them back, and while
# its VMM is killed. On the plain VM of the same host each of them sees the secret.
UNSEEN = "calls-ok unharmed no-secret public"
BESIEGED = {
    "siege": UNSEEN,
    "siege-of-ranges": UNSEEN,
    "siege-of-two": "0 0 unharmed no-secret",
    "killed": "no-secret public",
}
OPEN = {
    "siege": "calls-refused changed secret:all public",
    "siege-of-ranges": "no-ranges",
    "siege-of-two": "0 0 unharmed secret:all",
    "killed": "secret public",
}


@pytest.mark.conformance
@pytest.mark.parametrize("host", BOARDS)
def test_siege(host):
    files = {"/bin/private": artefacts.tool("private")}
    kind = "gmem" if host == "module" else ""
    done = Board(**BOARDS[host](), files=files, smp=2, timeout=1200).run(
        ["sh", "-c", f"private sieges {kind} && echo {MARK} && private sieges plain"]
    )
    assert (done.failure, done.status) == (None, 0), done.text[-3000:]
    found = [dict(re.findall(r"^private sieges ([\w-]+) (.*)$", part, re.M))
             for part in done.text.split(MARK)]  # fmt: skip
    besieged = BESIEGED if host == "module" else BESIEGED | {"siege-of-ranges": "no-ranges"}
    assert found == [besieged, OPEN]


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
    Guest("random", "seed=1 count=5", disk=True, options=("--access-platform",)),
)


HOSTS = {
    "pkvm": lambda: Host(kernel="newest", append=MODE),
    "module": lambda: Host(el2=False, module=module("stable")),
}


@pytest.mark.parametrize("host", HOST_ROWS)
def test_bare_guests_run_protected(host):
    outputs = run_guests(HOSTS[host](), GUESTS)
    assert outputs["share"].results["share.protected"] == "1"
    assert outputs["share"].results["share.granule"] == "4096"
    assert outputs["share"].results.get("share.ranges") == ("1" if host == "module" else None)
    assert outputs["share-plain"].results["share.protected"] == "0"
    with_disk = outputs["share-disk"]
    assert with_disk.results["share.disk"] == "1"
    assert with_disk.disk.startswith("what is shared")
    # A disk whose driver goes through the platform, in a VM that is not protected.
    assert "random 5 " in outputs["random"].disk


# ---- armvisor, on a host that makes protected VMs: scripts on one board ---------------------

BIG_ENDIAN = image(mrs(0, SCTLR), ORR_EE, msr(SCTLR, 0), LOOP)
FILES = {
    "/reset.img": image(*psci(SYSTEM_RESET)),
    "/big.img": BIG_ENDIAN,
    "/loop.img": image(LOOP),
}

DEBIAN = """
armvisor run --protected --name vm --kernel /guest/vmlinuz --initrd /guest/initrd \\
    --memory 256M --append 'console=ttyS0 quiet' </dev/null
"""

ASKED = """
armvisor run --protected --name vm --kernel /loop.img --memory 64M >/tmp/err 2>&1 & vm=$!
until armvisor stat vm >/tmp/stat 2>/dev/null; do kill -0 $vm || exit; sleep 0.1; done
cat /tmp/stat; armvisor list --json
armvisor balloon vm 16M 2>&1; echo balloon $?
armvisor pause vm && armvisor resume vm; echo pause $?
armvisor stop --force vm; wait $vm; echo ended $?; cat /tmp/err
"""

RESET = """
armvisor run --protected --on-reset restart --name vm --kernel /reset.img --memory 64M \\
    >/tmp/err 2>&1 & vm=$!
until armvisor stat vm --json 2>/dev/null | grep -q '"resets":[1-9][0-9]'; do
    kill -0 $vm || break; sleep 0.1
done
armvisor stop --force vm; wait $vm; echo ended $?; cat /tmp/err
"""

BIG = """
armvisor run --protected --kernel /big.img --memory 64M </dev/null >/tmp/out 2>&1
echo ended $?; cat /tmp/out; dmesg
"""

# All that root's programs can do with a file of the VMM's: none has a byte.
READING = """
armvisor run --protected --name vm --kernel /loop.img --memory 64M >/tmp/err 2>&1 & vm=$!
until armvisor stat vm --json 2>/dev/null | grep -q running; do sleep 0.1; done
for fd in /proc/$vm/fd/*; do case $(readlink $fd) in
    *kvm-gmem*) cat $fd >/tmp/read 2>/tmp/no; echo read $(wc -c </tmp/read);;
esac; done
at=$(grep -m1 kvm-gmem /proc/$vm/maps | cut -d- -f1)
dd if=/proc/$vm/mem bs=4096 skip=$((0x$at / 4096)) count=1 2>/dev/null | wc -c
armvisor stop --force vm; wait $vm; echo ended $?; cat /tmp/err
"""

# Root reads all of its memory, again and again: the guest may not have begun.
TAKEN = """
armvisor run --protected --kernel /loop.img --memory 64M >/tmp/err 2>&1 & vm=$!
while [ -e /proc/$vm/fd/0 ]; do
    sleep 0.2
    for fd in /proc/$vm/fd/*; do
        case $(readlink $fd) in *deleted*) cat $fd | wc -c >/tmp/size;; esac
    done
done
wait $vm; echo ended $?; cat /tmp/err; ls /run/armvisor 2>/dev/null; exit 0
"""

REFUSALS = (
    ("--pmu", 2, "KVM gives such a VM no PMU; leave --pmu out"),
    ("--huge-pages hugetlb", 2, "leave --huge-pages hugetlb out"),
    ("--overcommit", 2, "leave --overcommit out"),
)
NO_SUCH = (
    "",
    4,
    "--protected: this host's KVM makes no protected VMs; run without it, or, on a CPU with EL2, ",
)


def refused(rows: Sequence[tuple[str, int, str]]) -> str:
    lines = []
    for words, _, _ in rows:
        lines.append(f"armvisor run --protected --kernel /hello.img --memory 64M {words} 2>&1")
        lines.append(f"printf '%s{MARK}' $?")
    return "\n".join([*lines, "ls /run/armvisor 2>/dev/null; exit 0"])


SCRIPTS = {"asked": ASKED, "reset": RESET, "refused": refused(REFUSALS)}
OF_THE_MODULE = {"big-endian": BIG, "reading": READING}


def run_vmm(scripts: dict[str, str], **board) -> dict[str, Part]:
    files = {"/bin/armvisor": artefacts.vmm(), "/hello.img": artefacts.bare("hello")}
    if DEBIAN in scripts.values():
        guest = artefacts.guest("newest")
        files |= {f"/guest/{name}": guest[name] for name in ("vmlinuz", "initrd")}
    return run_parts(Board(**board, timeout=900, files=FILES | files), scripts)


@cache
def vmm_on(host: str) -> dict[str, Part]:
    more = OF_THE_MODULE if host == "module" else {}
    return run_vmm(SCRIPTS | more, **BOARDS[host]())


@pytest.mark.conformance
@pytest.mark.parametrize("host", BOARDS)
def test_a_stock_debian_guest_boots_protected(host):
    """`make test` has one with the module for bounce buffers (test_bounce.py)."""
    said = run_vmm({"debian": DEBIAN}, **BOARDS[host]())["debian"].check()
    assert results(said)["guest.failures"] == "0"


@pytest.mark.parametrize("host", HOST_ROWS)
def test_a_protected_vm_can_be_asked(host):
    said = vmm_on(host)["asked"].check()
    assert "vm: running, protected, pid" in said
    assert '"protected":true' in said
    assert "is a protected VM, whose memory stays its own" in said
    assert "balloon 4" in said
    assert "pause 0" in said
    assert "ended 8" in said


@pytest.mark.parametrize("host", HOST_ROWS)
def test_a_protected_vm_starts_again_and_ends_when_it_is_told_to(host):
    assert "ended 8" in vmm_on(host)["reset"].check()


def test_why_a_vm_on_the_module_ended_says_nothing_that_is_the_guests():
    """What is in the guest's registers, as its address, is in neither its VMM nor the log."""
    said = vmm_on("module")["big-endian"].check()
    assert said.startswith("ended 7\n"), said
    told = [line for line in said.splitlines() if "switched to big-endian" in line]
    assert len(told) >= 2, said
    assert not any("0x" in line for line in told), told


def test_reading_the_memory_of_a_vm_on_the_module_takes_nothing():
    said = vmm_on("module")["reading"].check()
    # The file, which the VMM has twice; its mapping; and the VM went on until it was stopped.
    assert said.startswith("read 0\nread 0\n0\nended 8\n"), said


@pytest.mark.conformance
def test_a_vm_whose_memory_is_taken_ends_with_a_sentence():
    said = run_vmm({"taken": TAKEN}, **BOARDS["pkvm"]())["taken"].check()
    ended, *said = said.strip().splitlines()
    assert ended == "ended 7"
    assert said[0].startswith("armvisor: "), said
    assert "some program read or wrote the VM's private memory" in said[0], said
    assert "the VM is protected" in "\n".join(said[1:]), "its registers are not shown"


def test_what_a_protected_vm_cannot_have_is_refused():
    assert_refused(vmm_on("module")["refused"], REFUSALS)


@pytest.mark.conformance
def test_what_kvm_without_protected_vms_refuses():
    rows = (*REFUSALS, NO_SUCH)
    parts = run_vmm({"refused": refused(rows)}, el2=True, kernel="newest")
    assert_refused(parts["refused"], rows)


def assert_refused(part: Part, rows: Sequence[tuple[str, int, str]]):
    *said, left = part.check().split(MARK)
    assert left == "", "a refused VM leaves nothing behind"
    for (_, code, sentence), answer in zip(rows, said, strict=True):
        text, _, status = answer.strip().rpartition("\n")
        assert (int(status), text.count("\n")) == (code, 0), answer
        assert text.startswith("armvisor: ") and sentence in text, answer
