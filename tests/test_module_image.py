# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Light exits in the image of the host (module/switch/image.h): how many entries still flush, and
that an image which lacks everything, again and again, only costs time."""

import json
from pathlib import Path

import pytest
from built import module, of_tests
from guest_runs import results

from armvisor_lab.boards.board import Board
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.figures import artefacts

BOOT = (
    "{before}armvisor run --kernel /guest/vmlinuz --initrd /guest/initrd --memory 384M "
    "--json {options} --append 'quiet console=ttyS0 armvisor.test={tests}' </dev/null"
)
# Boards without KASLR and KPTI: the host's mappings are global, and each full entry flushes.
HOSTS = ("cortex-a72", "neoverse-n2")


def boot(
    image: int,
    cpu: str = "cortex-a72",
    smp: int = 1,
    tests: str = "cpus",
    options: str = "",
    before: str = "",
    files: dict[str, Path] | None = None,
) -> dict[str, int]:
    """A Debian guest's life, and its counts, on a host with the image on (1), off (0) or 2."""
    guest = artefacts.guest("stable")
    files = {"/bin/armvisor": artefacts.vmm(), **(files or {})}
    files |= {f"/guest/{name}": guest[name] for name in ("vmlinuz", "initrd")}
    run = BOOT.format(options=f"--cpus {smp} {options}", tests=tests, before=before)
    done = Board(
        files=files, cpu=cpu, smp=smp, count=smp == 1, timeout=1200,
        modules=(Module(str(module("stable")), f"light_image={image}"),),
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


def test_structures_in_vmalloc_are_in_it():
    """A protected VM's tables always are. They would be missed at each light exit."""
    exits = boot(1, options="--protected")
    assert exits["exit_short"] > 50_000
    assert exits["image_miss_vmalloc"] == 0 and misses(exits) < 100, exits


# Each group has per-CPU memory: what is allocated later is in vmalloc. The kernel's first is not.
MUCH_PERCPU = """mkdir /cg && mount -t cgroup2 none /cg && echo +memory >/cg/cgroup.subtree_control
for i in $(seq 300); do mkdir /cg/$i; done; grep -q pcpu_get_vm_areas /proc/vmallocinfo || exit 9
"""


def test_per_cpu_memory_in_vmalloc_is_in_it():
    exits = boot(1, before=MUCH_PERCPU)
    assert exits["image_miss_vmalloc"] == 0 and misses(exits) < 100, exits
    assert exits["entry_flush"] < exits["total"] // 10


def test_a_probe_in_light_exits():
    """Each BRK is an exception in the image, and is executed again under the host's tables."""
    probe = {"/probe.ko": of_tests("probe", "stable")}
    exits = boot(1, before="insmod /probe.ko; ", files=probe)
    assert exits["image_miss_other"] > 1000
