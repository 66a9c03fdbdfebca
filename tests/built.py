# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""What tests run, brought up to date first: a test must never judge an older build."""

import subprocess
from functools import cache
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
# Seconds after which a command is taken for hung, on however busy a machine: boards have limits of
# their own, which leave out what they wait for a CPU.
HANGS = 4 * 3600


def make(*words: str) -> None:
    """`make -C WORDS…`, its output shown if it fails."""
    done = subprocess.run(["make", "-s", "-C", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"make {' '.join(words)}:\n{done.stdout}{done.stderr}"


@cache
def module(kernel: str) -> Path:
    """armvisor.ko for the kernel of a role."""
    make(str(TOP / "module"), f"KVER={kernel}")
    return TOP / "build/module" / kernel / "armvisor.ko"


@cache
def bounce(kernel: str) -> Path:
    """armvisor_bounce.ko for the guest kernel of a role."""
    make(str(TOP / "bounce"), f"KVER={kernel}")
    return TOP / "build/bounce" / kernel / "armvisor_bounce.ko"


@cache
def work_disk() -> Path:
    """The disk with what keeps a VM's CPUs busy."""
    make(str(TOP / "guests"), "work")
    return TOP / "build/guests/work-trixie/disk.img"


@cache
def apps_disk() -> Path:
    """The disk of applications."""
    make(str(TOP / "guests"), "apps")
    return TOP / "build/guests/apps-trixie/disk.img"
