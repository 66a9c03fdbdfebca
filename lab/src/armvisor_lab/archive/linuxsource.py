# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Debian's linux-source for the series of a role's kernel, and parts of it unpacked."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from armvisor_lab.archive import kernels
from armvisor_lab.archive.packages import Package, Packages
from armvisor_lab.errors import LabError

CROSS = ("ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-")


def series(role: str, progress: kernels.Progress = lambda _: None) -> str:
    """The series of a role's kernel, as in `linux-source-6.12`."""
    return ".".join(kernels.get(role, progress=progress).version.split(".")[:2])


def package(role: str, progress: kernels.Progress = lambda _: None) -> Package:
    """The source of a role's kernel, from the suite that the kernel is from."""
    name = f"linux-source-{series(role, progress)}"
    return Packages(kernels.SUITE_OF[role], progress).get(name)


def unpack(source: Package, target: Path, parts: Sequence[str] = ()) -> None:
    """The tree, or the files and folders of it that are named, as the folder `target`."""
    archive = next(source.unpacked().glob("usr/src/linux-source-*.tar.xz"))
    top = archive.name.removesuffix(".tar.xz")
    command = ["tar", "-C", str(target.parent), "-xf", str(archive)]
    command += [f"{top}/{part}" for part in parts]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"{archive} cannot be unpacked: {done.stderr.strip()[-400:]}")
    (target.parent / top).rename(target)
