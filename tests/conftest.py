# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The order of the tests: the longest first.

`make test` gives each test to the next free one of three workers, in this order; if a long test
began last, the other workers would wait for it. Tests that share a board are a group for one worker
(`xdist_group`), and appear here as a whole.
"""

import pytest

# By how much a processor has to do for a file, or for the longest board of it: 130 s to 20 s.
LONGEST = (
    "test_module_bounds.py",
    "test_guests_trap.py",
    "test_image.py",
    "test_module_api.py",
    "test_packages.py",
    "test_module_smp.py",
    "test_devices_debian.py",
    "test_bounce.py",
    "test_module_qemu.py",
    "test_module_hostile.py",
    "test_protected.py",
    "test_module_stale.py",
    "test_module_huge.py",
    "test_docs.py::test_command[make",
    "test_figures.py",
    "test_module_host.py",
    "test_module_fuzz.py",
    "test_module_selftests.py",
    "test_module_fast_times.py",
    "test_model.py",
    "test_guests_bare.py",
    "test_vmm_",
    "test_module_",
    "test_reach.py",
)


def rank(name: str) -> int:
    """A test's rank: the first row that begins its name; without one, after all rows."""
    places = (place for place, start in enumerate(LONGEST) if name.startswith(start))
    return next(places, len(LONGEST))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort; tests of the same rank stay in their order."""
    items.sort(key=lambda item: rank(item.nodeid.rpartition("/")[2]))
