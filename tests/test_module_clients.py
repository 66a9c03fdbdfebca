# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Stock clients of KVM's API on the module, with a Debian disk made of Debian's packages: systemd
to a login, and SSH.

Debian's QEMU boots the disk as any machine does: EDK2, GRUB, kernel. `armvisor` boots kernel and
initrd from the disk's /boot.
"""

import subprocess

import pytest
from built import HANGS, TOP, make, module

from armvisor_lab.boards.board import Result
from armvisor_lab.cli import login

pytestmark = pytest.mark.conformance

# Questions to a VM: do all of systemd's units run, what is it, and can it write its disk?
ASK = """
systemctl is-system-running --wait; systemctl --failed --no-legend; uname -sm; nproc
dd if=/dev/urandom of=/root/file bs=1M count=4 2>/dev/null && sync
sum=$(sha256sum </root/file); echo 3 >/proc/sys/vm/drop_caches
[ "$sum" = "$(sha256sum </root/file)" ] && echo same
"""


def run(client: str, words: str = "") -> Result:
    """Start a VM, with more words for its client, ask it, and end it."""
    module("stable")
    make(str(TOP / "guests"), "disk")
    lines = ["set -e", f". {login.FUNCTIONS}", f"start {client} {words}", "login"]
    # The console's prompt has no end of line.
    lines += ["echo", f"inside '{ASK}' | sed 's/^/answer /'", "leave"]
    return login.board(client).run(["sh", "-c", "\n".join(lines)])


def answers(result: Result) -> list[str]:
    """The VM's answers, if all went well."""
    said = result.stderr.decode("utf-8", "replace")[-3000:]
    assert not result.failure, f"{result.failure}\n{result.text[-3000:]}\n{said}"
    assert result.status == 0, f"status {result.status}\n{result.text[-3000:]}\n{said}"
    lines = result.text.replace("\r", "").splitlines()
    assert [line for line in lines if line.startswith("debian login: ")]
    assert "reboot: Power down" in result.text
    return [line.removeprefix("answer ") for line in lines if line.startswith("answer ")]


# The questions of `make login`.
LOGIN = (
    "systemctl is-system-running --wait; systemctl --failed --no-legend; uname -sm; nproc; "
    "systemd-analyze"
)


def test_make_login():
    """The README's command: kernel and initrd of the disk, under armvisor."""
    done = subprocess.run(
        ["make", "login"], cwd=TOP, capture_output=True, text=True, timeout=HANGS, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    told = [line.strip() for line in done.stdout.splitlines()]
    at = told.index(f"$ ssh root@vm '{LOGIN}'")
    assert told[at + 1 : at + 4] == ["running", "Linux aarch64", "1"]
    assert told.index("debian login:") < at


@pytest.mark.parametrize("words", ["", "-M its=off -smp 4"])
def test_firmware_and_grub_under_qemu(words: str):
    done = run("qemu", words)
    cpus = "4" if "-smp" in words else "1"
    assert answers(done) == ["running", "Linux aarch64", cpus, "same"]
    places = [done.text.index(what) for what in ("UEFI firmware", "GNU GRUB", "debian login: ")]
    assert places == sorted(places)


def test_a_disk_that_is_written_under_armvisor():
    done = run("armvisor")
    assert answers(done) == ["running", "Linux aarch64", "1", "same"]
