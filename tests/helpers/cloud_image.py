# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""An image in the form of Debian's genericcloud: a GPT with an EFI partition and an ext4 root, with
GRUB's menu, a kernel and an initrd in its /boot. Raw, or as qcow2 with compressed clusters, as
`qemu-img convert -c` makes them.
"""

import struct
import subprocess
import uuid
import zlib
from pathlib import Path

SECTOR = 512
MIB = 1 << 20
CLUSTER = 65536
ROOT_UUID = "0b5e1f5c-4d0a-4d0e-9d0b-6f1c7c2a8f31"
EFI, LINUX = "c12a7328-f81f-11d2-ba4b-00a0c93ec93b", "b921b045-1df0-41c3-af44-4c6f280d3fae"

# As grub-mkconfig writes it, without the modules that it loads.
GRUB_CFG = """
if [ -s $prefix/grubenv ]; then
  set have_grubenv=true
  load_env
fi
if [ "${{next_entry}}" ] ; then
   set default="${{next_entry}}"
   set next_entry=
   save_env next_entry
   set boot_once=true
else
   set default="0"
fi
if [ x"${{feature_menuentry_id}}" = xy ]; then
  menuentry_id_option="--id"
else
  menuentry_id_option=""
fi
### BEGIN /etc/grub.d/10_linux ###
menuentry 'Debian GNU/Linux' --class debian --class os $menuentry_id_option 'gnulinux-simple' {{
	search --no-floppy --fs-uuid --set=root {uuid}
	echo	'Loading Linux ...'
	linux	/boot/vmlinuz root=UUID={uuid} ro console=tty0 console=ttyAMA0,115200 quiet {words}
	initrd	/boot/initrd.img
}}
submenu 'Advanced options for Debian GNU/Linux' $menuentry_id_option 'gnulinux-advanced' {{
	menuentry 'Debian GNU/Linux, with no kernel' $menuentry_id_option 'gnulinux-none' {{
		linux	/boot/vmlinuz-none root=UUID={uuid} ro single
	}}
}}
"""


def guid(text: str) -> bytes:
    return uuid.UUID(text).bytes_le


def gpt(sectors: int, parts: list[tuple[str, int, int]]) -> tuple[bytes, bytes]:
    """The first and the last 34 sectors but one of a disk with these (type, first, last)."""
    entries = b"".join(
        struct.pack("<16s16sQQQ72s", guid(kind), uuid.uuid4().bytes_le, first, last, 0, b"")
        for kind, first, last in parts
    ).ljust(128 * 128, b"\0")
    disk = uuid.uuid4().bytes_le

    def header(own: int, other: int, table: int) -> bytes:
        def fields(crc: int) -> bytes:
            return struct.pack(
                "<8sIIIIQQQQ16sQIII", b"EFI PART", 0x10000, 92, crc, 0, own, other, 34,
                sectors - 34, disk, table, 128, 128, zlib.crc32(entries),
            )  # fmt: skip

        return fields(zlib.crc32(fields(0))).ljust(SECTOR, b"\0")

    mbr = bytes(446) + struct.pack("<B3sB3sII", 0, b"\0\2\0", 0xEE, b"\xff" * 3, 1, sectors - 1)
    mbr = mbr.ljust(510, b"\0") + b"\x55\xaa"
    return (
        mbr + header(1, sectors - 1, 2) + entries,
        entries + header(sectors - 1, 1, sectors - 33),
    )


def make_raw(path: Path, kernel: bytes, initrd: bytes, words: str) -> None:
    """Write a disk whose kernel gets these words."""
    tree = path.with_suffix(".tree")
    grub = tree / "boot/grub"
    grub.mkdir(parents=True)
    (tree / "boot/vmlinuz").write_bytes(kernel)
    (tree / "boot/initrd.img").write_bytes(initrd)
    (grub / "grub.cfg").write_text(GRUB_CFG.format(uuid=ROOT_UUID, words=words))
    root = path.with_suffix(".root")
    size = (len(kernel) + len(initrd)) // MIB + 48
    with root.open("wb") as file:
        file.truncate(size * MIB)
    command = ["/sbin/mke2fs", "-q", "-t", "ext4", "-U", ROOT_UUID, "-d", str(tree), str(root)]
    subprocess.run(command, check=True)
    # The root is the first partition, the EFI partition the fifteenth, at the disk's start.
    start, sectors = 4 * MIB, (size + 5) * MIB // SECTOR
    used = (LINUX, start // SECTOR, start // SECTOR + size * MIB // SECTOR - 1)
    unused = [("00000000-0000-0000-0000-000000000000", 0, 0)] * 13
    efi = (EFI, MIB // SECTOR, start // SECTOR - 1)
    first, last = gpt(sectors, [used, *unused, efi])
    with path.open("wb") as file:
        file.truncate(sectors * SECTOR)
        file.write(first)
        file.seek(start)
        file.write(root.read_bytes())
        file.seek(sectors * SECTOR - len(last))
        file.write(last)
    root.unlink()


def make_qcow2(path: Path, raw: Path) -> None:
    """Write a qcow2 (version 3) of a raw disk, with its data compressed."""
    disk = raw.read_bytes()
    clusters = -(-len(disk) // CLUSTER)
    l2s = -(-clusters // (CLUSTER // 8))
    # Header, table of counts, four blocks of counts, L1, the L2 tables.
    l1 = 6 * CLUSTER
    data = l1 + (1 + l2s) * CLUSTER
    body, entries = bytearray(), []
    for at in range(0, len(disk), CLUSTER):
        cluster = disk[at : at + CLUSTER].ljust(CLUSTER, b"\0")
        if not any(cluster):
            entries.append(0)
            continue
        packer = zlib.compressobj(6, zlib.DEFLATED, -12)
        packed = packer.compress(cluster) + packer.flush()
        offset = data + len(body)
        if len(packed) < CLUSTER:
            sectors = (offset + len(packed) - 1) // SECTOR - offset // SECTOR
            entries.append(1 << 62 | sectors << 54 | offset)
            body += packed
        else:
            body += bytes(-len(body) % CLUSTER)
            entries.append(1 << 63 | (data + len(body)))
            body += cluster
    body += bytes(-len(body) % CLUSTER)
    used = (data + len(body)) // CLUSTER
    counts = struct.pack(">H", 1) * used
    # A cluster's count is the number of its users, of which compressed data may have several.
    counted = bytearray(counts.ljust(4 * CLUSTER, b"\0"))
    users = [0] * used
    for entry in entries:
        if entry >> 62 == 1:
            offset, sectors = entry & (1 << 54) - 1, entry >> 54 & 0xFF
            end = (offset & -SECTOR) + (sectors + 1) * SECTOR - 1
            for cluster in range(offset // CLUSTER, end // CLUSTER + 1):
                users[cluster] += 1
    for cluster, count in enumerate(users):
        struct.pack_into(">H", counted, 2 * cluster, max(count, 1))
    header = struct.pack(
        ">4sIQIIQIIQQIIQQQQII", b"QFI\xfb", 3, 0, 0, 16, len(disk), 0, l2s, l1, CLUSTER, 1, 0, 0,
        0, 0, 0, 4, 104,
    )  # fmt: skip
    pieces = [
        header,
        struct.pack(">4Q", *((2 + n) * CLUSTER for n in range(4))),
        bytes(counted),
        b"".join(struct.pack(">Q", 1 << 63 | l1 + (1 + n) * CLUSTER) for n in range(l2s)),
        struct.pack(f">{clusters}Q", *entries).ljust(l2s * CLUSTER, b"\0"),
        bytes(body),
    ]
    path.write_bytes(
        b"".join(piece.ljust(-(-len(piece) // CLUSTER) * CLUSTER, b"\0") for piece in pieces)
    )


def make_overlay(path: Path, size: int, backing: str) -> None:
    """Write an empty qcow2 (version 3) on a qcow2 file of the same folder."""
    l1 = -(-size // (CLUSTER * CLUSTER // 8))
    extension = struct.pack(">II8s", 0xE2792ACA, 5, b"qcow2") + bytes(8)
    header = struct.pack(
        ">4sIQIIQIIQQIIQQQQII", b"QFI\xfb", 3, 104 + len(extension), len(backing), 16, size, 0, l1,
        3 * CLUSTER, CLUSTER, 1, 0, 0, 0, 0, 0, 4, 104,
    )  # fmt: skip
    pieces = [
        header + extension + backing.encode(),
        struct.pack(">Q", 2 * CLUSTER),
        struct.pack(">H", 1) * 4,
        bytes(CLUSTER),
    ]
    path.write_bytes(b"".join(piece.ljust(CLUSTER, b"\0") for piece in pieces))
