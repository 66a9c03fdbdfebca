# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`make install` below another root: the module where modprobe looks for it, and the udev rule.

The module is built with the boards' headers and loaded on a board by `modprobe`, as a user would.
"""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from built import TOP, module

from armvisor_lab.archive import kernels
from armvisor_lab.boards.board import Board

KERNEL = "stable"
# Settings that a native build finds by itself.
CROSS = "ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- CC=aarch64-linux-gnu-gcc"


def install(
    root: Path, headers: Path, what: str, flags: str = CROSS
) -> subprocess.CompletedProcess[str]:
    """`install.sh` with one word: a kernel's release, or an option."""
    env = os.environ | {"DESTDIR": str(root), "KDIR": str(headers), "KMAKE_FLAGS": flags}
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
    path = f"lib/modules/{release}/updates/armvisor.ko"
    script = "depmod && modprobe armvisor && ls /dev/kvm && rmmod armvisor"
    files = {f"/{path}": tmp_path / path}
    assert Board(kernel=KERNEL, files=files).run(["sh", "-c", script]).check().text == "/dev/kvm\n"


# The steps of DKMS: the sources as install.sh copies them, and the commands of dkms.conf.
DKMS = """
here=$1/module kernel_source_dir=$2 dkms_tree=$3
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


def test_without_headers_it_says_what_to_install(tmp_path: Path):
    done = install(tmp_path, tmp_path / "none", "9.9")
    assert done.returncode == 1
    assert done.stderr == (
        f"install: no headers of 9.9 at {tmp_path}/none: apt-get install linux-headers-9.9\n"
    )
    assert not list(tmp_path.iterdir())


def test_an_upgrade_that_does_not_build_keeps_what_was_there(tmp_path: Path):
    """It also says so; `--uninstall` then leaves no file."""
    old = tmp_path / "root/lib/modules/9.9/updates/armvisor.ko"
    rule = tmp_path / "root/usr/lib/udev/rules.d/99-armvisor.rules"
    for file in (old, rule):
        file.parent.mkdir(parents=True)
        file.write_text("old\n")
    headers = tmp_path / "headers"
    headers.mkdir()
    (headers / "Makefile").write_text("modules:\n\t@echo the compiler failed; false\n")
    done = install(tmp_path / "root", headers, "9.9")
    assert done.returncode == 1
    assert done.stderr.endswith(
        "install: the module was not built for 9.9; what was installed before is untouched\n"
    )
    assert old.read_text() == rule.read_text() == "old\n"
    done = install(tmp_path / "root", headers, "--uninstall")
    assert (done.returncode, files_below(tmp_path / "root")) == (0, [])


@pytest.mark.parametrize(
    ("what", "flags", "says"),
    [
        ("--remove", CROSS, "install: no option --remove: install.sh [KERNEL-RELEASE], or "),
        ("9.9", "", "install: this machine is "),
    ],
)
def test_what_it_cannot_do_is_said(tmp_path: Path, what: str, flags: str, says: str):
    if not flags and os.uname().machine == "aarch64":
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
