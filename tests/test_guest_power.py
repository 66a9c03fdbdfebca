# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Debian guests that kexec, crash into another kernel, sleep, and hibernate: on KVM and on the
module, with two vCPUs.

Each ends a kernel's use of the MMU, the interrupt controller and the other CPU in a way that a boot
and a power-off do not: tables of its own that map next to nothing, CPUs that are parked for ever or
powered off and on, and all of memory read and overwritten beneath the code that does it.
"""

from functools import cache

import pytest
from built import module
from guest_runs import Host
from linux_runs import Linux, Said, run, with_files

from armvisor_lab.archive import programs
from armvisor_lab.figures import artefacts

SUITE = "trixie"
KEXEC = "usr/sbin/kexec"
KVM = Host()
HOSTS = pytest.mark.parametrize("el2", (True, False), ids=("kvm", "module"))


def host(el2: bool) -> Host:
    return KVM if el2 else Host(el2=False, module=module("stable"))


@cache
def kexec_tools() -> dict[str, bytes]:
    """Debian's kexec, with its libraries, as files of an initramfs."""
    files = programs.with_libraries("kexec-tools", KEXEC, SUITE)[0]
    return {
        ("bin/kexec" if name.endswith("/kexec") else name[1:]): path.read_bytes()
        for name, path in files.items()
    }


def plain(row: str, append: str = "", options: tuple[str, ...] = ()) -> Linux:
    """A guest that does one row's work, without another kernel."""
    made = artefacts.guest("stable")
    initrd = with_files(made["initrd"].read_bytes(), "power")
    words = f"quiet {append} armvisor.test=own armvisor.rows={row}"
    return Linux(made["Image"], initrd, words, options=options)


def with_another(row: str, other: str, append: str = "") -> Linux:
    """A guest with a second kernel, the same as its own, whose command line has `other`."""
    made = artefacts.guest("stable")
    tool = artefacts.tool("vmcore").read_bytes()
    inner = with_files(made["initrd"].read_bytes(), "power", {"bin/vmcore": tool})
    files = kexec_tools() | {
        "bin/vmcore": tool,
        "boot/Image": made["Image"].read_bytes(),
        "boot/initrd": inner,
        "boot/cmdline": f"console=ttyS0 quiet {other}\n".encode(),
    }
    outer = with_files(made["initrd"].read_bytes(), "power", files)
    words = f"quiet {append} armvisor.test=own armvisor.rows={row}"
    return Linux(made["Image"], outer, words, memory="768M")


def assert_ended(said: Said, banners: int) -> dict[str, str]:
    """The guest's last kernel powered off, after so many kernels had booted."""
    told = said.results
    assert said.status == 0, said.console[-4000:]
    assert told.get("guest.failures") == "0", said.console[-4000:]
    assert said.console.count("This is Debian in a VM: ") == banners, said.console[-4000:]
    return told


@pytest.mark.conformance
@HOSTS
def test_kexec(el2: bool):
    said = run(host(el2), [with_another("kexec", "armvisor.test=cpus")])[0]
    assert assert_ended(said, 2)["guest.cpus"] == "2"


@pytest.mark.conformance
@HOSTS
def test_kdump(el2: bool):
    """The second CPU crashes; the next kernel reads the registers of both, and memory."""
    other = "nr_cpus=1 reset_devices armvisor.test=own"
    said = run(host(el2), [with_another("kdump", other, "crashkernel=192M")])[0]
    told = assert_ended(said, 2)
    assert told["guest.cpus"] == told["vmcore.info"] == "1"
    assert (told["vmcore.cpus"], told["vmcore.marks"]) == ("2", "512")
    assert int(told["vmcore.bytes"]) > 500 << 20


@pytest.mark.conformance
@HOSTS
def test_hibernation(el2: bool):
    """The second boot finds the first one's state in memory, and both CPUs continue.

    Compression would take most of the time, and exercises nothing of a hypervisor.
    """
    disk = ("--disk", "/tmp/disk")
    guests = [plain(row, "hibernate=nocompress", disk) for row in ("hibernate", "resume")]
    first, second = run(host(el2), guests, before="truncate -s 512M /tmp/disk")
    assert first.status == 0 and "hibernate.back" not in first.console, first.console[-4000:]
    assert assert_ended(second, 1)["hibernate.back"] == "1"


@pytest.mark.conformance
@HOSTS
def test_suspend(el2: bool):
    """To idle, which leaves the CPUs on, and to memory, by PSCI; the clock's alarm ends each."""
    states = ("freeze", "mem")
    for said in run(host(el2), [plain(f"suspend.{state}") for state in states]):
        told = assert_ended(said, 1)
        assert told["suspend.rounds"] == told["suspend.success"] == "3", said.console[-4000:]
