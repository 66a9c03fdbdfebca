# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Guests with kernels that are configured as none of Debian's is, on KVM and on the module.

They are the kernels of test_own_hosts.py: 39-bit addresses and 52-bit ones, a second stack in x18,
interrupts masked by priority.
"""

from dataclasses import replace

import pytest
from built import module, own_kernel
from guest_runs import Host
from linux_runs import Linux, Said, module_files, run, with_files

from armvisor_lab.archive import kernels
from armvisor_lab.figures import artefacts

pytestmark = [pytest.mark.conformance, pytest.mark.xdist_group("own-guests")]

MODULES = ("virtio_mmio", "virtio_pci", "virtio_blk", "crc32c_generic", "ext4", "virtio_rng")
TESTS = "cpus,disk-write,disk-check,rng"
ISOLATED = "detected: Kernel page table isolation (KPTI)"
PSEUDO_NMI = "irqchip.gicv3_pseudo_nmi=1"
ROWS = {
    "phone": ("", "nokaslr kpti=1", "kpti=0"),
    "distribution": ("", "preempt=full", PSEUDO_NMI, f"{PSEUDO_NMI} preempt=none nokaslr kpti=1"),
}
HOSTS = [
    ("kvm", "cortex-a72"),
    ("module", "cortex-a72"),
    ("module", "cortex-a76"),
    ("module", "max"),
]


def host(name: str, cpu: str, smp: int = 1) -> Host:
    made = Host(cpu, smp=smp)
    return made if name == "kvm" else replace(made, el2=False, module=module("stable"))


def guest(kind: str, words: str, cpus: int = 1) -> Linux:
    kernel = kernels.from_folder(own_kernel(kind))
    initrd = artefacts.guest("stable")["initrd"].read_bytes()
    files = module_files(kernel.modules, MODULES)
    # ext4 asks for its checksum by modprobe, which the guest has not.
    files["modules/ext4"] = files["modules/crc32c_generic"] + files["modules/ext4"]
    initrd = with_files(initrd, "", files)
    append = f"console=ttyS0 armvisor.test={TESTS} {words}"
    return Linux(kernel.image, initrd, append, cpus, "512M", ("--disk", "/tmp/disk"))


def assert_good(said: Said, words: str, cpus: int = 1) -> None:
    told, console = said.results, said.console
    assert said.status == 0 and told.get("guest.failures") == "0", console[-4000:]
    assert told["guest.cpus"] == str(cpus)
    assert told["guest.kaslr"] == str(int("nokaslr" not in words))
    assert ("Pseudo-NMIs enabled" in console) == (PSEUDO_NMI in words), console
    if "kpti" in words:
        assert (ISOLATED in console) == ("kpti=1" in words)
    for word in words.split():
        if word.startswith("preempt="):
            assert f"Dynamic Preempt: {word.removeprefix('preempt=')}" in console


@pytest.mark.parametrize(("hypervisor", "cpu"), HOSTS)
@pytest.mark.parametrize("kind", ROWS)
def test_it_boots(kind: str, hypervisor: str, cpu: str):
    guests = [guest(kind, words) for words in ROWS[kind]]
    outputs = run(host(hypervisor, cpu), guests, before="truncate -s 16M /tmp/disk")
    for said, words in zip(outputs, ROWS[kind], strict=True):
        assert_good(said, words)


@pytest.mark.parametrize("hypervisor", ["kvm", "module"])
@pytest.mark.parametrize(("kind", "words"), [("phone", ""), ("distribution", PSEUDO_NMI)])
def test_two_cpus(kind: str, words: str, hypervisor: str):
    """They send each other interrupts, which may be pseudo-NMIs."""
    said = run(
        host(hypervisor, "cortex-a72", smp=2), [guest(kind, words, 2)], "truncate -s 16M /tmp/disk"
    )
    assert_good(said[0], words, 2)
