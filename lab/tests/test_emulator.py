# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The newer QEMU: from its packages to a program that runs."""

import subprocess
from pathlib import Path

import pytest

from armvisor_lab.archive import emulator
from armvisor_lab.archive.packages import Package, Packages
from armvisor_lab.boards.board import Board
from armvisor_lab.errors import LabError

LINKER = "usr/lib64/ld-linux-x86-64.so.2"


def package(cache: Path, name: str, files: dict[str, str], architecture: str = "amd64") -> Package:
    """A Debian package in the cache."""
    tree = cache / "trees" / f"{name}-{architecture}"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN/control").write_text(
        f"Package: {name}\nVersion: 1:2.0\nArchitecture: {architecture}\n"
        "Maintainer: nobody <nobody@example.org>\nDescription: a test's\n"
    )
    for path, text in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
        (tree / path).chmod(0o755)
    found = Package(name, "1:2.0", architecture, f"{name}_{architecture}.deb")
    found.deb.parent.mkdir(exist_ok=True)
    subprocess.run(["dpkg-deb", "-b", str(tree), str(found.deb)], check=True, capture_output=True)
    return found


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An archive with a QEMU; returns what was asked of it."""
    monkeypatch.setenv("ARMVISOR_CACHE", str(tmp_path / "a cache"))
    monkeypatch.delenv("ARMVISOR_QEMU", raising=False)
    monkeypatch.setattr(emulator, "host_architecture", lambda: "amd64")
    cache = tmp_path / "a cache"
    packages = [
        package(cache, "qemu-system-arm", {"usr/bin/qemu-system-aarch64": "qemu"}),
        package(cache, "libc6", {
            LINKER: '#!/bin/sh\nprintf "%s\\n" "$@"\n',
            "usr/lib/x86_64-linux-gnu/libc.so.6": "",
        }),
        package(cache, "libc6", {"usr/lib/aarch64-linux-gnu/libc.so.6": ""}, "arm64"),
        package(cache, "qemu-system-data", {"usr/share/qemu/efi-virtio.rom": ""}, "all"),
    ]  # fmt: skip
    asked: list[str] = []

    def closure(_self: Packages, *names: str) -> list[Package]:
        asked.extend(names)
        return packages

    monkeypatch.setattr(Packages, "closure", closure)
    return asked


def test_it_runs_with_its_own_libraries_and_files(archive: list[str]):
    program = emulator.newest()
    assert archive == ["qemu-system-arm:amd64"]
    done = subprocess.run([program, "-M", "a b"], capture_output=True, text=True, check=True)
    here = program.parent
    assert done.stdout.splitlines() == [
        "--library-path", f"{here}/usr/lib/x86_64-linux-gnu", "--argv0", str(program),
        f"{here}/usr/bin/qemu-system-aarch64", "-L", f"{here}/usr/share/qemu", "-M", "a b",
    ]  # fmt: skip
    assert (here / "usr/share/qemu/efi-virtio.rom").exists()
    assert not (here / "usr/lib/aarch64-linux-gnu").exists()
    before = program.stat()
    assert emulator.newest() == program and program.stat() == before


def test_a_machine_that_debian_has_no_qemu_for(archive: list[str], monkeypatch):
    monkeypatch.setattr(emulator, "host_architecture", lambda: "riscv64")
    with pytest.raises(LabError, match="riscv64"):
        emulator.newest()


@pytest.mark.parametrize(
    ("board", "newer"),
    [
        (Board(), False),
        (Board(cpu="cortex-a53"), False),
        (Board(cpu="neoverse-n2"), True),
        (Board(cpu="max", newest_qemu=True), True),
    ],
)
def test_only_a_board_that_needs_it_gets_it(archive: list[str], monkeypatch, board, newer):
    monkeypatch.setattr("shutil.which", lambda name: f"/own/{name}")
    expected = str(emulator.newest()) if newer else "/own/qemu-system-aarch64"
    assert board.qemu() == expected
    monkeypatch.setenv("ARMVISOR_QEMU", "/another")
    assert board.qemu() == "/another"
