# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Writes "newc" cpio archives, the format of Linux initramfs images.

Archives are deterministic: times are zero, everything belongs to root, inode numbers count from
one, and entries keep their order. The kernel unpacks concatenated archives in turn, so pieces can
be cached and joined.
"""

import os
import stat
from pathlib import Path, PurePosixPath

from armvisor_lab.errors import LabError

_TRAILER = "TRAILER!!!"
_MAX_SIZE = 0xFFFFFFFF


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


class Cpio:
    """An archive under construction. Parent folders are added as needed."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._inode = 0
        self._folders: set[str] = set()

    def _entry(self, name: str, mode: int, data: bytes, rdev: tuple[int, int] = (0, 0)) -> None:
        if len(data) > _MAX_SIZE:
            raise LabError(f"{name}: files of 4 GiB and more do not fit into an initramfs")
        self._inode += 1
        raw_name = os.fsencode(name) + b"\0"
        inode = 0 if name == _TRAILER else self._inode
        links = 2 if stat.S_ISDIR(mode) else 1
        fields = (
            inode, mode, 0, 0, links, 0, len(data), 0, 0, rdev[0], rdev[1], len(raw_name), 0,
        )  # fmt: skip
        header = b"070701" + b"".join(b"%08X" % field for field in fields)
        self._parts.append(_padded(header + raw_name))
        self._parts.append(_padded(data))

    def _inside(self, name: str) -> str:
        """The archive's form of `name`: relative, with its parents added."""
        path = PurePosixPath("/" + name.lstrip("/"))
        if ".." in path.parts:
            raise LabError(f"{name}: paths inside a board may not contain '..'")
        relative = str(path.relative_to("/"))
        if relative == ".":
            raise LabError(f"{name!r} names no file inside the board", "give a full path")
        for parent in reversed(PurePosixPath(relative).parents):
            if str(parent) != ".":
                self._add_folder(str(parent), 0o755)
        return relative

    def _add_folder(self, relative: str, mode: int) -> None:
        if relative not in self._folders:
            self._folders.add(relative)
            self._entry(relative, stat.S_IFDIR | mode, b"")

    def folder(self, name: str, mode: int = 0o755) -> None:
        """Add an empty folder."""
        self._add_folder(self._inside(name), mode)

    def file(self, name: str, data: bytes, mode: int = 0o644) -> None:
        """Add a regular file."""
        self._entry(self._inside(name), stat.S_IFREG | (mode & 0o7777), data)

    def symlink(self, name: str, target: str) -> None:
        """Add a symbolic link."""
        self._entry(self._inside(name), stat.S_IFLNK | 0o777, os.fsencode(target))

    def device(self, name: str, kind: int, major: int, minor: int, mode: int = 0o600) -> None:
        """Add a character (`stat.S_IFCHR`) or block device node."""
        self._entry(self._inside(name), kind | mode, b"", (major, minor))

    def copy(self, source: Path, name: str) -> None:
        """Add a file, link or whole folder of this machine under `name`, modes kept."""
        if source.is_symlink():
            self.symlink(name, str(source.readlink()))
        else:
            self.copy_following(source, name)

    def copy_following(self, source: Path, name: str) -> None:
        """Like `copy`, but `source` itself may be a link to what is meant."""
        if source.is_file():
            self.file(name, source.read_bytes(), source.stat().st_mode)
        elif source.is_dir():
            if PurePosixPath("/" + name.lstrip("/")) != PurePosixPath("/"):
                self.folder(name, source.stat().st_mode & 0o7777)
            for child in sorted(source.iterdir()):
                self.copy(child, f"{name}/{child.name}")
        else:
            raise LabError(f"{source}: not a file or folder, cannot be put into a board")

    def finish(self) -> bytes:
        """The archive's bytes, padded so that another can follow."""
        self._entry(_TRAILER, 0, b"")
        data = b"".join(self._parts)
        return data + bytes(-len(data) % 512)
