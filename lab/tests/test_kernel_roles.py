# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Kernels by their roles, for any version in the archive and any record."""

import json
from types import SimpleNamespace

import pytest

from armvisor_lab import cli
from armvisor_lab.archive import apt, kernels, packages
from armvisor_lab.boards.board import EXIT_USAGE
from armvisor_lab.errors import LabError, MissingError

META = {"image": "linux-image-cloud-arm64", "headers": "linux-headers-cloud-arm64"}


def part(kind: str, version: str) -> str:
    """The package that a meta package of `version` stands for."""
    return f"linux-{kind}-{version.partition('-')[0]}-cloud-arm64"


class Archive:
    """An archive of one suite, seen through apt's lists; a file's text is its name and version."""

    def __init__(self, *versions: str) -> None:
        self.versions = versions
        self.updates = 0
        self.reachable = True

    def run(self, command, **rest):
        """In the place of apt's and dpkg's programs."""
        words = [word for word in command[1:] if not word.startswith("-")]
        if command[0] == "dpkg":
            return "amd64\n"
        if command[1] == "indextargets":
            return "Debian|http://archive.example/debian\n"
        if command[0] == "apt-config":
            return ""
        if not self.reachable:
            raise LabError("`apt-get …` failed:\n  E: Temporary failure", "is the network up?")
        if words == ["update"]:
            self.updates += 1
            return ""
        if words[0] == "show":
            return self._show(words[1])
        if words[0] == "install":
            return f"Inst {words[1]} ({self._find(words[1])[1]} x)\n"
        assert words[0] == "download"
        for item in words[1:]:
            name, version = self._find(item)
            (rest["cwd"] / f"{name}_{version}_arm64.deb").write_text(f"{name}|{version}|arm64")
        return ""

    def _find(self, item: str) -> tuple[str, str]:
        name, _, version = item.replace(":arm64", "").partition("=")
        known = [*META.values(), "busybox-static"]
        known += [part(kind, each) for kind in META for each in self.versions]
        if name not in known:
            raise LabError(f"`apt-get …` failed:\n  E: Unable to locate package {name}")
        if version and version not in self.versions:
            raise LabError(
                f"`apt-get …` failed:\n  E: Version '{version}' for '{name}' was not found"
            )
        return name, version or self.versions[-1]

    def _show(self, item: str) -> str:
        name, version = self._find(item)
        kind = next((kind for kind in META if META[kind] == name), "")
        depends = f"Depends: {part(kind, version)} (= {version})\n" if kind else ""
        return f"Package: {name}\nVersion: {version}\n{depends}"


@pytest.fixture
def archive(tmp_path, monkeypatch) -> Archive:
    """An archive with one version; the cache is empty."""
    there = Archive("7.3.4-1")
    monkeypatch.setenv("ARMVISOR_CACHE", str(tmp_path))
    monkeypatch.setattr(apt, "_run", there.run)
    keyring = tmp_path / "keyring"
    keyring.touch()
    monkeypatch.setattr(apt, "KEYRING", keyring)
    monkeypatch.setattr(
        packages,
        "_describe",
        lambda deb: packages.Package(*deb.read_text().split("|"), deb.name),
    )
    return there


def fetch(kind: str, role: str = "newest") -> list[str]:
    """The versions that a role's image or headers lead to."""
    parts = kernels._parts(kind, role, "cloud", lambda _: None)
    return [part.version for part in parts]


def records(tmp_path, suite: str = "trixie-backports") -> dict:
    return json.loads((tmp_path / f"packages/{suite}.json").read_text())


def test_a_version_that_nobody_has_seen_is_found_and_recorded(archive, capsys):
    archive.versions = ("9.9.1-1~bpo14+1",)
    assert kernels.recorded("newest") == ""
    assert fetch("image") == ["9.9.1-1~bpo14+1"]
    assert kernels.recorded("newest") == "9.9.1-1~bpo14+1"
    assert cli.main(["kernel", "list"]) == 0
    said = capsys.readouterr().out
    assert "newest     trixie-backports  9.9.1-1~bpo14+1\n" in said
    assert "stable     trixie            not fetched yet\n" in said


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("newest", "newest"),
        ("7.3", "newest"),
        ("7.3.4", "newest"),
        ("7.3.4-1", "newest"),
        ("6.1", "oldstable"),
        ("6.12", "stable"),
    ],
)
def test_a_version_that_was_found_is_another_name_of_its_role(archive, name, role):
    fetch("image")
    for other, version in {"oldstable": "6.1.192-2", "stable": "6.12.117-1"}.items():
        archive.versions = (version,)
        fetch("image", other)
    assert kernels.role_of(name) == role


@pytest.mark.parametrize("name", ["", "old", "Stable", "7", "7.", "7.2", "7.3.40", "bookworm", "."])
def test_what_is_no_role_is_refused_with_the_list_of_roles(archive, name):
    fetch("image")
    with pytest.raises(LabError) as error:
        kernels.role_of(name)
    assert error.value.what == f"no kernel {name!r}"
    there = "there are oldstable (not fetched yet), stable (not fetched yet), newest (7.3.4-1)"
    assert error.value.remedy == there + (": did you mean stable?" if name == "Stable" else "")


@pytest.mark.parametrize(
    "command",
    [["demo", "--kernel", "6.66"], ["kernel", "path", "6.66"], ["kernel", "debug", "newest"],
     ["board", "run", "--kernel", "6.66", "--", "true"]],
)  # fmt: skip
def test_every_command_refuses_them(archive, command, capsys):
    try:
        status = cli.main(command)
    except SystemExit as stop:
        status = stop.code
    assert status == EXIT_USAGE
    assert "oldstable" in capsys.readouterr().err


def test_recorded_versions_are_used_from_the_cache_alone(archive):
    """An older set than the archive has today: nothing is asked, nothing is newer."""
    fetch("image")
    fetch("headers")
    archive.versions, archive.reachable = ("7.4.1-1",), False
    assert fetch("image") == fetch("headers") == ["7.3.4-1"]


@pytest.mark.parametrize(("first", "second"), [("image", "headers"), ("headers", "image")])
def test_image_and_headers_are_of_one_version(archive, first, second):
    """Also where the archive got a newer one between the two."""
    fetch(first)
    archive.versions = ("7.3.4-1", "7.4.1-1")
    assert fetch(second) == ["7.3.4-1"]


@pytest.mark.parametrize(("first", "second"), [("image", "headers"), ("headers", "image")])
def test_what_the_archive_has_no_more_is_said(archive, first, second):
    fetch(first)
    archive.versions = ("7.4.1-1",)
    with pytest.raises(LabError, match=r"7\.3\.4-1.*trixie-backports.*has it no more") as error:
        fetch(second)
    assert "`lab packages update`" in error.value.remedy
    assert fetch(first) == ["7.3.4-1"]
    packages.Packages("trixie-backports").update()
    assert fetch(first) == fetch(second) == ["7.4.1-1"]


def test_a_file_that_is_gone_is_fetched_again_in_its_version(archive, tmp_path):
    fetch("image")
    deb = tmp_path / "debs/linux-image-7.3.4-cloud-arm64_7.3.4-1_arm64.deb"
    deb.unlink()
    archive.versions = ("7.3.4-1", "7.4.1-1")
    assert fetch("image") == ["7.3.4-1"] and deb.exists()
    deb.unlink()
    archive.versions = ("7.4.1-1",)
    with pytest.raises(LabError, match=r"linux-image-7\.3\.4-cloud-arm64.*has it no more"):
        fetch("image")
    assert kernels.recorded("newest") == "7.3.4-1"


def test_a_typing_error_forgets_nothing(archive, tmp_path):
    fetch("image")
    archive.versions = ("7.4.1-1",)
    before = records(tmp_path)
    here = packages.Packages("trixie-backports")
    for ask in (here.get, here.closure, lambda name: here.follow(name, "x")):
        with pytest.raises(MissingError, match="buzybox"):
            ask("buzybox")
    with pytest.raises(MissingError, match=r"'9\.9' for 'busybox-static' was not found"):
        here.get("busybox-static=9.9")
    assert records(tmp_path) == before
    assert fetch("image") == ["7.3.4-1"]
    assert here.get("busybox-static").name == "busybox-static"


def test_a_damaged_record_is_said(archive, tmp_path, capsys):
    fetch("image")
    file = tmp_path / "packages/trixie-backports.json"
    file.write_text(file.read_text()[:-9])
    assert cli.main(["kernel", "list"]) == EXIT_USAGE
    assert f"{file} is damaged" in capsys.readouterr().err


def test_without_a_network_nothing_is_forgotten_either(archive, tmp_path):
    fetch("image")
    before = records(tmp_path)
    archive.reachable = False
    for ask in (packages.Packages("trixie-backports").update, lambda: fetch("headers")):
        with pytest.raises(LabError, match="is the network up"):
            ask()
    assert records(tmp_path) == before


def test_lists_of_another_day_are_fetched_anew(archive):
    fetch("image", "stable")
    archive.updates = 0
    archive.versions = ("7.3.4-1", "7.4.1-1")
    assert packages.Packages("trixie").get("busybox-static=7.4.1-1").version == "7.4.1-1"
    assert archive.updates == 0


def test_build_tools_that_are_gone_are_the_series(monkeypatch):
    """Of an older set's kernels the archive may have all but their version of the tools."""
    main = packages.Package("linux-headers-6.1.0-54-cloud-arm64", "6.1.190-1", "arm64", "x.deb")
    newer = packages.Package("linux-kbuild-6.1", "6.1.192-2", "amd64", "y.deb")

    class Gone:
        def get(self, name: str) -> packages.Package:
            if "=" in name:
                raise MissingError(f"no {name}")
            assert name.startswith("linux-kbuild-6.1:")
            return newer

    depends = SimpleNamespace(stdout="linux-headers-6.1.0-54-common, linux-kbuild-6.1 (>= 6.1.1)\n")
    monkeypatch.setattr(kernels.subprocess, "run", lambda *_args, **_rest: depends)
    monkeypatch.setattr(kernels, "host_architecture", lambda: "amd64")
    said: list[str] = []
    assert kernels._kbuild(Gone(), main, said.append) is newer
    assert said == ["linux-kbuild-6.1 6.1.190-1 is not in the archive any more: taking 6.1.192-2"]
