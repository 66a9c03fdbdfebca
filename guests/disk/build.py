#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Build a Debian disk: systemd, an SSH server, a stock kernel and GRUB for EFI, from Debian's
packages, installed by their own scripts on an emulated board.

    build.py --out FOLDER SUITE

writes FOLDER/disk-SUITE/{disk.img,key,disk.json}: a raw disk with an EFI partition and an ext4 one,
the private key that root logs in with, and the packages. What is there and of the recorded
packages stays.
"""

import argparse
import hashlib
import json
import sys
from pathlib import Path

from armvisor_lab import paths
from armvisor_lab.archive import programs
from armvisor_lab.archive.debtree import Tree
from armvisor_lab.archive.packages import Package, Packages
from armvisor_lab.boards.board import Board, Disk
from armvisor_lab.errors import LabError

# The essential ones, and what makes a machine of them.
NAMES = (
    "?and(?essential,?architecture(arm64))",
    "systemd", "systemd-sysv", "udev", "dbus", "libpam-systemd", "openssh-server", "passwd",
    "linux-image-cloud-arm64", "grub-efi-arm64", "kmod", "zstd",
    "iproute2", "netbase", "e2fsprogs", "dosfstools",
)  # fmt: skip
# What makes partitions and file systems, before there is a disk to run it from.
TOOLS = (("fdisk", "sfdisk"), ("dosfstools", "mkfs.fat"), ("e2fsprogs", "mke2fs"))
SIZE = 2 << 30
INSTALL = Path(__file__).with_name("install.sh")


def progress(message: str) -> None:
    print(f"disk: {message}", file=sys.stderr)


def recipe(packages: list[Package]) -> dict[str, object]:
    """What a disk is made of."""
    sources = INSTALL.read_bytes() + Path(__file__).read_bytes()
    return {
        "recipe": hashlib.sha256(sources).hexdigest(),
        "packages": sorted(f"{package.name}={package.version}" for package in packages),
    }


def install(suite: str, packages: list[Package], work: Path) -> None:
    """Make the disk and its key in `work`."""
    progress(f"unpacking {len(packages)} packages")
    tree, target = work / "tree.tar", work / "disk.img"
    tar = Tree(tree)
    # First the package with the links into /usr.
    for package in sorted(packages, key=lambda each: each.name != "base-files"):
        tar.package(package)
    tar.finish()
    with target.open("wb") as file:
        file.truncate(SIZE)
    files: dict[str, Path | bytes] = {"/install": INSTALL.read_bytes()}
    for package, program in TOOLS:
        files |= programs.with_libraries(package, f"usr/sbin/{program}", suite, progress)[0]
    board = Board(
        files=files, memory=1024, smp=2, timeout=7200, modules=["vfat", "nls_cp437", "nls_ascii"],
        disks=[Disk("target", target, keep=True), Disk("tree", tree)],
    )  # fmt: skip
    progress("installing them on an emulated board (some minutes)")
    done = board.run(["sh", "/install"], on_stderr=tell)
    (work / "log").write_bytes(done.stderr)
    key = done.check().stdout
    (work / "key").touch(mode=0o600)
    (work / "key").write_bytes(key)
    tree.unlink()


def tell(data: bytes) -> None:
    """Pass on what the installation says of its steps."""
    for line in data.decode("utf-8", "replace").splitlines():
        if line.startswith("install: "):
            progress(line.removeprefix("install: "))


def build(suite: str, out: Path) -> Path:
    """Bring one disk up to date; the folder that it is in."""
    folder = out / f"disk-{suite}"
    packages = Packages(suite, progress).closure(*NAMES)
    wanted = recipe(packages)
    described = folder / "disk.json"
    with paths.locked(f"disk-{suite}"):
        if described.exists() and json.loads(described.read_text()) == wanted:
            return folder
        with paths.new_folder(folder) as work:
            install(suite, packages, work)
            (work / "disk.json").write_text(json.dumps(wanted, indent=1))
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("suite", metavar="SUITE")
    arguments = parser.parse_args()
    try:
        print(build(arguments.suite, arguments.out))
    except (LabError, OSError) as error:
        print(f"disk: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
