# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Debian's own QEMU on the module: an unmodified program that speaks KVM's API.

It boots the Debian test guest twice on the board without EL2: once with its disk on virtio-mmio, to
write a file, and once with it on virtio-pci, to read the file back. The second disk's interrupts
are MSI-X: messages to the ITS, which QEMU sends by irqfds or by KVM_SIGNAL_MSI.
The board counts instructions: in real time, on a busy machine, it sees little but its own timer.
"""

import shlex

from built import module

from armvisor_lab import programs
from armvisor_lab.board import Board
from armvisor_lab.figures import artefacts

KERNEL = "stable"
# The suite whose QEMU it is, and where the disk of each of the two runs is.
SUITE = "trixie"
RUNS = (
    ("virtio-blk-device", "disk-write,interrupts"),
    ("virtio-blk-pci,romfile=", "disk-check,interrupts"),
)


def command(device: str, test: str) -> str:
    words = ["qemu-system-aarch64", "-accel", "kvm", "-cpu", "host", "-nographic", "-nic", "none"]
    words += ["-M", "virt,gic-version=3", "-m", "512", "-smp", "1"]
    words += ["-kernel", "/guest/Image", "-initrd", "/guest/initrd"]
    words += ["-drive", "file=/tmp/disk,format=raw,if=none,id=disk"]
    words += ["-device", f"{device},drive=disk"]
    words += ["-append", f"console=ttyAMA0 quiet armvisor.test={test}"]
    return shlex.join(words)


def test_debian_boots_with_its_disk():
    path = "usr/bin/qemu-system-aarch64"
    files, _packages = programs.with_libraries("qemu-system-arm", path, SUITE)
    guest = artefacts.guest(KERNEL)
    files |= {
        "/armvisor.ko": module(KERNEL),
        "/guest/Image": guest["Image"],
        "/guest/initrd": guest["initrd"],
    }
    script = ["insmod /armvisor.ko", "truncate -s 16M /tmp/disk"]
    script += [command(device, test) for device, test in RUNS]
    script += ["rmmod armvisor"]
    board = Board(kernel=KERNEL, memory=3072, files=files, timeout=2400, count=True)
    text = board.run(["sh", "-c", " && ".join(script)]).check().text
    assert text.count("This is Debian in a VM") == len(RUNS), text[-3000:]
    assert text.count("result guest.failures 0 count") == len(RUNS), text[-3000:]
    # Both runs saw the same file.
    sums = [line for line in text.splitlines() if line.startswith("result disk.checksum")]
    assert len(sums) == len(RUNS) and len(set(sums)) == 1, text[-3000:]
    check_interrupts([line for line in text.splitlines() if line.startswith("interrupt ")])


def check_interrupts(lines: list[str]) -> None:
    """The disks' lines of /proc/interrupts: number, one count a CPU, chip and so on, device."""
    wired = [line.split() for line in lines if "ITS" not in line]
    messages = [line.split() for line in lines if "ITS" in line]
    assert wired and messages, "\n".join(lines)
    # The disk on virtio-mmio had interrupts by its line, the one on PCI by messages.
    assert all(int(words[2]) > 10 for words in wired if words[-1].startswith("virtio")), lines
    assert any(int(words[2]) > 10 for words in messages if "req" in words[-1]), lines
