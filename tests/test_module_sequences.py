# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""KVM's API in any order: random sequences of calls have the same answers on the module as on KVM.

`module/tests/kvm/sequence` generates calls of VMs, vCPUs and the vGIC, and guest programs that use
the vGIC's registers as no real guest does: states, priorities, preemption, both EOI modes, both
groups, and all of it carried over to a new VM in between. A seed gives the same sequence on every
host. A failure names its seeds: `sequence SEED 1` on a board makes those calls again, and
`ARMVISOR_SEQUENCE_FIRST` sets the first seed of this test.
"""

import gzip
import os
import re
from collections import Counter

import pytest
from answers import answers
from built import TOP, make
from built import module as built_module

from armvisor_lab.boards.board import Board

KERNEL = "stable"
FIRST = int(os.environ.get("ARMVISOR_SEQUENCE_FIRST", "1"))
SEEDS = 80
# A conformance run: so many more, in runs of a size that a board's output stays handy.
RUNS = [pytest.param(n, marks=pytest.mark.conformance) for n in range(1, 4)]
SEEDS_A_RUN = 1000
# At most so many seeds give a thousand lines of answers.
SEEDS_A_THOUSAND_LINES = 20


def lines_of(first: int, seeds: int, el2: bool) -> dict[str, str]:
    """The answers of KVM, or of the module, by name."""
    files = {"/program": TOP / "build/module/kvm/sequence"}
    # Megabytes of text: compressed, they are read before the board powers off.
    script = f"/program {first} {seeds} >/tmp/lines && gzip -c /tmp/lines"
    if not el2:
        files["/armvisor.ko"] = built_module(KERNEL)
        script = f"insmod /armvisor.ko && {script} && rmmod armvisor"
    board = Board(el2=el2, kernel=KERNEL, paced=True, files=files, timeout=1800)
    text = gzip.decompress(board.run(["sh", "-c", script]).check().stdout).decode()
    assert text.endswith("done\n"), text[-1000:]
    return answers(text)


def differences(kvm: dict[str, str], ours: dict[str, str]) -> list[str]:
    """The first difference of each seed: later ones follow from it."""
    found: dict[str, str] = {}
    for name in dict.fromkeys([*kvm, *ours]):
        if kvm.get(name) != ours.get(name):
            seed = name.partition(".")[0]
            found.setdefault(seed, f"{name}: KVM {kvm.get(name)}, module {ours.get(name)}")
    return list(found.values())


def assert_did_something(lines: dict[str, str]):
    """Each call was made, and most succeeded at times; interrupts were acknowledged."""
    tried: Counter[str] = Counter()
    done: Counter[str] = Counter()
    for name, answer in lines.items():
        call = name.split(".")[2]
        tried[call] += 1
        done[call] += re.match(r"E[A-Z]", answer) is None
    assert len(tried) > 25, tried
    never = [call for call in tried if not done[call]]
    assert len(never) <= 4, f"never done: {never}"
    acknowledged = {
        answer for name, answer in lines.items() if re.search(r"\.program\.\d+\.kind_(9|10)_", name)
    }
    assert len(acknowledged - {"0x3ff"}) > 5, acknowledged


@pytest.mark.parametrize("run", [0, *RUNS])
def test_sequences(run: int):
    make(str(TOP / "module/tests/kvm"))
    first = FIRST + (SEEDS + (run - 1) * SEEDS_A_RUN if run else 0)
    seeds = SEEDS_A_RUN if run else SEEDS
    kvm = lines_of(first, seeds, el2=True)
    ours = lines_of(first, seeds, el2=False)
    assert len(kvm) > seeds * 1000 / SEEDS_A_THOUSAND_LINES, f"seeds {first} to {first + seeds - 1}"
    assert_did_something(kvm)
    wrong = differences(kvm, ours)
    assert not wrong, f"{len(wrong)} seeds differ, of each the first:\n" + "\n".join(wrong[:40])


def test_a_difference_is_found():
    """A test of the comparison: it reports the first line of each seed that differs, on either
    side.
    """
    kvm = {"s1.0.a": "0", "s1.1.b": "EINVAL", "s1.2.c": "1", "s2.0.a": "0"}
    assert differences(kvm, dict(kvm)) == []
    wrong = differences(kvm, {"s1.0.a": "0", "s1.1.b": "0", "s1.2.c": "2", "s2.0.a": "0"})
    assert wrong == ["s1.1.b: KVM EINVAL, module 0"]
    assert differences({}, {"s3.0.x": "1"}) == ["s3.0.x: KVM None, module 1"]
