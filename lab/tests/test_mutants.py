# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The mutation run itself: killed, surviving and bad mutants, on a small tree."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from armvisor_lab import paths

sys.path.append(str(paths.checkout() / "tools"))
mutants = pytest.importorskip("mutants")

ROW = """
[[mutant]]
name = "{name}"
file = "lab/src/sum.py"
why = "it is wrong then"
find = '''{find}'''
replace = '''{replace}'''
tests = ["test_sum.py"]
"""
SOURCE = "def double(n):\n    return 2 * n\n\n\ndef unused():\n    return 1\n"
TEST = """
import sys
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
from sum import double
def test_double(): assert double(2) == 4
"""


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A tree with one source and one test of it; gives a way to run mutants there."""
    for name, text in {"lab/src/sum.py": SOURCE, "lab/tests/test_sum.py": TEST}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".gitignore").write_text("/build\n__pycache__/\n.pytest_cache/\n")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.setattr(mutants, "TOP", tmp_path)
    monkeypatch.setattr(mutants, "OUT", tmp_path / "build/mutants")
    # The functions' own defaults were made with the checkout.
    monkeypatch.setattr(mutants.read, "__defaults__", (("lab/tests/mutants.toml",), tmp_path))
    monkeypatch.setattr(mutants.misplaced, "__defaults__", (tmp_path,))
    monkeypatch.setattr(mutants.Mutant.text, "__defaults__", (tmp_path,))

    def run(
        *given: tuple[str, str, str], words: tuple[str, ...] = ("--jobs", "1"), rows: str = ""
    ) -> int:
        text = rows + "".join(ROW.format(name=n, find=f, replace=r) for n, f, r in given)
        (tmp_path / "lab/tests/mutants.toml").write_text(text)
        monkeypatch.setattr(sys, "argv", ["mutants.py", *words])
        return mutants.main()

    return run


def test_a_fault_that_a_test_notices_is_killed(tree, tmp_path, capsys):
    assert tree(("wrong", "2 * n", "3 * n")) == 0
    said = capsys.readouterr().out
    assert "killed  wrong (test_sum.py)" in said
    assert "mutants: 1 killed, 0 alive, 0 bad, in 1 files" in said
    assert (tmp_path / "lab/src/sum.py").read_text() == SOURCE, "the tree is never mutated"
    assert (tmp_path / "build/mutants/1/lab/src/sum.py").read_text() == SOURCE


def test_a_fault_that_no_test_notices_fails(tree, capsys):
    assert tree(("wrong", "2 * n", "3 * n"), ("unseen", "return 1", "return 2")) == 1
    said = capsys.readouterr().out
    assert "ALIVE   unseen: lab/src/sum.py: it is wrong then" in said
    assert "not noticed by test_sum.py" in said
    assert "1 killed, 1 alive, 0 bad" in said


@pytest.mark.parametrize(
    ("find", "replace", "says"),
    [
        ("4 * n", "3 * n", "has its text 0 times"),
        ("return", "yield", "has its text 2 times"),
        ("2 * n", "2 * n", "changes nothing"),
        ("2 * n", "2 *", "is no Python then"),
    ],
)
def test_a_mutant_without_a_place_is_an_error(tree, capsys, find, replace, says):
    for words in ((), ("--check",)):
        assert tree(("lost", find, replace), words=words) == 1
        assert says in capsys.readouterr().err


def test_a_fault_in_a_header_is_built_in_every_copy(tree, tmp_path, capsys):
    """What depends on what must hold in copies of what was built."""
    tests = tmp_path / "module/tests"
    tests.mkdir(parents=True)
    shutil.copy(paths.checkout() / "module/tests/Makefile", tests)
    names = ("one", "two")
    for name in names:
        (tests / f"{name}.h").write_text(f"#define {name.upper()} 1\n")
        (tests / f"{name}.c").write_text(
            f'#include "{name}.h"\nint main(void) {{ return {name.upper()} != 1; }}\n'
        )
    (tests / "all.mk").write_text("tests := one two\none-src := one.c\ntwo-src := two.c\n")
    rows = "".join(
        ROW.format(name=name, find=" 1", replace=" 2")
        .replace("lab/src/sum.py", f"module/tests/{name}.h")
        .replace("test_sum.py", name)
        for name in names
    )
    assert tree(rows=rows, words=("--jobs", "2")) == 0, capsys.readouterr()
    assert "2 killed, 0 alive, 0 bad, in 2 files" in capsys.readouterr().out


def test_the_code_as_it_is_must_pass(tree, tmp_path, capsys):
    (tmp_path / "lab/src/sum.py").write_text(SOURCE.replace("2 * n", "5 * n"))
    assert tree(("wrong", "5 * n", "3 * n")) == 1
    assert "test_sum.py does not pass the code as it is" in capsys.readouterr().err


def test_mutants_are_chosen_by_name(tree, capsys):
    rows = [("wrong", "2 * n", "3 * n"), ("unseen", "return 1", "return 2")]
    assert tree(*rows, words=("--jobs", "1", "wr*")) == 0
    assert "1 killed" in capsys.readouterr().out
    assert tree(*rows, words=("nosuch",)) == 1
    assert "no mutant is called nosuch" in capsys.readouterr().err


def test_a_list_that_is_none_is_refused(tree, tmp_path, capsys):
    row = ("wrong", "2 * n", "3 * n")
    assert tree(row, row) == 1
    assert "two mutants are called wrong" in capsys.readouterr().err
    with pytest.raises(mutants.Bad, match="lacks or should not have why"):
        mutants.Mutant.parse(
            {"name": "x", "file": "f", "find": "a", "replace": "b", "tests": ["t"]}, "l"
        )


def test_the_checkout_s_mutants_have_their_places_and_are_many():
    every = mutants.read()
    assert mutants.misplaced(every) == []
    assert len([each for each in every if each.suite == "module"]) >= 40
    folders = {Path(each.file).parts[1] for each in every}
    assert {"mmu", "irq", "cpu", "mmio", "stats", "switch"} <= folders
