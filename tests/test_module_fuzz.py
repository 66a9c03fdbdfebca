# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""KVM's API fuzzed with vCPUs running, on the module, and on KVM as a check of the fuzzer.

Some seeds, or a minute of it; an hour on a kernel with checkers is in test_debug_kernel.py. A
seed that failed runs again with `FIRST=seed SEEDS=1 fuzz_api` on a board (the top of
module/tests/kvm/fuzz/main.c has the other settings).
"""

import pytest
from built import module
from hostile_runs import Machine, assert_did_something, fuzz_seconds, fuzzed_api

# A moment of it in `make test`: less than it takes until all operations must have been accepted.
SEEDS = 8


def test_no_calls_at_once_harm_the_host():
    seconds = fuzz_seconds(0)
    fuzzed_api(Machine("stable", module("stable")), seconds, "" if seconds else f"SEEDS={SEEDS}")


@pytest.mark.conformance
@pytest.mark.parametrize("kernel", ("stable", "oldstable", "newest"))
def test_no_calls_at_once_harm_the_host_for_a_minute(kernel: str):
    fuzzed_api(Machine(kernel, module(kernel)), fuzz_seconds(60))


@pytest.mark.conformance
def test_kvm_lives_too():
    """The fuzzer itself causes no hang and no complaint.

    The host's CPUs stay on: if they go off and come back, KVM without VHE (6.12, on the emulated
    core) reaches a BUG in EL2, or a CPU that came back hangs.
    """
    fuzzed_api(Machine("stable"), fuzz_seconds(60), "NOT=host_cpu")


def test_idleness_is_found():
    """A fuzzer whose operations are all refused finds nothing: the check notices."""

    def said(done: int, exits: int, more: str = "") -> str:
        rows = "".join(f"op o{i}: 9 tried, {done} done, 1 ms\n" for i in range(60))
        return f"{rows}{more}exits: {exits} mmio, 0 system event\n"

    assert_did_something(said(1, 1))
    assert_did_something(said(1, 1, "op pmu: 20000 tried, 0 done, 9 ms\n"))
    with pytest.raises(AssertionError, match="never done: pin"):
        assert_did_something(said(1, 1, "op pin: 20000 tried, 0 done, 9 ms\n"))
    with pytest.raises(AssertionError, match="never done: o0, o1"):
        assert_did_something(said(0, 1))
    with pytest.raises(AssertionError, match="no guest ran"):
        assert_did_something(said(1, 0))
