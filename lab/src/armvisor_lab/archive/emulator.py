# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A QEMU that is newer than the machine's own, for cores that the latter does not have.

It is Debian's package with all that it needs, the C library too, in a folder of the cache. So it
runs on any Linux of a Debian architecture, and changes nothing of the machine. Its version is
recorded and stays until `lab packages update`, as with all packages (packages.py).
"""

import hashlib
from pathlib import Path

from armvisor_lab import paths
from armvisor_lab.archive.apt import host_architecture
from armvisor_lab.archive.packages import Package, Packages, Progress, unpack
from armvisor_lab.errors import LabError

SUITE = "trixie-backports"
PACKAGE = "qemu-system-arm"
PROGRAM = "qemu-system-aarch64"

# The dynamic linker's place in libc6, by Debian's names of architectures.
_LINKERS = {
    "amd64": "usr/lib64/ld-linux-x86-64.so.2",
    "arm64": "usr/lib/ld-linux-aarch64.so.1",
}
# What runs the program with the libraries beside it, and no others.
_SCRIPT = """\
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here/{linker}" --library-path "$here/{libraries}" \\
	--argv0 "$0" "$here/usr/bin/{program}" -L "$here/usr/share/qemu" "$@"
"""


def _packages(progress: Progress) -> tuple[str, list[Package]]:
    """This machine's architecture, and QEMU with all that it needs of that architecture."""
    architecture = host_architecture()
    if architecture not in _LINKERS:
        raise LabError(
            f"no newer QEMU for machines of {architecture}", "use amd64 or arm64, or ARMVISOR_QEMU"
        )
    found = Packages(SUITE, progress).closure(f"{PACKAGE}:{architecture}")
    return architecture, [each for each in found if each.architecture in (architecture, "all")]


def _script(folder: Path, linker: str) -> str:
    """The text of the program that runs QEMU in `folder`."""
    (library,) = (folder / "usr/lib").glob("*/libc.so.6")
    libraries = library.parent.relative_to(folder)
    return _SCRIPT.format(linker=linker, libraries=libraries, program=PROGRAM)


def newest(progress: Progress = lambda _: None) -> Path:
    """The program, fetched and unpacked on first use."""
    architecture, packages = _packages(progress)
    names = "\n".join(sorted(each.file for each in packages))
    version = next(each.version for each in packages if each.name == PACKAGE)
    digest = hashlib.sha256(f"{_SCRIPT}{names}".encode()).hexdigest()[:12]
    folder = paths.cache() / "emulators" / f"{version.replace(':', '.')}-{digest}"
    program = folder / PROGRAM
    if program.exists():
        return program
    with paths.locked("emulator"):
        if not program.exists():
            progress(f"unpacking {PACKAGE} {version}")
            with paths.new_folder(folder) as work:
                for package in packages:
                    unpack(package.deb, work)
                script = work / PROGRAM
                script.write_text(_script(work, _LINKERS[architecture]))
                script.chmod(0o755)
    return program
