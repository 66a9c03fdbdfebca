# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The packages on a Debian with systemd, on a board without EL2: from `apt install` to purge.

The board starts from a disk with firmware and GRUB; each run of a script is one boot. DKMS builds
the module there with Debian's own compiler, which takes an emulated board many minutes each time.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest
from built import host_disk
from made_packages import build, field, repack

from armvisor_lab.archive.packages import Packages
from armvisor_lab.boards.host import Host, Orders
from armvisor_lab.figures import artefacts

pytestmark = [pytest.mark.conformance, pytest.mark.xdist_group("packages-debian")]

# Functions for all scripts. A VM of `hello` ends by itself.
COMMON = """
set -eu
ko() { find "/lib/modules/${1:-$(uname -r)}" -name 'armvisor.ko*'; }
installed() { modinfo -F version "$(ko "$@")"; }
loaded() { cat /sys/module/armvisor/version; }
hello() { runuser -u user -- armvisor run --kernel /run/orders/hello.img </dev/null; }
files() {
	find / -xdev \\( -path /proc -o -path /sys -o -path /run -o -path /tmp -o -path /var/log -o \
		-path /var/cache -o -path /var/lib/apt -o -path /var/lib/systemd -o -path /root/files \\) \
		-prune -o ! -type d -print | sort
}
"""

# What the board's first boot does: a fresh Debian, and no network.
FRESH = """
echo "kvm: $(ls /dev/kvm 2>/dev/null || echo none)"
files >/root/files.before
apt-get install -y ./armvisor_*.deb ./armvisor-dkms_*.deb
useradd -m -G kvm user
useradd -m stranger
echo "installed: $(installed)"
echo "loaded: $(loaded)"
systemctl is-enabled armvisor-module
systemd-analyze --man=no verify /usr/share/doc/armvisor/examples/armvisor@.service && echo verified
hello
"""

BOOTED = """
echo "loaded: $(loaded)"
stat -c '%G %a' /dev/kvm
hello
runuser -u stranger -- armvisor run --kernel /run/orders/hello.img </dev/null || echo "stranger: $?"
man -w armvisor-run 2>/dev/null || ls /usr/share/man/man1/armvisor-run.1.gz
runuser -u user -- armvisor doctor || echo "doctor: $?"
"""

FAILED_UPGRADE = """
cp /boot/vmlinuz-* /tmp/vmlinuz
cp /boot/initrd.img-* /tmp/initrd
chmod a+r /tmp/initrd
runuser -u user -- armvisor run --kernel /tmp/vmlinuz --initrd /tmp/initrd --name long \\
	--append 'rdinit=/usr/bin/sleep -- 1000000' --console none </dev/null &
sleep 20
runuser -u user -- armvisor list | grep long
dpkg -i ./broken.deb || echo "dpkg: $?"
echo "installed: $(installed)"
dkms status -m armvisor
ls -d /usr/src/armvisor-*
runuser -u user -- armvisor list | grep long
hello
echo "unit: $(dpkg-query -W -f '${db:Status-Status}' armvisor-dkms)"
"""

# The VM of the failed upgrade, which sleeps, runs on.
UPGRADE = """
dpkg -i ./newer.deb
echo "installed: $(installed)"
echo "loaded: $(loaded)"
runuser -u user -- armvisor list | grep long
hello
armvisor stop --force user/long
wait
"""

# Removed, and installed again from nothing; the newer version's configuration was not purged.
AFTER_UPGRADE = """
echo "loaded: $(loaded)"
hello
dpkg -r armvisor-dkms
echo "kvm: $(ls /dev/kvm 2>/dev/null || echo none)"
sources=$(ls -d /usr/src/armvisor-* 2>/dev/null || echo nothing)
echo "removed: $(ko)$(dkms status -m armvisor)$sources"
dpkg -i ./armvisor-dkms_*.deb
echo "loaded: $(loaded)"
hello
"""

KERNEL = """
dpkg -i ./kernel/*.deb
dkms status -m armvisor
"""

NEW_KERNEL = """
uname -r
echo "loaded: $(loaded)"
hello
"""

PURGE = """
apt-get purge -y armvisor armvisor-dkms
echo "kvm: $(ls /dev/kvm 2>/dev/null || echo none)"
files >/root/files.after
echo "left: $(diff /root/files.before /root/files.after | grep armvisor || echo nothing)"
echo "units: $(systemctl list-unit-files | grep armvisor || echo nothing)"
"""


class Debian:
    """A Debian that goes through its boots once, in order; tests look at what each said."""

    def __init__(self, work: Path) -> None:
        self.host = Host(host_disk(work))
        self.debs = {file.name.partition("_")[0]: file for file in build("deb", work / "debs")}
        self.version = field(self.debs["armvisor"], "Version")
        self.newer = self.version + ".newer"

        def break_it(folder: Path) -> None:
            with (folder / "usr/share/armvisor-dkms/main.c").open("a") as file:
                file.write("#error this release does not build\n")

        module = self.debs["armvisor-dkms"]
        broken = repack(module, self.version + ".broken", work, break_it)
        newer = repack(module, self.newer, work, lambda _: None)
        self.files: dict[str, Path | bytes] = {file.name: file for file in self.debs.values()}
        self.files |= {"broken.deb": broken, "newer.deb": newer}
        self.files |= {"hello.img": artefacts.bare("hello")}
        self.work = work

    def boot(self, *scripts: str, **more: Path | bytes) -> Orders:
        """One boot that carries out these scripts; its output is also in a file beside the disk."""
        with (self.work / "output").open("ab", buffering=0) as log:
            script = "\n".join([COMMON, *scripts])
            return self.host.run(script, {**self.files, **more}, log.write).check()


def new_kernel() -> dict[str, Path]:
    """Another kernel of Debian's with its headers, and all that these need."""
    names = ("linux-image-cloud-arm64", "linux-headers-cloud-arm64")
    packages = Packages("trixie-backports").closure(*names)
    # What else they depend on is on the disk.
    new = re.compile(r"linux-.*|.*-for-host")
    kernel = [package for package in packages if new.fullmatch(package.name)]
    return {f"kernel/{package.name}.deb": package.deb for package in kernel}


@pytest.fixture(scope="module")
def debian() -> Iterator[Debian]:
    yield Debian(Path(mkdtemp(prefix="armvisor-debian-")))


def said(orders: Orders, word: str) -> list[str]:
    """The rests of the lines that begin with a word."""
    start = f"{word}: "
    return [line.removeprefix(start) for line in orders.text.splitlines() if line.startswith(start)]


def test_from_a_fresh_debian_to_purge(debian: Debian) -> None:
    """One after the other: each state comes of the one before."""
    fresh = debian.boot(FRESH)
    assert said(fresh, "kvm") == ["none"]
    assert said(fresh, "installed") == said(fresh, "loaded") == [debian.version]
    assert "enabled" in fresh.text and "verified" in fresh.text
    assert "hello from EL" in fresh.text

    booted = debian.boot(BOOTED, FAILED_UPGRADE, UPGRADE)
    assert booted.state == "running"
    assert "kvm 660" in booted.text
    assert said(booted, "stranger") == ["4"]
    assert said(booted, "doctor") == []
    assert "this release does not build" in booted.text
    assert said(booted, "dpkg") == ["1"]
    assert said(booted, "installed") == [debian.version, debian.newer]
    # The new one waits for the VM that runs.
    assert said(booted, "loaded") == [debian.version, debian.version]
    assert "install: VMs run, so the old module stays loaded" in booted.text

    after = debian.boot(AFTER_UPGRADE, KERNEL, **new_kernel())
    assert said(after, "loaded") == [debian.newer, debian.version]
    assert said(after, "kvm") == ["none"]
    assert said(after, "removed") == ["nothing"]
    new = debian.boot(NEW_KERNEL, PURGE)
    assert re.search(r"(?m)^7\..*-cloud-arm64$", new.text)
    assert said(new, "loaded") == [debian.version]
    assert said(new, "kvm") == ["none"]
    assert said(new, "left") == said(new, "units") == ["nothing"]
