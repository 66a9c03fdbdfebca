# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""What `make check` says of commits' subjects, of types and of the kernel's style."""

import os
import shutil
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


class Style:
    """checkpatch on one source, and how often it ran."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        scripts = check.checkpatch_script().parent
        (folder / "checkpatch").mkdir()
        shutil.copytree(scripts, folder / "checkpatch/scripts")
        self.script = folder / "checkpatch/scripts/checkpatch.pl"
        self.source = folder / "one.c"
        self.runs = 0
        name = Path("module") / os.path.relpath(self.source, TOP / "module")
        monkeypatch.setattr(check, "CACHE", folder)
        monkeypatch.setattr(check, "tracked", lambda *_: [name])
        self._run = check.run
        monkeypatch.setattr(check, "run", self._counted)

    def _counted(self, *command: str) -> list[str]:
        self.runs += 1
        return self._run(*command)

    def check(self, text: str) -> tuple[int, int]:
        """Lines of complaint about this text, and runs of checkpatch."""
        self.source.write_text(f"// SPDX-License-Identifier: GPL-2.0\n{text}")
        before = self.runs
        return len(check.kernel_style()), self.runs - before


GOOD, BAD = "int good(void)\n{\n\treturn 0;\n}\n", "int bad(void) {\n\treturn 0;\n}\n"


def test_checkpatch_reads_a_source_again_only_if_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    style = Style(tmp_path, monkeypatch)
    assert style.check(GOOD) == (0, 1)
    assert style.check(GOOD) == (0, 0)
    # What it complains of, it complains of again.
    assert style.check(BAD) == style.check(BAD) == (1, 1)
    assert style.check(GOOD) == (0, 0)
    # Another checkpatch, and other options.
    style.script.write_text(style.script.read_text() + "\n# Newer.\n")
    assert style.check(GOOD) == (0, 1)
    monkeypatch.setattr(check, "CHECKPATCH_IGNORE", {"VOLATILE": "a reason"})
    assert style.check(GOOD) == (0, 1)


def test_checkpatch_that_does_not_work_says_nothing_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    style = Style(tmp_path, monkeypatch)
    working = style.script.read_text()
    style.script.write_text("die 'broken';\n")
    assert style.check(BAD) == style.check(BAD) == (1, 1)
    style.script.write_text(working)
    assert style.check(BAD) == (1, 1)


def test_a_question_for_the_version_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    source = tmp_path / "one.c"
    name = Path("module") / os.path.relpath(source, TOP / "module")
    every = check.own(".c", ".h", ".S")
    monkeypatch.setattr(check, "own", lambda *_: [*every, name])
    source.write_text("#if AV_HAS_VM_FLAGS_SET\n#endif\n")
    assert check.kernel_versions() == []
    source.write_text(
        "#include <linux/version.h>\n#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)\n"
    )
    told = [line.removeprefix(f"{name}:") for line in check.kernel_versions()]
    assert [line.partition(": see")[0] for line in told] == [
        "1: linux/version.h",
        "2: LINUX_VERSION_CODE",
    ]
    source.write_text("#if AV_HAS_NO_TEST\n#endif\n")
    assert check.kernel_versions() == ["module/compat/feature_tests.h: no test of NO_TEST"]
