#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Build a disk of Debian's arm64 programs, which the Debian test guest runs.

    build.py --out FOLDER [--tools FOLDER] IMAGE SUITE

writes FOLDER/IMAGE-SUITE/{disk.img,IMAGE.json}: an ext4 file system, made without root, of what
images.py has for it, busybox as its shell, sources to compile and the script of that name beside
this file; and the packages. What is there and of the recorded packages stays.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from images import IMAGES, Image

from armvisor_lab import paths
from armvisor_lab.archive import kernels, linuxsource, programs
from armvisor_lab.archive.packages import Package, Packages
from armvisor_lab.errors import LabError

# Where the test guest mounts something.
FOLDERS = ("dev", "proc", "sys", "tmp")
SOURCES_OF = "stable"

HERE = Path(__file__).resolve().parent
# What mke2fs would make up.
UUID = "5e6b7a39-2f54-4c0d-9d0c-61766d772d31"
EPOCH = "1767225600"
AGE = 86400


def progress(message: str) -> None:
    print(f"guests: {message}", file=sys.stderr)


def recipe(image: Image, tools: Path, packages: list[Package]) -> dict[str, object]:
    """What a disk is made of."""
    files = [HERE / name for name in (*image.own, "images.py", Path(__file__).name)]
    files += [tools / name for name in image.tools]
    return {
        "recipe": hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest(),
        "packages": sorted({f"{package.name}={package.version}" for package in packages}),
    }


def copy(source: Path, target: Path) -> None:
    """A file, or a folder with what is in it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy(source, target)


def gather(image: Image, suite: str) -> tuple[dict[str, Path], list[Package]]:
    """What comes from packages, by its place, and all packages that were looked through."""
    archive = Packages(suite, progress)
    found: dict[str, Path] = {}
    used = [linuxsource.package(SOURCES_OF, progress)]
    for name, place in image.as_they_are:
        package = archive.get(name)
        if not (source := package.unpacked() / place).exists():
            raise LabError(f"package {name} of {suite} has no {place}")
        found[place] = source
        used.append(package)
    for name, place in image.programs:
        files, packages = programs.with_libraries(name, place, suite, progress)
        found |= {key.lstrip("/"): source for key, source in files.items()}
        used += packages
    if image.headers:
        found |= headers()
    return found, used


def headers() -> dict[str, Path]:
    """The kernel's headers: what its configuration made, and what all kernels of it share."""
    own = kernels.headers(SOURCES_OF, progress=progress)
    common = next(own.parent.glob("linux-headers-*-common"))
    return {
        f"kernel/{name}/{part}": folder / part
        for name, folder in (("own", own), ("common", common))
        for part in ("include", "arch/arm64/include")
    }


def fill(image: Image, tools: Path, tree: Path, found: dict[str, Path]) -> None:
    """Make the folder that becomes the disk."""
    for name in ("usr/bin", "usr/sbin", "usr/lib", *FOLDERS):
        (tree / name).mkdir(parents=True)
    for name, target in image.links.items():
        (tree / name).symlink_to(target)
    for place, source in found.items():
        copy(source, tree / place)
    for name in image.applets:
        (tree / "usr/bin" / name).symlink_to("busybox")
    source = linuxsource.package(SOURCES_OF, progress)
    linuxsource.unpack(source, tree / "linux", list(image.sources))
    for part, place in image.sources.items():
        (tree / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(tree / "linux" / part, tree / place)
    shutil.rmtree(tree / "linux")
    for name, place in image.own.items():
        copy(HERE / name, tree / place)
        # A script says so itself.
        (tree / place).chmod(0o755 if (tree / place).read_bytes()[:2] == b"#!" else 0o644)
    for name in image.tools:
        copy(tools / name, tree / "usr/bin" / name)
    for place, text in image.texts.items():
        (tree / place).parent.mkdir(parents=True, exist_ok=True)
        (tree / place).write_text(text)
    # A machine without a clock has nothing of the future, which `make` would warn of.
    for path in tree.rglob("*"):
        os.utime(path, (AGE, AGE), follow_symlinks=False)


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


def build(name: str, suite: str, out: Path, tools: Path) -> Path:
    """Bring one disk up to date; the folder that it is in."""
    image = IMAGES[name]
    folder = out / f"{name}-{suite}"
    described = folder / f"{name}.json"
    with paths.locked(f"{name}-{suite}"):
        found, packages = gather(image, suite)
        wanted = recipe(image, tools, packages)
        if described.exists() and json.loads(described.read_text()) == wanted:
            return folder
        progress("making the disk")
        with paths.new_folder(folder) as work:
            tree = work / "tree"
            tree.mkdir()
            fill(image, tools, tree, found)
            make_disk(tree, work / "disk.img")
            shutil.rmtree(tree)
            (work / f"{name}.json").write_text(json.dumps(wanted, indent=1))
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tools", type=Path, default=Path())
    parser.add_argument("image", metavar="IMAGE", choices=sorted(IMAGES))
    parser.add_argument("suite", metavar="SUITE", choices=sorted(kernels.SUITE_OF.values()))
    arguments = parser.parse_args()
    try:
        print(build(arguments.image, arguments.suite, arguments.out, arguments.tools))
    except (LabError, OSError) as error:
        print(f"guests: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
