# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Fixtures of all of the lab's unit tests."""

import pytest

from armvisor_lab import side_by_side


@pytest.fixture(autouse=True)
def one_at_a_time(monkeypatch):
    """In the test's own process: what is measured here tells the test what it did."""
    monkeypatch.setattr(side_by_side, "jobs", lambda: 1)
