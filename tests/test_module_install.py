# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`make install` below another root: the module where modprobe looks for it, the udev rule and the
unit. What it says where it cannot go on is what `armvisor doctor` says there.

The module is built with the boards' headers and loaded on a board by `modprobe`, as a user would.
"""

import json
import os
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from built import TOP, module

from armvisor_lab.archive import kernels
from armvisor_lab.boards.board import Board
from armvisor_lab.figures import artefacts

KERNEL = "stable"
# Settings that a native build finds by itself.
CROSS = "ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- CC=aarch64-linux-gnu-gcc"


def install(
    root: Path, headers: Path, what: str, flags: str = CROSS, **more: str
) -> subprocess.CompletedProcess[str]:
    """`install.sh` with one word: a kernel's release, or an option."""
    env = os.environ | {"DESTDIR": str(root), "KDIR": str(headers), "KMAKE_FLAGS": flags} | more
    command = [str(TOP / "module/install.sh"), what]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def files_below(root: Path) -> list[str]:
    return sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file())


@pytest.mark.conformance
def test_installed_it_loads_by_name(tmp_path: Path):
    headers = kernels.headers(KERNEL)
    release = (headers / "include/config/kernel.release").read_text().strip()
    done = install(tmp_path, headers, release)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.stdout.endswith(f"installed for {release}: modprobe armvisor\n")
    rule = (tmp_path / "usr/lib/udev/rules.d/99-armvisor.rules").read_text()
    assert 'GROUP="kvm"' in rule and 'MODE="0660"' in rule
    unit = (tmp_path / "usr/lib/systemd/system/armvisor-module.service").read_text()
    assert "ConditionPathExists=!/dev/kvm" in unit
    path = f"lib/modules/{release}/updates/armvisor.ko"
    script = "depmod && modprobe armvisor && ls /dev/kvm && rmmod armvisor"
    files = {f"/{path}": tmp_path / path}
    assert Board(kernel=KERNEL, files=files).run(["sh", "-c", script]).check().text == "/dev/kvm\n"


# The steps of DKMS: the sources as install.sh copies them, and the commands of dkms.conf.
DKMS = """
here=$1/module kernel_source_dir=$2 dkms_tree=$3 version=7.8
eval "$(sed -n '/^copy_sources() {/,/^}/p' "$here/install.sh")"
. "$here/dkms.conf"
build=$dkms_tree/$PACKAGE_NAME/$PACKAGE_VERSION/build
mkdir -p "$build" && copy_sources "$build" && eval "${MAKE[0]} $4" >&2 || exit
echo "$build/$BUILT_MODULE_NAME.ko $DEST_MODULE_LOCATION"
"""


@pytest.mark.conformance
def test_dkms_would_build_it(tmp_path: Path):
    words = ["bash", "-c", DKMS, "dkms", str(TOP), str(kernels.headers(KERNEL)), str(tmp_path)]
    done = subprocess.run([*words, CROSS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    path, place = done.stdout.split()
    assert place == "/updates/dkms"
    assert b"\0version=7.8\0" in Path(path).read_bytes()
    files = {"/armvisor.ko": Path(path)}
    script = "insmod /armvisor.ko && ls /dev/kvm && rmmod armvisor"
    assert Board(kernel=KERNEL, files=files).run(["sh", "-c", script]).check().text == "/dev/kvm\n"


DKMS_STATUS = {
    "": [],
    "armvisor/0.2: added\n": ["0.2"],
    "armvisor/0.10, 6.12.1-arm64, aarch64: installed\narmvisor/0.2-rc1, 6.1.0, aarch64: built\n"
    "armvisor/0.10, 6.1.0-arm64, aarch64: installed (Original modules exist)\n": [
        "0.10",
        "0.2-rc1",
    ],
    "armvisor, 0.2, 5.10.0-8-arm64, aarch64: installed\narmvisor, 0.1: added\n": ["0.1", "0.2"],
    "Error! Could not find armvisor\n": [],
}


@pytest.mark.parametrize("status", DKMS_STATUS)
def test_all_versions_that_dkms_has_are_found(tmp_path: Path, status: str):
    fake = tmp_path / "dkms"
    fake.write_text(f"#!/bin/sh\n[ \"$*\" = 'status -m armvisor' ] && cat <<'END'\n{status}END\n")
    fake.chmod(0o755)
    function = "/^dkms_versions() {/,/^}/p"
    script = f"eval \"$(sed -n '{function}' {TOP}/module/install.sh)\"; dkms_versions"
    env = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", script], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == DKMS_STATUS[status]


def fake_headers(folder: Path, config: str = "", recipe: str = "true") -> Path:
    """A folder of kernel headers that are prepared, with the line that makes modules."""
    (folder / "include/generated").mkdir(parents=True)
    (folder / "include/generated/autoconf.h").write_text(config)
    (folder / "Makefile").write_text(f"modules:\n\t@{recipe}\n")
    return folder


def without_program(folder: Path, missing: str) -> str:
    """A PATH on which one program is not."""
    folder.mkdir()
    for place in ("/usr/bin", "/bin"):
        for program in Path(place).iterdir():
            link = folder / program.name
            if program.name != missing and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)


# The distribution's recorded machine, and another release of its kernel's where that makes
# another name.
MACHINES = [
    ("board-debian-13", ""),
    ("ubuntu-24.04-graviton3", ""),
    ("fedora-44-secure-boot", ""),
    ("rhel-9-64k", "6.12.0-1.el10.aarch64+64k"),
    ("amazon-linux-2023", ""),
    ("amazon-linux-2023", "6.1.1-1.amzn2023.aarch64"),
    ("sles-15-sp6", ""),
    ("sles-15-sp6", "6.4.0-1-64kb"),
    ("board-debian-13", "6.6.87.2-microsoft-standard-WSL2"),
    ("board-debian-13", "6.10.14-linuxkit"),
    ("board-debian-13", "6.6.30-android15-8"),
]
# Distributions without a recorded machine: lines of os-release, and a release.
OTHERS = [
    ("ID=linuxmint\nID_LIKE='ubuntu debian'", "6.8.0-1-generic"),
    ("ID=arch", "6.12.1-arch1-1"),
    ("ID=archarm\nID_LIKE=arch", "6.12.1-1-aarch64-ARCH"),
    ("ID=alpine", "6.12.13-0-virt"),
    ("ID=other", "6.12.1"),
]


def recorded(name: str) -> dict[str, Any]:
    """A machine that the doctor's tests know."""
    file = TOP / f"vmm/armvisor/tests/machines/{name}.json"
    machine: dict[str, Any] = json.loads(file.read_text())
    return machine


def machines() -> Iterator[dict[str, Any]]:
    for name, release in MACHINES:
        machine = recorded(name)
        yield machine | {"release": release or machine["release"]}
    for os_release, release in OTHERS:
        machine = recorded("board-debian-13")
        machine["files"]["/etc/os-release"] = os_release + "\n"
        yield machine | {"release": release}


def doctor_says(machine: dict[str, Any], work: Path) -> dict[str, str]:
    """The doctor's remedies for a machine, by row."""
    file = work / "machine.json"
    file.write_text(json.dumps(machine))
    run = [] if os.uname().machine == "aarch64" else ["qemu-aarch64-static"]
    done = subprocess.run(
        [*run, str(artefacts.vmm()), "doctor", "--json", "--machine", str(file)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    findings = json.loads(done.stdout)["findings"]
    return {each["id"]: each.get("remedy") or "" for each in findings}


@pytest.mark.parametrize("machine", list(machines()), ids=lambda each: str(each["release"]))
def test_it_names_the_packages_that_the_doctor_names(tmp_path: Path, machine: dict[str, Any]):
    """Headers and compilers of each distribution, and how the firmware learns a key."""
    release = machine["release"]
    # Nothing but names of packages is asked for.
    machine["folders"] = {}
    machine["programs"] = {}
    machine["files"]["/sys/kernel/security/lockdown"] = "none [integrity] confidentiality\n"
    by_clang = machine["files"] | {"/proc/version": "(Debian clang version 19)\n"}
    doctor = doctor_says(machine, tmp_path)
    (tmp_path / "os-release").write_text(machine["files"].get("/etc/os-release", ""))
    env = os.environ | {"OS_RELEASE": str(tmp_path / "os-release")}
    says = (
        f". {TOP}/module/distribution.sh; how_to_get_headers {release}; "
        "how_to_get_compiler gcc; how_to_get_compiler clang; how_to_sign"
    )
    done = subprocess.run(["sh", "-euc", says], env=env, capture_output=True, text=True, check=True)
    headers, gcc, with_clang, sign = done.stdout.splitlines()
    assert headers == doctor["headers"]
    assert gcc == doctor["compiler"]
    assert with_clang == doctor_says(machine | {"files": by_clang}, tmp_path)["compiler"]
    assert sign == doctor["signatures"]


def test_without_headers_it_says_what_to_install(tmp_path: Path):
    (tmp_path / "os-release").write_text('ID="sles"\n')
    done = install(tmp_path / "root", tmp_path / "none", "9.9-default",
                   OS_RELEASE=str(tmp_path / "os-release"))  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == (
        f"install: no headers of 9.9-default at {tmp_path}/none: install the headers with "
        "'sudo zypper install kernel-default-devel'\n"
    )
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize(
    ("missing", "config", "says"),
    [
        ("make", "", "make is missing, and gcc built kernel 9.9: install make and gcc"),
        ("gcc", "", "gcc is missing, and gcc built kernel 9.9: install make and gcc"),
        ("ld.lld", "#define CONFIG_CC_IS_CLANG 1\n",
         ".* is missing, and clang built kernel 9.9: install make, clang and lld"),
    ],
)  # fmt: skip
def test_without_a_compiler_it_says_what_to_install(
    tmp_path: Path, missing: str, config: str, says: str
):
    headers = fake_headers(tmp_path / "headers", config)
    path = without_program(tmp_path / "bin", missing)
    done = install(tmp_path / "root", headers, "9.9", PATH=path, OS_RELEASE="/none")
    assert done.returncode == 1
    assert re.fullmatch(f"install: {says}\n", done.stderr)
    assert not (tmp_path / "root").exists()


def test_headers_that_are_not_prepared_are_told(tmp_path: Path):
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers/Makefile").write_text("modules:\n")
    done = install(tmp_path / "root", tmp_path / "headers", "9.9", OS_RELEASE="/none")
    assert done.returncode == 1
    assert done.stderr.endswith(
        "are not prepared: run 'make modules_prepare' there, or install the headers of kernel 9.9\n"
    )


def test_a_kernel_that_is_too_old_is_told(tmp_path: Path):
    headers = fake_headers(tmp_path / "headers")
    for release in ("5.15.0-1-arm64", "4.19.0", "6.0.1"):
        done = install(tmp_path / "root", headers, release)
        assert done.returncode == 1
        assert done.stderr == (
            f"install: kernel {release} is too old: the module builds for 6.1 and later\n"
        )


def test_an_upgrade_that_does_not_build_keeps_what_was_there(tmp_path: Path):
    """It also says so; `--uninstall` then leaves no file."""
    root = tmp_path / "root"
    old = root / "lib/modules/9.9/updates/armvisor.ko"
    rule = root / "usr/lib/udev/rules.d/99-armvisor.rules"
    unit = root / "usr/lib/systemd/system/armvisor-module.service"
    for file in (old, rule, unit):
        file.parent.mkdir(parents=True)
        file.write_text("old\n")
    headers = fake_headers(tmp_path / "headers", recipe="echo the compiler failed; false")
    done = install(root, headers, "9.9")
    assert done.returncode == 1
    assert done.stderr.endswith(
        "install: the module was not built for 9.9; what was installed before is untouched\n"
    )
    assert old.read_text() == rule.read_text() == unit.read_text() == "old\n"
    done = install(root, headers, "--uninstall")
    assert (done.returncode, files_below(root)) == (0, [])


@pytest.mark.parametrize(
    ("what", "flags", "says"),
    [
        ("--remove", CROSS, "install: no option --remove: install.sh [KERNEL-RELEASE], or "),
        ("9.9", "", "install: this machine is "),
        ("9.9", "LLVM=1", "install: this machine is "),
    ],
)
def test_what_it_cannot_do_is_said(tmp_path: Path, what: str, flags: str, says: str):
    if flags != CROSS and os.uname().machine == "aarch64":
        pytest.skip("the module is for this machine")
    done = install(tmp_path, tmp_path, what, flags)
    assert done.returncode == 1
    assert done.stderr.startswith(says)
    assert not list(tmp_path.iterdir())


def test_the_module_and_the_vmm_are_of_one_version():
    """The version of `modinfo -F version`, DKMS and `armvisor --version`."""
    told = re.findall(rb"\0version=([^\0]*)\0", module(KERNEL).read_bytes())
    dkms = re.search('^PACKAGE_VERSION="(.*)"$', (TOP / "module/dkms.conf").read_text(), re.M)
    cargo = tomllib.loads((TOP / "vmm/Cargo.toml").read_text())
    assert dkms and told == [dkms[1].encode()]
    assert cargo["workspace"]["package"]["version"] == dkms[1]
