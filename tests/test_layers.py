# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The check of the module's layers (`make check`) passes here, and finds violations."""

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[1]

_spec = importlib.util.spec_from_file_location("layers", TOP / "tools/layers.py")
layers = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = layers  # dataclasses look there
_spec.loader.exec_module(layers)


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A copy of the module to modify."""
    return Path(shutil.copytree(TOP / "module", tmp_path / "module"))


def add_include(path: Path, line: str) -> None:
    path.write_text(f"{line}\n{path.read_text()}")


def test_the_module_is_in_layers():
    assert layers.complaints() == []


def test_the_bounce_buffers_core_is_pure():
    assert layers.bounce_complaints() == []


@pytest.mark.parametrize("line", ['#include "bounce.h"', "#include <linux/slab.h>"])
def test_an_include_of_the_kernel_in_that_core(tmp_path: Path, line: str):
    bounce = Path(shutil.copytree(TOP / "bounce", tmp_path / "bounce"))
    add_include(bounce / "core/pool.c", line)
    (found,) = layers.bounce_complaints(bounce)
    assert found.startswith("core/pool.c: is pure, and ")


def test_the_document_shows_the_layers_as_they_are():
    shown = "\n".join(line.rstrip() for line in layers.picture().splitlines())
    assert shown in (TOP / "docs/architecture.md").read_text()


def test_the_picture_has_every_folder():
    table = layers.Layers.load(TOP / "module/layers.toml")
    picture = layers.picture()
    assert all(folder in picture for folder in [*table.folders, *table.below])


@pytest.mark.parametrize(
    ("source", "header"),
    [
        ("mmu/fault/slow.c", "cpu/cpu.h"),
        ("mmu/fault/slow.c", "mmio/mmio.h"),
        ("mmio/access.c", "cpu/cpu.h"),
        ("irq/vgic.h", "cpu/cpu.h"),
        ("switch/enter.S", "mmu/mmu.h"),
        ("cpu/exit.c", "api/api.h"),
        ("vm/vm.c", "switch/switch.h"),
        ("stats/stats.h", "vm/vcpu.h"),
    ],
)
def test_an_include_that_points_up_or_aside(module: Path, source: str, header: str):
    add_include(module / source, f'#include "{header}"')
    found = layers.complaints(module)
    assert any(c.startswith(f'{source}: includes "{header}"') for c in found), found


@pytest.mark.parametrize("header", ["<linux/mm.h>", '"switch/tlb.h"'])
def test_a_pure_file_takes_the_kernel_in(module: Path, header: str):
    add_include(module / "mmu/abort/classify.c", f"#include {header}")
    assert layers.complaints(module) == [
        f"mmu/abort/classify.c: is pure, and {header[1:-1]} is not"
    ]


def add_call(path: Path, name: str, callee: str) -> None:
    """Add a function that calls another without a header: includes do not show that."""
    path.write_text(f"{path.read_text()}\nvoid {name}(void)\n{{\n\t{callee}();\n}}\n")


def test_a_call_that_points_up(module: Path):
    add_call(module / "mmu/memory/memory.c", "av_up", "av_psci_call")
    found = layers.complaints(module)
    assert found == [
        "mmu/memory/memory.c: av_up() uses av_psci_call() of cpu/psci.c, and mmu/ may not use cpu/"
    ]


def test_a_call_that_makes_a_circle_of_the_mmus_rooms(module: Path):
    """code/ calls memory/, not the other way round, and nobody calls functions at the top."""
    add_call(module / "mmu/memory/memory.c", "av_up", "av_copy_written")
    add_call(module / "mmu/code/copies.c", "av_top", "av_gpa_read")
    assert layers.complaints(module) == [
        "mmu/code/copies.c: av_top() uses av_gpa_read() of mmu/access.c, "
        "and mmu/code may not use mmu",
        "mmu/memory/memory.c: av_up() uses av_copy_written() of mmu/code/copies.c, "
        "and mmu/memory may not use mmu/code",
    ]


def test_an_include_between_the_mmus_rooms_that_points_up(module: Path):
    add_include(module / "mmu/memory/memory.c", '#include "mmu/code/copies.h"')
    assert layers.complaints(module) == [
        'mmu/memory/memory.c: includes "mmu/code/copies.h", and mmu/memory may not use mmu/code'
    ]


def test_rooms_are_layers_too(module: Path):
    """Includes and calls between two rooms of a folder, and an unknown room."""
    for room in ("upper", "lower", "other"):
        (module / "vm" / room).mkdir()
    (module / "vm/upper/upper.c").write_text('#include "vm/lower/lower.h"\n')
    (module / "vm/lower/lower.h").write_text('#include "vm/upper/upper.h"\n')
    (module / "vm/upper/upper.h").write_text("")
    (module / "vm/lower/lower.c").write_text("void av_lower(void)\n{\n}\n")
    add_call(module / "vm/upper/upper.c", "av_upper", "av_lower")
    add_call(module / "vm/lower/lower.c", "av_lowest", "av_upper")
    (module / "vm/other/other.c").write_text("")
    add_include(module / "cpu/exit.c", '#include "vm/lower/lower.h"')
    table = module / "layers.toml"
    table.write_text(f'{table.read_text()}\n[rooms.vm]\nupper = ["lower"]\nlower = []\n')
    assert layers.complaints(module) == [
        "vm/other: not a room of layers.toml",
        'cpu/exit.c: includes "vm/lower/lower.h", and vm/lower/lower.h is no face of vm/',
        'vm/lower/lower.h: includes "vm/upper/upper.h", and vm/lower may not use vm/upper',
        "vm/lower/lower.c: av_lowest() uses av_upper() of vm/upper/upper.c, "
        "and vm/lower may not use vm/upper",
    ]
    text = table.read_text().replace(
        'upper = ["lower"]\nlower = []', 'upper = []\nlower = ["upper"]'
    )
    table.write_text(text)
    assert "layers.toml: vm/lower may include upper, which is not below it" in (
        layers.complaints(module)
    )


def test_a_circle_in_the_table(module: Path):
    table = module / "layers.toml"
    table.write_text(table.read_text().replace("vm = []", 'vm = ["mmu"]', 1))
    assert layers.complaints(module) == ["layers.toml: vm may include mmu, which is not below it"]


def test_a_folder_that_the_table_does_not_know(module: Path):
    (module / "extra").mkdir()
    (module / "extra/extra.c").write_text("")
    assert layers.complaints(module) == ["extra/: not a layer of layers.toml"]


def test_a_pure_file_that_is_gone(module: Path):
    (module / "mmu/abort/classify.c").unlink()
    assert layers.complaints(module) == ["layers.toml: there is no mmu/abort/classify.c"]
