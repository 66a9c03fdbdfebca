# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The board with KVM that test_vmm_life.py, test_vmm_stall.py and test_vmm_users.py share."""

from functools import cache
from pathlib import Path

import pytest
from shared_board import Part, run_parts

from armvisor_lab.boards.board import Board
from armvisor_lab.figures import artefacts

on_one_board = pytest.mark.xdist_group("vmm_board")


@cache
def _parts() -> dict[str, Part]:
    # These import this file.
    import test_vmm_life as life
    import test_vmm_stall as stall
    import test_vmm_users as users

    files: dict[str, Path | bytes] = {"/bin/armvisor": artefacts.vmm()}
    files |= life.files() | stall.files() | users.files()
    # The last one changes who may do what.
    scripts = {
        "life": life.SCRIPT,
        "resets": "taskset 1 sh /resets",
        "stall": stall.SCRIPT,
        "users": users.SCRIPT,
    }
    return run_parts(Board(el2=True, smp=2, files=files, timeout=4000), scripts)


def part(name: str) -> Part:
    """What one of the scripts did; the board was well meanwhile."""
    found = _parts()[name]
    assert not found.trouble, f"{found.trouble}\n{found.text}"
    return found
