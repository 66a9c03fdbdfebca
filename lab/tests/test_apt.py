# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The private apt's configuration, made from the configuration of the machine's apt."""

import json

import pytest

from armvisor_lab.archive import apt, packages
from armvisor_lab.errors import LabError

TARGETS = """\
|http://mirror.example/other
NodeSource|https://deb.example.com/node
Debian|http://mirror.example/debian/
Debian|http://mirror.example/debian/
Debian-Security|http://mirror.example/debian-security/
"""


def test_the_archives_are_the_machine_s():
    found = apt.parse_archives(TARGETS)
    assert found == apt.Archives(
        "http://mirror.example/debian", "http://mirror.example/debian-security"
    )


def test_a_machine_without_security_updates():
    assert apt.parse_archives("Debian|http://m/debian/\n").security is None


@pytest.mark.parametrize("listing", ["", "Ubuntu|http://archive.example/ubuntu/\n", "|http://x/"])
def test_a_machine_without_debian_is_told_what_to_do(listing):
    with pytest.raises(LabError, match="apt-get update"):
        apt.parse_archives(listing)


def test_sources_are_signed_and_name_every_list():
    text = apt.sources("trixie-backports", apt.parse_archives(TARGETS), ["amd64", "arm64"])
    lines = text.splitlines()
    assert all(f"signed-by={apt.KEYRING}" in line for line in lines)
    assert all("arch=amd64,arm64" in line for line in lines)
    assert [line.split()[-2] for line in lines] == [
        "trixie", "trixie-security", "trixie-backports",
    ]  # fmt: skip


def test_only_how_to_reach_the_archive_is_taken_over():
    dump = """\
APT::Architecture "amd64";
APT::Update::Post-Invoke:: "rm -f /var/cache/apt/archives/*.deb";
Acquire "";
Acquire::http::Proxy "http://proxy.example:3128";
Acquire::https::CAInfo "/etc/ssl/own.pem";
Acquire::Languages:: "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "true";
Acquire::CompressionTypes::xz "xz";
Acquire::Check-Valid-Until "false";
"""
    assert apt.machine_acquire(dump).splitlines() == [
        'Acquire::http::Proxy "http://proxy.example:3128";',
        'Acquire::https::CAInfo "/etc/ssl/own.pem";',
        'Acquire::Check-Valid-Until "false";',
    ]


def test_an_unknown_suite_is_refused():
    with pytest.raises(LabError, match="bookworm"):
        apt.Apt("sid")


def test_dependencies_take_the_first_alternative():
    field = (
        "linux-headers-6.12-common (= 6.12-1), linux-image-6.12 (= 1) | linux-image-6.12-unsigned,"
        " gcc-14:any, libc6"
    )
    assert packages.first_alternatives(field) == [
        "linux-headers-6.12-common", "linux-image-6.12", "gcc-14", "libc6",
    ]  # fmt: skip


def test_a_recorded_package_asks_nothing_of_the_network(tmp_path, monkeypatch):
    monkeypatch.setenv("ARMVISOR_CACHE", str(tmp_path))
    fields = {"name": "x", "version": "1", "architecture": "arm64", "file": "x_1_arm64.deb"}
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages/trixie.json").write_text(json.dumps({"get x": [fields]}))
    (tmp_path / "debs").mkdir()
    (tmp_path / "debs/x_1_arm64.deb").write_bytes(b"")
    monkeypatch.setattr(apt, "_run", lambda *_args, **_rest: pytest.fail("apt was called"))
    assert packages.Packages("trixie").get("x") == packages.Package(**fields)


def test_a_record_whose_file_is_gone_is_fetched_again(tmp_path, monkeypatch):
    monkeypatch.setenv("ARMVISOR_CACHE", str(tmp_path))
    fields = {"name": "x", "version": "1", "architecture": "arm64", "file": "x_1_arm64.deb"}
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages/trixie.json").write_text(json.dumps({"get x": [fields]}))
    asked = []

    def run(command, **_rest):
        asked.append(command)
        raise LabError("no network")

    monkeypatch.setattr(apt, "_run", run)
    with pytest.raises(LabError, match="no network"):
        packages.Packages("trixie").get("x")
    assert asked


def test_a_damaged_package_is_named(tmp_path):
    deb = tmp_path / "bad.deb"
    deb.write_bytes(b"not a package")
    with pytest.raises(LabError, match=r"bad\.deb"):
        packages.unpack(deb, tmp_path)
