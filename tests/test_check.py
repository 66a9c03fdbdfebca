# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""What `make check` says of commits' subjects and of types."""

import os
import subprocess
import sys
from pathlib import Path

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


def test_a_wrong_type_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "wrong.py").write_text('count: int = "one"\n')
    wrong = Path("tools") / os.path.relpath(tmp_path / "wrong.py", TOP / "tools")
    monkeypatch.setattr(check, "tracked", lambda *_: [wrong])
    told = check.python_types()
    assert len(told) == 1 and "wrong.py:1: error: Incompatible types" in told[0]
