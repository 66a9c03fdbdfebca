# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""install.sh with DKMS: built first, then replaced; what fails changes nothing that worked."""

import re
from pathlib import Path

import pytest
from dkms_root import RUNNING, Root, install_dkms

OTHER = "6.12.9-arm64"
LOADED = "sys/module/armvisor"

pytestmark = pytest.mark.skipif(not install_dkms(), reason="needs root, to make mounts of its own")


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """A machine with version 1 installed as a package installs it."""
    machine = Root(tmp_path)
    machine.version("1")
    done = machine.run("--package configure")
    assert done.returncode == 0, done.stdout + done.stderr
    assert machine.installed() == "1"
    return machine


def assert_untouched(root: Root, release: str = RUNNING) -> None:
    """Version 1 is all that there is."""
    assert root.installed() == "1"
    assert root.status() == [f"armvisor/1, {release}, aarch64: installed"]
    assert [path.name for path in root.path("/usr/src").iterdir()] == ["armvisor-1"]


def test_an_upgrade_replaces_the_old_version(root: Root):
    root.version("2~git1+x")
    done = root.run("--package configure")
    assert done.returncode == 0, done.stderr
    assert root.installed() == "2~git1+x"
    assert root.status() == [f"armvisor/2~git1+x, {RUNNING}, aarch64: installed"]
    assert [path.name for path in root.path("/usr/src").iterdir()] == ["armvisor-2~git1+x"]
    unwanted = re.compile(r"/tests/|/(install|distribution|check-symbols)\.sh$")
    assert not [name for name in root.files() if unwanted.search(name)]


@pytest.mark.parametrize("how", ["--package configure", ""])
def test_an_upgrade_that_does_not_build_changes_nothing(root: Root, how: str):
    root.version("2", broken=True)
    done = root.run(how)
    assert done.returncode == 1
    assert "main.c: error: broken" in done.stderr
    assert done.stderr.endswith(
        f"install: the module was not built for {RUNNING}; what was installed before is untouched\n"
    )
    assert_untouched(root)
    # The next that builds finds nothing in its way.
    root.version("2")
    assert root.run(how).returncode == 0
    assert root.installed() == "2"


def test_the_same_version_again_replaces_it_too(root: Root):
    for name in ("1+2", "1", "1+2"):
        (root.sources / "main.c").write_text(f"/* {name} */\n")
        assert root.run("--package configure").returncode == 0
        assert root.installed() == name
        assert root.status() == [f"armvisor/{name}, {RUNNING}, aarch64: installed"]
        copy = root.path(f"/usr/src/armvisor-{name}/main.c")
        assert copy.read_text() == f"/* {name} */\n"
    root.version("1", broken=True)
    assert root.run("--package configure").returncode == 1
    assert root.installed() == "1+2"


def test_an_upgrade_that_was_interrupted_is_no_obstacle(root: Root):
    root.version("2")
    root.run(command=f"cp -r {root.sources} /usr/src/armvisor-2")
    root.run(command=f"sh -c 'dkms build armvisor/2 -k {RUNNING}'")
    assert f"armvisor/2, {RUNNING}, aarch64: built" in root.status()
    assert root.run("--package configure").returncode == 0
    assert (root.installed(), len(root.status())) == ("2", 1)


def test_every_kernel_that_had_the_module_must_get_the_new_one(root: Root):
    other = root.kernel(OTHER)
    assert root.run("--package configure").returncode == 0
    assert root.installed() == root.installed(OTHER) == "1+2"
    (other / "fails").touch()
    root.version("3")
    done = root.run("--package configure")
    assert done.returncode == 1 and f"not built for {OTHER}" in done.stderr
    assert root.installed() == root.installed(OTHER) == "1+2"


def test_a_kernel_that_never_had_the_module_is_no_obstacle(root: Root):
    (root.kernel(OTHER) / "fails").touch()
    root.version("2")
    done = root.run("--package configure")
    assert done.returncode == 0
    assert f"install: the module was not built for {OTHER}, which had none before" in done.stderr
    assert (root.installed(), root.installed(OTHER)) == ("2", "")


def test_a_kernel_whose_headers_are_gone_keeps_its_module(root: Root):
    other = root.kernel(OTHER)
    assert root.run("--package configure").returncode == 0
    other.rename(other.with_name("gone"))
    root.version("3")
    assert root.run("--package configure").returncode == 0
    assert (root.installed(), root.installed(OTHER)) == ("3", "1+2")
    assert f"armvisor/1+2, {OTHER}, aarch64: installed" in root.status()
    assert root.path("/usr/src/armvisor-1+2/dkms.conf").exists()


def test_before_there_are_headers_a_package_is_only_registered(tmp_path: Path):
    machine = Root(tmp_path)
    build = machine.path(f"/lib/modules/{RUNNING}/build")
    build.rename(tmp_path / "build")
    machine.version("1")
    done = machine.run("--package configure")
    assert done.returncode == 0
    assert f"install: no headers of {RUNNING}: install the headers" in done.stderr
    assert machine.status() == ["armvisor/1: added"]
    # What DKMS does when the headers come.
    (tmp_path / "build").rename(build)
    machine.run(command=f"dkms autoinstall -k {RUNNING}")
    assert machine.installed() == "1"


def test_a_loaded_module_is_replaced_at_once(root: Root):
    (root.work / LOADED).mkdir(parents=True)
    root.version("2")
    done = root.run("--package configure")
    assert (done.returncode, done.stderr) == (0, done.stderr)
    assert (root.work / LOADED).exists() and "VMs run" not in done.stderr


def test_a_module_that_is_in_use_stays_loaded(root: Root):
    (root.work / LOADED).mkdir(parents=True)
    (root.work / "in-use").touch()
    root.version("2")
    done = root.run("--package configure")
    assert done.returncode == 0
    assert "install: VMs run, so the old module stays loaded" in done.stderr
    assert root.installed() == "2"
    done = root.run("--package remove")
    assert done.returncode == 0 and "the module stays loaded until" in done.stderr
    assert root.installed() == ""


def test_a_new_module_that_does_not_load_is_taken_back(root: Root):
    (root.work / LOADED).mkdir(parents=True)
    (root.work / "refused").touch()
    root.version("2")
    done = root.run("--package configure")
    assert done.returncode == 1
    assert "install: the new module does not load" in done.stderr
    assert done.stderr.endswith(
        "install: the new module was not installed; what was installed before is back\n"
    )
    assert_untouched(root)


def test_signatures_that_the_kernel_wants_are_told(root: Root):
    (root.work / "sys/kernel/security").mkdir(parents=True)
    (root.work / "sys/kernel/security/lockdown").write_text("none [integrity] confidentiality\n")
    done = root.run("--package configure")
    assert done.returncode == 0
    told = "install: the kernel loads signed modules only, because the kernel is locked down: sign "
    assert told in done.stderr


@pytest.mark.parametrize("how", ["--package remove", "--uninstall"])
def test_removal_leaves_nothing(root: Root, how: str):
    if how == "--uninstall":
        assert root.run("").returncode == 0
    root.kernel(OTHER)
    assert root.run("--package configure").returncode == 0
    assert root.installed(OTHER)
    done = root.run(how)
    assert done.returncode == 0
    assert root.files() == []
    # Installed again, it is as at first.
    assert root.run("--package configure").returncode == 0
    assert root.installed() == root.installed(OTHER) == "1"


def test_removal_takes_a_module_that_dkms_did_not_build(root: Root):
    """DKMS 3.2 leaves it where it is."""
    for place in ("updates/dkms", "extra"):
        other = root.path(f"/lib/modules/{RUNNING}/{place}/armvisor.ko.xz")
        other.parent.mkdir(parents=True, exist_ok=True)
        other.write_text("another\n")
    assert root.run("--package remove").returncode == 0
    assert root.files() == []


def test_a_module_of_an_installation_without_dkms_gives_way(root: Root):
    assert root.run("--package remove").returncode == 0
    old = root.path(f"/lib/modules/{RUNNING}/updates/armvisor.ko")
    old.parent.mkdir(parents=True, exist_ok=True)
    old.write_text("old\n")
    assert root.run("").returncode == 0
    assert root.installed() == "1"
    assert root.path("/usr/lib/systemd/system/armvisor-module.service").exists()
