# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab figures` from end to end, on the cheapest of its rows: lines, JSON, and that they repeat."""

import json
import re
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
NAME = "hypercall.kvm-vhe"


def test_a_figure_is_a_line_and_json(tmp_path: Path):
    path = tmp_path / "figures.json"
    command = [str(TOP / "bin/lab"), "figures", "--only", NAME, "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    line = re.fullmatch(rf"{re.escape(NAME)} (\d+) instructions\n", done.stdout)
    assert line, done.stdout
    figures = json.loads(path.read_text())
    assert str(figures).count(NAME) == 1
    for key in ("revision", "board", "kernel"):
        assert key in path.read_text(), figures
    # Counted on QEMU's cortex-a76: no hypervisor needs fewer, and KVM not ten times more.
    assert 200 < int(line[1]) < 15000
