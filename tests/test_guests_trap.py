# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Trap tests and random sequences: what a guest sees of exceptions must not hang on who runs it.

KVM without VHE (cortex-a72) and with it (cortex-a76) are compared with each other. Any other host
is compared with one of them by the same two functions.
"""

import importlib.util
import re
from functools import cache
from pathlib import Path

import pytest
from guest_runs import Guest, Host, Output, run_guests

TOP = Path(__file__).resolve().parents[1]
SEQUENCES = 10_000
TRAP = Guest("trap", disk=True)
RANDOM = Guest("random", append=f"count={SEQUENCES}", disk=True)

_spec = importlib.util.spec_from_file_location("trap_compare", TOP / "guests/trap/compare.py")
compare = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(compare)


@cache
def outputs_of(host: Host) -> dict[str, Output]:
    """Both programs on one board; a host that several tests want is run once."""
    return run_guests(host, [TRAP, RANDOM], timeout=900)


def hashes(output: Output) -> dict[int, str]:
    """Each sequence's hash and number of exceptions, by seed."""
    found = re.findall(r"^random (\d+) ([0-9a-f]{16} \d+)$", output.disk, re.MULTILINE)
    return {int(seed): rest for seed, rest in found}


def assert_same_traps(a: Output, b: Output):
    result = compare.compare(a.disk, b.disk)
    assert not result.differences, "\n".join(result.differences[:40])
    # The tables hold thousands of rows: fewer mean that a run was cut short.
    assert result.same > 2000


def assert_same_sequences(a: Output, b: Output):
    left, right = hashes(a), hashes(b)
    assert len(left) == len(right) == SEQUENCES
    wrong = [seed for seed in left if left[seed] != right[seed]]
    assert not wrong, (
        f"{len(wrong)} of {SEQUENCES} sequences differ, the first are {wrong[:10]}: run the "
        f"guest 'random' with 'seed={wrong[0]} count=1 trace=1' on both"
    )


def test_kvm_with_and_without_vhe_trap_alike():
    plain, vhe = outputs_of(Host("cortex-a72")), outputs_of(Host("cortex-a76"))
    assert_same_traps(plain["trap"], vhe["trap"])
    assert_same_sequences(plain["random"], vhe["random"])


def test_a_seed_runs_alone_as_among_others():
    """What a failing seed prints can be looked into: alone it does the same, in every detail."""
    seeds = [7, 1234, SEQUENCES]
    guests = [
        Guest("random", append=f"seed={seed} count=1 trace=1", disk=True, name=f"seed-{seed}")
        for seed in seeds
    ]
    alone = run_guests(Host("cortex-a72"), guests)
    among = hashes(outputs_of(Host("cortex-a72"))["random"])
    for seed in seeds:
        output = alone[f"seed-{seed}"]
        assert hashes(output) == {seed: among[seed]}
        events = output.disk.count("\nevent ")
        assert events == int(among[seed].split()[1]) + 1
        assert "\nmemory=" in output.disk and f"trace {seed} " in output.disk


# ---- the comparison itself ------------------------------------------------------------------


def test_comparison_finds_what_differs():
    same = "id midr_el1 1\ntrap a el1h: end spsr=3c5\ntrap b?pan=1 el1h: end\n"
    other_feature = "id midr_el1 2\ntrap a el1h: end spsr=3c5\ntrap b?pan=0 el1h: sync.el1h\n"
    result = compare.compare(same, other_feature)
    assert (result.same, result.left_out, result.differences) == (1, 2, [])

    changed = same.replace("3c5", "3c4")
    assert compare.compare(same, changed).differences == ["a el1h:\n  end spsr=3c5\n  end spsr=3c4"]
    assert compare.compare(same, "trap b?pan=1 el1h: end").differences == [
        "a el1h: only in the first"
    ]
    assert compare.compare("", same).differences
    with pytest.raises(ValueError, match="twice"):
        compare.parse(same + same)
