# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`make -C module sparse`: no findings in the module, and a fault of each kind is one."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from built import TOP

from armvisor_lab.archive import kernels

KERNEL = "stable"


def sparse(module: Path, *words: str) -> subprocess.CompletedProcess[str]:
    headers = kernels.headers(KERNEL)
    command = ["make", "-j2", "-C", str(module), f"KVER={KERNEL}", f"KDIR={headers}"]
    return subprocess.run([*command, *words, "sparse"], capture_output=True, text=True, check=False)


def test_there_are_no_findings():
    done = sparse(TOP / "module")
    assert done.returncode == 0, done.stdout + done.stderr
    said = re.search(r"^sparse: (\d+) files, 0 findings$", done.stdout, re.M)
    files = [path for path in (TOP / "module").rglob("*.c") if "tests" not in path.parts]
    # On kernels with other pages than 4 KiB it is the module; here it is not built.
    files.remove(TOP / "module/refuse.c")
    assert said and int(said[1]) == len(files), done.stdout


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        (" __releases(&av_vgic_vm(vgic)->irq->lock)", "", "context imbalance in 'vgic_unlock'"),
        ("static bool vgic_rest(", "bool vgic_rest(", "'vgic_rest' was not declared"),
        (
            "{\n\tcond_resched();",
            "{\n\tif (*(int __user *)vgic)\n\t\treturn true;\n\tcond_resched();",
            "dereference of noderef expression",
        ),
    ],
)
def test_a_fault_is_found(tmp_path: Path, old: str, new: str, finding: str):
    ignored = shutil.ignore_patterns("tests")
    module = Path(shutil.copytree(TOP / "module", tmp_path / "module", ignore=ignored))
    source = module / "irq/irqchip.c"
    text = source.read_text()
    assert text.count(old) == 1
    source.write_text(text.replace(old, new))
    done = sparse(module, f"OUT={tmp_path}/out", "OF=irq/irqchip.o")
    assert done.returncode != 0
    assert re.search(rf"^module/irq/irqchip\.c:\d+:\d+: warning: .*{finding}", done.stdout, re.M), (
        done.stdout + done.stderr
    )
    assert re.search(r"^sparse: 1 files, [12] findings$", done.stdout, re.M)
