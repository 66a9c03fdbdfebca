# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The module is built for Debian's other kernels, too, which export all that it calls.

Boards run the `cloud` kernels in most tests; test_module_load.py has the kernels that are refused.
"""

import subprocess

import pytest
from built import TOP, module

from armvisor_lab.archive import kernels

# Debian has no kernel with 16 KiB pages in oldstable.
KERNELS = [
    ("oldstable", "generic"),
    ("oldstable", "rt"),
    ("stable", "generic"),
    ("stable", "rt"),
    ("newest", "generic"),
    ("newest", "rt"),
]


@pytest.mark.conformance
@pytest.mark.parametrize(("kernel", "flavour"), KERNELS)
def test_it_is_built_and_all_that_it_calls_is_exported(kernel: str, flavour: str):
    built = module(kernel, flavour)
    words = [str(TOP / "module/check-symbols.sh"), str(built)]
    words += [str(kernels.headers(kernel, flavour)), str(TOP / "module/host-symbols")]
    env = {"CROSS_COMPILE": "aarch64-linux-gnu-", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "and exported by" in done.stdout
