# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The Debian test guest boots to user space: every kernel, one CPU and four, KVM nVHE and VHE.

Its devices are tested in test_devices_debian.py; here it is that each kernel comes up with the
CPUs, the memory and the random layout that it was given, does work on each CPU, and goes off.
"""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from armvisor_lab.board import Board
from armvisor_lab.figures import artefacts
from guest_runs import MARK, results

TOP = Path(__file__).resolve().parents[1]
KERNELS = ("6.1", "6.12", "7.2")
CPUS = (1, 4)

SCRIPT = f"""
for kernel in {" ".join(KERNELS)}; do
    for cpus in {" ".join(map(str, CPUS))}; do
        armvisor run --kernel /$kernel/vmlinuz --initrd /$kernel/initrd --cpus $cpus \\
            --memory 384M --append "quiet console=ttyS0 armvisor.test=cpus" >/tmp/console
        printf '{MARK}%s %s %s\\n' $kernel $cpus $?
        cat /tmp/console
    done
done
"""


def folder(kernel: str) -> Path:
    return TOP / f"build/guests/debian-{kernel}"


@pytest.mark.parametrize("cpu", ["cortex-a72", "cortex-a76"])
def test_boots_to_user_space(cpu: str):
    files: dict[str, Path | bytes] = {
        "/bin/armvisor": artefacts.vmm(),
        "/script": SCRIPT.encode(),
    }
    for kernel in KERNELS:
        for name in ("vmlinuz", "initrd"):
            files[f"/{kernel}/{name}"] = folder(kernel) / name
    done = Board(el2=True, cpu=cpu, memory=2048, files=files, timeout=900).run(["sh", "/script"])
    said = done.stderr.decode("utf-8", "replace")[-3000:]
    assert not done.failure, f"{done.failure}\n{done.text[-3000:]}\n{said}"

    runs = {}
    for part in done.text.split(MARK)[1:]:
        head, _, console = part.partition("\n")
        kernel, cpus, status = head.split()
        runs[kernel, int(cpus)] = console
        assert status == "0", f"{head}: {console[-3000:]}\n{said}"
    assert set(runs) == {(kernel, cpus) for kernel in KERNELS for cpus in CPUS}
    for (kernel, cpus), console in runs.items():
        told = results(console)
        release = json.loads((folder(kernel) / "guest.json").read_text())["release"]
        assert f"This is Debian in a VM: Linux {release}, {cpus} CPU(s)" in console
        assert told["guest.cpus"] == str(cpus)
        assert told["guest.kaslr"] == "1"
        assert 300 << 10 < int(told["guest.memory"]) < 384 << 10
        assert told["guest.cpus.failures"] == told["guest.failures"] == "0"
        # The counter, read at the very end.
        assert int(told["guest.end.ticks"]) > 0


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path):
    build = [sys.executable, str(TOP / "guests/debian/build.py"), "--tools"]
    build += [str(TOP / "build/guests/tools"), "--out", str(tmp_path), "6.12"]
    subprocess.run(build, check=True, capture_output=True, timeout=300)
    for name in ("initrd", "vmlinuz", "Image"):
        digests = {
            hashlib.sha256((place / name).read_bytes()).hexdigest()
            for place in (folder("6.12"), tmp_path / "debian-6.12")
        }
        assert len(digests) == 1, name


def test_a_kernel_that_is_not_there_is_refused(tmp_path: Path):
    build = [sys.executable, str(TOP / "guests/debian/build.py"), "--tools"]
    build += [str(TOP / "build/guests/tools"), "--out", str(tmp_path), "9.99"]
    done = subprocess.run(build, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert re.match(r"guests: no kernel '9.99'\n  there are 6.1, 6.12, 7.2", done.stderr)
    assert not list(tmp_path.iterdir())
