# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Light exits in the image of the host (module/switch/image.h): how many entries still flush, and
that an image which lacks everything, again and again, only costs time."""

import json

import pytest
from built import module
from guest_runs import results

from armvisor_lab.boards.board import Board
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.figures import artefacts

BOOT = (
    "armvisor run --kernel /guest/vmlinuz --initrd /guest/initrd --memory 384M --json {options} "
    "--append 'quiet console=ttyS0 armvisor.test={tests}' </dev/null"
)
# Boards without KASLR and KPTI: the host's mappings are global, and each full entry flushes.
HOSTS = ("cortex-a72", "neoverse-n2")


def boot(image: int, cpu: str = "cortex-a72", smp: int = 1, tests: str = "cpus", **board):
    """A Debian guest's life, and its counts, on a host with the image on (1), off (0) or 2."""
    guest = artefacts.guest("stable")
    files = {"/bin/armvisor": artefacts.vmm()}
    files |= {f"/guest/{name}": guest[name] for name in ("vmlinuz", "initrd")}
    run = BOOT.format(options=f"--cpus {smp}", tests=tests)
    done = Board(
        files=files, cpu=cpu, smp=smp, count=smp == 1, timeout=1200,
        modules=(Module(str(module("stable")), f"light_image={image}"),), **board,
    ).run(["sh", "-c", run])  # fmt: skip
    text = done.check().text
    assert results(text)["guest.failures"] == "0", text[-3000:]
    return json.loads(text.splitlines()[-1])["kvm_exits"]


def misses(exits: dict[str, int]) -> int:
    return sum(exits[f"image_miss_{why}"] for why in ("new", "user", "vmalloc", "other"))


@pytest.mark.parametrize("cpu", HOSTS)
def test_few_entries_flush(cpu: str):
    exits = boot(1, cpu)
    assert exits["total"] > 100_000
    assert exits["entry_flush"] < exits["total"] // 10
    # What is missed is learned, and then it is there.
    assert 0 < exits["image_miss_new"] < 100
    assert exits["image_miss_user"] == exits["image_miss_vmalloc"] == 0
    assert exits["image_miss_other"] < 20


def test_without_the_image_all_flush():
    exits = boot(0)
    # The total has aborts that the window completed, too.
    assert exits["entry_flush"] > exits["total"] * 0.99 > 100_000
    assert misses(exits) == 0


@pytest.mark.parametrize("smp", (1, 2))
def test_an_image_that_forgets(smp: int):
    exits = boot(2, smp=smp, tests="cpus,rng")
    assert misses(exits) > 200
    assert exits["exit_short"] > 50_000
