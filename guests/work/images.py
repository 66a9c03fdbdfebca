# SPDX-License-Identifier: GPL-2.0
"""What is on the disks of programs: rows of Debian's packages and of places in them.

`work` keeps a VM's CPUs busy, `apps` has the applications of the figures `app.*`, both ends of
those that have two. A program comes with the libraries that it needs.
"""

from dataclasses import dataclass, field

GCC = "usr/lib/gcc/aarch64-linux-gnu/14"
LIBRARIES = "usr/lib/aarch64-linux-gnu"


@dataclass(frozen=True)
class Image:
    """A disk: of what packages, and of what of the project's."""

    programs: tuple[tuple[str, str], ...]
    # Files and folders as they are.
    as_they_are: tuple[tuple[str, str], ...]
    applets: tuple[str, ...]
    # Files beside build.py, and where they go.
    own: dict[str, str]
    links: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    # Of the project's tools.
    tools: tuple[str, ...] = ()
    # Of the kernel's sources, and where they go.
    sources: dict[str, str] = field(default_factory=dict)
    # Whether the kernel's headers are in `kernel`, as they are to be built modules with.
    headers: bool = False


_COMPILER = (
    ("make", "usr/bin/make"),
    ("gcc-14-aarch64-linux-gnu", "usr/bin/aarch64-linux-gnu-gcc-14"),
    ("gcc-14-aarch64-linux-gnu", "usr/libexec/gcc/aarch64-linux-gnu/14/collect2"),
    ("gcc-14-aarch64-linux-gnu", "usr/libexec/gcc/aarch64-linux-gnu/14/liblto_plugin.so"),
    ("cpp-14-aarch64-linux-gnu", "usr/libexec/gcc/aarch64-linux-gnu/14/cc1"),
    ("binutils-aarch64-linux-gnu", "usr/bin/aarch64-linux-gnu-as"),
    ("binutils-aarch64-linux-gnu", "usr/bin/aarch64-linux-gnu-ld.bfd"),
)
_LINKS = {
    "bin": "usr/bin",
    "lib": "usr/lib",
    "usr/bin/cc": "aarch64-linux-gnu-gcc-14",
    "usr/bin/as": "aarch64-linux-gnu-as",
    "usr/bin/ld": "aarch64-linux-gnu-ld.bfd",
}

WORK = Image(
    programs=(("stress-ng", "usr/bin/stress-ng"), ("rt-tests", "usr/bin/hackbench"), *_COMPILER),
    # Nothing is optimised at link time, nor sanitised.
    as_they_are=(
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
    ),
    applets=("awk", "cat", "cut", "grep", "mkdir", "rm", "sh", "sha256sum"),
    links=_LINKS,
    own={"work": "work", "objects.mk": "src/Makefile"},
    # Programs of the kernel's that need no header of the kernel's.
    sources={"scripts/dtc": "src"},
)

# Objects of the kernel's that need nothing that is generated but its headers.
_OBJECTS = ("crc8", "hweight", "list_sort", "llist", "rbtree", "sort")

APPS = Image(
    programs=(
        ("rt-tests", "usr/bin/hackbench"),
        ("fio", "usr/bin/fio"),
        ("e2fsprogs", "usr/sbin/mke2fs"),
        ("sqlite3", "usr/bin/sqlite3"),
        ("netperf", "usr/bin/netperf"),
        ("netperf", "usr/bin/netserver"),
        ("iperf3", "usr/bin/iperf3"),
        ("nginx", "usr/sbin/nginx"),
        ("apache2-utils", "usr/bin/ab"),
        ("memcached", "usr/bin/memcached"),
        ("libmemcached-tools", "usr/bin/memcslap"),
        # The server by the name of one of its tools.
        ("redis-tools", "usr/bin/redis-check-rdb"),
        ("redis-tools", "usr/bin/redis-benchmark"),
        ("redis-tools", "usr/bin/redis-cli"),
        *_COMPILER,
    ),
    as_they_are=(
        ("busybox-static", "usr/bin/busybox"),
        ("libgcc-14-dev", f"{GCC}/include"),
    ),
    applets=(
        "awk", "cat", "find", "grep", "head", "kill", "mkdir", "mount", "nc", "printf", "rm", "seq",
        "sh", "sha256sum", "sleep", "sync", "tr", "umount", "usleep", "wc", "xargs",
    ),
    links=_LINKS | {"sbin": "usr/sbin", "usr/bin/redis-server": "redis-check-rdb"},
    own={
        "apps": "apps", "apps.fio": "etc/apps.fio", "apps.nginx": "etc/nginx.conf",
        "kernel.mk": "kernel/Makefile",
    },
    texts={"etc/passwd": "root:x:0:0:root:/:/bin/sh\n", "etc/group": "root:x:0:\n"},
    tools=("count-run",),
    sources={f"lib/{name}.c": f"kernel/lib/{name}.c" for name in _OBJECTS},
    headers=True,
)  # fmt: skip

IMAGES = {"work": WORK, "apps": APPS}
