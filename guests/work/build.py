#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Build the work disk: what a VM's CPUs are kept busy with for a long time.

    build.py --out FOLDER SUITE

writes FOLDER/work-SUITE/{disk.img,work.json}: an ext4 file system, made without root, of Debian's
arm64 stress-ng, hackbench, C compiler and make, busybox as its shell, sources to compile and the
script beside this file that the Debian test guest runs in it; and the packages. What is there and
of the recorded packages stays.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from armvisor_lab import kernels, linuxsource, paths, programs
from armvisor_lab.errors import LabError
from armvisor_lab.packages import Package, Packages

GCC = "usr/lib/gcc/aarch64-linux-gnu/14"
LIBRARIES = "usr/lib/aarch64-linux-gnu"
# With the libraries that each needs.
PROGRAMS = (
    ("stress-ng", "usr/bin/stress-ng"),
    ("rt-tests", "usr/bin/hackbench"),
    ("make", "usr/bin/make"),
    ("gcc-14-aarch64-linux-gnu", "usr/bin/aarch64-linux-gnu-gcc-14"),
    ("gcc-14-aarch64-linux-gnu", "usr/libexec/gcc/aarch64-linux-gnu/14/collect2"),
    ("gcc-14-aarch64-linux-gnu", "usr/libexec/gcc/aarch64-linux-gnu/14/liblto_plugin.so"),
    ("cpp-14-aarch64-linux-gnu", "usr/libexec/gcc/aarch64-linux-gnu/14/cc1"),
    ("binutils-aarch64-linux-gnu", "usr/bin/aarch64-linux-gnu-as"),
    ("binutils-aarch64-linux-gnu", "usr/bin/aarch64-linux-gnu-ld.bfd"),
)
# Files and folders as they are. Nothing is optimised at link time, nor sanitised.
AS_THEY_ARE = (
    ("busybox-static", "usr/bin/busybox"),
    ("libc6-dev", "usr/include"),
    ("linux-libc-dev", "usr/include/asm-generic"),
    ("linux-libc-dev", "usr/include/linux"),
    # Links into the next.
    ("linux-libc-dev", "usr/include/aarch64-linux-gnu/asm"),
    ("linux-libc-dev", "usr/lib/linux/uapi/arm64"),
    ("libc6-dev", f"{LIBRARIES}/Scrt1.o"),
    ("libc6-dev", f"{LIBRARIES}/crti.o"),
    ("libc6-dev", f"{LIBRARIES}/crtn.o"),
    ("libc6-dev", f"{LIBRARIES}/libc.so"),
    ("libc6-dev", f"{LIBRARIES}/libc_nonshared.a"),
    ("libgcc-14-dev", f"{GCC}/include"),
    ("libgcc-14-dev", f"{GCC}/crtbeginS.o"),
    ("libgcc-14-dev", f"{GCC}/crtendS.o"),
    ("libgcc-14-dev", f"{GCC}/libgcc.a"),
    ("libgcc-14-dev", f"{GCC}/libgcc_s.so"),
    ("libgcc-s1", f"{LIBRARIES}/libgcc_s.so.1"),
)
APPLETS = (
    "awk", "cat", "cut", "grep", "mkdir", "rm", "sh", "sha256sum",
)  # fmt: skip
LINKS = {
    "bin": "usr/bin",
    "lib": "usr/lib",
    "usr/bin/cc": "aarch64-linux-gnu-gcc-14",
    "usr/bin/as": "aarch64-linux-gnu-as",
    "usr/bin/ld": "aarch64-linux-gnu-ld.bfd",
}
# Where the test guest mounts something.
FOLDERS = ("dev", "proc", "sys", "tmp")
# Programs of the kernel's that need no header of the kernel's.
SOURCES = "scripts/dtc"
SOURCES_OF = "stable"

HERE = Path(__file__).resolve().parent
OWN = {"work": "work", "objects.mk": "src/Makefile"}
# What mke2fs would make up.
UUID = "5e6b7a39-2f54-4c0d-9d0c-61766d772d31"
EPOCH = "1767225600"


def progress(message: str) -> None:
    print(f"work: {message}", file=sys.stderr)


def recipe(packages: list[Package]) -> dict[str, object]:
    """What a disk is made of."""
    sources = b"".join((HERE / name).read_bytes() for name in (*OWN, Path(__file__).name))
    return {
        "recipe": hashlib.sha256(sources).hexdigest(),
        "packages": sorted({f"{package.name}={package.version}" for package in packages}),
    }


def copy(source: Path, target: Path) -> None:
    """A file, or a folder with what is in it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy(source, target)


def gather(suite: str) -> tuple[dict[str, Path], list[Package]]:
    """What comes from packages, by its place, and all packages that were looked through."""
    archive = Packages(suite, progress)
    found: dict[str, Path] = {}
    used = [linuxsource.package(SOURCES_OF, progress)]
    for name, place in AS_THEY_ARE:
        package = archive.get(name)
        if not (source := package.unpacked() / place).exists():
            raise LabError(f"package {name} of {suite} has no {place}")
        found[place] = source
        used.append(package)
    for name, place in PROGRAMS:
        files, packages = programs.with_libraries(name, place, suite, progress)
        found |= {key.lstrip("/"): source for key, source in files.items()}
        used += packages
    return found, used


def fill(tree: Path, found: dict[str, Path]) -> None:
    """Make the folder that becomes the disk."""
    for name in ("usr/bin", "usr/lib", *FOLDERS):
        (tree / name).mkdir(parents=True)
    for name, target in LINKS.items():
        (tree / name).symlink_to(target)
    for place, source in found.items():
        copy(source, tree / place)
    for name in APPLETS:
        (tree / "usr/bin" / name).symlink_to("busybox")
    source = linuxsource.package(SOURCES_OF, progress)
    linuxsource.unpack(source, tree / "linux", [SOURCES])
    shutil.move(tree / "linux" / SOURCES, tree / "src")
    shutil.rmtree(tree / "linux")
    for name, place in OWN.items():
        copy(HERE / name, tree / place)
    (tree / "work").chmod(0o755)


def make_disk(tree: Path, disk: Path) -> None:
    """The file system, of about the size that it needs."""
    files = [path for path in tree.rglob("*") if not path.is_symlink()]
    blocks = sum((path.stat().st_size + 4095) // 4096 + 1 for path in files)
    search = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    if not (mke2fs := shutil.which("mke2fs", path=search)):
        raise LabError("mke2fs is missing", "run tools/setup")
    # Nobody writes to it: no journal.
    done = subprocess.run(
        [
            mke2fs, "-q", "-t", "ext4", "-b", "4096", "-m", "0", "-O", "^has_journal,^resize_inode",
            "-U", UUID, "-E", f"hash_seed={UUID},root_owner=0:0", "-d", str(tree),
            str(disk), str(blocks * 9 // 8 + 2048),
        ],
        env=os.environ | {"SOURCE_DATE_EPOCH": EPOCH, "E2FSPROGS_FAKE_TIME": EPOCH},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise LabError(f"mke2fs failed: {done.stderr.strip()[-400:]}")


def build(suite: str, out: Path) -> Path:
    """Bring one disk up to date; the folder that it is in."""
    folder = out / f"work-{suite}"
    described = folder / "work.json"
    with paths.locked(f"work-{suite}"):
        found, packages = gather(suite)
        wanted = recipe(packages)
        if described.exists() and json.loads(described.read_text()) == wanted:
            return folder
        progress("making the disk")
        with paths.new_folder(folder) as work:
            tree = work / "tree"
            tree.mkdir()
            fill(tree, found)
            make_disk(tree, work / "disk.img")
            shutil.rmtree(tree)
            (work / "work.json").write_text(json.dumps(wanted, indent=1))
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("suite", metavar="SUITE", choices=sorted(kernels.SUITE_OF.values()))
    arguments = parser.parse_args()
    try:
        print(build(arguments.suite, arguments.out))
    except (LabError, OSError) as error:
        print(f"work: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
