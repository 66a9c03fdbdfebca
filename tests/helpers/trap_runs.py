# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Trap tests and random sequences on two hypervisors, and what may differ between them.

The trap tests must print the same lines, except those that `data/module_traps.toml` declares with a
reason. The sequences must end the same.
"""

import fnmatch
import importlib.util
import os
import re
import tomllib
from dataclasses import replace

from built import TOP
from guest_runs import Guest, Host, Output

DECLARED = tomllib.loads((TOP / "tests/data/module_traps.toml").read_text())["difference"]
KERNEL = "stable"
FIRST = int(os.environ.get("ARMVISOR_FIRST_SEED", "1"))
TRAPS = Guest("trap", disk=True, exits=True)

_spec = importlib.util.spec_from_file_location("trap_compare", TOP / "guests/trap/compare.py")
compare = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(compare)


# For `max` alone: what is newer than the kernels, too.
ALONG = {"max": {"newest_qemu": True}}


def kvm(cpu: str) -> Host:
    return replace(Host(cpu, KERNEL, count=True), **ALONG.get(cpu, {}))


def sequences(count: int) -> Guest:
    return Guest("random", append=f"seed={FIRST} count={count}", disk=True, exits=True)


def hashes(output: Output) -> dict[int, str]:
    """Each sequence's hash and number of exceptions, by seed."""
    found = re.findall(r"^random (\d+) ([0-9a-f]{16} \d+)$", output.disk, re.MULTILINE)
    return {int(seed): rest for seed, rest in found}


def assert_same_sequences(a: Output, b: Output, count: int):
    """Both have the first `count` sequences, and they are the same."""
    left, right = (
        {seed: rest for seed, rest in hashes(output).items() if seed < FIRST + count}
        for output in (a, b)
    )
    assert len(left) == len(right) == count
    wrong = [seed for seed in left if left[seed] != right[seed]]
    assert not wrong, (
        f"{len(wrong)} of {count} sequences differ, the first are {wrong[:10]}: run the "
        f"guest 'random' with 'seed={wrong[0]} count=1 trace=1' on both"
    )


def patterns() -> list[str]:
    return [pattern for row in DECLARED for pattern in row["lines"]]


def declared_by(name: str) -> list[str]:
    return [pattern for pattern in patterns() if fnmatch.fnmatchcase(name, pattern)]


def undeclared(differences: dict[str, str]) -> list[str]:
    return [text for name, text in differences.items() if not declared_by(name)]


def trap_differences(oracle: Output, ours: Output) -> dict[str, str]:
    """Of the trap tests, by name."""
    result = compare.compare(oracle.disk, ours.disk, strict=True)
    # The tables hold thousands of rows: fewer mean that a run was cut short.
    assert result.same > 2400
    return result.differences


def assert_as_kvm(oracle: dict[str, Output], ours: dict[str, Output], count: int) -> None:
    """The trap tests, and so many sequences."""
    wrong = undeclared(trap_differences(oracle["trap"], ours["trap"]))
    assert not wrong, f"{len(wrong)} tests differ:\n" + "\n".join(wrong[:40])
    assert_same_sequences(oracle["random"], ours["random"], count)
