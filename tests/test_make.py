# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A folder's Makefile, called as the front door calls it, makes all of what the others use."""

import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[1]

# By folder: names of products, of which a run from nothing must make each.
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
