# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Debian packages for the boards, by name, from the cache or the archive.

What a name was resolved to is recorded beside the packages. As long as the record stands,
nothing is asked of the network: a second run works offline and gives the same versions
until `lab packages update`.
"""

import json
import re
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from armvisor_lab import paths
from armvisor_lab.apt import SUITES, Apt
from armvisor_lab.errors import LabError

Progress = Callable[[str], None]


def _silent(_message: str) -> None:
    pass


@dataclass(frozen=True)
class Package:
    """One exact package in the cache."""

    name: str
    version: str
    architecture: str
    file: str

    @property
    def deb(self) -> Path:
        """The package file."""
        return paths.cache() / "debs" / self.file

    def unpacked(self) -> Path:
        """The folder with the package's files, unpacked on first use."""
        target = paths.cache() / "unpacked" / self.file.removesuffix(".deb")
        if not target.exists():
            with paths.locked("unpack"):
                if not target.exists():
                    with paths.new_folder(target) as work:
                        unpack(self.deb, work)
        return target


def unpack(deb: Path, folder: Path) -> None:
    """Unpack a package's files into `folder`."""
    done = subprocess.run(
        ["dpkg-deb", "-x", str(deb), str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise LabError(
            f"{deb} cannot be unpacked: {done.stderr.strip()}",
            "delete it and run the command again; is the disk full?",
        )


def first_alternatives(depends: str) -> list[str]:
    """The package names of a Depends field, the first of each alternative."""
    names = []
    for clause in depends.split(","):
        match = re.match(r"\s*([a-z0-9][a-z0-9.+-]*)", clause)
        if match:
            names.append(match[1])
    return names


class Packages:
    """The packages of one suite."""

    def __init__(self, suite: str, progress: Progress = _silent) -> None:
        self.apt = Apt(suite)
        self.suite = suite
        self._progress = progress
        self._records = paths.cache() / "packages" / f"{suite}.json"

    def _load(self) -> dict[str, list[dict[str, str]]]:
        if not self._records.exists():
            return {}
        return json.loads(self._records.read_text())

    def _recorded(self, key: str) -> list[Package] | None:
        entry = self._load().get(key)
        found = [Package(**fields) for fields in entry or []]
        return found if found and all(package.deb.exists() for package in found) else None

    def _obtain(self, key: str, resolve: Callable[[], list[str]]) -> list[Package]:
        """The packages recorded under `key`, else what `resolve` names, downloaded."""
        if (found := self._recorded(key)) is not None:
            return found
        with paths.locked(f"packages-{self.suite}"):
            if (found := self._recorded(key)) is not None:
                return found
            fresh = not self.apt.ready()
            if fresh:
                self.update(locked=True)
            try:
                found = self._download(resolve())
            except LabError:
                # The archive replaces packages; lists of another day may name gone ones.
                if fresh:
                    raise
                self.update(locked=True)
                found = self._download(resolve())
            records = self._load() | {key: [asdict(package) for package in found]}
            text = json.dumps(records, indent=1, sort_keys=True)
            paths.write_atomically(self._records, text.encode())
            return found

    def _download(self, wanted: list[str]) -> list[Package]:
        names = [item.split("=")[0] for item in wanted]
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        self._progress(f"fetching {', '.join(names[-4:])}{more}")
        store = paths.cache() / "debs"
        store.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=store) as work:
            found = [_describe(deb) for deb in self.apt.download(wanted, Path(work))]
            for package in found:
                (Path(work) / package.file).rename(package.deb)
        if len(found) < len(wanted):
            raise LabError(f"apt gave {len(found)} of {len(wanted)} packages", "run it again")
        return found

    def update(self, locked: bool = False) -> None:
        """Fetch the package lists and forget what names were resolved to."""
        if not locked:
            with paths.locked(f"packages-{self.suite}"):
                return self.update(locked=True)
        self._progress(f"fetching the package lists of {self.suite}")
        self.apt.update()
        self._records.unlink(missing_ok=True)
        return None

    def get(self, name: str) -> Package:
        """One package. `name:architecture` and `name=version` work as with apt."""
        return self._obtain(f"get {name}", lambda: [name])[0]

    def closure(self, name: str) -> list[Package]:
        """A package with everything that it depends on."""
        return self._obtain(f"closure {name}", lambda: self.apt.closure(name))

    def follow(self, name: str, pattern: str) -> list[Package]:
        """The packages that match `pattern` among `name` and what it depends on, in turn.

        Resolves Debian's meta packages: `linux-image-arm64` to the kernel of the day.
        """

        def resolve() -> list[str]:
            wanted: dict[str, str] = {}
            seen, queue = set(), [name]
            while queue:
                current = queue.pop()
                if current in seen:
                    continue
                seen.add(current)
                fields = self.apt.show(current)
                if re.search(pattern, current):
                    wanted[current] = f"{current}={fields['Version']}"
                queue += [
                    other
                    for other in first_alternatives(fields.get("Depends", ""))
                    if re.match(r"linux-", other)
                ]
            if not wanted:
                raise LabError(f"{name} of suite {self.suite} leads to no package {pattern!r}")
            return list(wanted.values())

        return self._obtain(f"follow {name} {pattern}", resolve)


def _describe(deb: Path) -> Package:
    done = subprocess.run(
        ["dpkg-deb", "-W", "--showformat", "${Package}|${Version}|${Architecture}", str(deb)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise LabError(f"{deb}: not a Debian package: {done.stderr.strip()}")
    name, version, architecture = done.stdout.strip().split("|")
    return Package(name, version, architecture, deb.name)


def fetched() -> dict[str, list[Package]]:
    """All packages in the cache, by suite."""
    result = {}
    for suite in SUITES:
        entries = Packages(suite)._load().values()
        unique = {Package(**fields) for entry in entries for fields in entry}
        result[suite] = sorted(unique, key=lambda package: package.file)
    return result
