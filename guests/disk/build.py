#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Build a Debian disk: systemd, an SSH server, a stock kernel and GRUB for EFI, from Debian's
packages, installed by their own scripts on an emulated board.

    build.py --out FOLDER SUITE
    build.py --out FOLDER --host SUITE

writes FOLDER/disk-SUITE/{disk.img,key,disk.json}: a raw disk with an EFI partition and an ext4 one,
the private key that root logs in with, and the packages. What is there and of the recorded
packages stays.

With `--host` it is FOLDER/host-SUITE, a disk for a board itself: it also has apt, DKMS, a compiler
and the kernel's headers, and at boot it carries out the orders on the board's disk of that name
(orders.sh).
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
# What builds modules for it, and installs packages.
HOST_NAMES = ("apt", "dkms", "linux-headers-cloud-arm64", "gcc", "make", "patch", "mokutil")
# What makes partitions and file systems, before there is a disk to run it from.
TOOLS = (("fdisk", "sfdisk"), ("dosfstools", "mkfs.fat"), ("e2fsprogs", "mke2fs"))
SIZE = {"disk": 2 << 30, "host": 4 << 30}
INSTALL = Path(__file__).with_name("install.sh")
# Files of a host's disk only, by their places on the board that installs it.
ORDERS = {f"/{name}": Path(__file__).with_name(name) for name in ("orders.sh", "orders.service")}


def progress(message: str) -> None:
    print(f"disk: {message}", file=sys.stderr)


def extra_files(kind: str) -> dict[str, Path]:
    """The recipe's own files for a disk."""
    return ORDERS if kind == "host" else {}


def recipe(kind: str, packages: list[Package]) -> dict[str, object]:
    """What a disk is made of."""
    own = [INSTALL, Path(__file__), *extra_files(kind).values()]
    sources = b"".join(file.read_bytes() for file in own)
    return {
        "recipe": hashlib.sha256(sources).hexdigest(),
        "packages": sorted(f"{package.name}={package.version}" for package in packages),
    }


def install(kind: str, suite: str, packages: list[Package], work: Path) -> None:
    """Make the disk and its key in `work`."""
    progress(f"unpacking {len(packages)} packages")
    tree, target = work / "tree.tar", work / "disk.img"
    tar = Tree(tree)
    # First the package with the links into /usr.
    for package in sorted(packages, key=lambda each: each.name != "base-files"):
        tar.package(package)
    tar.finish()
    with target.open("wb") as file:
        file.truncate(SIZE[kind])
    files: dict[str, Path | bytes] = {"/install": INSTALL.read_bytes()} | extra_files(kind)
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


def build(kind: str, suite: str, out: Path) -> Path:
    """Bring one disk up to date; the folder that it is in."""
    folder = out / f"{kind}-{suite}"
    names = NAMES + HOST_NAMES if kind == "host" else NAMES
    packages = Packages(suite, progress).closure(*names)
    wanted = recipe(kind, packages)
    described = folder / "disk.json"
    with paths.locked(f"{kind}-{suite}"):
        if described.exists() and json.loads(described.read_text()) == wanted:
            return folder
        with paths.new_folder(folder) as work:
            install(kind, suite, packages, work)
            (work / "disk.json").write_text(json.dumps(wanted, indent=1))
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--host", action="store_true", help="a disk for a board that builds modules"
    )
    parser.add_argument("suite", metavar="SUITE")
    arguments = parser.parse_args()
    try:
        kind = "host" if arguments.host else "disk"
        print(build(kind, arguments.suite, arguments.out))
    except (LabError, OSError) as error:
        print(f"disk: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
