# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The Debian test guest with all its devices in VMs on a board: two VMs in turn for each guest
kernel.

Both boot with the memory and the random layout that they were given, and use network and vsock. The
second reads from the disk what the first wrote. The same on KVM and on the module.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from guest_runs import MARK, Host, assert_isolated, results

from armvisor_lab.boards.board import Board, Result
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.figures import artefacts

TOP = Path(__file__).resolve().parents[2]
FUNCTIONS = f"""
tap tap0 10.0.2.1/24
vm() {{
    stream receive tcp:10.0.2.1:5001 >/tmp/receive & others=$!
    stream echo unix:/tmp/v_5006 & others="$others $!"
    stream check vsock-uds:/tmp/v:5005 100000 & others="$others $!"
    armvisor run --kernel /guest-$1/vmlinuz --initrd /guest-$1/initrd --cpus $2 --memory 384M \\
        --disk /tmp/disk --net tap=tap0 --vsock cid=3,uds=/tmp/v \\
        --append "quiet console=ttyS0 armvisor.bytes=$BYTES armvisor.test=$3" >/tmp/console
    status=$?
    [ $status = 0 ] || kill $others
    wait $others
    printf '{MARK}%s %s %s\\n' $1 $2 $status
    cat /tmp/console /tmp/receive
}}
pair() {{
    rm -f /tmp/disk; truncate -s 16M /tmp/disk
    vm $1 $2 disk-write,net,vsock
    vm $1 $3 disk-check,net,vsock,cpus
}}
"""


def folder(kernel: str) -> Path:
    return TOP / f"build/guests/debian-{kernel}"


def run_pairs(
    host: Host,
    kernels: Sequence[str],
    cpus: tuple[int, int] = (1, 4),
    rounds: int = 1,
    count: bool = False,
    mebibytes: int = 8,
    timeout: float = 1500,
) -> Result:
    """Boot each kernel's two VMs, of `cpus` CPUs, `rounds` times; assert that all went well.

    Each VM sends `mebibytes` over its network.
    """
    size = mebibytes << 20
    lines = [f"BYTES={size}", FUNCTIONS]
    lines += [f"pair {kernel} {cpus[0]} {cpus[1]}" for kernel in kernels] * rounds
    files: dict[str, Path | bytes] = {
        "/bin/armvisor": artefacts.vmm(),
        "/bin/tap": artefacts.tool("tap"),
        "/bin/stream": artefacts.tool("stream"),
        "/script": "\n".join(lines).encode(),
    }
    for kernel in kernels:
        for name in ("vmlinuz", "initrd"):
            files[f"/guest-{kernel}/{name}"] = folder(kernel) / name
    modules = ["tun", *([Module(str(host.module))] if host.module else ())]
    board = Board(
        el2=host.el2, cpu=host.cpu, kernel=host.kernel, smp=host.smp, modules=modules,
        append=host.append, files=files, memory=1536, count=count, timeout=timeout,
    )  # fmt: skip
    done = board.run(["sh", "/script"])
    said = done.stderr.decode("utf-8", "replace")[-3000:]
    assert not done.failure, f"{done.failure}\n{done.text[-3000:]}\n{said}"
    assert_isolated(host, done.console)
    boots = [part.partition("\n")[::2] for part in done.text.split(MARK)[1:]]
    assert len(boots) == 2 * rounds * len(kernels), said
    for first, second in zip(boots[::2], boots[1::2], strict=True):
        told = [assert_content(head, console, said, size) for head, console in (first, second)]
        # Written in the first VM, read back in the second.
        assert told[0]["disk.checksum"] == told[1]["disk.checksum"]
    return done


def assert_content(head: str, console: str, said: str, size: int) -> dict[str, str]:
    """The output of a guest, once it is complete."""
    kernel, cpus, status = head.split()
    assert status == "0", f"{console[-3000:]}\n{said}"
    release = json.loads((folder(kernel) / "guest.json").read_text())["release"]
    assert f"This is Debian in a VM: Linux {release}, " in console
    told = results(console)
    failures = {name: value for name, value in told.items() if name.endswith(".failures")}
    assert set(failures.values()) == {"0"}, console[-3000:]
    assert {"guest.net.failures", "guest.vsock.failures", "guest.failures"} <= set(failures)
    assert told["guest.cpus"] == cpus
    assert told["guest.kaslr"] == "1"
    assert 300 << 10 < int(told["guest.memory"]) < 384 << 10
    assert "3 packets received" in console
    assert told["send.bytes"] == told["receive.bytes"] == str(size)
    assert told["send.checksum"] == told["receive.checksum"]
    # The counter, read at the very end.
    assert int(told["guest.end.ticks"]) > 0
    return told
