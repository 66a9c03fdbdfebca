# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Linux's own KVM selftests, unmodified: the module passes what KVM passes.

`data/selftests.toml` has a row for each test: its result on KVM and on the module, and a reason
where these differ. A result that is not the table's fails, even a better one: the table then loses
a difference.
"""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from built import TOP
from built import module as built_module
from selftest_runs import Outcome, Run, named, outcomes

from armvisor_lab.archive import linuxsource, selftests

TABLE = tomllib.loads((TOP / "tests/data/selftests.toml").read_text())
ROLES = list(TABLE)
ENDS = {"pass", "skip", "fail", "hang"}
# Of the tests that pass on KVM, this many pass on the module: all but that of 32-bit guests.
AT_LEAST = 0.95

Row = dict[str, Any]


def rows(role: str) -> dict[str, Row]:
    return TABLE[role]["tests"]


def ends(row: Row) -> tuple[str, str]:
    """The results on KVM and on the module."""
    return row.get("kvm", "pass"), row.get("module", row.get("kvm", "pass"))


@pytest.mark.parametrize("role", ROLES)
def test_table(role: str):
    """A reason for each difference, valid results only, and nothing that hangs only here."""
    for name, row in rows(role).items():
        kvm, ours = ends(row)
        assert kvm in ENDS | {"varies"} and ours in ENDS, name
        assert (kvm != ours) == ("module" in row), f"{name}: a difference that is none"
        assert kvm == ours or len(row.get("why", "")) > 10, f"{name}: no reason"
        assert ours != "hang" or kvm == "hang", f"{name} hangs on the module"
    passed = [ends(row)[1] for row in rows(role).values() if ends(row)[0] == "pass"]
    assert passed.count("pass") >= AT_LEAST * len(passed)
    assert len(passed) >= TABLE[role]["passed"], "KVM passes fewer than it did"


def run(role: str, names: list[str], module: Path | None) -> dict[str, Outcome]:
    """Those tests, each as the table says."""
    known = {name: rows(role).get(named(name), {}) for name in names}
    how = ("arguments", "cpus", "seconds")
    tests = [Run(name, **{k: row[k] for k in how if k in row}) for name, row in known.items()]
    return outcomes(role, module, tests)


def judge(role: str, found: dict[str, Outcome], column: int) -> list[str]:
    """Results that are not the table's."""
    wrong = []
    for name, outcome in found.items():
        row = rows(role).get(named(name))
        if row is not None and ends(row)[column] not in ("varies", outcome.result):
            wrong.append(f"{name}: {outcome.result}, not {ends(row)[column]}:\n{outcome.said}")
    return wrong


def test_a_row_is_judged_both_ways():
    """A result worse or better than the table's is wrong; other tests are not judged."""
    failed, passed = Outcome("fail", "why"), Outcome("pass", "")
    found = {"aarch64/psci_test": failed, "steal_time": passed, "no_such_test": failed}
    assert judge("stable", found, 1) == ["aarch64/psci_test: fail, not pass:\nwhy"]
    better = judge("stable", {"arm64/vgic_init": passed, "arm64/arch_timer_edge_cases": failed}, 0)
    assert better == ["arm64/vgic_init: pass, not fail:\n"]


@pytest.mark.parametrize(
    "role", [ROLES[0], *(pytest.param(role, marks=pytest.mark.conformance) for role in ROLES[1:])]
)
def test_quick_ones(role: str):
    """The short tests, on the module; of the newest kernel's, those that stable's KVM lacks."""
    names = selftests.names(selftests.get(role))
    quick = [name for name in names if rows(role).get(named(name), {}).get("quick")]
    assert len(quick) > (10 if role == "stable" else 2)
    wrong = judge(role, run(role, quick, built_module(role)), 1)
    assert not wrong, "\n".join(wrong)


@pytest.mark.conformance
@pytest.mark.parametrize("role", ROLES)
def test_as_on_kvm(role: str):
    """All of them, on KVM and on the module."""
    names = selftests.names(selftests.get(role))
    if linuxsource.series(role) == TABLE[role]["series"]:
        assert {named(name) for name in names} == set(rows(role))
    kvm = run(role, names, None)
    ours = run(role, names, built_module(role))
    wrong = [f"on KVM: {line}" for line in judge(role, kvm, 0)] + judge(role, ours, 1)
    # A series that the table does not know: new tests must have the result of KVM.
    for name in names:
        if named(name) not in rows(role) and kvm[name].result != ours[name].result:
            wrong.append(f"{name}, new: {kvm[name].result} on KVM, {ours[name].result} here:")
            wrong.append(ours[name].said)
    assert not wrong, "\n".join(wrong)
