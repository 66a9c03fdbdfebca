# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The check of the table of staleness tokens (`make check`): clean here, and it sees a change."""

import importlib.util
import shutil
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[1]

_spec = importlib.util.spec_from_file_location("stale", TOP / "tools/stale.py")
stale = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(stale)


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A copy of the module to spoil."""
    return Path(shutil.copytree(TOP / "module", tmp_path / "module"))


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_the_table_names_the_tokens_that_exist():
    assert stale.complaints() == []


def test_a_field_that_is_renamed(module: Path):
    change(module / "mmu/shadow/shadow.h", "	u64 shape;", "	u64 forms;")
    assert stale.complaints(module) == [
        "vm/vm.h: av_shadow.shape is in the table, but no field",
        "vm/vm.h: av_swept.shape is in the table, but no field",
    ]


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("	u64 seq_pages, nothing;", "seq_pages"),
        ("	atomic64_t walks_gen;", "walks_gen"),
        ("	struct av_seq last_walk;	/* of the last walk */", "last_walk"),
        ("	struct { u64 shape2, va; } page[2];", "shape2"),
    ],
)
def test_a_token_that_the_table_lacks(module: Path, field: str, name: str):
    change(module / "vm/vcpu.h", "struct av_vcpu {\n", f"struct av_vcpu {{\n{field}\n")
    assert stale.complaints(module) == [
        f"vm/vm.h: av_vcpu.{name} is not in the table of staleness tokens"
    ]


def test_a_table_that_is_gone(module: Path):
    change(module / "vm/vm.h", " * Staleness.", " * Nothing.")
    assert stale.complaints(module) == ["vm/vm.h: the table of staleness tokens is gone"]
