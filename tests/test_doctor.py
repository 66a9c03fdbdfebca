# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`armvisor doctor` on boards: what it says of them is true, as root and as another user.

Recorded machines of other kinds are in vmm/armvisor/tests/machines.
"""

import json
import re
from functools import cache
from typing import Any

import pytest
from built import TOP, module
from shared_board import Part, run_parts

from armvisor_lab.boards.board import Board
from armvisor_lab.figures import artefacts

READY, NO, NOT_YET = 0, 4, 11
DOCTOR = "armvisor doctor --json; echo $?"
AS_USER = f"""
printf 'root:x:0:0::/:/bin/sh\\nuser:x:1000:1000::/:/bin/sh\\n' >/etc/passwd
su user -c '{DOCTOR}'
"""
WITHOUT_EL2 = {
    "before": DOCTOR,
    # This user may not read the kernel's log.
    "other": f"echo 1 >/proc/sys/kernel/dmesg_restrict || exit 1\n{AS_USER}",
    "after": f"insmod /armvisor.ko || exit 1\n{DOCTOR}",
    "denied": f"chmod 600 /dev/kvm\n{AS_USER}",
}
WITH_EL2 = {"el2": DOCTOR}


@cache
def without_el2() -> dict[str, Part]:
    files = {"/bin/armvisor": artefacts.vmm(), "/armvisor.ko": module("stable")}
    return run_parts(Board(files=files), WITHOUT_EL2)


@cache
def with_el2() -> dict[str, Part]:
    return run_parts(Board(el2=True, files={"/bin/armvisor": artefacts.vmm()}), WITH_EL2)


def report(part: Part) -> tuple[int, dict[str, Any], dict[str, dict[str, str]]]:
    """The doctor's exit code, its report, and the findings by name."""
    line, code = part.check().split("\n")[:2]
    said = json.loads(line)
    return int(code), said, {finding["id"]: finding for finding in said["findings"]}


@pytest.mark.xdist_group("doctor")
def test_a_board_without_el2_wants_the_module():
    code, said, found = report(without_el2()["before"])
    assert (code, said["verdict"]) == (NOT_YET, "not_yet")
    assert "started at EL1" in found["exception_level"]["says"]
    assert found["kvm"]["verdict"] == "bad"
    assert any("modprobe armvisor" in step for step in said["steps"])
    for row in ("page_size", "granule", "address_bits", "realtime", "pseudo_nmi", "sdei"):
        assert found[row]["verdict"] == "ok", found[row]


@pytest.mark.xdist_group("doctor")
def test_another_user_is_told_the_exception_level_too():
    _, _, found = report(without_el2()["other"])
    assert found["exception_level"]["says"].startswith("Linux started at EL1: the kernel's timer")


@pytest.mark.xdist_group("doctor")
def test_with_the_module_the_board_is_ready():
    code, said, found = report(without_el2()["after"])
    assert (code, said["verdict"], said["steps"]) == (READY, "ready", [])
    assert "armvisor's module" in found["kvm"]["says"]
    assert found["headers"]["verdict"] == "skipped"


@pytest.mark.xdist_group("doctor")
def test_a_user_who_may_not_open_the_device_is_told_what_to_do():
    code, said, found = report(without_el2()["denied"])
    assert (code, found["permission"]["verdict"]) == (NOT_YET, "bad")
    assert said["steps"] == [found["permission"]["remedy"]]
    assert "chmod 660" in found["permission"]["remedy"]


@pytest.mark.xdist_group("doctor")
def test_a_board_with_el2_has_its_own():
    code, said, found = report(with_el2()["el2"])
    assert (code, said["verdict"]) == (READY, "ready")
    assert "own /dev/kvm" in said["says"]
    assert "started at EL2" in found["exception_level"]["says"]


def test_the_oldest_kernel_is_that_of_dkms():
    text = (TOP / "module/dkms.conf").read_text()
    found = re.search(r'^BUILD_EXCLUSIVE_KERNEL="(.*)"$', text, re.MULTILINE)
    assert found
    source = (TOP / "vmm/armvisor/src/doctor/preconditions.rs").read_text()
    oldest = re.search(r"const OLDEST: \(u32, u32\) = \((\d+), (\d+)\);", source)
    assert oldest
    first = (int(oldest[1]), int(oldest[2]))
    for major in range(4, 12):
        for minor in range(20):
            builds = bool(re.match(found[1], f"{major}.{minor}.1-x"))
            assert builds == ((major, minor) >= first), f"{major}.{minor}"
