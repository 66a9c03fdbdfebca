# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Light exits leave most of the host's and the guest's registers as they are: the short way.

Without it (cheap_traps less 256) they go the whole way out and in, and a guest cannot tell. A newer
CPU has more to put back on either way: DIT, tag checks, pointer authentication.
"""

import pytest
from built import module
from guest_runs import Guest, Host, Output, run_guests

ALL, NO_SHORT = 1023, 1023 & ~256  # module/cpu/cheap.h
HOSTS = {"cortex-a72": "", "max": "arm64.nolva"}  # more for the kernel's command line
GUESTS = [
    Guest("trap", disk=True, exits=True),
    Guest("random", append="seed=7 count=1000", disk=True, exits=True),
]


def run(cpu: str, cheap: int) -> dict[str, Output]:
    host = Host(
        cpu, "stable", el2=False, module=module("stable"), count=True, append=HOSTS[cpu],
        parameters=f"cheap_traps={cheap}",
    )  # fmt: skip
    return run_guests(host, GUESTS)


@pytest.mark.parametrize("cpu", ["cortex-a72", pytest.param("max", marks=pytest.mark.conformance)])
def test_the_short_way_is_the_whole_one(cpu: str):
    short, whole = run(cpu, ALL), run(cpu, NO_SHORT)
    for name in ("trap", "random"):
        assert short[name].disk == whole[name].disk != ""
        assert short[name].exits["exit_short"] > whole[name].exits["exit_short"] == 0
