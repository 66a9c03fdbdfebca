# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A Debian system's files as one tar: packages unpacked, not yet configured.

It equals the result of dpkg's unpacking, but is made on this machine without root: owners and modes
are those of the packages, and `var/lib/dpkg` says "unpacked" for each. `dpkg --configure` on a
machine of the packages' architecture does the rest.
"""

import hashlib
import io
import re
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from armvisor_lab.archive.packages import Package
from armvisor_lab.errors import LabError

_DATABASE = "var/lib/dpkg"
# Links into /usr on every Debian since 12; files that a package still has there are /usr's.
_MERGED = re.compile(r"^(bin|sbin|lib)(?=/)")


@contextmanager
def _members(deb: Path, what: str) -> Iterator[tarfile.TarFile]:
    """One of a package's two archives, as a stream."""
    command = ["dpkg-deb", f"--{what}-tarfile", str(deb)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                yield archive
        except tarfile.ReadError as error:
            assert process.stderr is not None
            said = process.stderr.read().decode(errors="replace").strip()
            raise LabError(f"{deb} cannot be unpacked: {said or error}") from error


def place(name: str) -> str:
    """Where a package's file goes: relative to the root, without the links into /usr."""
    relative = re.sub(r"^(\./|/)+", "", name).rstrip("/")
    return "" if relative == "." else _MERGED.sub(r"usr/\1", relative, count=1)


def entry(control: str, conffiles: Sequence[tuple[str, str]]) -> str:
    """A package's paragraph of dpkg's status: its control file, and what has become of it."""
    text = control.rstrip("\n") + "\nStatus: install ok unpacked\n"
    if conffiles:
        text += "Conffiles:\n" + "".join(f" {name} {digest}\n" for name, digest in conffiles)
    return text + "\n"


def database_name(control: str) -> str:
    """The name of a package's files in dpkg's database."""
    fields = dict(line.split(": ", 1) for line in control.splitlines() if re.match(r"\S+: ", line))
    several = fields.get("Multi-Arch") == "same"
    return f"{fields['Package']}:{fields['Architecture']}" if several else fields["Package"]


@dataclass
class Triggers:
    """Which packages are interested in which trigger, as `var/lib/dpkg/triggers` has it."""

    files: list[str] = field(default_factory=list)
    named: dict[str, list[str]] = field(default_factory=dict)

    def add(self, package: str, control: str) -> None:
        """Take a package's control file `triggers`."""
        for line in control.splitlines():
            found = re.match(r"interest(-await|-noawait)?\s+(\S+)", line)
            if not found:
                continue
            who = package + ("/noawait" if found[1] == "-noawait" else "")
            if found[2].startswith("/"):
                self.files.append(f"{found[2]} {who}\n")
            else:
                self.named.setdefault(found[2], []).append(f"{who}\n")


class Tree:
    """The tar under construction."""

    def __init__(self, file: Path) -> None:
        self._tar = tarfile.open(file, "w", format=tarfile.GNU_FORMAT)  # noqa: SIM115
        self._status: list[str] = []
        self._triggers = Triggers()

    def file(self, name: str, data: bytes, mode: int = 0o644) -> None:
        """Add a file of root's."""
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(data), mode
        self._tar.addfile(info, io.BytesIO(data))

    def package(self, package: Package) -> None:
        """Add a package's files, and what dpkg knows of it."""
        listed, digests = self._files(package.deb)
        control: dict[str, tuple[bytes, int]] = {}
        with _members(package.deb, "ctrl") as archive:
            for member in archive:
                if member.isfile() and (source := archive.extractfile(member)):
                    control[place(member.name)] = source.read(), member.mode
        text = control.pop("control")[0].decode()
        name = database_name(text)
        paths = control["conffiles"][0].decode().split() if "conffiles" in control else []
        conffiles = [(path, digests[path]) for path in paths if path in digests]
        self._status.append(entry(text, conffiles))
        self._triggers.add(name, control.get("triggers", (b"", 0))[0].decode())
        for kind, (data, mode) in control.items():
            self.file(f"{_DATABASE}/info/{name}.{kind}", data, mode)
        self.file(f"{_DATABASE}/info/{name}.list", "".join(listed).encode())

    def _files(self, deb: Path) -> tuple[list[str], dict[str, str]]:
        """Add a package's files: their names a line, and digests of those in /etc."""
        listed, digests = ["/.\n"], {}
        with _members(deb, "fsys") as archive:
            for member in archive:
                where = place(member.name)
                if not where:
                    continue
                listed.append(f"/{where}\n")
                member.name, member.uname, member.gname = where, "", ""
                if member.islnk():
                    member.linkname = place(member.linkname)
                source = archive.extractfile(member) if member.isreg() else None
                if source and where.startswith("etc/"):
                    data = source.read()
                    digests[f"/{where}"] = hashlib.md5(data, usedforsecurity=False).hexdigest()
                    source = io.BytesIO(data)
                self._tar.addfile(member, source)
        return listed, digests

    def finish(self) -> None:
        """Write dpkg's database and close the tar."""
        self.file(f"{_DATABASE}/status", "".join(self._status).encode())
        self.file(f"{_DATABASE}/available", b"")
        self.file(f"{_DATABASE}/info/format", b"1\n")
        self.file(f"{_DATABASE}/triggers/File", "".join(self._triggers.files).encode())
        for name, packages in self._triggers.named.items():
            self.file(f"{_DATABASE}/triggers/{name}", "".join(packages).encode())
        self._tar.close()
