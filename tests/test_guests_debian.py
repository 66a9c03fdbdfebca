# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The Debian test guest: every kernel, one CPU and four, KVM without VHE and with it.

On each board two VMs run, the first with one CPU and the second with four. Both boot with the
memory and the random layout that they were given, and use network and vsock. The second reads from
the disk what the first wrote. test_devices_debian.py tests the devices themselves.
"""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from built import HANGS
from debian_runs import TOP, folder, run_pairs
from guest_runs import Host

KERNELS = ("oldstable", "stable", "newest")


# `make test` has a guest with its devices on KVM in test_devices_debian.py.
@pytest.mark.conformance
@pytest.mark.parametrize("cpu", ["cortex-a72", "cortex-a76"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_boots_and_uses_its_devices(cpu: str, kernel: str):
    run_pairs(Host(cpu=cpu, kernel="stable"), [kernel], mebibytes=64)


def build_guest(kernel: str, out: Path) -> subprocess.CompletedProcess[str]:
    """Build the guest of `kernel` into `out`, as the guests' Makefile does."""
    words = [sys.executable, str(TOP / "guests/debian/build.py"), "--tools"]
    words += [str(TOP / "build/guests/tools"), "--out", str(out), kernel]
    env = os.environ | {"PYTHONPATH": str(TOP / "lab/src")}
    return subprocess.run(
        words, check=False, capture_output=True, text=True, env=env, timeout=HANGS
    )


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path):
    done = build_guest("stable", tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("initrd", "vmlinuz", "Image"):
        digests = {
            hashlib.sha256((place / name).read_bytes()).hexdigest()
            for place in (folder("stable"), tmp_path / "debian-stable")
        }
        assert len(digests) == 1, name


def test_a_kernel_that_is_not_there_is_refused(tmp_path: Path):
    done = build_guest("9.99", tmp_path)
    assert done.returncode == 1
    assert re.match(r"guests: no kernel '9.99'\n  there are oldstable \(", done.stderr)
    assert not list(tmp_path.iterdir())
