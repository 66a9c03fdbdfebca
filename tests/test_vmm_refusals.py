# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""What armvisor refuses, on a board with KVM: one clear sentence, the right exit code, no VM.

A row is a case: what is made first, what is added to the command line, the exit code, and words of
the sentence. One board runs all rows.
"""

from dataclasses import dataclass

import pytest
from tiny_guests import SYSTEM_OFF, image, psci

from armvisor_lab.board import Board
from armvisor_lab.figures import artefacts

# One worker runs them all, on one board.
pytestmark = pytest.mark.xdist_group("vmm_refusals")

MARK = "\x1e"
USAGE, BAD_FILE, HOST = 2, 3, 4


@dataclass(frozen=True)
class Row:
    """A command line that is refused."""

    name: str
    words: str
    code: int
    says: str
    before: str = "true"


ROWS = (
    Row("kernel-missing", "--kernel /none", BAD_FILE, "kernel /none: no such file"),
    Row("kernel-empty", "--kernel /x", BAD_FILE, "is empty", ": >/x"),
    Row("kernel-directory", "--kernel /tmp", BAD_FILE, "not a regular file"),
    Row("kernel-short", "--kernel /x", BAD_FILE, "truncated", "head -c 60 /off.img >/x"),
    Row(
        "kernel-truncated",
        "--kernel /x",
        BAD_FILE,
        "truncated",
        "head -c 10000000 /guest/Image >/x",
    ),
    Row(
        "kernel-gzip-truncated",
        "--kernel /x",
        BAD_FILE,
        "may be truncated",
        "gzip -c /off.img | head -c 30 >/x",
    ),
    Row("kernel-elf", "--kernel /bin/armvisor", BAD_FILE, "is an ELF file for arm64"),
    Row("kernel-x86", "--kernel /bzimage", BAD_FILE, "is an x86 bzImage"),
    Row("kernel-arm32", "--kernel /zimage", BAD_FILE, "is a 32-bit Arm zImage"),
    Row("kernel-noise", "--kernel /x", BAD_FILE, "is no kernel", "head -c 9999 /dev/zero >/x"),
    Row("kernel-large", "--kernel /large.img", BAD_FILE, "give it more --memory"),
    Row("initrd-missing", "--initrd /none", BAD_FILE, "initrd /none: no such file"),
    Row("initrd-empty", "--initrd /x", BAD_FILE, "is empty", ": >/x"),
    Row(
        "initrd-large",
        "--memory 32M --initrd /x",
        BAD_FILE,
        "give the guest more --memory",
        "truncate -s 40M /x",
    ),
    Row("memory-zero", "--memory 0", USAGE, "a VM with no memory cannot run"),
    Row("memory-tiny", "--memory 1M", USAGE, "1M is too small"),
    Row("memory-unaligned", "--memory 511K", USAGE, "too small"),
    Row("memory-odd", "--memory 65M", USAGE, "the nearest are 64M and 66M"),
    Row("memory-words", "--memory plenty", USAGE, "whole number with a unit"),
    Row("memory-more-than-host", "--memory 64G", HOST, "--overcommit"),
    Row("memory-no-address", "--memory 16T --overcommit", HOST, "bits of guest address"),
    Row("hugetlb-pool", "--huge-pages hugetlb", HOST, "sysctl vm.nr_hugepages"),
    Row("cpus-none", "--cpus 0", USAGE, "at least one CPU"),
    Row("cpus-many", "--cpus 4096", USAGE, "at most 123 CPUs"),
    Row("device-missing", "--device /dev/none", HOST, "no such device"),
    Row("device-not-kvm", "--device /dev/null", HOST, "is not a KVM device"),
    Row("device-directory", "--device /dev", HOST, "is a directory"),
    Row("device-file", "--device /x", HOST, "is not a KVM device", ": >/x"),
    Row("disk-missing", "--disk /none", BAD_FILE, "disk /none: no such file"),
    Row("disk-empty", "--disk /x", BAD_FILE, "is empty", ": >/x"),
    Row("disk-directory", "--disk /tmp", BAD_FILE, "is a directory"),
    Row("disk-character", "--disk /dev/null", BAD_FILE, "neither a file nor a block device"),
    Row("disk-tiny", "--disk /x", BAD_FILE, "smaller than one sector", "echo hi >/x"),
    Row(
        "disk-qcow2",
        "--disk /x",
        BAD_FILE,
        "'qemu-img convert -f qcow2 -O raw /x /x.raw'",
        "printf 'QFI\\373\\0\\0\\0\\003' >/x; truncate -s 1M /x",
    ),
    Row(
        "disk-vhd",
        "--disk /x,ro",
        BAD_FILE,
        "-f vpc -O raw",
        "truncate -s 1M /x; printf conectix >>/x; truncate -s 1049088 /x",
    ),
    Row(
        "disk-gzip",
        "--disk /x",
        BAD_FILE,
        "gzip -dc /x > /x.raw",
        "gzip -c /off.img >/x; truncate -s 4K /x",
    ),
    Row(
        "disk-iso",
        "--disk /x",
        BAD_FILE,
        "is in ISO 9660 format",
        "truncate -s 32769 /x; printf CD001 >>/x; truncate -s 1M /x",
    ),
    Row("disk-twice", "--disk /x --disk /x", HOST, "has it locked", "truncate -s 1M /x"),
    Row("tap-missing", "--net tap=none0", HOST, "none0"),
    Row("tap-twice", "--net tap=a --net tap=a", USAGE, "given twice"),
    Row("tap-name", "--net tap=a/b", USAGE, "cannot be the name of a TAP"),
    Row("vsock-cid", "--vsock cid=1,uds=/v", USAGE, "from 3 to 4294967294"),
    Row("vsock-path", "--vsock cid=3,uds=/none/v", HOST, "/none/v"),
    Row("console-path", "--console /none/c", BAD_FILE, "no such file"),
    Row("name", "--name ../up", USAGE, "letters, digits"),
    Row("append-long", "--append $(printf %02050d 0)", USAGE, "shorten it by 77 "),
    Row("nul-append", "--unknown", USAGE, "unexpected argument"),
)


def foreign(at: int, magic: bytes) -> bytes:
    """A file that has only another system's magic."""
    return bytes(at) + magic + bytes(4096)


@pytest.fixture(scope="module")
def refused() -> dict[str, tuple[int, str]]:
    """Exit code and standard error of each row."""
    script = []
    for row in ROWS:
        kernel = "" if "--kernel" in row.words else "--kernel /off.img"
        script.append(f"rm -f /x; {row.before}")
        script.append(f"armvisor run {kernel} {row.words} >/out 2>/err </dev/null")
        script.append(f"printf '{MARK}%s %s\\n' {row.name} $?; cat /out /err")
    script.append(f"printf '{MARK}end 0\\n'; armvisor list; ls /run/armvisor 2>/dev/null; exit 0")
    board = Board(
        el2=True,
        files={
            "/bin/armvisor": artefacts.vmm(),
            "/guest/Image": artefacts.guest("stable")["Image"],
            "/off.img": image(*psci(SYSTEM_OFF)),
            "/large.img": image(*psci(SYSTEM_OFF), size=1 << 40),
            "/bzimage": foreign(0x202, b"HdrS"),
            "/zimage": foreign(36, (0x016F2818).to_bytes(4, "little")),
            "/script": "\n".join(script).encode(),
        },
    )
    done = board.run(["sh", "/script"])
    assert not done.failure, done.failure
    found = {}
    for part in done.text.split(MARK)[1:]:
        head, _, said = part.partition("\n")
        name, code = head.split()
        found[name] = (int(code), said)
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_refusal(refused, row):
    code, said = refused[row.name]
    assert code == row.code, said
    assert row.says in said
    assert "panicked" not in said
    if said.startswith("armvisor: ") or row.code != USAGE:
        # One sentence, on one line.
        assert said.startswith("armvisor: ") and said.count("\n") == 1, said


def test_a_refused_vm_leaves_nothing_behind(refused):
    assert refused["end"] == (0, "")
