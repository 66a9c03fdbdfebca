# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Kernels that check themselves, built from Debian's linux-source with a fragment of `lab/kernel/`.

`debug.config` is for boards: KASAN, lockdep with PROVE_RCU, kmemleak, object debugging.
`debug-guest.config`, for guests, has the drivers of their devices, too. `self-test.config` is for a
guest that runs the kernel's self-tests when it boots. The result is a kernel folder as
`kernels.from_folder` reads it, with the tree to build modules against beside it:

    CACHE/debug-kernels/SERIES-HASH/{Image,modules/,config,build/}

SERIES is as in `linux-source-6.12`. HASH covers the fragments, so a changed one gives a new kernel.
Building takes about a quarter of an hour on two cores.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from armvisor_lab import paths
from armvisor_lab.archive import kernels, linuxsource
from armvisor_lab.errors import LabError, remedy

ROLES = ("oldstable", "stable")
# The fragments of each kind of kernel, in the order in which they are merged.
KINDS = {
    "board": ("board.config", "debug.config"),
    "guest": ("board.config", "debug.config", "debug-guest.config"),
    "self-test": ("self-test.config",),
    "phone": ("board.config", "guest.config", "phone.config"),
    "distribution": ("board.config", "guest.config", "distribution.config"),
}
# Kinds that clang builds, as phones' kernels are, with what `make` takes for that: CFI needs it.
CLANG = "clang-19"
BY_CLANG = {"phone": ("LLVM=-19",)}

Progress = Callable[[str], None]


def fragment_of(kind: str) -> str:
    """The options of a kind of kernel, as one fragment."""
    folder = paths.checkout() / "lab/kernel"
    return "".join((folder / name).read_text() for name in KINDS[kind])


def get(
    role: str = kernels.DEFAULT, progress: Progress = lambda _: None, kind: str = "board"
) -> Path:
    """The folder of a role's kernel with checkers, of one of `KINDS`, built on first use."""
    if role not in ROLES:
        raise LabError(f"no debug kernel {role!r}", remedy(role, ROLES))
    if compiler(kind) and not shutil.which(CLANG):
        raise LabError(f"{CLANG} is not installed, which builds this kernel", "tools/setup clang")
    fragment = fragment_of(kind)
    source = linuxsource.package(role, progress)
    stamp = hashlib.sha256(fragment.encode() + source.version.encode()).hexdigest()[:12]
    target = paths.cache() / "debug-kernels" / f"{linuxsource.series(role)}-{stamp}"
    if not target.exists():
        with paths.locked("debug-kernel"):
            if not target.exists():
                with paths.new_folder(target) as work:
                    progress(f"unpacking {source.name}")
                    linuxsource.unpack(source, work / "build")
                    _configure(work / "build", fragment, kind)
                    _build(work / "build", kind, progress)
                    _install(work, target, kind)
    return target


def compiler(kind: str) -> tuple[str, ...]:
    """What `make` takes to build a kernel of this kind, or a module for it, by its compiler."""
    return BY_CLANG.get(kind, ())


def _make(build: Path, *words: str) -> None:
    command = ["make", "-s", "-C", str(build), f"-j{os.cpu_count() or 1}", *words]
    command += linuxsource.CROSS
    environment = os.environ | {"KBUILD_BUILD_USER": "lab", "KBUILD_BUILD_HOST": "debug"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"{' '.join(command)} failed: {done.stderr.strip()[-2000:]}")


def options(fragment: str) -> list[str]:
    """The options that a fragment sets, without those that it unsets later (`# … is not set`)."""
    wanted: dict[str, str] = {}
    for line in fragment.splitlines():
        if line.startswith("CONFIG_"):
            wanted[line.partition("=")[0]] = line
        elif line.startswith("# CONFIG_") and line.endswith(" is not set"):
            wanted.pop(line.split()[1], None)
    return list(wanted.values())


def _configure(build: Path, fragment: str, kind: str) -> None:
    """Configure allnoconfig with the fragment merged; an option that did not take is an error."""
    wanted = options(fragment)
    merged = build / "armvisor-debug.config"
    merged.write_text(fragment)
    _make(build, f"KCONFIG_ALLCONFIG={merged}", "allnoconfig", *compiler(kind))
    have = set((build / ".config").read_text().splitlines())
    if missing := [line for line in wanted if line not in have]:
        raise LabError(
            f"the kernel does not take {', '.join(missing)}",
            f"mend lab/kernel/{' or '.join(KINDS[kind])}",
        )


def _build(build: Path, kind: str, progress: Progress) -> None:
    progress(f"building a kernel with checkers in {build.parent} (about a quarter of an hour)")
    _make(build, "Image", "modules", *compiler(kind))


def _install(work: Path, target: Path, kind: str) -> None:
    build = work / "build"
    _make(build, f"INSTALL_MOD_PATH={work}", "modules_install", *compiler(kind))
    modules = next((work / "lib/modules").iterdir())
    for name in ("build", "source"):
        (modules / name).unlink(missing_ok=True)
        (modules / name).symlink_to(target / "build")
    (work / "modules").symlink_to(modules.relative_to(work))
    shutil.copy2(build / "arch/arm64/boot/Image", work / "Image")
    shutil.copy2(build / ".config", work / "config")
