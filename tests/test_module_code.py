# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A kernel that reads and changes its own code while it runs from patched copies of the code.

Function tracing, static keys, kprobes, uprobes, modules that come and go and compiled packet
filters in a stock Debian guest; and a read of its text, which shows no patch. In `make test` the
guest of test_module_smp.py's storm has the tracer patch its text all the time.
"""

import json

import pytest
from built import TOP, module
from guest_runs import MARK, results

from armvisor_lab.boards.board import Board
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.figures import artefacts

ALL, NO_COPIES = 1023, 1023 & ~8  # module/cpu/cheap.h
SCRIPT = f"""
for cheap in $CHEAP; do
    echo $cheap >/sys/module/armvisor/parameters/cheap_traps
    armvisor run --kernel /vmlinuz --initrd /initrd --memory 512M --name code --json \\
        --append "quiet nokaslr console=ttyS0 armvisor.test=$TEST" >/tmp/console || exit
    printf '{MARK}'; cat /tmp/console
done
"""
KERNELS = ("oldstable", "stable", "newest")


def runs(guest: str, *cheap: int, test: str = "code") -> list[str]:
    """The output of each guest, and then its VMM's in JSON."""
    folder = TOP / f"build/guests/debian-{guest}"
    board = Board(
        el2=False, cpu="cortex-a72", count=True, memory=1536, timeout=1200,
        modules=[Module(str(module("stable")))],
        files={
            "/bin/armvisor": artefacts.vmm(),
            "/vmlinuz": folder / "vmlinuz",
            "/initrd": folder / "initrd",
            "/script": f"CHEAP='{' '.join(map(str, cheap))}' TEST={test}\n{SCRIPT}".encode(),
        },
    )  # fmt: skip
    done = board.run(["sh", "/script"])
    assert not done.failure, done.failure
    said = done.text.split(MARK)[1:]
    assert len(said) == len(cheap), done.text[-3000:]
    for text in said:
        assert results(text).get(f"guest.{test}.failures") == "0", text[-3000:]
    return said


def counts(text: str) -> dict[str, dict[str, int]]:
    [vm] = [json.loads(line) for line in text.splitlines() if line[:1] == "{"]
    return vm


def copies_made(text: str) -> int:
    return counts(text)["kvm"]["code_copies_made"]


@pytest.mark.conformance
@pytest.mark.parametrize("guest", KERNELS)
def test_a_kernel_changes_its_code_as_without_copies(guest: str):
    said = runs(guest, ALL, NO_COPIES)
    in_copies, plain = map(results, said)
    # Its accesses are seen as they are. A checksum is valid for one boot: kernels put addresses,
    # which differ from boot to boot, and random numbers in their text.
    assert in_copies["code.sp_el0"] == plain["code.sp_el0"]
    assert int(plain["code.sp_el0"]) > 1000
    assert in_copies["code.unknown"] == plain["code.unknown"] == "0"
    assert in_copies["code.filters"] == plain["code.filters"]
    copies = [copies_made(text) for text in said]
    assert copies[0] > 500 and not copies[1]


@pytest.mark.conformance
@pytest.mark.parametrize("guest", KERNELS)
def test_a_traced_call_leaves_code_and_data_as_they_are(guest: str):
    [said] = runs(guest, ALL, test="trace")
    exits = counts(said)["kvm_exits"]
    # Each traced call reads the words in front of the function, where the kernel has them.
    if guest != "oldstable":
        assert exits["code_read"] > 100_000
    # Faults of code that was read: two for each page that is read as a whole, and for each patch.
    assert exits["pabt_hidden"] < 20_000
