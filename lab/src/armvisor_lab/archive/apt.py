# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A private apt, one per suite, under the cache.

It has its own lists, archives, sources and (empty) status, and arm64 as its architecture. It
changes nothing of the machine's apt and needs no root. From the machine it takes the address of
Debian's archive (from its apt's index targets) and the way to reach it (its `Acquire` options:
proxies, certificates). apt checks the archive's signatures with Debian's keyring, and every package
against the signed lists.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from armvisor_lab import paths
from armvisor_lab.errors import LabError, MissingError, remedy

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

# A suite's lists, its own last. Backports are preferred where they have a package; for everything
# else they need the suite below.
SUITES = {
    "bookworm": ("bookworm",),
    "trixie": ("trixie",),
    "trixie-backports": ("trixie", "trixie-backports"),
}

_TARGET_FORMAT = "$(LABEL)|$(REPO_URI)"
# apt's messages about a package, or a version of one, that is not in its lists.
_NOT_LISTED = re.compile(
    r"Unable to locate package|Version '.*' for '.*' was not found|No packages found|"
    r"Can't find a source to download|has no installation candidate"
)
_OWN_ACQUIRE = ("IndexTargets", "Languages", "CompressionTypes", "Changelogs", "GzipIndexes")


@dataclass(frozen=True)
class Archives:
    """Addresses of Debian's archives; security updates where the machine has them."""

    main: str
    security: str | None


def parse_archives(index_targets: str) -> Archives:
    """Find the archives in lines of `label|address`, as `apt-get indextargets` prints."""
    found: dict[str, str] = {}
    for line in index_targets.splitlines():
        label, _, address = line.partition("|")
        if label in ("Debian", "Debian-Security") and address:
            found.setdefault(label, address.rstrip("/"))
    if "Debian" not in found:
        raise LabError(
            "this machine's apt knows no Debian archive, where the boards' packages come from",
            "run `apt-get update` as root; on another distribution, add Debian as a source",
        )
    return Archives(found["Debian"], found.get("Debian-Security"))


def sources(suite: str, archives: Archives, architectures: list[str]) -> str:
    """The sources.list of `suite`."""
    options = f"[signed-by={KEYRING} arch={','.join(architectures)}]"
    lines = []
    for name in SUITES[suite]:
        lines.append(f"deb {options} {archives.main} {name} main")
        if archives.security and not name.endswith("-backports"):
            lines.append(f"deb {options} {archives.security} {name}-security main")
    return "\n".join(lines) + "\n"


def machine_acquire(config_dump: str) -> str:
    """The lines of `apt-config dump` that say how this machine reaches archives."""
    own = re.compile(rf"Acquire(::({'|'.join(_OWN_ACQUIRE)})\b| )")
    keep = (
        line
        for line in config_dump.splitlines()
        if line.startswith("Acquire") and not own.match(line) and not line.endswith(' "";')
    )
    return "".join(f"{line}\n" for line in keep)


def host_architecture() -> str:
    """Debian's name of this machine's architecture, for tools that run on it."""
    return _run(["dpkg", "--print-architecture"]).strip()


def _run(command: list[str], env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    if not shutil.which(command[0]):
        raise LabError(f"{command[0]} is missing", "the lab needs a Debian-like machine with apt")
    done = subprocess.run(
        command, env=env, cwd=cwd, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.startswith("E:")]
        detail = "\n  ".join(errors[:4] or done.stderr.strip().splitlines()[-4:])
        raise LabError(f"`{' '.join(command[:4])} …` failed:\n  {detail}", "is the network up?")
    return done.stdout


def _named(command: Sequence[str]) -> str:
    """The packages of a command line of apt's, or the first of many."""
    names = [word for word in command[2:] if not word.startswith("-") and word != "install"]
    return ", ".join(repr(name) for name in names[:4]) + (" …" if len(names) > 4 else "")


class Apt:
    """apt for one suite."""

    def __init__(self, suite: str) -> None:
        if suite not in SUITES:
            raise LabError(f"no suite {suite!r}", remedy(suite, SUITES))
        self.suite = suite
        self.home = paths.cache() / "apt" / suite

    @property
    def _config(self) -> Path:
        return self.home / "apt.conf"

    def _settings(self, architectures: list[str], acquire: str) -> str:
        home = self.home
        own = {
            "APT::Architecture": "arm64",
            "APT::Sandbox::User": "root",
            "APT::Get::List-Cleanup": "false",
            "APT::Install-Recommends": "false",
            "Acquire::Languages": "none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
            "Dir::State": home / "state",
            "Dir::State::Lists": home / "lists",
            "Dir::State::status": home / "status",
            "Dir::Cache": home / "cache",
            "Dir::Etc": home,
            "Dir::Etc::SourceList": home / "sources.list",
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::Etc::Preferences": home / "preferences",
            "Dir::Etc::PreferencesParts": "/dev/null",
            "Dir::Etc::Parts": "/dev/null",
            "Dir::Etc::Main": "/dev/null",
        }
        text = acquire + "".join(f'{key} "{value}";\n' for key, value in own.items())
        names = " ".join(f'"{name}";' for name in architectures)
        return text + f"APT::Architectures {{ {names} }};\n"

    def update(self) -> None:
        """Fetch the suite's package lists."""
        if not KEYRING.exists():
            raise LabError(f"{KEYRING} is missing", "apt-get install debian-archive-keyring")
        listing = _run(
            ["apt-get", "indextargets", "--format", _TARGET_FORMAT, "Created-By: Packages"]
        )
        architectures = sorted({"arm64", host_architecture()})
        for folder in ("lists/partial", "cache/archives/partial", "state"):
            (self.home / folder).mkdir(parents=True, exist_ok=True)
        pin = f"Package: *\nPin: release n={self.suite}\nPin-Priority: 600\n"
        acquire = machine_acquire(_run(["apt-config", "dump"]))
        for name, text in {
            "status": "",
            "sources.list": sources(self.suite, parse_archives(listing), architectures),
            "preferences": pin if self.suite.endswith("-backports") else "",
            "apt.conf": self._settings(architectures, acquire),
        }.items():
            paths.write_atomically(self.home / name, text.encode())
        self._apt("apt-get", "update", "-qq", "--error-on=any")
        (self.home / "updated").touch()

    def ready(self) -> bool:
        """Whether the lists were ever fetched."""
        return (self.home / "updated").exists()

    def _apt(self, *command: str, cwd: Path | None = None) -> str:
        # LC_ALL because the output is parsed; APT_CONFIG because it is read before all else.
        env = {**os.environ, "LC_ALL": "C.UTF-8", "APT_CONFIG": str(self._config)}
        try:
            return _run(list(command), env=env, cwd=cwd)
        except LabError as error:
            if not (said := _NOT_LISTED.search(str(error))):
                raise
            raise MissingError(
                f"suite {self.suite} has no {_named(command)} for arm64: {said[0]}",
                "is the name right?",
            ) from error

    def show(self, name: str) -> dict[str, str]:
        """The fields of the candidate version of package `name`."""
        fields: dict[str, str] = {}
        for line in self._apt("apt-cache", "show", "--no-all-versions", name).splitlines():
            key, colon, value = line.partition(": ")
            if colon and not line.startswith(" "):
                fields.setdefault(key, value)
        if "Version" not in fields:
            raise MissingError(
                f"suite {self.suite} has no {name!r} for arm64", "is the name right?"
            )
        return fields

    def closure(self, *names: str) -> list[str]:
        """`name=version` of packages and all that they need, each after what it needs.

        Names are as apt-get understands them: patterns (`?essential`) too.
        """
        plan = self._apt("apt-get", "-s", "install", *names)
        found = re.findall(r"^Inst (\S+) \((\S+) ", plan, re.MULTILINE)
        if not found:
            said = ", ".join(map(repr, names))
            raise MissingError(f"suite {self.suite} cannot install {said} for arm64")
        return [f"{package}={version}" for package, version in found]

    def download(self, wanted: list[str], folder: Path) -> list[Path]:
        """Fetch packages, given as apt understands them, into `folder`."""
        before = set(folder.iterdir())
        self._apt("apt-get", "download", "-qq", *wanted, cwd=folder)
        return sorted(set(folder.iterdir()) - before)
