# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Things that armvisor refuses, on a board with KVM: one clear sentence, the right exit code, no
VM.

A row is a case: its set-up, its additions to the command line, the exit code, and words of the
sentence. One board runs all rows. None may wait: a case that does not end by itself is killed.
"""

import re
from dataclasses import dataclass

import pytest
from tiny_guests import SYSTEM_OFF, image, psci

from armvisor_lab.boards.board import Board
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.figures import artefacts

# One worker runs them all, on one board.
pytestmark = pytest.mark.xdist_group("vmm_refusals")

MARK = "\x1e"
USAGE, BAD_FILE, HOST, NO_SUCH_VM = 2, 3, 4, 9
# Every refusal: a subject, what is wrong, and behind a semicolon what to do.
FORM = re.compile(r"armvisor: [^\s:][^:]*: [^\s].*[^.\s]\n")
TAP = "sudo ip tuntap add dev no0 mode tap user $USER; sudo ip addr add 192.168.77.1/24 dev no0; "


@dataclass(frozen=True)
class Row:
    """A command line that is refused."""

    name: str
    words: str
    code: int
    says: str
    before: str = "true"
    command: str = "run"


ROWS = (
    Row("kernel-missing", "--kernel /none", BAD_FILE, "kernel /none: no such file"),
    Row("kernel-empty", "--kernel /x", BAD_FILE, "is empty", ": >/x"),
    Row("kernel-directory", "--kernel /tmp", BAD_FILE, "is a directory, not a regular file"),
    Row("kernel-fifo", "--kernel /x", BAD_FILE, "kernel /x: is a FIFO, not a", "mkfifo /x"),
    Row("kernel-link-to-fifo", "--kernel /y", BAD_FILE, "is a FIFO", "mkfifo /x; ln -s /x /y"),
    Row("kernel-device", "--kernel /dev/zero", BAD_FILE, "is a character device, not a"),
    Row("kernel-lacking", "", USAGE, "armvisor run: lacks --image FILE or --kernel IMAGE; "),
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
    Row("kernel-noise", "--kernel /x", BAD_FILE, "is not a kernel", "head -c 9999 /dev/zero >/x"),
    Row("kernel-large", "--kernel /large.img", BAD_FILE, "give it more --memory"),
    Row("initrd-missing", "--initrd /none", BAD_FILE, "initrd /none: no such file"),
    Row("initrd-empty", "--initrd /x", BAD_FILE, "is empty", ": >/x"),
    Row("initrd-fifo", "--initrd /x", BAD_FILE, "initrd /x: is a FIFO, not a", "mkfifo /x"),
    Row(
        "initrd-large",
        "--memory 32M --initrd /x",
        BAD_FILE,
        "give the guest more --memory",
        "truncate -s 40M /x",
    ),
    Row("memory-zero", "--memory 0", USAGE, "--memory 0: no VM runs without memory; give it"),
    Row("memory-bare", "--memory 512", USAGE, "has no unit; did you mean 512M?"),
    Row("memory-tiny", "--memory 1M", USAGE, "--memory 1M: is too small"),
    Row("memory-unaligned", "--memory 511K", USAGE, "too small"),
    Row("memory-odd", "--memory 65M", USAGE, "the nearest are 64M and 66M"),
    Row("memory-words", "--memory plenty", USAGE, "whole number with a unit"),
    Row("memory-more-than-host", "--memory 64G", HOST, "--overcommit"),
    Row("memory-no-address", "--memory 16T --overcommit", HOST, "bits of guest address"),
    Row("hugetlb-pool", "--huge-pages hugetlb", HOST, "sysctl vm.nr_hugepages"),
    Row("cpus-none", "--cpus 0", USAGE, "at least one CPU"),
    Row("cpus-many", "--cpus 4096", USAGE, "at most 123 CPUs"),
    Row("device-missing", "--device /dev/none", HOST, "no such device"),
    Row("device-not-kvm", "--device /dev/null", HOST, "/dev/null: is not a KVM device; "),
    Row("device-directory", "--device /dev", HOST, "is a directory, not a KVM device"),
    Row("device-file", "--device /x", HOST, "is a regular file, not a KVM device", ": >/x"),
    Row("device-fifo", "--device /x", HOST, "is a FIFO, not a KVM device", "mkfifo /x"),
    Row("image-missing", "--image /none", BAD_FILE, "image /none: no such file"),
    Row("image-fifo", "--image /x", BAD_FILE, "image /x: is a FIFO, not a", "mkfifo /x"),
    Row("image-format", "--image /x --image-format vdi", USAGE, "write raw, qcow2 or vmdk"),
    Row(
        "image-not-qcow2",
        "--image /x --image-format qcow2",
        BAD_FILE,
        "does not begin as a qcow2 does; ",
        "truncate -s 1M /x",
    ),
    Row(
        "image-backing-device",
        "--image /x --backing /dev/null",
        BAD_FILE,
        "backing file /dev/null: is a character device, not a regular file",
        "truncate -s 1M /x",
    ),
    Row("image-lacking", "--backing /x", USAGE, "--image"),
    Row("seed-nobody", "--cloud-init", USAGE, "add '--ssh-key FILE' with a public key"),
    Row(
        "seed-user", "--cloud-init --user Root", USAGE, "--user Root: is not a name for an account"
    ),
    Row("disk-missing", "--disk /none", BAD_FILE, "disk /none: no such file"),
    Row("disk-empty", "--disk /x", BAD_FILE, "is empty", ": >/x"),
    Row("disk-directory", "--disk /tmp", BAD_FILE, "is a directory"),
    Row("disk-fifo", "--disk /x", BAD_FILE, "disk /x: is a FIFO, not a", "mkfifo /x"),
    Row("disk-character", "--disk /dev/null", BAD_FILE, "is a character device, not a regular"),
    Row("disk-key", "--disk path=/x", USAGE, "--disk path=/x: has no 'path='; write '/x' ("),
    Row("disk-option", "--disk /x,rw", BAD_FILE, "meant as an option: there are ',ro' and ',raw'"),
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
    Row(
        "disk-twice",
        "--disk /x --disk /x",
        USAGE,
        "--disk /x: given twice; give it once, or each time with ',ro'",
        "truncate -s 1M /x",
    ),
    Row(
        "disk-twice-by-link",
        "--disk /x --disk /y,ro",
        USAGE,
        "--disk /y: is the same file as --disk /x; ",
        "truncate -s 1M /x; ln -s /x /y",
    ),
    Row(
        "disk-twice-by-hard-link",
        "--disk /x --disk /y",
        USAGE,
        "--disk /y: is the same file as --disk /x; ",
        "truncate -s 1M /x; ln /x /y",
    ),
    Row(
        "disk-twice-by-device",
        "--disk /dev/loop0,ro --disk /y",
        USAGE,
        "--disk /y: is the same file as --disk /dev/loop0; ",
        "truncate -s 1M /x; losetup /dev/loop0 /x; cp -a /dev/loop0 /y",
    ),
    Row("tap-missing", "--net tap=no0", HOST, f"TAP no0: no such interface; make it with '{TAP}"),
    Row("tap-other", "--net tap=lo", HOST, "TAP lo: is an interface of another kind, not a TAP; "),
    Row("net-user", "--net user", USAGE, "--net user: is passt here; write passt"),
    Row("net-bare", "--net tap0", USAGE, "--net tap0: lacks a key; write tap=tap0"),
    Row("net-passt", "--net passt", HOST, "passt: is not installed; install the package passt ("),
    Row("publish", "-p 8080:80", USAGE, "--publish: '8080:80' needs '--net passt'; add it"),
    Row("publish-form", "--net passt -p 80", USAGE, "--publish 80: lacks the guest's port; write "),
    Row("tap-twice", "--net tap=a --net tap=a", USAGE, "given twice"),
    Row("tap-name", "--net tap=a/b", USAGE, "cannot be the name of a TAP"),
    Row("vsock-cid", "--vsock cid=1,uds=/v", USAGE, "from 3 to 4294967294"),
    Row("vsock-path", "--vsock cid=3,uds=/none/v", HOST, "vsock /none/v: cannot listen there"),
    Row("vsock-fifo", "--vsock cid=3,uds=/x", HOST, "a file that is not a socket", "mkfifo /x"),
    Row("console-path", "--console /none/c", BAD_FILE, "no such file"),
    Row("console-fifo", "--console /x", BAD_FILE, "console /x: is a FIFO that nobody", "mkfifo /x"),
    Row("console-directory", "--console /tmp", BAD_FILE, "is a directory, not a file, a FIFO or"),
    Row(
        "console-is-the-disk",
        "--disk /x --console /y",
        USAGE,
        "--console /y: is the same file as --disk /x, and ",
        "truncate -s 1M /x; ln /x /y",
    ),
    Row("name", "--name ../up", USAGE, "letters, digits"),
    Row("append-long", "--append $(printf %02050d 0)", USAGE, "shorten it by 77 "),
    Row("unknown", "--unknown", USAGE, "--unknown: no such option of 'armvisor run'; "),
    Row("misspelt", "--consle none", USAGE, "did you mean '--console'?"),
    Row("twice", "--cpus 1 --cpus 2", USAGE, "--cpus: given twice; give it once"),
    Row("no-command", "", USAGE, "rum: no such command; did you mean 'run'?", command="rum"),
    Row("nobody", "vm", NO_SUCH_VM, "VM vm: no VM of that name runs (looked in ", command="stat"),
    Row("since", "vm --since /x", BAD_FILE, "--since /x: is a FIFO", "mkfifo /x", "stat"),
    Row("no-user", "x/vm", USAGE, "VM x/vm: there is no user x; 'armvisor list' ", command="pause"),
    Row("balloon", "vm 128", USAGE, "SIZE 128: is 128 bytes", command="balloon"),
)


def foreign(at: int, magic: bytes) -> bytes:
    """A file that has only another system's magic."""
    return bytes(at) + magic + bytes(4096)


@pytest.fixture(scope="module")
def refused() -> dict[str, tuple[int, str]]:
    """Exit code and standard error of each row."""
    script = []
    for row in ROWS:
        own = "--kernel" in row.words or row.name == "kernel-lacking" or row.command != "run"
        kernel = "" if own else "--kernel /off.img"
        script.append(f"rm -f /x /y; {row.before}")
        words = f"armvisor {row.command} {kernel} {row.words}"
        script.append(f"timeout -s KILL 600 {words} >/out 2>/err </dev/null")
        script.append(f"printf '{MARK}%s %s\\n' {row.name} $?; cat /out /err")
    script.append(f"printf '{MARK}end 0\\n'; armvisor list; ls /run/armvisor 2>/dev/null; exit 0")
    board = Board(
        el2=True,
        modules=[Module("loop")],
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
    assert FORM.fullmatch(said), said


def test_a_refused_vm_leaves_nothing_behind(refused):
    assert refused["end"] == (0, "")
