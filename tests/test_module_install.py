# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`make install` below another root: the module where modprobe looks for it, and the udev rule.

Built with the boards' headers and loaded on a board by `modprobe`, as a user would.
"""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from built import TOP, module

from armvisor_lab import kernels
from armvisor_lab.board import Board

KERNEL = "stable"
# What a native build finds by itself.
CROSS = "ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- CC=aarch64-linux-gnu-gcc"


def install(root: Path, headers: Path, release: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"DESTDIR": str(root), "KDIR": str(headers), "KMAKE_FLAGS": CROSS}
    command = [str(TOP / "module/install.sh"), release]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


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


# What DKMS does: the sources as install.sh copies them, and the words of dkms.conf.
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


def test_without_headers_it_says_what_to_install(tmp_path: Path):
    done = install(tmp_path, tmp_path / "none", "9.9")
    assert done.returncode == 1
    assert done.stderr == (
        f"install: no headers of 9.9 at {tmp_path}/none: apt-get install linux-headers-9.9\n"
    )
    assert not list(tmp_path.iterdir())


def test_the_module_and_the_vmm_are_of_one_version():
    """What `modinfo -F version`, DKMS and `armvisor --version` say."""
    told = re.findall(rb"\0version=([^\0]*)\0", module(KERNEL).read_bytes())
    dkms = re.search('^PACKAGE_VERSION="(.*)"$', (TOP / "module/dkms.conf").read_text(), re.M)
    cargo = tomllib.loads((TOP / "vmm/Cargo.toml").read_text())
    assert dkms and told == [dkms[1].encode()]
    assert cargo["workspace"]["package"]["version"] == dkms[1]
