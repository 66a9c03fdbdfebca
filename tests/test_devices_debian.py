# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The VMM's virtio devices under Debian's own drivers, on KVM and on the module: what is written is
read back after another boot, what is sent arrives, what is freed goes back to the host, and none of
it takes more exits than it should.

Each row is one board; its VMs get all devices at once. The board's script prints its results as
lines `result NAME VALUE UNIT`, as the guests do.
"""

import gzip
import json
import re
import struct
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest
from built import module

from armvisor_lab.boards.board import Board, Result
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.figures import artefacts

MIB = 1 << 20
MARK = "== "

# A board's script, in pieces; `vm` runs a VM in the background and sets $vm.
PRELUDE = """
set -e
vm() { name=$1 tests=$2; shift 2
    armvisor run --kernel ${KERNEL:-/guest/Image} --initrd /guest/initrd --memory 384M --json \
        --append "quiet armvisor.test=$tests armvisor.bytes=$BYTES" "$@" >/tmp/$name.out & vm=$!
}
show() { echo "== $1"; cat /tmp/$1.out; }
"""

EVERYTHING = """
tap tap0 10.0.2.1/24
tap tap1 10.0.3.1/24
truncate -s 16777516 /tmp/disk
stream receive tcp:0.0.0.0:5001 >/tmp/receive.out & receive=$!
stream echo unix:/tmp/v.sock_5006 >/tmp/echo.out & echo=$!
vm first disk-write,rng,net,vsock --cpus $CPUS --disk /tmp/disk --net tap=tap0 \
    --net tap=tap1,mac=52:54:00:12:34:56 --vsock cid=7,uds=/tmp/v.sock
stream check vsock-uds:/tmp/v.sock:5005 1000000 >/tmp/check.out
wait $receive && wait $echo && wait $vm
show first; show receive; show check
[ ! -e /tmp/v.sock ] && echo "result socket.removed 1 bool"
echo "result disk.size $(wc -c </tmp/disk) bytes"
before=$(sha256sum </tmp/disk)
vm second disk-check,disk-readonly --disk /tmp/disk,ro; wait $vm; show second
[ "$before" = "$(sha256sum </tmp/disk)" ] && echo "result readonly.unchanged 1 bool"
"""

READONLY = """
seq 200000 >/tmp/disk
before=$(sha256sum </tmp/disk)
vm only disk-readonly --disk /tmp/disk,ro; wait $vm; show only
[ "$before" = "$(sha256sum </tmp/disk)" ] && echo "result readonly.unchanged 1 bool"
"""

GICV2 = """
gzip -c /guest/Image >/tmp/Image.gz
echo "== board"; dmesg | grep -iE "gic|kvm"
truncate -s 16M /tmp/disk
KERNEL=/tmp/Image.gz
armvisor run --kernel $KERNEL --cpus 9 2>/tmp/cpus.out || echo "status $?" >>/tmp/cpus.out
show cpus
vm gicv2 disk-write,cpus --cpus $CPUS --disk /tmp/disk
wait $vm; show gicv2
"""

MEMORY = """
vm balloon balloon
while kill -0 $vm 2>/dev/null; do
    while read -r key value _; do [ "$key" = Shmem: ] && echo $value; done </proc/meminfo \
        >>/tmp/shmem
    sleep 0.1
done
wait $vm; show balloon
echo "== shmem"; cat /tmp/shmem
"""

INFLATE = """
KERNEL=/more/zboot
vm blown balloon,idle --name blown
given() {
    for try in $(seq 6000); do
        armvisor stat blown --json >/tmp/stat
        grep -q "\\"actual_pages\\":$1[,}]" /tmp/stat && return
        sleep 0.1
    done
    echo "the guest has not given $1 pages"; cat /tmp/stat; return 1
}
for try in $(seq 6000); do grep -q guest.idle /tmp/blown.out && break; sleep 0.1; done
armvisor balloon blown 64M; given 16384
armvisor balloon blown 16M; given 4096
armvisor stop --force blown; wait $vm || true; show blown
"""

# How a VM ends, and armvisor's message on standard error.
ENDS = """
vm pressed button --name pressed
for try in $(seq 6000); do grep -q guest.button /tmp/pressed.out && break; sleep 0.1; done
armvisor stop --timeout 2 pressed 2>/tmp/early.out || echo "status $?" >>/tmp/early.out
armvisor stop pressed && echo stopped >>/tmp/early.out
wait $vm; show pressed; show early
for how in crash reboot; do
    vm $how $how 2>/tmp/$how.err; status=0; wait $vm || status=$?
    show $how; echo "status $status"; cat /tmp/$how.err
done
"""


@dataclass(frozen=True)
class Row:
    """One board and its VM."""

    kernel: str
    cpu: str
    cpus: int
    mebibytes: int
    # On a counted board, where a guest's exits take QEMU long; else on KVM.
    module: bool = False

    def __str__(self) -> str:
        where = "module-" if self.module else ""
        return f"{where}{self.kernel}-{self.cpu}-{self.cpus}cpu-{self.mebibytes}MiB"


ROWS = [
    Row("stable", "cortex-a72", 1, 1, module=True),
    Row("stable", "cortex-a72", 1, 2),
    Row("oldstable", "cortex-a72", 4, 2),
    Row("newest", "cortex-a72", 1, 2),
    Row("oldstable", "cortex-a76", 1, 2),
    Row("stable", "cortex-a76", 4, 2),
    Row("newest", "cortex-a76", 4, 2),
]


def run(
    script: str,
    row: Row,
    count: bool = False,
    qemu_args: tuple[str, ...] = (),
    armvisor: bool = False,
    **more: bytes,
) -> dict[str, str]:
    """The script's output by the name of each part; text before the first part is under "".

    On KVM, or with `armvisor` on the module.
    """
    guest = artefacts.guest(row.kernel)
    settings = f"BYTES={row.mebibytes * MIB} CPUS={row.cpus}\n"
    files: dict[str, Path | bytes] = {
        "/bin/armvisor": artefacts.vmm(),
        "/bin/tap": artefacts.tool("tap"),
        "/bin/stream": artefacts.tool("stream"),
        "/guest/Image": guest["Image"],
        "/guest/initrd": guest["initrd"],
        **{f"/more/{name}": data for name, data in more.items()},
        "/script": (settings + textwrap.dedent(PRELUDE) + script).encode(),
    }
    modules = ["tun", *([Module(str(module("stable")))] if armvisor else ())]
    board = Board(
        el2=not armvisor, cpu=row.cpu, memory=1536, files=files, modules=modules, timeout=900,
        smp=min(row.cpus, 2), count=count, qemu_args=qemu_args,
    )  # fmt: skip
    return parts(board.run(["sh", "/script"]))


def parts(result: Result) -> dict[str, str]:
    said = result.stderr.decode("utf-8", "replace")[-3000:]
    assert not result.failure, f"{result.failure}\n{result.text[-3000:]}\n{said}"
    assert result.status == 0, f"{result.text[-3000:]}\n{said}"
    found: dict[str, str] = {"": ""}
    part = ""
    for line in result.text.splitlines():
        if line.startswith(MARK):
            part = line.removeprefix(MARK)
            found[part] = ""
        elif line.startswith("result ") and re.match(r"result (socket|disk\.size|readonly)", line):
            found[""] += line + "\n"
        else:
            found[part] += line + "\n"
    return found


def results(text: str) -> dict[str, str]:
    return {
        words[1]: words[2]
        for line in text.splitlines()
        if len(words := line.split()) >= 3 and words[0] == "result"
    }


def report(text: str) -> dict:
    """The VMM's own report, the last line of its output."""
    return json.loads(next(line for line in text.splitlines() if line.startswith('{"end"')))


def counters(text: str) -> dict[str, dict[str, int]]:
    """Counters by kind of device, for the first device of each kind."""
    devices = reversed(report(text)["devices"])
    return {device["name"].split("-")[-1]: device["counters"] for device in devices}


def assert_guest_is_content(text: str) -> None:
    got = results(text)
    bad = {name: value for name, value in got.items() if name.endswith("failures") and value != "0"}
    assert "guest.failures" in got and not bad, text[-3000:]
    for name, counted in counters(text).items():
        quiet = ("malformed_rings", "refused_accesses", "interrupts_failed")
        assert [counted[each] for each in quiet] == [0, 0, 0], (name, counted)


# One row in `make test`; the matrix of hosts and kernels is for `make test-conformance`.
MATRIX = [ROWS[0], *(pytest.param(row, marks=pytest.mark.conformance) for row in ROWS[1:])]


@pytest.mark.parametrize("row", MATRIX, ids=str)
def test_disk_network_vsock_and_entropy(row: Row):
    shown = run(EVERYTHING, row, count=row.module, armvisor=row.module)
    first, own = shown["first"], results(shown[""])
    for name in ("first", "second"):
        assert_guest_is_content(shown[name])
    told = results(first)
    assert told["guest.cpus"] == str(row.cpus)

    # Disk: the second boot reads what the first wrote, and the image kept its odd size.
    assert told["disk.checksum"] == results(shown["second"])["disk.checksum"]
    assert own["disk.size"] == "16777516"
    block = counters(first)["block"]
    assert block["bytes_written"] > MIB and block["flushes"] > 0 and block["errors"] == 0
    # The second had it to read only.
    assert own["readonly.unchanged"] == "1"
    block = counters(shown["second"])["block"]
    assert block["bytes_written"] == 0 and block["bytes_read"] > MIB

    # Network: the same bytes on both sides, none dropped.
    arrived = results(shown["receive"])
    assert told["send.bytes"] == arrived["receive.bytes"] == str(row.mebibytes * MIB)
    assert told["send.checksum"] == arrived["receive.checksum"]
    assert "3 packets received" in first
    net = counters(first)["net"]
    assert net["tx_bytes"] > row.mebibytes * MIB and net["tx_dropped"] == net["rx_dropped"] == 0

    # A second network device works independently.
    assert told["net.eth1"] == "52:54:00:12:34:56"
    nets = [device for device in report(first)["devices"] if device["name"].endswith("-net")]
    assert len(nets) == 2 and nets[1]["counters"]["rx_frames"] > 0

    # Vsock, in both directions; nothing is left behind.
    assert told["echo.bytes"] == results(shown["check"])["echo.bytes"] == "1000000"
    vsock = counters(first)["vsock"]
    assert vsock["open"] == vsock["refused"] == vsock["ignored"] == 0
    assert own["socket.removed"] == "1"

    assert int(told["rng.bytes"]) >= 64


@pytest.mark.conformance
def test_a_read_only_disk_never_changes():
    shown = run(READONLY, Row("stable", "cortex-a72", 1, 1))
    assert_guest_is_content(shown["only"])
    assert results(shown[""])["readonly.unchanged"] == "1"
    block = counters(shown["only"])["block"]
    assert block["bytes_written"] == 0 and block["bytes_read"] >= 4096


@pytest.mark.conformance
def test_a_large_transfer_arrives_and_its_exits_are_bounded():
    """64 MiB with the right checksum; a MiB costs dozens of exits, not one per frame.

    On a counting board, because TCP's segments depend on time.
    """
    row = Row("stable", "cortex-a72", 1, 64)
    script = """
        tap tap0 10.0.2.1/24
        stream receive tcp:0.0.0.0:5001 >/tmp/receive.out & receive=$!
        vm net net --net tap=tap0
        wait $receive && wait $vm; show net; show receive
    """
    shown = run(textwrap.dedent(script), row, count=True)
    assert_guest_is_content(shown["net"])
    sent, arrived = results(shown["net"]), results(shown["receive"])
    assert sent["send.bytes"] == arrived["receive.bytes"] == str(64 * MIB)
    assert sent["send.checksum"] == arrived["receive.checksum"]
    net = counters(shown["net"])["net"]
    # 724 frames of Ethernet's size make a MiB. Seen: 23 frames, 17 notifications, 31 interrupts.
    assert net["tx_frames"] < 60 * row.mebibytes, net
    assert net["notifications"] < 45 * row.mebibytes, net
    # Each interrupt costs two exits, for InterruptStatus and InterruptACK.
    assert net["interrupts"] < 80 * row.mebibytes, net


@pytest.mark.conformance
def test_a_gzipped_kernel_boots_where_only_gicv2_is():
    row = Row("stable", "cortex-a72", 2, 1)
    shown = run(GICV2, row, qemu_args=("-M", "gic-version=2"))
    assert_guest_is_content(shown["gicv2"])
    # Its KVM says so (KVM_CAP_MAX_VCPUS).
    assert "this KVM runs at most 8 CPUs in a VM; give it --cpus 8 or fewer" in shown["cpus"]
    assert shown["cpus"].endswith("\nstatus 4\n")
    assert "GICv3" not in shown["board"] and "kvm" in shown["board"]
    assert results(shown["gicv2"])["guest.cpus"] == "2"


@pytest.mark.conformance
@pytest.mark.parametrize("armvisor", [False, True], ids=["kvm", "module"])
def test_power_off_panic_and_reset_are_told_apart(armvisor: bool):
    shown = run(ENDS, Row("stable", "cortex-a72", 1, 1), armvisor=armvisor)
    # The guest ignores the first press of its power button.
    sentence, status, stopped = shown["early"].splitlines()
    assert "VM pressed: still runs 2 s after its power button was pressed" in sentence
    assert "'armvisor stop --force pressed'" in sentence
    assert (status, stopped) == ("status 10", "stopped")
    assert_guest_is_content(shown["pressed"])
    assert results(shown["pressed"])["guest.button.event"] == "1.116.1"
    assert report(shown["pressed"])["end"] == {"reason": "power_off"}
    assert counters(shown["pressed"])["button"]["presses"] == 2

    assert "Kernel panic - not syncing: sysrq triggered crash" in shown["crash"]
    assert report(shown["crash"])["end"] == {"reason": "panic"}
    assert "\nstatus 6\narmvisor: the guest's kernel panicked" in shown["crash"]
    assert report(shown["reboot"])["end"] == {"reason": "reset"}
    assert "\nstatus 5\narmvisor: the guest asked for a reset" in shown["reboot"]


def zboot(image: bytes) -> bytes:
    """The Image in the EFI form that newer kernels can be built as."""
    packed = gzip.compress(image, 1)
    head = struct.pack("<2sxx4sII8x32s", b"MZ", b"zimg", 64, len(packed), b"gzip")
    return head.ljust(64, b"\0") + packed


@pytest.mark.conformance
def test_a_zboot_guest_gives_and_takes_what_the_balloon_asks():
    kernel = zboot(artefacts.guest("stable")["Image"].read_bytes())
    shown = run(INFLATE, Row("stable", "cortex-a72", 1, 16), zboot=kernel)
    balloon = counters(shown["blown"])["balloon"]
    assert balloon["inflated_pages"] >= 16384
    assert balloon["deflated_pages"] >= 16384 - 4096
    assert balloon["release_failed"] == balloon["refused_pages"] == 0


@pytest.mark.conformance
def test_free_memory_goes_back_to_the_host():
    row = Row("stable", "cortex-a72", 1, 128)
    shown = run(MEMORY, row)
    assert_guest_is_content(shown["balloon"])
    balloon = counters(shown["balloon"])["balloon"]
    assert balloon["released_bytes"] >= 128 * MIB
    assert balloon["release_failed"] == balloon["refused_pages"] == 0
    # The host's own count of the memory behind the guest, in KiB, while the VM ran.
    shmem = [int(line) for line in shown["shmem"].split()]
    assert max(shmem) * 1024 > 128 * MIB, "the guest never used its memory"
    peak = shmem.index(max(shmem))
    assert (max(shmem) - min(shmem[peak:])) * 1024 > 100 * MIB, shmem
