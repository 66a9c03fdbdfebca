# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Debian guests on the module that are busy on all their CPUs for ten minutes.

Four VMs, of 1, 2, 4 and 8 CPUs, share a board and do the same work at the same time: stress-ng's
classes, hackbench, or a parallel compile (guests/work). Their results must be right, and their
kernels' logs and the host's must be clean. The host then unloads the module and has its memory
back.

Boards are paced: ten minutes are 150,000,000,000 instructions of all CPUs together, on any machine.
In real time a guest's exits take so long on a busy machine that its kernel complains, on KVM too.

A successful run ends with its line of docs/work.md.
"""

import hashlib
import os
import time

import pytest
from built import module, work_disk
from guest_runs import results

from armvisor_lab.boards.board import Board, Disk
from armvisor_lab.figures import artefacts
from armvisor_lab.figures.run import provenance

# For a trial; a run prints how long it was.
SECONDS = int(os.environ.get("ARMVISOR_WORK_SECONDS", "600"))
CPUS = (1, 2, 4, 8)
VM_MIB = 384
# At eight, with 15 vCPUs, the largest VM's kernel has little time left after its ticks.
PACE_NS = 4
WORKS = ("stress", "hackbench", "compile")
CLASSES = ("cpu", "vm", "fork", "futex", "timer", "sigq", "sigsegv", "switch")
# Compared with the host's free memory before: far less than a VM's memory.
LOST_KIB = 48 << 10

# A VM's output appears at once, so a VM that hangs has shown its progress.
SCRIPT = """
available() {{
    echo 3 >/proc/sys/vm/drop_caches
    while read -r name value _; do
        [ $name = MemAvailable: ] && echo $value
    done </proc/meminfo
}}
vm() {{
    {{
        armvisor run --kernel /g/Image --initrd /g/initrd --cpus $1 --memory {mib}M \\
            --disk /dev/vda,ro --append "quiet armvisor.test=cpus,work $options" </dev/null 2>&1
        echo "result vm.status $? status"
    }} | while read -r line; do
        read -r now _ </proc/uptime
        echo "vm$1 $now $line"
    done
}}
options='armvisor.work={work} armvisor.seconds={seconds}'
before=$(available)
read -r begin _ </proc/uptime
insmod /armvisor.ko || exit
for cpus in {cpus}; do vm $cpus & done
wait
rmmod armvisor || exit
read -r end _ </proc/uptime
echo "result host.seconds $((${{end%.*}} - ${{begin%.*}})) s"
echo "result host.lost $((before - $(available))) KiB"
"""


def run(kernel: str, smp: int, work: str, cpus: tuple[int, ...], seconds: int) -> None:
    folder = artefacts.guest(kernel)
    files = {f"/g/{name}": folder[name] for name in ("Image", "initrd")}
    files |= {"/bin/armvisor": artefacts.vmm(), "/armvisor.ko": module(kernel)}
    numbers = " ".join(map(str, cpus))
    script = SCRIPT.format(mib=VM_MIB, work=work, seconds=seconds, cpus=numbers)
    files["/script"] = script.encode()
    board = Board(
        kernel=kernel, smp=smp, paced=True, pace_ns=PACE_NS, files=files,
        memory=1024 + VM_MIB * len(cpus), disks=[Disk("work", work_disk())],
        timeout=3600 + 30 * seconds,
    )  # fmt: skip
    begin = time.monotonic()
    # Shown as it comes: a run takes half an hour or more.
    done = board.run(
        ["sh", "/script"], on_stdout=lambda data: print(data.decode("latin-1"), end="", flush=True)
    )
    said = done.stderr.decode("utf-8", "replace")[-3000:]
    print(f"{seconds} s of {work} by the guests' clocks: {time.monotonic() - begin:.0f} s here")
    assert not done.failure and done.status == 0, f"{done.failure}\n{done.text[-6000:]}\n{said}"
    complaints = [line for line in done.console.splitlines() if "armvisor: VM" in line]
    assert not complaints, "\n".join(complaints)
    host = results(done.text)
    assert int(host["host.seconds"]) >= seconds
    assert int(host["host.lost"]) < LOST_KIB
    told = {number: of_vm(done.text, number) for number in cpus}
    for number, found in told.items():
        assert_worked(found, number, work, seconds)
    # The same sources: the same bytes in all VMs.
    assert len({found.get("work.checksum") for found in told.values()}) == 1
    print(line_of(kernel, smp, work, told, round((time.monotonic() - begin) / 60)))


def line_of(kernel: str, smp: int, work: str, told: dict[int, dict[str, str]], minutes: int) -> str:
    """A run's line of docs/work.md. The same module has the same bytes in another revision."""
    revision = provenance()["revision"][:9]
    ours = hashlib.sha256(module(kernel).read_bytes()).hexdigest()[:16]
    rounds = ", ".join(found["work.rounds"] for found in told.values())
    return f"| {kernel} | {smp} | {work} | {rounds} | {minutes} | {revision} | `{ours}` |"


def of_vm(text: str, cpus: int) -> dict[str, str]:
    """The output of the VM with so many CPUs."""
    parts = (line.split(" ", 2) for line in text.splitlines() if line.startswith(f"vm{cpus} "))
    return results("\n".join(rest for _mark, _time, rest in parts))


def assert_worked(told: dict[str, str], cpus: int, work: str, seconds: int) -> None:
    assert told["vm.status"] == told["guest.failures"] == told["work.complaints"] == "0", told
    assert told["guest.cpus"] == str(cpus)
    assert int(told["work.seconds"]) >= seconds
    assert int(told["work.rounds"]) >= (1 if work == "stress" else 2)
    if work == "stress":
        idle = [name for name in CLASSES if int(told.get(f"work.{name}", "0")) == 0]
        assert not idle, told
    assert ("work.checksum" in told) == (work == "compile")


@pytest.mark.work
@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("smp", (1, 2, 4))
@pytest.mark.parametrize("kernel", ("stable", "newest"))
def test_ten_minutes(kernel: str, smp: int, work: str):
    run(kernel, smp, work, CPUS, SECONDS)


@pytest.mark.conformance
@pytest.mark.parametrize("work", WORKS)
def test_a_while(work: str):
    run("stable", 2, work, (2, 4), 20)
