# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`armvisor up`, `ssh`, `console`, `logs`, `list`, `stop`, `rm` as an ordinary user on a board with
KVM, from an image in the form of a distribution's.

The guest is the Debian test guest with dropbear as its SSH server. Its script does what cloud-init
would: it takes account and key from the seed. The server's own key is on the image's root.
"""

from pathlib import Path

import pytest
from cloud_image import make_qcow2, make_raw
from linux_runs import module_files
from test_passt import LEASE, MARK, START

from armvisor_lab.archive import kernels, programs
from armvisor_lab.boards.board import Board
from armvisor_lab.boards.cpio import Cpio
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.figures import artefacts

MODULES = ["virtio_blk", "virtio_net", "virtio_input", "evdev", "ext4", "vfat", "nls_ascii",
           "nls_cp437"]  # fmt: skip

OWN = """
load virtio_mmio virtio_blk virtio_net virtio_input evdev ext4 vfat nls_ascii nls_cp437
wait_for /dev/vdb
mkdir -p /disk /seed /dev/pts /etc /home/me/.ssh /var/run
mount -t devpts devpts /dev/pts
mount -t ext4 -o sync /dev/vda1 /disk || echo "cannot mount the disk"
mount -t vfat -o ro /dev/vdb /seed || echo "cannot mount the seed"
echo boot >>/disk/boots
echo "this is boot $(wc -l </disk/boots) of $(grep local-hostname /seed/meta-data)"
name=$(sed -n 's/.*"name": "\\(.*\\)".*/\\1/p' /seed/user-data)
printf "root:x:0:0::/:/bin/sh\\n$name:x:1000:1000::/home/me:/bin/sh\\n" >/etc/passwd
sed -n 's/.*"\\(ssh-ed25519 [^"]*\\)".*/\\1/p' /seed/user-data >/home/me/.ssh/authorized_keys
chmod 700 /home/me /home/me/.ssh; chmod 600 /home/me/.ssh/authorized_keys
chown -R 1000:1000 /home/me
mkdir -p /disk/dropbear; ln -s /disk/dropbear /etc/dropbear
ip link set lo up; ip link set eth0 up
udhcpc -i eth0 -s /lease -n -q -f 2>/dev/null
echo "mac $(cat /sys/class/net/eth0/address)"
# Whoever has not opened it yet misses what happens.
exec 3</dev/input/event0
{ dd bs=24 count=1 <&3 >/dev/null 2>&1; echo "the button is pressed"; sync; poweroff -f; } &
dropbear -R -E -p 22
while read -r line; do
    echo "typed: $line"
    [ "$line" != reboot ] || { sync; reboot -f; }
done </dev/console
"""

SCRIPT = """
part() { printf '\\036%s %s\\n' "$1" "$2"; }
await() { for try in $(seq 6000); do eval "$1" && return; sleep 0.1; done; return 1; }
as() { su anna -c "cd; $1"; }
printf 'root:x:0:0::/root:/bin/sh\\nanna:x:1000:1000::/home/anna:/bin/sh\\n' >/etc/passwd
mkdir -p /home/anna; cp /images/disk /home/anna/disk; chown -R 1000:1000 /home/anna
echo "nameserver 127.0.0.1" >/etc/resolv.conf
chown 0:1000 /dev/kvm; chmod 660 /dev/kvm; chmod 1777 /tmp
ip addr add 192.0.2.2/24 dev dummy0; ip link set dummy0 up
ip route add default via 192.0.2.1
httpd -p 127.0.0.1:8099 -h /tmp
before=$(sha256sum </home/anna/disk)
cat >/home/anna/web.toml <<'END'
image = "disk"
memory = "320M"
user = "me"
publish = ["8080:80"]
END
up="armvisor up web --config web.toml"

as "$up -p 127.0.0.1:8099:80" 2>&1; part port-in-use $?
as "armvisor list; ls -A .local/share/armvisor"; part nothing-left $?
as "sed s/320M/lots/ web.toml >wrong.toml; armvisor up web --config wrong.toml" 2>&1
part wrong-file $?
as "$up" 2>&1; part up $?
as "armvisor list"; part list $?
as "$up" 2>&1; part up-again $?
as "armvisor up web" 2>&1; part up-running $?
as "armvisor ssh web 'id -un; cat /proc/sys/kernel/osrelease'" 2>&1; part ssh $?
as "armvisor ssh web false"; part ssh-status $?
as "echo hello | armvisor console web" 2>&1; part console $?
await 'as "armvisor logs web" | grep -q "^typed: hello"'; part typed $?
as "echo reboot | armvisor console web" >/dev/null 2>&1
await 'as "armvisor logs web" | grep -q "this is boot 2"'; part reboot $?
as "armvisor ssh web id -un" 2>&1; part ssh-after-reboot $?
as "armvisor rm web" 2>&1; part rm-running $?
as "armvisor stop web" 2>&1; part stop $?
await "! pidof passt >/dev/null"; part no-passt $?
as "armvisor list"; part list-stopped $?
as "armvisor ssh web" 2>&1; part ssh-stopped $?
as "armvisor up web" 2>&1; part second-up $?
as "armvisor ssh web id -un" 2>&1; part ssh-second $?
as "armvisor logs web"; part logs $?
as "ls -l .local/share/armvisor/web"; part folder $?
stat -c %a /home/anna/.local/share/armvisor/web; part mode $?
as "armvisor rm --force web" 2>&1; part rm $?
as "armvisor list; ls -A .local/share/armvisor"; part all-gone $?
[ "$before" = "$(sha256sum </home/anna/disk)" ]; part image-unchanged $?
as "armvisor up web" 2>&1; part up-nobody $?
exit 0
"""


def image(folder: Path) -> Path:
    """The image, whose initrd has the script, the drivers and dropbear."""
    guest = artefacts.guest("stable")
    own = Cpio()
    files = module_files(kernels.get("stable", "cloud").modules, MODULES)
    files |= {"own": OWN.encode(), "lease": LEASE.encode()}
    for name, data in files.items():
        own.file(name, data, 0o755)
    for place, path in programs.with_libraries("dropbear-bin", "usr/sbin/dropbear", "trixie")[
        0
    ].items():
        own.file(place.removeprefix("/"), path.read_bytes(), 0o755)
    own.symlink("bin/dropbear", "/usr/sbin/dropbear")
    initrd = guest["initrd"].read_bytes() + own.finish()
    raw = folder / "disk.raw"
    make_raw(raw, guest["Image"].read_bytes(), initrd, "armvisor.test=own")
    make_qcow2(folder / "disk", raw)
    return folder / "disk"


@pytest.fixture(scope="module")
def parts(tmp_path_factory) -> dict[str, tuple[int, str]]:
    """The status of each step, and what it printed."""
    files = {
        "/bin/armvisor": artefacts.vmm(), "/script": SCRIPT.encode(),
        "/images/disk": image(tmp_path_factory.mktemp("life")),
    }  # fmt: skip
    for package, path in [
        ("passt", "usr/bin/passt"),
        ("openssh-client", "usr/bin/ssh"),
        ("openssh-client", "usr/bin/ssh-keygen"),
    ]:
        files |= programs.with_libraries(package, path, "trixie")[0]
    board = Board(
        el2=True, cpu="cortex-a72", count=True, smp=2, memory=2048, timeout=3000,
        modules=[Module("dummy")], files=files,
    )  # fmt: skip
    done = board.run(["sh", "-c", START])
    said = done.stderr.decode("utf-8", "replace")[-3000:]
    assert not done.failure and done.status == 0, f"{done.failure}\n{done.text[-3000:]}\n{said}"
    found: dict[str, tuple[int, str]] = {}
    before, *marked = done.text.replace("\r", "").split(MARK)
    for part in marked:
        head, _, after = part.partition("\n")
        name, status = head.split()
        found[name] = (int(status), before)
        before = after
    return found


def test_a_vm_that_does_not_start_leaves_nothing(parts):
    status, said = parts["port-in-use"]
    assert status == 4
    assert "--publish: '127.0.0.1:8099:80' wants port 8099 of the host, which another" in said
    assert parts["nothing-left"][1] == ""
    status, said = parts["wrong-file"]
    assert status == 2 and "armvisor: wrong.toml:2:10: --memory lots: is not a size" in said


def test_up_runs_in_the_background(parts):
    assert parts["up"] == (0, "")
    status, said = parts["list"]
    assert status == 0 and "\nweb                  running " in said and said.endswith(" anna\n")
    status, said = parts["up-again"]
    assert status == 2 and "VM web: is there already; start it with 'armvisor up web'" in said
    assert parts["up-running"] == (0, "armvisor: warn: VM web runs already\n")


def test_ssh_logs_in_with_the_vms_own_key(parts):
    status, said = parts["ssh"]
    assert status == 0 and said.startswith("me\n6.12."), said
    assert parts["ssh-status"][0] == 1
    for again in ("ssh-after-reboot", "ssh-second"):
        assert parts[again] == (0, "me\n"), again


def test_the_console_takes_input_and_is_logged(parts):
    assert parts["console"][0] == 0 and "local-hostname: web" in parts["console"][1]
    assert parts["typed"][0] == 0
    status, said = parts["logs"]
    assert status == 0 and "cannot mount" not in said
    boots = [line for line in said.splitlines() if line.startswith("this is boot ")]
    assert boots == [f"this is boot {n} of local-hostname: web" for n in (1, 2, 3)]
    macs = {line for line in said.splitlines() if line.startswith("mac ")}
    assert len(macs) == 1, "the device's address stays"


def test_a_stopped_vm_stays_and_starts_again(parts):
    assert parts["reboot"][0] == 0
    assert parts["stop"] == (0, "") and parts["no-passt"][0] == 0
    assert "the button is pressed" in parts["logs"][1]
    assert "\nweb                  stopped " in parts["list-stopped"][1]
    status, said = parts["ssh-stopped"]
    assert status == 9 and "VM web: does not run; start it with 'armvisor up web'" in said
    assert parts["second-up"] == (0, "")


def test_rm_removes_all_but_the_image(parts):
    status, said = parts["rm-running"]
    assert status == 4 and "VM web: runs; stop it first with 'armvisor stop web'" in said
    assert parts["mode"][1] == "700\n"
    assert parts["rm"] == (0, "") and parts["all-gone"] == (0, "")
    assert parts["image-unchanged"][0] == 0
    status, said = parts["up-nobody"]
    assert status == 9 and "'armvisor up web --image FILE' makes it" in said
