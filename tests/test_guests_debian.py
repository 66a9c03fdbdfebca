# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The Debian test guest: every kernel, one CPU and four, KVM without VHE and with it.

On each board two VMs run, the first with one CPU and the second with four. Both come up with the
memory and the random layout that they were given and use network and vsock; what the first writes
to the disk the second reads back. The devices' own behaviour is test_devices_debian.py's matter.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from guest_runs import MARK, results

from armvisor_lab.board import Board
from armvisor_lab.figures import artefacts

TOP = Path(__file__).resolve().parents[1]
KERNELS = ("6.1", "6.12", "7.2")
CPUS = (1, 4)

BYTES = 8 << 20

SCRIPT = f"""
tap tap0 10.0.2.1/24
truncate -s 16M /tmp/disk
vm() {{
    stream receive tcp:10.0.2.1:5001 >/tmp/receive & others=$!
    stream echo unix:/tmp/v_5006 & others="$others $!"
    stream check vsock-uds:/tmp/v:5005 100000 & others="$others $!"
    armvisor run --kernel /guest/vmlinuz --initrd /guest/initrd --cpus $1 --memory 384M \\
        --disk /tmp/disk --net tap=tap0 --vsock cid=3,uds=/tmp/v \\
        --append "quiet console=ttyS0 armvisor.bytes={BYTES} armvisor.test=$2" >/tmp/console
    status=$?
    [ $status = 0 ] || kill $others
    wait $others
    printf '{MARK}%s %s\\n' $1 $status
    cat /tmp/console /tmp/receive
}}
vm 1 disk-write,net,vsock
vm 4 disk-check,net,vsock,cpus
"""


def folder(kernel: str) -> Path:
    return TOP / f"build/guests/debian-{kernel}"


# What `make test` runs of the matrix; the rest is for `make test-conformance`.
QUICK = {("cortex-a72", "6.12"), ("cortex-a76", "7.2")}
MATRIX = [
    pytest.param(cpu, kernel, marks=() if (cpu, kernel) in QUICK else pytest.mark.conformance)
    for cpu in ("cortex-a72", "cortex-a76")
    for kernel in KERNELS
]


@pytest.mark.parametrize(("cpu", "kernel"), MATRIX)
def test_boots_and_uses_its_devices(cpu: str, kernel: str):
    files: dict[str, Path | bytes] = {
        "/bin/armvisor": artefacts.vmm(),
        "/bin/tap": artefacts.tool("tap"),
        "/bin/stream": artefacts.tool("stream"),
        "/script": SCRIPT.encode(),
        "/guest/vmlinuz": folder(kernel) / "vmlinuz",
        "/guest/initrd": folder(kernel) / "initrd",
    }
    board = Board(el2=True, cpu=cpu, modules=("tun",), files=files, timeout=1500)
    done = board.run(["sh", "/script"])
    said = done.stderr.decode("utf-8", "replace")[-3000:]
    assert not done.failure, f"{done.failure}\n{done.text[-3000:]}\n{said}"

    release = json.loads((folder(kernel) / "guest.json").read_text())["release"]
    parts = done.text.split(MARK)[1:]
    assert len(parts) == len(CPUS), done.text[-3000:]
    told = []
    for cpus, part in zip(CPUS, parts, strict=True):
        head, _, console = part.partition("\n")
        assert head == f"{cpus} 0", f"{console[-3000:]}\n{said}"
        assert f"This is Debian in a VM: Linux {release}, {cpus} CPU(s)" in console
        assert_content(results(console), cpus, console)
        told.append(results(console))
    # Written in the first VM, read back in the second.
    assert told[0]["disk.checksum"] == told[1]["disk.checksum"]


def assert_content(told: dict[str, str], cpus: int, console: str):
    failures = {name: value for name, value in told.items() if name.endswith(".failures")}
    assert set(failures.values()) == {"0"}, console[-3000:]
    assert {"guest.net.failures", "guest.vsock.failures", "guest.failures"} <= set(failures)
    assert told["guest.cpus"] == str(cpus)
    assert told["guest.kaslr"] == "1"
    assert 300 << 10 < int(told["guest.memory"]) < 384 << 10
    assert "3 packets received" in console
    assert told["send.bytes"] == told["receive.bytes"] == str(BYTES)
    assert told["send.checksum"] == told["receive.checksum"]
    # The counter, read at the very end.
    assert int(told["guest.end.ticks"]) > 0


def build_guest(kernel: str, out: Path) -> subprocess.CompletedProcess[str]:
    """Build the guest of `kernel` into `out`, as the guests' Makefile does."""
    words = [sys.executable, str(TOP / "guests/debian/build.py"), "--tools"]
    words += [str(TOP / "build/guests/tools"), "--out", str(out), kernel]
    env = os.environ | {"PYTHONPATH": str(TOP / "lab/src")}
    return subprocess.run(words, check=False, capture_output=True, text=True, env=env, timeout=300)


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path):
    done = build_guest("6.12", tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("initrd", "vmlinuz", "Image"):
        digests = {
            hashlib.sha256((place / name).read_bytes()).hexdigest()
            for place in (folder("6.12"), tmp_path / "debian-6.12")
        }
        assert len(digests) == 1, name


def test_a_kernel_that_is_not_there_is_refused(tmp_path: Path):
    done = build_guest("9.99", tmp_path)
    assert done.returncode == 1
    assert re.match(r"guests: no kernel '9.99'\n  there are 6.1, 6.12, 7.2", done.stderr)
    assert not list(tmp_path.iterdir())
