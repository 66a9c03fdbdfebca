# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The packages of `make packages`: their contents, their scripts, the same bytes each time.

test_packages_debian.py installs them on a Debian.
"""

import os
import re
import subprocess
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import mkdtemp

import pytest
from made_packages import TOP, build, contents, field, run

pytestmark = pytest.mark.xdist_group("packages")

COMMANDS = (
    *("run", "up", "ssh", "list", "stat", "stop", "rm", "console", "logs"),
    *("pause", "resume", "balloon", "doctor"),
)
VMM_FILES = {
    "/usr/bin/armvisor",
    "/usr/share/man/man1/armvisor.1.gz",
    *(f"/usr/share/man/man1/armvisor-{command}.1.gz" for command in COMMANDS),
    "/usr/share/bash-completion/completions/armvisor",
    "/usr/share/zsh/vendor-completions/_armvisor",
    "/usr/share/fish/vendor_completions.d/armvisor.fish",
    "/usr/share/doc/armvisor/NEWS.md.gz",
    "/usr/share/doc/armvisor/changelog.gz",
    "/usr/share/doc/armvisor/copyright",
    "/usr/share/doc/armvisor/protected.md.gz",
    "/usr/share/doc/armvisor/examples/armvisor@.service",
    "/usr/share/doc/armvisor/examples/vm.conf",
    "/usr/share/lintian/overrides/armvisor",
}
MODULE_FILES = {
    "/usr/lib/udev/rules.d/99-armvisor.rules",
    "/usr/lib/systemd/system/armvisor-module.service",
    "/usr/share/armvisor-dkms/install.sh",
    "/usr/share/armvisor-dkms/distribution.sh",
    "/usr/share/armvisor-dkms/dkms.conf",
    "/usr/share/armvisor-dkms/Kbuild",
    "/usr/share/doc/armvisor-dkms/README.md.gz",
    "/usr/share/doc/armvisor-dkms/NEWS.md.gz",
    "/usr/share/doc/armvisor-dkms/changelog.gz",
    "/usr/share/doc/armvisor-dkms/copyright",
}


@cache
def debs() -> dict[str, Path]:
    """Both Debian packages, by name."""
    files = build("deb", Path(mkdtemp(prefix="armvisor-debs-")))
    return {file.name.partition("_")[0]: file for file in files}


@cache
def rpms() -> dict[str, Path]:
    """Both RPMs, by name."""
    files = build("rpm", Path(mkdtemp(prefix="armvisor-rpms-")))
    return {run("rpm", "-qp", "--qf", "%{NAME}", file): file for file in files}


def module_sources() -> set[str]:
    """Files of the module that its build needs."""
    listed = run("git", "ls-files", "module", cwd=TOP).splitlines()
    inside = [name.removeprefix("module/") for name in listed]
    own = re.compile(r"(.*\.[chS]|(.*/)?(Kbuild|objs)|dkms\.conf)")
    return {name for name in inside if own.fullmatch(name) and not name.startswith("tests/")}


def test_they_have_the_files_that_they_should():
    assert set(contents(debs()["armvisor"])) == VMM_FILES
    module = set(contents(debs()["armvisor-dkms"]))
    sources = {f"/usr/share/armvisor-dkms/{name}" for name in module_sources()}
    assert len(sources) > 100
    assert module == MODULE_FILES | sources


def test_root_owns_all_files_and_nobody_else_writes_them():
    programs = {"/usr/bin/armvisor", "/usr/share/armvisor-dkms/install.sh"}
    for deb in debs().values():
        for name, how in contents(deb).items():
            mode = "-rwxr-xr-x" if name in programs else "-rw-r--r--"
            assert how == f"{mode} root/root", name


def test_another_build_has_the_same_bytes(tmp_path: Path):
    """In another folder, at another time, of another user's umask, zone and language."""
    script = f"umask 077; exec {TOP}/packages/build.sh deb {tmp_path}"
    env = os.environ | {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "TMPDIR": str(tmp_path)}
    done = subprocess.run(["sh", "-c", script], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for deb in debs().values():
        assert (tmp_path / deb.name).read_bytes() == deb.read_bytes(), deb.name


@pytest.mark.conformance
def test_a_build_that_begins_with_nothing_has_the_same_bytes(tmp_path: Path):
    """The same of the compilers: nothing of another build is there."""
    clean = build("deb", tmp_path / "out", CARGO_TARGET_DIR=str(tmp_path / "target"))
    for deb in clean:
        assert deb.read_bytes() == debs()[deb.name.partition("_")[0]].read_bytes(), deb.name


def test_lintian_has_no_complaint():
    root = ["--allow-root"] if os.geteuid() == 0 else []
    run("lintian", "--fail-on=error,warning", *root, *debs().values())


def test_all_have_the_version_of_the_checkout(tmp_path: Path):
    """Packages, the VMM in them, the module's sources and the manual."""
    version = run(TOP / "tools/version").strip()
    assert re.fullmatch(r"\d+\.\d+\.\d+([~+]git\d{8}\.\d{6}\.[0-9a-f]{9}(\.changed)?)?", version)
    for deb in debs().values():
        assert field(deb, "Version") == version
        assert field(deb, "Architecture") == "arm64"
        run("dpkg-deb", "-x", deb, tmp_path)
    for rpm in rpms().values():
        assert run("rpm", "-qp", "--qf", "%{VERSION} %{ARCH}", rpm) == f"{version} aarch64"
    emulator = [] if os.uname().machine == "aarch64" else ["qemu-aarch64-static"]
    said = run(*emulator, tmp_path / "usr/bin/armvisor", "--version")
    assert said == f"armvisor {version}\n"
    conf = (tmp_path / "usr/share/armvisor-dkms/dkms.conf").read_text()
    assert f'\nPACKAGE_VERSION="{version}"\n' in conf
    page = run("zcat", tmp_path / "usr/share/man/man1/armvisor-run.1.gz")
    assert f'"armvisor {version}"' in page


def test_versions_sort_as_releases_do():
    base = run(
        "sed", "-n", 's/^PACKAGE_VERSION="\\(.*\\)"$/\\1/p', TOP / "module/dkms.conf"
    ).strip()
    order = [f"{base}~git20261129.223313.f00000000", f"{base}~git20261129.223314.0aaaaaaaa", base,
             f"{base}+git20270101.000000.000000000"]  # fmt: skip
    for lower, higher in pairwise(order):
        run("dpkg", "--compare-versions", lower, "lt", higher)
        assert run("rpm", "--eval", f"%{{lua:print(rpm.vercmp('{lower}', '{higher}'))}}") == "-1\n"


@pytest.mark.parametrize("script", ["postinst", "prerm", "postrm"])
def test_scripts_of_the_package_are_sound(tmp_path: Path, script: str):
    """As debhelper has completed them."""
    run("dpkg-deb", "-e", debs()["armvisor-dkms"], tmp_path)
    text = (tmp_path / script).read_text()
    run("sh", "-n", tmp_path / script)
    assert "#DEBHELPER#" not in text
    if script == "postinst":
        assert "install.sh --package configure" in text
        assert "deb-systemd-helper" in text and "armvisor-module.service" in text
    if script == "prerm":
        # An upgrade must not take the module away before the new one is built.
        assert re.search(r"remove \| deconfigure\)\n\t\S+/install.sh --package remove", text)
    if script == "postrm":
        assert "purge" in text


@pytest.mark.parametrize("kind", ["armvisor", "armvisor-dkms"])
def test_rpmbuild_makes_the_same_of_the_spec(kind: str):
    """The same files in an RPM's places, and scripts that the shell accepts."""
    listed = set(run("rpm", "-qpl", rpms()[kind]).splitlines())
    wanted = set()
    for name in contents(debs()[kind]):
        if "/usr/share/doc/" not in name and "lintian" not in name:
            name = name.replace("zsh/vendor-completions", "zsh/site-functions")
            wanted.add(name.removesuffix(".gz"))
    assert not wanted - listed
    assert "/usr/share/armvisor-dkms/install.sh" in listed or kind == "armvisor"
    scripts = run("rpm", "-qp", "--scripts", rpms()[kind])
    if kind == "armvisor":
        assert scripts == ""
        return
    parts = re.split(r"(?m)^\w+ scriptlet \(using /bin/sh\):\n", scripts)[1:]
    assert len(parts) == 3
    for part in parts:
        run("sh", "-nc", part)
    needs = set(run("rpm", "-qp", "--requires", rpms()[kind]).split("\n"))
    assert {"dkms", "gcc", "make", "kmod"} <= needs


def test_another_rpm_build_has_the_same_bytes(tmp_path: Path):
    for rpm in build("rpm", tmp_path):
        assert any(rpm.read_bytes() == first.read_bytes() for first in rpms().values()), rpm.name


def test_the_vmm_of_a_plain_build_has_no_revision():
    """Its bytes are in a board's memory, so a commit must not change them."""
    from armvisor_lab.figures import artefacts

    emulator = [] if os.uname().machine == "aarch64" else ["qemu-aarch64-static"]
    base = run(
        "sed", "-n", 's/^PACKAGE_VERSION="\\(.*\\)"$/\\1/p', TOP / "module/dkms.conf"
    ).strip()
    assert run(*emulator, artefacts.vmm(), "--version") == f"armvisor {base}\n"
