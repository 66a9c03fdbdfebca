# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Rows of module/tests/kvm/bounds on a counted board, and their figures."""

from collections.abc import Mapping
from pathlib import Path

from built import TOP, make
from guest_runs import KPTI, results

from armvisor_lab.board import Board
from armvisor_lab.initramfs import Module

# Counted instructions that nothing a guest or a VMM asks for may hold a CPU at a stretch.
BOUND = 200_000


def program() -> Path:
    make(str(TOP / "module/tests/kvm"))
    return TOP / "build/module/kvm/bounds"


def measure(
    kernel: str,
    module: Path | None,
    script: str,
    modules: Mapping[str, Path] | None = None,
    memory: int = 1024,
    timeout: float = 250,
) -> dict[str, int]:
    """Run a script in which /bounds does rows; figures by name. Without a module: on KVM."""
    board = Board(
        kernel=kernel, el2=module is None, count=True, append=KPTI, memory=memory,
        modules=[Module(str(module))] if module else (),
        files={"/bounds": program(), "/script": f"set -e\n{script}\n".encode(), **(modules or {})},
        timeout=timeout,
    )  # fmt: skip
    text = board.run(["sh", "/script"]).check().text
    assert text.endswith("done\n"), text
    return {name: int(value) for name, value in results(text).items()}


def too_long(figures: Mapping[str, int]) -> dict[str, int]:
    """Of figures of the meter those that are over the bound."""
    return {
        name: value
        for name, value in figures.items()
        if name.endswith(".longest") and value > BOUND
    }
