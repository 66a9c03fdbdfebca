# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The order of the tests: those that take longest first.

`make test` gives them to three workers as each becomes free, in this order; a long one begun last
would have the other workers wait for it. What shares a board is a group of one worker
(`xdist_group`), and stands here as a whole.
"""

import pytest

# By how much a processor has to do for them, with the most first: 160 s to 20 s.
LONGEST = (
    "test_protected.py",
    "test_guests_trap.py",
    "test_module_api.py",
    "test_module_hostile.py",
    "test_guests_bare.py",
    "test_bounce.py",
    "test_module_bounds.py",
    "test_module_stale.py",
    "test_module_smp.py",
    "test_module_fuzz.py",
    "test_devices_debian.py",
    "test_module_code.py",
    "test_module_qemu.py",
    "test_module_debian.py",
    "test_docs.py::test_command[make",
    "test_module_huge.py",
)


def rank(name: str) -> int:
    """The place of a test: that of the first row which begins its name, else after all rows."""
    places = (place for place, start in enumerate(LONGEST) if name.startswith(start))
    return next(places, len(LONGEST))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort; tests of one place stay in their order."""
    items.sort(key=lambda item: rank(item.nodeid.rpartition("/")[2]))
