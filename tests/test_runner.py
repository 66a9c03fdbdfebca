# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""packages/runner.sh, which gives a CI runner a /dev/kvm, and action.yml, which calls it.

The runner is a Debian with systemd on a board without EL2, where the module is built by Debian's
own compiler; that takes an emulated board many minutes.
"""

import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest
from built import TOP, host_disk

from armvisor_lab.boards.host import Host
from armvisor_lab.figures import artefacts

RUNNER = TOP / "packages/runner.sh"


def refused(folder: Path, machine: str, user: str) -> str:
    """What it says on a machine of that kind, to that user."""
    for name, answer in (("uname", machine), ("id", user)):
        program = folder / name
        program.write_text(f"#!/bin/sh\necho {answer}\n")
        program.chmod(0o755)
    env = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run([RUNNER], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and not done.stdout
    return done.stderr


def test_it_says_what_a_runner_must_be(tmp_path: Path):
    assert "run it as root" in refused(tmp_path, "aarch64", "1000")
    assert "this runner is x86_64: take one for arm64" in refused(tmp_path, "x86_64", "0")


def test_the_action_runs_it():
    text = (TOP / "action.yml").read_text()
    assert "using: composite" in text
    assert "$GITHUB_ACTION_PATH/packages/runner.sh" in text


def checkout() -> bytes:
    """The files that git knows, as the action has them."""
    names = subprocess.run(
        ["git", "-C", str(TOP), "ls-files", "module", "packages", "tools"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name in names:
            tar.add(TOP / name, name)
    return data.getvalue()


SCRIPT = """
set -eu
mkdir /root/checkout
tar -C /root/checkout -xf checkout.tar
/root/checkout/packages/runner.sh "$PWD/armvisor"
/root/checkout/packages/runner.sh "$PWD/armvisor" | head -n 1
"""


@pytest.mark.conformance
@pytest.mark.xdist_group("packages-debian")
def test_a_debian_without_kvm_becomes_a_runner(tmp_path: Path):
    disk = host_disk(tmp_path)
    files: dict[str, Path | bytes] = {"checkout.tar": checkout(), "armvisor": artefacts.vmm()}
    done = Host(disk).run(SCRIPT, files).check()
    assert "runner.sh: the module is loaded" in done.text
    assert "a VM runs: Linux " in done.text
    assert "runner.sh: VMs run here" in done.text
    assert done.text.rstrip().endswith("has a /dev/kvm of its own, and needs no module")
