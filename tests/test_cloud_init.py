# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`armvisor run --cloud-init`: a Debian guest finds the seed as NoCloud has it, a FAT labelled
CIDATA with meta-data and user-data, behind the other disks. It cannot write it.
"""

import json

from linux_runs import module_files, with_files

from armvisor_lab.archive import kernels
from armvisor_lab.boards.board import Board
from armvisor_lab.figures import artefacts

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJustAKeyThatNobodyHas0000000000000000000 me@here"
OWN_DATA = "#!/bin/sh\necho from-the-guests-user-data\n"

# What cloud-init's NoCloud does: it finds the file system by its label, and mounts it.
OWN = """
load virtio_mmio virtio_blk vfat nls_ascii nls_cp437
wait_for /dev/vda
seed=/dev/vdb
[ -e $seed ] || seed=/dev/vda
mkdir -p /seed
mount -t vfat -o ro $seed /seed || echo "cannot mount"
echo "label: $(dd if=$seed bs=1 skip=43 count=11 2>/dev/null)"
for file in meta-data user-data; do echo "<$file>"; cat /seed/$file; echo "</$file>"; done
dd if=/dev/zero of=$seed bs=512 count=1 conv=fsync 2>/dev/null && echo "it is written"
umount /seed
"""

SCRIPT = f"""
set -e
echo '{KEY}' >/tmp/key.pub
printf '{OWN_DATA}' >/tmp/data
run() {{
    armvisor run --kernel /guest/Image --initrd /guest/initrd --memory 256M --console /tmp/out "$@"
    cat /tmp/out
}}
echo "== account"
run --cloud-init --ssh-key /tmp/key.pub --user me --name web-1 --append armvisor.test=own
echo "== data"
dd if=/dev/zero of=/tmp/disk bs=1M count=1 2>/dev/null
run --cloud-init --user-data /tmp/data --hostname db.example --disk /tmp/disk \
    --append armvisor.test=own
echo "== refused"
armvisor run --kernel /guest/Image --cloud-init 2>&1 || echo "status $?"
"""


def file_of(text: str, name: str) -> str:
    return text.partition(f"<{name}>\n")[2].partition(f"</{name}>")[0]


def test_a_guest_finds_its_seed():
    guest = artefacts.guest("stable")
    names = ["vfat", "nls_ascii", "nls_cp437"]
    files = module_files(kernels.get("stable", "cloud").modules, names)
    files["own"] = OWN.encode()
    board = Board(
        el2=True, cpu="cortex-a72", count=True, memory=1024, timeout=900,
        files={
            "/bin/armvisor": artefacts.vmm(), "/script": SCRIPT.encode(),
            "/guest/Image": guest["Image"],
            "/guest/initrd": with_files(guest["initrd"].read_bytes(), "", files),
        },
    )  # fmt: skip
    done = board.run(["sh", "/script"])
    said = done.stderr.decode("utf-8", "replace")[-3000:]
    assert not done.failure and done.status == 0, f"{done.failure}\n{done.text[-3000:]}\n{said}"
    text = done.text.replace("\r", "")
    account, data, refused = text.partition("== account\n")[2].split("\n== ")
    for part in (account, data):
        assert "cannot mount" not in part and "it is written" not in part, part[-3000:]
        assert "\nlabel: CIDATA     \n" in part, part[-3000:]
    assert file_of(account, "meta-data").endswith("\nlocal-hostname: web-1\n")
    head, _, config = file_of(account, "user-data").partition("\n")
    assert head == "#cloud-config"
    (user,) = json.loads(config)["users"]
    assert user["name"] == "me" and user["ssh_authorized_keys"] == [KEY]
    assert file_of(data, "user-data") == OWN_DATA
    assert "local-hostname: db.example" in file_of(data, "meta-data")
    assert "add '--ssh-key FILE'" in refused and "status 2" in refused
