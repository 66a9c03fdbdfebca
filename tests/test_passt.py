# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`armvisor run --net passt`: an ordinary user's Debian guest has an address by DHCP, fetches a
file from the board, and serves one on a published port. passt killed, restarted, missing.

The board's only network is a dummy device with a default route, so nothing leaves the board.
"""

import re

import pytest
from linux_runs import module_files, with_files
from tiny_guests import WFI_LOOP, image

from armvisor_lab.archive import kernels, programs
from armvisor_lab.boards.board import Board
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.figures import artefacts

MARK = "\x1e"

# The address at which the board serves, which is not the guest's own.
SERVER = "198.51.100.7:8000"

LEASE = """#!/bin/sh
[ "$1" = bound ] || exit 0
ip addr add "$ip/$mask" dev "$interface"
ip route add default via "$router" dev "$interface"
ip link set "$interface" mtu "${mtu:-1500}"
echo "lease $ip/$mask router $router dns $dns mtu $mtu"
"""

# First boot: fetch, then reset. Second boot: fetch again, serve, follow the link.
OWN = f"""
load virtio_mmio virtio_net
wait_for /sys/class/net/eth0
ip link set lo up
ip link set eth0 up
udhcpc -i eth0 -s /lease -n -q -f 2>/dev/null
fetch() {{ wget -q -T 20 -O /fetched "$1" && sha256sum /fetched | cut -c1-64; }}
if fetch http://{SERVER}/first; then reboot -f; fi
echo "big $(fetch http://{SERVER}/big)"
wget -q -T 5 -O - http://192.0.2.1:8001/big && echo "the board's loopback is open"
mkdir -p /www
echo from-the-guest >/www/file
httpd -p 80 -h /www
echo "serving"
seen=1
while :; do
    read -r now </sys/class/net/eth0/carrier
    [ "$now" = "$seen" ] || echo "carrier $now"
    seen=$now
    usleep 100000
done
"""

# passt wants a root that can be replaced, which the first one of an initramfs cannot.
START = "mkdir /new; mount --rbind / /new; cd /new; mount --move . /; exec chroot . sh /script\n"

SCRIPT = f"""
part() {{ printf '\\036%s %s\\n' "$1" "$2"; }}
await() {{ for try in $(seq 6000); do eval "$1" && return; sleep 0.1; done; return 1; }}
as() {{ su anna -c "$1"; }}
gone() {{ await "! pidof passt >/dev/null"; }}
printf 'root:x:0:0::/root:/bin/sh\\nanna:x:1000:1000::/tmp:/bin/sh\\n' >/etc/passwd
echo "nameserver 127.0.0.1" >/etc/resolv.conf
chown 0:1000 /dev/kvm; chmod 660 /dev/kvm; chmod 1777 /tmp
ip addr add 192.0.2.2/24 dev dummy0; ip link set dummy0 up
ip route add default via 192.0.2.1
ip addr add 198.51.100.7/32 dev lo
mkdir /www; echo first >/www/first
dd if=/dev/urandom of=/www/big bs=64k count=20 2>/dev/null
httpd -p {SERVER} -h /www; httpd -p 127.0.0.1:8001 -h /www
part big "$(sha256sum /www/big | cut -c1-64)"

as "exec armvisor run --kernel /guest/Image --initrd /guest/initrd --memory 256M --name web \\
    --console /tmp/web --net passt -p 127.0.0.1:8080:80 --on-reset restart \\
    --append armvisor.test=own" 2>/tmp/web.err &
vm=$!
await "grep -q '^lease' /tmp/web"
first=$(pidof passt); part user "$(stat -c %U /proc/$first)"
rm /www/first
await "grep -q serving /tmp/web"; part serving $?
[ "$first" = "$(pidof passt)" ]; part same-passt $?
part served "$(wget -q -O - http://127.0.0.1:8080/file)"
wget -q -T 5 -O - http://192.0.2.2:8080/file; part other-address $?

for net in "passt -p 8080:81" "passt -p 80:80" "passt -p 203.0.113.9:8081:80"; do
    as "armvisor run --kernel /g/wfi --memory 32M --console none --net $net" 2>&1 </dev/null
    part "refused-$net" $?
done

kill -9 $first
await "grep -q 'carrier 0' /tmp/web && grep -q 'carrier 1' /tmp/web"; part link $?
part again "$(wget -q -O - http://127.0.0.1:8080/file)"
mv /usr/bin/passt /usr/bin/away; kill -9 $(pidof passt)
await "grep -q 'not there again' /tmp/web.err"; part away $?
mv /usr/bin/away /usr/bin/passt
await '[ $(grep -c "runs again" /tmp/web.err) = 2 ]'; part back $?
as "armvisor stop --force web"; wait $vm; part ended $?
gone; part gone-with-stop $?
part said 0; cat /tmp/web.err
part console 0; cat /tmp/web

tiny() {{
    as "exec armvisor run --kernel /g/wfi --memory 32M --console none --name tiny --net passt" \\
        </dev/null & vm=$!
    await "armvisor list | grep -q '^tiny ' && pidof passt >/dev/null"
}}
for signal in KILL TERM; do
    tiny; kill -$signal $(pidof armvisor); wait $vm; gone; part gone-with-$signal $?
done
mv /usr/bin/passt /usr/bin/away
as "armvisor run --kernel /g/wfi --memory 32M --console none --net passt" 2>&1 </dev/null
part missing $?
exit 0
"""


@pytest.fixture(scope="module")
def parts() -> dict[str, tuple[str, str]]:
    """What each mark says behind its name, and what was printed before it and after it."""
    guest = artefacts.guest("stable")
    files = module_files(kernels.get("stable", "cloud").modules, ["virtio_net"])
    files |= {"own": OWN.encode(), "lease": LEASE.encode()}
    board = Board(
        el2=True, cpu="cortex-a72", count=True, smp=2, memory=1024, timeout=1800,
        modules=[Module("dummy")],
        files={
            "/bin/armvisor": artefacts.vmm(), "/script": SCRIPT.encode(),
            "/g/wfi": image(*WFI_LOOP), "/guest/Image": guest["Image"],
            "/guest/initrd": with_files(guest["initrd"].read_bytes(), "", files),
            **programs.with_libraries("passt", "usr/bin/passt", "trixie")[0],
        },
    )  # fmt: skip
    done = board.run(["sh", "-c", START])
    said = done.stderr.decode("utf-8", "replace")[-3000:]
    assert not done.failure and done.status == 0, f"{done.failure}\n{done.text[-3000:]}\n{said}"
    found: dict[str, tuple[str, str]] = {}
    before, *marked = done.text.replace("\r", "").split(MARK)
    for part in marked:
        head, _, after = part.partition("\n")
        name, _, value = head.rpartition(" ")
        found[name] = (value, before + "\n---\n" + after)
        before = after
    return found


def test_a_guest_has_an_address_and_fetches(parts):
    console = parts["console"][1]
    lease = "lease 192.0.2.2/24 router 192.0.2.1 dns 169.254.1.1 mtu 65520"
    assert console.count(lease) == 2, console[-3000:]
    assert f"big {parts['big'][0]}\n" in console
    assert "loopback is open" not in console
    assert parts["user"][0] == "anna"


def test_a_published_port_reaches_the_guest(parts):
    assert parts["serving"][0] == "0"
    assert parts["served"][0] == "from-the-guest"
    assert parts["other-address"][0] == "1", "it is published on the loopback alone"


def test_a_reset_keeps_passt(parts):
    assert parts["same-passt"][0] == "0"


def test_a_port_that_cannot_be_had_is_refused(parts):
    for publish, problem in [
        ("8080:81", "port 8080 of the host, which another program has; choose another"),
        ("80:80", "port 80 of the host, which is for privileged users; choose one from 1024 on"),
        ("203.0.113.9:8081:80", "address 203.0.113.9, which the host does not have; choose one "),
    ]:
        status, said = parts[f"refused-passt -p {publish}"]
        assert status == "4"
        assert f"armvisor: --publish: '{publish}' wants {problem}" in said


def test_a_passt_that_dies_takes_the_link_down_and_comes_back(parts):
    assert parts["link"][0] == "0" and parts["away"][0] == "0" and parts["back"][0] == "0"
    assert parts["again"][0] == "from-the-guest"
    said = parts["said"][1]
    down = r"warn: net: passt failed, the link is down now: it has ended; it is started again in "
    assert len(re.findall(down, said)) == 2, said
    assert "not there again: passt: is not installed; install the package passt" in said
    assert said.count("warn: net: passt runs again, the link is up") == 2
    assert parts["console"][1].count("carrier 0") == 2


def test_passt_ends_with_the_vm(parts):
    assert parts["ended"][0] == "8"
    for how in ("stop", "KILL", "TERM"):
        assert parts[f"gone-with-{how}"][0] == "0", how


def test_a_missing_passt_is_named(parts):
    status, said = parts["missing"]
    assert status == "4"
    assert "armvisor: passt: is not installed; install the package passt ('sudo apt install" in said
