# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`make check`'s rules for commit subjects."""

import subprocess
import sys

import pytest
from built import TOP

sys.path.insert(0, str(TOP / "tools"))
import check


def test_a_long_subject_is_told(monkeypatch: pytest.MonkeyPatch):
    newest = subprocess.run(
        ["git", "log", "-1", "--no-merges", "--format=%h %s"],
        cwd=TOP, check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    commit, _, subject = newest.partition(" ")
    monkeypatch.setattr(check, "SUBJECTS_SINCE", "no-such-commit")
    monkeypatch.setattr(check, "SUBJECT", len(subject))
    assert check.commit_subjects() == []
    monkeypatch.setattr(check, "SUBJECT", len(subject) - 1)
    assert [line.partition(":")[0] for line in check.commit_subjects()] == [commit]
