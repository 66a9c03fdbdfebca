# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Xen's figures from end to end: they exist, are plausible, and repeat, then by class."""

import json
import re
import subprocess
from pathlib import Path

from built import HANGS, TOP

NAMES = {"hypercall.xen", "hypercall_psci.xen", "mmio_kernel.xen", "irq_completion.xen", "eoi.xen",
         "ipi_running.xen", "vm_switch.xen", "io_out.xen", "io_in.xen"}  # fmt: skip


def measure(path: Path, *more: str) -> dict[str, float]:
    command = [str(TOP / "bin/lab"), "figures", "--only", "*.xen", *more, "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r'"xen-hypervisor-\d[^"]*"', path.read_text())
    lines = re.findall(r"^(\S+) ([\d.]+) instructions$", done.stdout, re.M)
    return {name: float(value) for name, value in lines}


def test_xen_s_figures_come_out_and_repeat(tmp_path: Path):
    first = measure(tmp_path / "first.json")
    again = measure(tmp_path / "again.json", "--classes", "--core", "cortex-a72")
    assert first.keys() == NAMES
    far = {name: (value, again[name]) for name, value in first.items()
           if abs(value - again[name]) > 0.005 * value}  # fmt: skip
    assert not far
    # An exit saves and restores a guest's state; an EOI without an interrupt does not.
    assert 100 < first["hypercall.xen"] < 5000
    assert first["eoi.xen"] < 100
    # With another domain or CPU involved, it is more than an exit.
    for name in ("ipi_running", "vm_switch", "io_out", "io_in"):
        assert first[f"{name}.xen"] > first["hypercall.xen"]
    for figure in json.loads((tmp_path / "again.json").read_text())["figures"]:
        levels = figure["classes"]["levels"]
        # The EOI without an interrupt is the guest's alone.
        assert levels.get("hypervisor") == (None if figure["name"] == "eoi.xen" else 2)
        assert levels["guest-kernel"] == 1 and set(levels) <= {"hypervisor", "guest-kernel"}
