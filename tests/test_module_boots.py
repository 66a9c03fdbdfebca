# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Debian guests with more vCPUs than the host has CPUs, booted many times in a row on the module.

Boards are counted, so the length of a boot is a number of instructions. No boot may take much
longer than the others: it would if its vCPUs waited for each other while the host ran the waiting
ones. A counted board does the same each time, so all boots here differ.
"""

import statistics

import pytest
from built import TOP, make, module
from guest_runs import MARK, results

from armvisor_lab.boards.board import Board
from armvisor_lab.figures import artefacts

HOSTS = [(kernel, smp) for kernel in ("stable", "newest") for smp in (1, 2)]
# A hundred boots of Debian's kernel, and fifty of its rt kernel, on all hosts together.
BOOTS = 25

SCRIPT = """
insmod /armvisor.ko || exit
count=0
while [ $count -lt {count} ]; do
    count=$((count + 1))
    read -r begin _ </proc/uptime
    armvisor run --kernel /g/Image --initrd /g/initrd --cpus {cpus} --memory 384M \\
        --append 'quiet armvisor.test=cpus' </dev/null >/tmp/console
    status=$?
    read -r end _ </proc/uptime
    printf '\\036%s %s %s\\n' $status $begin $end
    cat /tmp/console
done
rmmod armvisor
"""


def boot(guest: str, kernel: str, smp: int, cpus: int, count: int) -> None:
    """Boot so many times and print how long it took; no boot may take twice as long as another."""
    folder = TOP / f"build/guests/debian-{guest}"
    files = {f"/g/{name}": folder / name for name in ("Image", "initrd")}
    files |= {"/bin/armvisor": artefacts.vmm(), "/armvisor.ko": module(kernel)}
    files["/script"] = SCRIPT.format(count=count, cpus=cpus).encode()
    board = Board(
        kernel=kernel, smp=smp, files=files, count=True, memory=1536, timeout=600 + 600 * count
    )
    done = board.run(["sh", "/script"])
    said = done.stderr.decode("utf-8", "replace")[-3000:]
    assert not done.failure and done.status == 0, f"{done.failure}\n{done.text[-3000:]}\n{said}"
    boots = [part.partition("\n")[::2] for part in done.text.split(MARK)[1:]]
    assert len(boots) == count, said
    seconds = []
    for head, console in boots:
        status, begin, end = head.split()
        told = results(console)
        assert status == told.get("guest.failures") == "0", f"{head}\n{console[-3000:]}\n{said}"
        assert told["guest.cpus"] == str(cpus)
        seconds.append(float(end) - float(begin))
    least, middle, most = min(seconds), statistics.median(seconds), max(seconds)
    print(f"{count} boots: {least:.2f} to {most:.2f} s of the board's, median {middle:.2f}")
    assert most < 2 * least, seconds


@pytest.mark.soak
@pytest.mark.parametrize(("kernel", "smp"), HOSTS)
def test_four_cpus(kernel: str, smp: int):
    boot(kernel, kernel, smp, 4, BOOTS)


@pytest.mark.soak
@pytest.mark.parametrize("kernel", ("stable", "newest"))
def test_rt_kernel_with_two_cpus_on_one(kernel: str):
    make(str(TOP / "guests"), "rt")
    boot("stable-rt", kernel, 1, 2, BOOTS)


@pytest.mark.conformance
def test_rt_kernel_boots():
    make(str(TOP / "guests"), "rt")
    boot("stable-rt", "stable", 1, 2, 3)
