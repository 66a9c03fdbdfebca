# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`armvisor run --image`: an image in the form of Debian's genericcloud boots by its own menu, as
raw and as compressed qcow2, on KVM and on the module. What a guest writes is in the image, is found
by the next boot, and with --ephemeral is thrown away. A backing file is read if it is named, and a
guest cannot change how its raw image is read.

The kernel and the initrd are the Debian test guest's.
"""

from pathlib import Path

import pytest
from built import module
from cloud_image import ROOT_UUID, make_overlay, make_qcow2, make_raw

from armvisor_lab.boards.board import Board
from armvisor_lab.boards.cpio import Cpio
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.figures import artefacts

# The guest mounts its root, says what it finds there and its command line, and writes a file. By
# words of the command line it first writes the header of a qcow2 to the disk, or resets at last.
OWN = f"""
load virtio_mmio virtio_blk ext4
wait_for /dev/vda1
if grep -q own.header /proc/cmdline; then
    printf 'QFI\\373\\0\\0\\0\\3' >/header
    dd if=/header of=/dev/vda bs=512 count=1 conv=sync,notrunc,fsync 2>/dev/null &&
        echo "header is written" || echo "header is refused"
fi
mkdir -p /root
mount -t ext4 /dev/vda1 /root || echo "cannot mount"
[ -f /root/boot/grub/grub.cfg ] && echo "root is mounted"
if [ -f /root/written ]; then echo "found: $(cat /root/written)"; else echo "found: nothing"; fi
cat /proc/cmdline
grep -o "root=UUID={ROOT_UUID} ro quiet" /proc/cmdline
[ -f /root/written ] && reset= || reset=$(grep own.reset /proc/cmdline)
echo "written-by-the-$(echo guest)" >/root/written
sync
umount /root
[ "$reset" ] && reboot -f
"""

MARK = "written-by-the-guest"

# Boots, resets, boots again, looks into the image, and boots it once more as it is to stay.
SCRIPT = """
set -e
cp /images/disk /tmp/disk
export TMPDIR=/tmp
run() { armvisor run --memory 320M "$@"; }
echo "== reset"
run --image /tmp/disk --on-reset restart --append own.reset --console /tmp/out; cat /tmp/out
echo "== image"; grep -c written-by-the-guest /tmp/disk
before=$(sha256sum </tmp/disk)
echo "== ephemeral"; run --image /tmp/disk --ephemeral --console /tmp/out; cat /tmp/out
[ "$before" = "$(sha256sum </tmp/disk)" ] && echo "unchanged"
. /more
echo "== locked"
run --image /tmp/disk --append armvisor.test=idle --name idle --console /tmp/idle & vm=$!
for try in $(seq 600); do armvisor list | grep -q idle && break; sleep 0.1; done
sleep 1
run --image /tmp/disk 2>&1 || echo "status $?"
armvisor stop --force idle; wait $vm || true
echo "== damaged"
dd if=/dev/zero of=/tmp/disk bs=1M count=8 conv=notrunc 2>/dev/null
run --image /tmp/disk 2>&1 || echo "status $?"
"""

# The guest of a raw image makes it look like a qcow2.
RAW = """
echo "== header"; run --image /tmp/disk --append own.header --console /tmp/out 2>&1; cat /tmp/out
"""

# An image on the image, which is its backing file.
QCOW2 = """
echo "== unnamed"; run --image /images/overlay 2>&1 || echo "status $?"
echo "== backing"
before=$(sha256sum </images/disk)
run --image /images/overlay --backing /tmp/../images/disk --console /tmp/out; cat /tmp/out
[ "$before" = "$(sha256sum </images/disk)" ] && echo "unchanged"
"""


@pytest.fixture(scope="module")
def images(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("images")
    guest = artefacts.guest("stable")
    own = Cpio()
    own.file("own", OWN.encode())
    initrd = guest["initrd"].read_bytes() + own.finish()
    raw = folder / "disk.raw"
    make_raw(raw, guest["Image"].read_bytes(), initrd, "armvisor.test=own")
    make_qcow2(folder / "disk.qcow2", raw)
    make_overlay(folder / "overlay", raw.stat().st_size, "disk")
    return {"raw": raw, "qcow2": folder / "disk.qcow2", "overlay": folder / "overlay"}


def boots(text: str, *found: str) -> None:
    """The guest has booted once for each of these findings."""
    text = text.replace("\r", "")
    assert text.count("root is mounted") == len(found) and "cannot mount" not in text, text[-3000:]
    assert [line[7:] for line in text.splitlines() if line.startswith("found: ")] == list(found)
    assert text.count(f"root=UUID={ROOT_UUID} ro quiet") >= len(found)
    # The image's console is another machine's.
    assert "ttyAMA0" not in text


def check_raw(parts: dict[str, str]) -> None:
    boots(parts["header"], MARK)
    assert "header is refused" in parts["header"]
    assert parts["header"].count("would look like qcow2 to the next VM") == 1, parts["header"]


def check_qcow2(parts: dict[str, str]) -> None:
    assert "add '--backing /images/disk'\n" in parts["unnamed"].replace("\r", "")
    assert "status 3" in parts["unnamed"]
    boots(parts["backing"], "nothing")
    assert parts["backing"].rstrip().endswith("unchanged")


# `make test` has each kind and each hypervisor once: a board of these takes a minute or two.
@pytest.mark.parametrize(
    ("kind", "armvisor"),
    [
        pytest.param("raw", False, id="raw-kvm"),
        pytest.param("qcow2", True, id="qcow2-module"),
        pytest.param("raw", True, id="raw-module", marks=pytest.mark.conformance),
        pytest.param("qcow2", False, id="qcow2-kvm", marks=pytest.mark.conformance),
    ],
)
def test_an_image_boots_by_its_own_menu(images: dict[str, Path], kind: str, armvisor: bool):
    board = Board(
        el2=not armvisor, cpu="cortex-a72", count=True, memory=1536, timeout=1500,
        files={
            "/bin/armvisor": artefacts.vmm(), "/images/disk": images[kind],
            "/images/overlay": images["overlay"], "/script": SCRIPT.encode(),
            "/more": (RAW if kind == "raw" else QCOW2).encode(),
        },
        modules=[Module(str(module("stable")))] if armvisor else [],
    )  # fmt: skip
    done = board.run(["sh", "/script"])
    said = done.stderr.decode("utf-8", "replace")[-3000:]
    assert not done.failure and done.status == 0, f"{done.failure}\n{done.text[-3000:]}\n{said}"
    sections = done.text.partition("== ")[2].split("\n== ")
    parts = {name: text for name, _, text in (section.partition("\n") for section in sections)}
    boots(parts["reset"], "nothing", MARK)
    assert int(parts["image"]) >= 1
    boots(parts["ephemeral"], MARK)
    assert parts["ephemeral"].rstrip().endswith("unchanged")
    (check_raw if kind == "raw" else check_qcow2)(parts)
    assert "another program has it locked" in parts["locked"] and "status 4" in parts["locked"]
    damaged = parts["damaged"]
    assert "status 3" in damaged and "give the kernel with '--kernel'" in damaged
