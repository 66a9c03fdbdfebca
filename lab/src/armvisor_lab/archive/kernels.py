# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Stock Debian arm64 kernels, ready for a board: image, modules and headers.

A kernel is named by its role: `oldstable`, `stable` and `newest` are suites of the archive, whose
versions change over time. The version found is recorded (packages.py), so image and headers of a
role are of one version, whenever each was fetched. A recorded version can be used instead of the
role: `6.12`, `6.12.117`.

A kernel's folder in the cache holds `vmlinuz` (as shipped), `Image` (which QEMU loads), `config`,
`modules` and `kernel.json`, which names the packages that it came from.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from armvisor_lab import paths
from armvisor_lab.archive import kimage
from armvisor_lab.archive.apt import host_architecture
from armvisor_lab.archive.packages import Package, Packages, unpack
from armvisor_lab.errors import LabError, MissingError, near, remedy

SUITE_OF = {"oldstable": "bookworm", "stable": "trixie", "newest": "trixie-backports"}
FLAVOURS = ("cloud", "generic", "rt", "16k")
DEFAULT = "stable"

# The packages behind Debian's meta packages of a kernel's image and of its headers.
_PATTERN = {"image": r"^linux-(image|binary|modules|base)-\d", "headers": r"^linux-headers-\d"}
# Part of a headers folder's name: a new number makes new folders instead of mixed ones.
_RECIPE = 2

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Kernel:
    """One kernel, unpacked. `version` is its package's, `release` what uname says."""

    version: str
    flavour: str
    release: str
    folder: Path
    packages: tuple[str, ...]
    role: str = ""

    def __str__(self) -> str:
        return f"{self.role} ({self.version})" if self.role else self.version

    @property
    def vmlinuz(self) -> Path:
        """The kernel file as its package ships it."""
        return self.folder / "vmlinuz"

    @property
    def image(self) -> Path:
        """The raw Image."""
        return self.folder / "Image"

    @property
    def config(self) -> Path:
        """The kernel's configuration."""
        return self.folder / "config"

    @property
    def modules(self) -> Path:
        """The folder that is /lib/modules/RELEASE, `modules.dep` included."""
        return self.folder / "modules"


def _meta(kind: str, flavour: str) -> str:
    names = {"generic": "arm64", "16k": "arm64-16k"}
    return f"linux-{kind}-{names.get(flavour, f'{flavour}-arm64')}"


def recorded(role: str, flavour: str = "cloud") -> str:
    """The version that the cache's record has for a role, or nothing."""
    packages = Packages(SUITE_OF[role])
    for kind, pattern in _PATTERN.items():
        if found := packages.followed(_meta(kind, flavour), pattern):
            return found[0].version
    return ""


def role_of(name: str) -> str:
    """The role that `name` is, or the role whose recorded version it begins."""
    if name in SUITE_OF:
        return name
    versions = {role: recorded(role) or recorded(role, "generic") for role in SUITE_OF}
    if re.match(r"\d+\.\d", name):
        for role, version in versions.items():
            if re.match(rf"{re.escape(name)}(?![\w~])", version):
                return role
    there = (f"{role} ({version or 'not fetched yet'})" for role, version in versions.items())
    words = f"there are {', '.join(there)}"
    if close := near(name, versions):
        words += f": did you mean {close[0]}?"
    raise LabError(f"no kernel {name!r}", words)


def _parts(kind: str, role: str, flavour: str, progress: Progress) -> list[Package]:
    if flavour not in FLAVOURS:
        raise LabError(f"no kernel flavour {flavour!r}", remedy(flavour, FLAVOURS))
    packages = Packages(SUITE_OF[role], progress)
    return packages.follow(_meta(kind, flavour), _PATTERN[kind], recorded(role, flavour))


def get(name: str, flavour: str = "cloud", progress: Progress = lambda _: None) -> Kernel:
    """The kernel of a role, fetched and unpacked on first use, or the one in the folder `name`."""
    if name not in SUITE_OF and Path(name).is_dir():
        return from_folder(Path(name))
    role = role_of(name)
    parts = _parts("image", role, flavour, progress)
    version = parts[0].version
    target = paths.cache() / "kernels" / f"{flavour}-{version.replace(':', '_')}"
    if not target.exists():
        with paths.locked("kernels"):
            if not target.exists():
                progress(f"unpacking the kernel of {role} ({flavour}), {version}")
                with paths.new_folder(target) as work:
                    _build(work, parts, version, flavour)
    fields = json.loads((target / "kernel.json").read_text())
    return Kernel(folder=target, role=role, **fields | {"packages": tuple(fields["packages"])})


def from_folder(folder: Path) -> Kernel:
    """A kernel of one's own: a folder with `Image`, `modules` and perhaps `config`."""
    folder = folder.resolve()
    for name in ("Image", "modules/modules.dep"):
        if not (folder / name).exists():
            raise LabError(
                f"{folder} holds no {name}",
                "a kernel's folder has Image and modules (as /lib/modules/RELEASE, after depmod)",
            )
    release = (folder / "modules").resolve().name
    return Kernel(folder.name, "own", release, folder, ())


def _build(work: Path, parts: list[Package], version: str, flavour: str) -> None:
    tree = work / "tree"
    tree.mkdir()
    for part in parts:
        unpack(part.deb, tree)
    shutil.rmtree(tree / "usr/share", ignore_errors=True)
    found = [path for path in tree.glob("**/lib/modules/*") if path.is_dir()]
    if len(found) != 1:
        raise LabError(f"packages of kernel {version} hold {len(found)} module folders, not one")
    modules, release = found[0], found[0].name
    _depmod(modules.parents[2], release)
    _link(work / "modules", modules)
    _link(work / "vmlinuz", *tree.glob("boot/vmlinuz-*"), *modules.glob("vmlinuz"))
    _link(work / "config", *tree.glob("boot/config-*"), *modules.glob("config"))
    source = (work / "vmlinuz").resolve()
    if kimage.is_image(source.read_bytes()[:64]):
        _link(work / "Image", source)
    else:
        (work / "Image").write_bytes(kimage.raw_image(source.read_bytes(), str(source)))
    names = [f"{part.name}={part.version}" for part in parts]
    fields = {"version": version, "flavour": flavour, "release": release, "packages": names}
    (work / "kernel.json").write_text(json.dumps(fields, indent=1))


def _link(name: Path, *targets: Path) -> None:
    if not targets:
        raise LabError(f"the kernel's packages hold no {name.name}")
    name.symlink_to(os.path.relpath(targets[0], name.parent))


def _depmod(root: Path, release: str) -> None:
    """Write modules.dep; `root` is the folder that has lib/modules."""
    search = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    if not (depmod := shutil.which("depmod", path=search)):
        raise LabError("depmod is missing", "run tools/setup")
    done = subprocess.run(
        [depmod, "-b", str(root), release], capture_output=True, text=True, check=False
    )
    if done.returncode != 0 or not (root / "lib/modules" / release / "modules.dep").exists():
        raise LabError(f"depmod failed for {release}: {done.stderr.strip()[-400:]}")


def headers(name: str, flavour: str = "cloud", progress: Progress = lambda _: None) -> Path:
    """The kernel's build folder: `make -C` it with M= to build a module for it."""
    role = role_of(name)
    packages = Packages(SUITE_OF[role], progress)
    parts = _parts("headers", role, flavour, progress)
    main = next(part for part in parts if "-common" not in part.name)
    stem = f"{flavour}-{main.version.replace(':', '_')}-{_RECIPE}"
    target = paths.cache() / "headers" / stem
    if not target.exists():
        # Not requested again once they are unpacked: there is no record for what the archive lacks.
        tools = [_kbuild(packages, main, progress), packages.get(f"libc6:{host_architecture()}")]
        with paths.locked("kernels"):
            if not target.exists():
                progress(f"unpacking the headers of {role} ({flavour}), {main.version}")
                _build_headers(target, parts, tools)
    return target / "usr/src" / main.name


def _kbuild(packages: Packages, main: Package, progress: Progress) -> Package:
    """The build tools of the headers, which run here: this machine's architecture.

    The archive keeps kernels of a series side by side, but one version of their tools, which are
    those of the whole series.
    """
    fields = subprocess.run(
        ["dpkg-deb", "-f", str(main.deb), "Depends"], capture_output=True, text=True, check=True
    )
    match = re.search(r"linux-kbuild-[^\s,]+", fields.stdout)
    if not match:
        raise LabError(f"{main.name} names no linux-kbuild package")
    name = f"{match[0]}:{host_architecture()}"
    try:
        return packages.get(f"{name}={main.version}")
    except MissingError:
        found = packages.get(name)
        progress(
            f"{found.name} {main.version} is not in the archive any more: taking {found.version}"
        )
        return found


def _build_headers(target: Path, parts: list[Package], tools: list[Package]) -> None:
    kbuild, libc = tools
    with paths.new_folder(target) as work:
        for part in [*parts, kbuild]:
            unpack(part.deb, work)
        unpack(libc.deb, work / "libc")
        _use_libc(work, target)
        shutil.rmtree(work / "usr/share", ignore_errors=True)
        # The packages expect to be installed at /usr/src and /usr/lib: point them here.
        prefix = str(target / "usr")
        for makefile in work.glob("usr/src/*/Makefile"):
            text = makefile.read_text()
            makefile.write_text(re.sub(r"(?<![\w.])/usr(?=/src/linux-headers-)", prefix, text))


def _use_libc(work: Path, target: Path) -> None:
    """Run the build tools with their own suite's C library: this machine's may be older.

    `work` is where the files are now, `target` where they will be. Each program steps aside for
    a script that starts it through the loader it was built for.
    """
    loader = next((work / "libc").glob("**/ld-linux-*.so.*")).relative_to(work)
    for program in list(work.glob("usr/lib/linux-kbuild-*/scripts/**/*")):
        if program.is_symlink() or not program.is_file():
            continue
        with program.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        real = program.parent / "elf" / program.name
        real.parent.mkdir(exist_ok=True)
        program.rename(real)
        library = target / loader.parent
        program.write_text(
            "#!/bin/sh\n"
            # By the script's name, from which modpost makes that of the program it starts.
            f'exec "{target / loader}" --library-path "{library}" --argv0 "$0" '
            f'"{target / real.relative_to(work)}" "$@"\n'
        )
        program.chmod(0o755)
