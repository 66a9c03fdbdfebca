# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A folder's Makefile, called as the top Makefile calls it, makes everything that other folders
use.

Files for a board contain no path of this machine: they are in the board's memory, where one more
byte moves everything behind it, and so changes counts.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
from built import HANGS, TOP, bounce, module

from armvisor_lab import paths
from armvisor_lab.figures import artefacts

# By folder: names of products, all of which a build from scratch must make.
PRODUCTS = {
    "guests": [
        *(f"/bare/{name}.img" for name in ("hello", "hypercall", "mmio", "memory", "timer", "smp")),
        *(f"/bare/{name}.img" for name in ("trap", "random", "hostile")),
        *(f"/tools/{name}" for name in ("cntvct", "count-run", "tap", "stream", "lat", "reach")),
        *(f"--tools {{out}}/tools {role}" for role in ("oldstable", "stable", "newest")),
    ],
    "lab/plugins": ["/count.so"],
    "module/tests/kvm": [f"/{name}" for name in ("bounds", "conform", "hostile", "fuzz_api")],
}


@pytest.mark.parametrize("folder", PRODUCTS)
def test_plain_make_makes_every_product(folder: str, tmp_path: Path):
    done = subprocess.run(
        ["make", "-n", "V=1", "-C", folder, f"out={tmp_path}"],
        cwd=TOP, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    missing = [name for name in PRODUCTS[folder] if name.format(out=tmp_path) not in done.stdout]
    assert not missing, done.stdout


def test_guests_are_made_by_several_at_once(tmp_path: Path):
    """Parallel tests each call make: none finds a file that another one has just removed."""
    file = tmp_path / "debian-stable/version"
    command = ["make", "-s", "-C", "guests", f"out={tmp_path}", str(file)]
    for before in ("", "an older one\n"):
        if before:
            file.write_text(before)
        makes = [
            subprocess.Popen(command, cwd=TOP, stderr=subprocess.PIPE, text=True) for _ in range(6)
        ]
        said = [make.communicate(timeout=HANGS)[1] for make in makes]
        assert [make.returncode for make in makes] == [0] * 6, said
        assert re.match(r"\d+\.\d+", file.read_text())
    assert [found.name for found in file.parent.iterdir()] == ["version"]


def test_a_part_that_the_module_does_not_have(tmp_path: Path):
    """A misspelt part would be measured as the whole module."""
    done = subprocess.run(
        ["make", "-n", "-C", "module", "KDIR=/none", f"OUT={tmp_path}", "WITHOUT=swept nears"],
        cwd=TOP, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "no such part: nears (lib/parts.h)" in done.stderr


@pytest.mark.parametrize("kernel", ["oldstable", "stable", "newest"])
def test_modules_do_not_tell_where_they_were_made(kernel: str):
    # Newer kernels are built with checks that name the header of an inline function, in a path that
    # GCC does not map.
    headers = [] if kernel == "newest" else [paths.cache() / "headers"]
    for file in (module(kernel), bounce(kernel)):
        assert_nowhere(file, *(TOP / name for name in ("build/module", "build/bounce")), *headers)


def test_programs_do_not_tell_where_they_were_made():
    cargo = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    assert_nowhere(artefacts.vmm(), cargo / "registry", TOP / "vmm")
    for name in ("lat", "count-run"):
        assert_nowhere(artefacts.tool(name), TOP / "guests", TOP / "build")


def assert_nowhere(file: Path, *folders: Path) -> None:
    """No path within these folders is in it."""
    content = file.read_bytes()
    assert not [str(at) for at in folders if bytes(at) + b"/" in content]
