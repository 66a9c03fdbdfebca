# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`make -C module check-symbols`: host symbols that are not listed, by kernel.

The list names the kernels that were reviewed. On those an unlisted symbol is an error; on another
version of a kernel it is a warning, because that version may need symbols that nobody could
foresee. A symbol that the kernel does not export is an error everywhere: the module would not load.
"""

import subprocess
from pathlib import Path

import pytest
from built import TOP

RELEASE = "9.9.9-test"
LISTED, OTHER = "kfree", "new_inline_helper"


def check(folder: Path, *, exported: tuple[str, ...], reviewed: str = "") -> tuple[int, str]:
    """The script's status and output, for a module that needs LISTED and OTHER."""
    kernel = folder / "kernel"
    (kernel / "include/config").mkdir(parents=True)
    (kernel / "include/config/kernel.release").write_text(f"{RELEASE}\n")
    lines = [f"0x00000000\t{name}\tvmlinux\tEXPORT_SYMBOL_GPL\t\n" for name in exported]
    (kernel / "Module.symvers").write_text("".join(lines))
    (folder / "list").write_text(f"# reviewed {RELEASE}\nreviewed {reviewed}\n{LISTED}\n")
    source = f"""void {LISTED}(void);
    void {OTHER}(void);
    void f(void) {{ {LISTED}(); {OTHER}(); }}
    __attribute__((section(".av_window.text"))) int av_fast(int *p) {{ return *p; }}
    """
    compiler = ["aarch64-linux-gnu-gcc", "-xc", "-c", "-", "-o", str(folder / "module.ko")]
    subprocess.run(compiler, input=source, text=True, check=True)
    words = [str(TOP / "module/check-symbols.sh"), "module.ko", "kernel", "list"]
    env = {"CROSS_COMPILE": "aarch64-linux-gnu-", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("reviewed", ["", "9.9", "9.9.9", "9.9.9-test2"])
def test_on_a_kernel_that_nobody_reviewed_it_is_a_warning(tmp_path: Path, reviewed: str):
    status, said = check(tmp_path, exported=(LISTED, OTHER), reviewed=reviewed)
    # The two streams have no common order.
    last, warning = sorted(said.splitlines(), key=lambda line: "WARNING" in line)
    assert status == 0, said
    assert warning.startswith(f"check-symbols: WARNING: module.ko: {OTHER} is not in list")
    assert f"'reviewed {RELEASE}'" in warning
    assert "2 symbols, 1 NOT listed and exported" in last and "not reviewed yet" in last


def test_on_a_kernel_that_was_reviewed_it_is_an_error(tmp_path: Path):
    status, said = check(tmp_path, exported=(LISTED, OTHER), reviewed=RELEASE)
    assert status == 1
    assert said.startswith(f"check-symbols: module.ko: {OTHER} is not in list: add it there")


@pytest.mark.parametrize("reviewed", ["", RELEASE])
@pytest.mark.parametrize("missing", [LISTED, OTHER])
def test_what_the_kernel_does_not_export_is_an_error(tmp_path: Path, missing: str, reviewed: str):
    exported = tuple({LISTED, OTHER} - {missing})
    status, said = check(tmp_path, exported=exported, reviewed=reviewed)
    assert status == 1
    assert f"{RELEASE} does not export {missing}" in said


def test_the_kernels_of_the_list_are_named_as_kernels_name_themselves():
    lines = (TOP / "module/host-symbols").read_text().splitlines()
    words = [line.split() for line in lines if line and not line.startswith("#")]
    reviewed = [line for line in words if len(line) > 1]
    assert reviewed and all(line[0] == "reviewed" and line[1][0].isdigit() for line in reviewed)
