# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Linux's KVM selftests, built unmodified from Debian's linux-source.

All tests that their own Makefile lists for arm64 are built, statically, so that a board needs no
library:

    CACHE/selftests/SERIES-HASH/programs/{arm64/psci_test,dirty_log_test,…}

SERIES is as in `linux-source-6.12`; HASH covers the package's version and the recipe below.
"""

import hashlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from armvisor_lab import paths
from armvisor_lab.archive import linuxsource
from armvisor_lab.archive.packages import Package
from armvisor_lab.errors import LabError

Progress = Callable[[str], None]

_PARTS = ("Makefile", "scripts", "include", "arch/arm64", "tools", "usr")
_TESTS = "tools/testing/selftests/kvm"
# Part of a folder's name: a new number here makes new folders.
_RECIPE = 1


def get(role: str, progress: Progress = lambda _: None) -> Path:
    """The folder of the programs of a role's kernel, built on first use."""
    source = linuxsource.package(role, progress)
    stamp = hashlib.sha256(f"{source.version} {_RECIPE}".encode()).hexdigest()[:12]
    target = paths.cache() / "selftests" / f"{linuxsource.series(role)}-{stamp}"
    if not target.exists():
        with paths.locked("selftests"):
            if not target.exists():
                with paths.new_folder(target) as work:
                    _make(source, work, progress)
    return target / "programs"


def names(programs: Path) -> list[str]:
    """The tests in a folder that `get` gave, in order."""
    return sorted(str(p.relative_to(programs)) for p in programs.rglob("*") if p.is_file())


def _make(source: Package, work: Path, progress: Progress) -> None:
    progress(f"building the KVM selftests of {source.name}, {source.version}")
    tree, built = work / "tree", work / "built"
    linuxsource.unpack(source, tree, _PARTS)
    _run("make", "-s", "-C", str(tree), *linuxsource.CROSS, "headers")
    tests = ["make", "-s", "-C", str(tree / _TESTS), *linuxsource.CROSS, f"OUTPUT={built}"]
    _run(*tests, "LDFLAGS=-static", f"-j{os.cpu_count() or 1}")
    listed = _run(*tests, "--eval=list-them: ; @echo $(TEST_GEN_PROGS)", "list-them").split()
    if not listed:
        raise LabError(f"the selftests of {source.name} list nothing for arm64")
    for name in listed:
        program = Path(name)
        kept = work / "programs" / program.relative_to(built)
        kept.parent.mkdir(parents=True, exist_ok=True)
        _run("aarch64-linux-gnu-strip", "-o", str(kept), str(program))
    _run("rm", "-rf", str(tree), str(built))


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-2000:]
        raise LabError(f"{' '.join(command[:4])} … failed: {said}")
    return done.stdout
