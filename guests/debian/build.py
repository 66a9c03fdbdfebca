#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Build the Debian test guest: a stock kernel, and an initramfs of Debian's busybox, that
kernel's own modules, the project's tools and the init beside this file.

    build.py --out FOLDER --tools FOLDER [--flavour cloud|generic] KERNEL…

writes FOLDER/debian-KERNEL/{vmlinuz,Image,initrd,guest.json}, where KERNEL is a role as the lab
names them (stable, newest); with the generic flavour the folder is debian-KERNEL-generic. A folder with a kernel of one's own gives
debian-own, without vmlinuz. The same inputs give the same bytes.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from armvisor_lab import paths
from armvisor_lab.archive import kernels
from armvisor_lab.archive.kernels import Kernel
from armvisor_lab.archive.kmodules import Modules, canonical, plain
from armvisor_lab.archive.packages import Package, Packages
from armvisor_lab.boards.cpio import Cpio
from armvisor_lab.errors import LabError

BUSYBOX_SUITE = "trixie"

# What init loads, by the name that it asks for. A kernel may have some of them built in.
MODULES = (
    "virtio_mmio",
    "virtio_pci",
    "virtio_blk",
    "virtio_net",
    "vmw_vsock_virtio_transport",
    "virtio_rng",
    "virtio_balloon",
    "virtio_input",
    "evdev",
    "ext4",
)
# What Debian's cloud flavour leaves out.
GENERIC_MODULES = ("9pnet_virtio", "9p")

APPLETS = (
    "cat", "chroot", "cut", "dd", "dmesg", "grep", "insmod", "ip", "mkdir", "mke2fs", "mount", "od", "ping",
    "poweroff", "reboot", "rm", "rmmod", "seq", "setsid", "sh", "sha256sum", "sleep", "sync",
    "taskset", "tr", "true", "umount", "usleep", "wc",
)  # fmt: skip
TOOLS = ("cntvct", "code", "io", "lat", "stream", "forks", "reach")


def progress(message: str) -> None:
    print(f"guests: {message}", file=sys.stderr)


def add_busybox(cpio: Cpio) -> Package:
    """The shell and the commands that init uses."""
    package = Packages(BUSYBOX_SUITE, progress).get("busybox-static")
    busybox = next(path for path in package.unpacked().glob("**/bin/busybox") if path.is_file())
    cpio.file("bin/busybox", busybox.read_bytes(), 0o755)
    for name in APPLETS:
        cpio.symlink(f"bin/{name}", "busybox")
    return package


def add_modules(cpio: Cpio, kernel: Kernel, names: Sequence[str]) -> None:
    """Each module once, and for each name a list of what to load, in order."""
    known = Modules(kernel.modules)
    files: dict[str, bytes] = {}
    for name in names:
        order = known.load_order([name])
        for path in order:
            files.setdefault(canonical(path.name), plain(path))
        lines = "".join(f"{canonical(path.name)}\n" for path in order)
        cpio.file(f"modules/{name}", lines.encode())
    for name, data in sorted(files.items()):
        cpio.file(f"modules/{name}.ko", data)


def build_initrd(kernel: Kernel, tools: Path) -> tuple[bytes, list[str]]:
    """The initramfs, and the packages that it is made of."""
    cpio = Cpio()
    for name in ("dev", "proc", "sys", "tmp"):
        cpio.folder(name)
    # The kernel opens it for init before devtmpfs is mounted.
    cpio.device("dev/console", 0o020000, 5, 1)
    cpio.file("init", Path(__file__).with_name("init").read_bytes(), 0o755)
    busybox = add_busybox(cpio)
    for tool in TOOLS:
        cpio.file(f"bin/{tool}", (tools / tool).read_bytes(), 0o755)
    has_all = kernel.flavour != "cloud" and kernel.role in kernels.SUITE_OF
    names = MODULES + GENERIC_MODULES if has_all else MODULES
    add_modules(cpio, kernel, names)
    return cpio.finish(), [f"{busybox.name}={busybox.version}", *kernel.packages]


def build(name: str, flavour: str, out: Path, tools: Path) -> Path:
    """Write one guest; the folder that it is in."""
    known = name if Path(name).is_dir() else kernels.role_of(name)
    kernel = kernels.get(known, flavour, progress)
    initrd, packages = build_initrd(kernel, tools)
    folder = out / (f"debian-{kernel.role or 'own'}" + ("" if flavour == "cloud" else f"-{flavour}"))
    paths.write_atomically(folder / "initrd", initrd)
    if kernel.vmlinuz.exists():
        paths.write_atomically(folder / "vmlinuz", kernel.vmlinuz.read_bytes())
    paths.write_atomically(folder / "Image", kernel.image.read_bytes())
    fields = {
        "role": kernel.role,
        "version": kernel.version,
        "flavour": flavour,
        "release": kernel.release,
        "packages": packages,
        "initrd_sha256": hashlib.sha256(initrd).hexdigest(),
    }
    paths.write_atomically(folder / "guest.json", json.dumps(fields, indent=1).encode())
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tools", type=Path, required=True)
    parser.add_argument("--flavour", choices=kernels.FLAVOURS, default="cloud")
    parser.add_argument("kernels", nargs="+", metavar="KERNEL")
    arguments = parser.parse_args()
    try:
        for name in arguments.kernels:
            folder = build(name, arguments.flavour, arguments.out, arguments.tools)
            print(folder)
    except (LabError, OSError) as error:
        print(f"guests: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
