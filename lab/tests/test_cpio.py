# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The cpio writer, read back with the system's cpio and compared byte by byte."""

import shutil
import stat
import subprocess

import pytest

from armvisor_lab.boards.cpio import Cpio
from armvisor_lab.errors import LabError


def names(archive: bytes) -> list[str]:
    done = subprocess.run(["cpio", "-t", "--quiet"], input=archive, capture_output=True, check=True)
    return done.stdout.decode().split()


def test_parents_are_added_once_and_in_order():
    cpio = Cpio()
    cpio.file("/a/b/one", b"1")
    cpio.file("a/b/two", b"2")
    assert names(cpio.finish()) == ["a", "a/b", "a/b/one", "a/b/two"]


def test_header_is_newc_to_the_byte():
    cpio = Cpio()
    cpio.file("x", b"hello", 0o755)
    expected = (
        b"070701" + b"00000001" + b"000081ED" + b"00000000" * 2 + b"00000001" + b"00000000"
        + b"00000005" + b"00000000" * 4 + b"00000002" + b"00000000" + b"x\0" + b"hello\0\0\0"
    )  # fmt: skip
    assert cpio.finish().startswith(expected)


@pytest.mark.skipif(not shutil.which("cpio"), reason="the program cpio is missing")
def test_contents_modes_and_links_survive_extraction(tmp_path):
    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True)
    (source / "deep/tool").write_bytes(bytes(range(256)) * 5)
    (source / "deep/tool").chmod(0o750)
    (source / "link").symlink_to("deep/tool")
    cpio = Cpio()
    cpio.copy(source, "/put/here")
    cpio.folder("tmp", 0o1777)
    target = tmp_path / "target"
    target.mkdir()
    subprocess.run(["cpio", "-idm", "--quiet"], input=cpio.finish(), cwd=target, check=True)
    tool = target / "put/here/deep/tool"
    assert tool.read_bytes() == bytes(range(256)) * 5
    assert stat.S_IMODE(tool.stat().st_mode) == 0o750
    assert (target / "put/here/link").readlink().name == "tool"
    assert stat.S_IMODE((target / "tmp").stat().st_mode) == 0o1777


def test_concatenated_archives_are_aligned():
    one, two = Cpio(), Cpio()
    one.file("one", b"1" * 3)
    two.file("two", b"2")
    assert len(one.finish()) % 512 == 0
    assert two.finish().startswith(b"070701")


def test_same_input_gives_same_bytes():
    def build() -> bytes:
        cpio = Cpio()
        cpio.file("etc/x", b"data")
        cpio.symlink("etc/y", "x")
        return cpio.finish()

    assert build() == build()


@pytest.mark.parametrize("name", ["../etc/passwd", "a/../../b", "/", ""])
def test_paths_that_name_no_file_inside_are_refused(name):
    with pytest.raises(LabError):
        Cpio().file(name, b"")


def test_special_files_are_refused():
    from pathlib import Path

    with pytest.raises(LabError, match="not a file or folder"):
        Cpio().copy(Path("/dev/null"), "x")
