# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Debian packages for the boards, by name, from the cache or the archive.

The version found for a name is recorded beside the packages. As long as the record exists, the
network is not used: a second run works offline and gives the same versions until `lab packages
update`, which alone deletes records. If the file of a recorded version is gone, exactly that
version is fetched again; the archive keeps few versions, and an error says if it has that one no
more.
"""

import json
import re
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from armvisor_lab import paths
from armvisor_lab.archive.apt import SUITES, Apt
from armvisor_lab.errors import LabError, MissingError

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

    @property
    def exact(self) -> str:
        """This version and no other, as apt is asked for it."""
        architecture = "" if self.architecture == "all" else f":{self.architecture}"
        return f"{self.name}{architecture}={self.version}"

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
        try:
            records: dict[str, list[dict[str, str]]] = json.loads(self._records.read_text())
        except ValueError as error:
            remedy = "delete it: the next use records today's versions"
            raise LabError(f"{self._records} is damaged: {error}", remedy) from error
        return records

    def _recorded(self, key: str, version: str = "") -> list[Package]:
        """What is recorded under `key`, of `version` if one is asked for, in the cache or not."""
        found = [Package(**fields) for fields in self._load().get(key, [])]
        return [] if version and {package.version for package in found} != {version} else found

    def _obtain(
        self, key: str, resolve: Callable[[], list[str]], version: str = ""
    ) -> list[Package]:
        """The packages recorded under `key`, else what `resolve` names, downloaded."""
        found = self._recorded(key, version)
        if found and all(package.deb.exists() for package in found):
            return found
        with paths.locked(f"packages-{self.suite}"):
            found = self._recorded(key, version)
            gone = [package.exact for package in found if not package.deb.exists()]
            if found and not gone:
                return found
            try:
                fetched = self._fetch((lambda: gone) if gone else resolve)
            except MissingError as error:
                if not gone and not version:
                    raise
                what = ", ".join(gone) or f"version {version} of what {key.split()[1]} stands for"
                raise LabError(
                    f"the cache's record names {what}, which is not in the cache, and suite "
                    f"{self.suite} of the archive has it no more",
                    "`lab packages update` forgets the recorded versions: what is fetched "
                    "then is today's",
                ) from error
            if gone:
                return found
            records = self._load() | {key: [asdict(package) for package in fetched]}
            text = json.dumps(records, indent=1, sort_keys=True)
            paths.write_atomically(self._records, text.encode())
            return fetched

    def _fetch(self, wanted: Callable[[], list[str]]) -> list[Package]:
        """Download what `wanted` names; with lists of today if those of another day lack it."""
        fresh = not self.apt.ready()
        if fresh:
            self._refresh()
        try:
            return self._download(wanted())
        except LabError as first:
            # The archive replaces packages, so old lists may name packages that are gone.
            if fresh:
                raise
            try:
                self._refresh()
            except LabError:
                raise first from None
            return self._download(wanted())

    def _refresh(self) -> None:
        self._progress(f"fetching the package lists of {self.suite}")
        self.apt.update()

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

    def update(self) -> None:
        """Fetch the package lists and forget what names were resolved to."""
        with paths.locked(f"packages-{self.suite}"):
            self._refresh()
            self._records.unlink(missing_ok=True)

    def get(self, name: str) -> Package:
        """One package. `name:architecture` and `name=version` work as with apt."""
        return self._obtain(f"get {name}", lambda: [name])[0]

    def closure(self, *names: str) -> list[Package]:
        """Packages with everything that they depend on."""
        return self._obtain(f"closure {' '.join(names)}", lambda: self.apt.closure(*names))

    def followed(self, name: str, pattern: str) -> list[Package]:
        """What `follow` has recorded, in the cache or not; asks nothing of the network."""
        return self._recorded(f"follow {name} {pattern}")

    def follow(self, name: str, pattern: str, version: str = "") -> list[Package]:
        """The packages that match `pattern` among `name` and what it depends on, in turn.

        Resolves Debian's meta packages: `linux-image-arm64` to the kernel of the day, or to the
        one of `version`; `xen-system-arm64` to the hypervisor.
        """

        def resolve() -> list[str]:
            wanted: dict[str, str] = {}
            seen, queue = set(), [name]
            while queue:
                current = queue.pop()
                if current in seen:
                    continue
                seen.add(current)
                match = re.search(pattern, current)
                pinned = version and (match or current == name)
                fields = self.apt.show(f"{current}={version}" if pinned else current)
                if match:
                    wanted[current] = f"{current}={fields['Version']}"
                queue += [
                    other
                    for other in first_alternatives(fields.get("Depends", ""))
                    if re.match(r"linux-", other) or re.search(pattern, other)
                ]
            if not wanted:
                raise LabError(f"{name} of suite {self.suite} leads to no package {pattern!r}")
            return list(wanted.values())

        return self._obtain(f"follow {name} {pattern}", resolve, version)


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
