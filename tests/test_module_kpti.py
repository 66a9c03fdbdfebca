# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Linux guests that isolate their page tables, at various places in the address space.

With kpti=1 Linux turns KPTI on after it has booted: it rewrites its tables through the last 2 MiB
of the address space, from code in the lower half, while the other CPUs wait there.
"""

import pytest
from built import TOP, module
from guest_runs import MARK, results

from armvisor_lab.boards.board import Board
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.figures import artefacts

ISOLATED = "detected: Kernel page table isolation (KPTI)"
KERNELS = ("oldstable", "stable", "newest")
WORDS = ("kpti=1", "kpti=0", "nokaslr", "nokaslr kpti=1", "")
RUN = """
armvisor run --kernel /{guest}/vmlinuz --initrd /{guest}/initrd --cpus {cpus} --memory 384M \\
    --append "console=ttyS0 armvisor.test=cpus {words}" </dev/null >/tmp/console
printf '{mark}%s\\n' $?; cat /tmp/console
"""


def boots(host: str, guests: tuple[str, ...], words: tuple[str, ...], cpus: int, smp: int = 1):
    """Boot the guest once with each of these words on its command line."""
    rows = [(guest, word) for guest in guests for word in words]
    script = "".join(
        RUN.format(guest=guest, words=word, cpus=cpus, mark=MARK) for guest, word in rows
    )
    files = {"/bin/armvisor": artefacts.vmm(), "/script": f"{script}exit 0\n".encode()}
    for guest in guests:
        folder = TOP / f"build/guests/debian-{guest}"
        files |= {f"/{guest}/{name}": folder / name for name in ("vmlinuz", "initrd")}
    board = Board(
        kernel=host, modules=[Module(str(module(host)))], smp=smp, memory=1536, count=True,
        timeout=600 * len(rows) * cpus, files=files,
    )  # fmt: skip
    done = board.run(["sh", "/script"])
    said = done.stderr.decode("utf-8", "replace")[-3000:]
    assert not done.failure, f"{done.failure}\n{done.text[-3000:]}\n{said}"
    parts = [part.partition("\n") for part in done.text.split(MARK)[1:]]
    for (guest, word), (status, _, console) in zip(rows, parts, strict=True):
        told = results(console)
        assert status == "0" and told.get("guest.failures") == "0", (
            f"{guest}, {word}: {status}\n{console[-3000:]}\n{said}"
        )
        assert told["guest.cpus"] == str(cpus)
        assert told["guest.kaslr"] == str(int("nokaslr" not in word))
        # KASLR turns it on too, but from the start; the emulated core does not need it.
        if "kpti" in word:
            assert (ISOLATED in console) == ("kpti=1" in word), console[-3000:]


@pytest.mark.conformance
def test_a_guest_isolates_its_page_tables():
    """`make test` has one that does, and is then a storm's (test_module_smp.py)."""
    boots("stable", ("stable",), ("kpti=1",), cpus=2)


@pytest.mark.conformance
@pytest.mark.parametrize("host", KERNELS)
@pytest.mark.parametrize("guest", KERNELS)
def test_every_guest_with_and_without(host: str, guest: str):
    boots(host, (guest,), WORDS, cpus=1)


@pytest.mark.conformance
@pytest.mark.parametrize("guest", KERNELS)
def test_cpus_that_wait_meanwhile(guest: str):
    boots("stable", (guest,), ("kpti=1", "nokaslr kpti=1"), cpus=4, smp=2)
