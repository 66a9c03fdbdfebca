# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The project's packages, built as `make packages` builds them, and others made of them."""

import os
import re
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PROGRAMS = ("debhelper", "lintian", "rpm", "dkms")


@cache
def install_tools() -> None:
    """Set up what builds packages, at first use."""
    subprocess.run([TOP / "tools/setup", "packages"], check=True)


def build(kind: str, out: Path, **env: str) -> list[Path]:
    """`packages/build.sh deb` or `rpm` into a folder."""
    install_tools()
    done = subprocess.run(
        [TOP / "packages/build.sh", kind, out], env=os.environ | env,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    files = [Path(line) for line in done.stdout.splitlines()]
    assert len(files) == 2 and all(file.is_file() for file in files), done.stdout
    return files


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """A command's standard output."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def field(deb: Path, name: str) -> str:
    """One field of a Debian package."""
    return run("dpkg-deb", "-f", deb, name).strip()


def contents(deb: Path) -> dict[str, str]:
    """Modes and owners of a Debian package's files, by their absolute paths."""
    lines = run("dpkg-deb", "-c", deb).splitlines()
    found = [re.match(r"(\S+) (\S+) .* \.(/\S*)", line) for line in lines]
    files = [each for each in found if each and each[1][0] != "d"]
    return {each[3].partition(" ")[0]: f"{each[1]} {each[2]}" for each in files}


def repack(deb: Path, version: str, work: Path, edit: Callable[[Path], None]) -> Path:
    """The same package as another version, with other files: as the next release would be."""
    folder = work / f"{deb.name.partition('_')[0]}-{version}"
    run("dpkg-deb", "-R", deb, folder)
    control = folder / "DEBIAN/control"
    control.write_text(re.sub("(?m)^Version: .*$", f"Version: {version}", control.read_text()))
    conf = folder / "usr/share/armvisor-dkms/dkms.conf"
    if conf.exists():
        text = re.sub("(?m)^PACKAGE_VERSION=.*$", f'PACKAGE_VERSION="{version}"', conf.read_text())
        conf.write_text(text)
    edit(folder)
    made = work / f"{folder.name}.deb"
    run("dpkg-deb", "--root-owner-group", "-b", folder, made)
    return made
