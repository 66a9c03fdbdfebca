# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Dynamically linked Debian arm64 programs for boards: the program and the libraries that it loads.

Whole packages would fill a board's memory. A program needs its loader and the libraries that it
names, and those that they name; these are picked from the packages it depends on.
"""

import re
import subprocess
from pathlib import Path

from armvisor_lab.archive.packages import Package, Packages, Progress
from armvisor_lab.errors import LabError

_LIBRARIES = "usr/lib/aarch64-linux-gnu"
_LOADER = "ld-linux-aarch64.so.1"


def needed(file: Path) -> list[str]:
    """The libraries that an ELF file names."""
    done = subprocess.run(
        ["aarch64-linux-gnu-readelf", "-d", str(file)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise LabError(f"{file} cannot be read: {done.stderr.strip()}", "run tools/setup")
    return re.findall(r"\(NEEDED\)\s+Shared library: \[(.+)\]", done.stdout)


def _libraries(folders: list[Path]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in folders:
        for pattern in ("lib*.so*", "ld-linux-*"):
            for inside in (_LIBRARIES, _LIBRARIES.removeprefix("usr/"), "usr/lib", "lib"):
                for file in (folder / inside).glob(pattern):
                    found.setdefault(file.name, file)
    # The folder in which a package keeps libraries for its own programs, which name it (RUNPATH).
    for folder in folders:
        for file in (folder / _LIBRARIES).glob("*/lib*.so*"):
            found.setdefault(file.name, file)
    return found


def with_libraries(
    package: str, path: str, suite: str, progress: Progress = lambda _: None
) -> tuple[dict[str, Path], list[Package]]:
    """The files, by their place in a board, of the program `path` of `package`.

    The second value is the packages that were looked through, for a figure's provenance.
    """
    packages = Packages(suite, progress).closure(package)
    folders = [each.unpacked() for each in packages]
    program = next((folder / path for folder in folders if (folder / path).is_file()), None)
    if program is None:
        raise LabError(f"package {package} of {suite} has no {path}")
    libraries = _libraries(folders)
    files = {f"/{path}": program, f"/lib/{_LOADER}": libraries[_LOADER].resolve()}
    queue, seen = list(needed(program)), {_LOADER}
    while queue:
        name = queue.pop()
        if name in seen:
            continue
        seen.add(name)
        if name not in libraries:
            raise LabError(f"{path} needs {name}, which none of its packages has")
        # Followed: the requested name must lead to the file itself.
        target = libraries[name].resolve()
        files[f"/{_LIBRARIES}/{name}"] = target
        queue += needed(target)
    return files, packages
