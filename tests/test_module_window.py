# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`check-symbols.sh` on C code of the window, where most registers hold the guest's values."""

import platform
import subprocess
from pathlib import Path

import pytest
from built import TOP, module

CROSS = "" if platform.machine() == "aarch64" else "aarch64-linux-gnu-"
PROTECTOR = ["-fstack-protector-all", "-mstack-protector-guard=sysreg"]
PROTECTOR += ["-mstack-protector-guard-reg=sp_el0", "-mstack-protector-guard-offset=8"]


def check(folder: Path, ko: Path) -> subprocess.CompletedProcess[str]:
    """The status and output for the window's code only: list and kernel have no symbols."""
    (folder / "include/config").mkdir(parents=True)
    (folder / "include/config/kernel.release").write_text("9.9.9-test\n")
    (folder / "Module.symvers").write_text("")
    return subprocess.run(
        ["sh", TOP / "module/check-symbols.sh", ko, folder, "/dev/null"],
        env={"CROSS_COMPILE": CROSS, "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def check_code(path: Path, body: str, *options: str) -> subprocess.CompletedProcess[str]:
    source = path / "fast.c"
    source.write_text(
        f'__attribute__((section(".av_window.text"))) int av_fast(volatile long *p) {{ {body} }}\n'
    )
    ko = path / "fast.ko"
    subprocess.run([f"{CROSS}gcc", "-O2", *options, "-c", source, "-o", ko], check=True)
    return check(path, ko)


@pytest.mark.parametrize(
    ("body", "options", "found"),
    [
        ("p[0] = p[1]; return p[2];", PROTECTOR, "mrs x1, sp_el0"),
        ("p[0] = p[1]; return p[2];", ["-mbranch-protection=pac-ret+leaf"], "paciasp"),
        ('asm volatile("str x30, [x18], #8"); return 0;', [], "x18"),
        ("return p[0] * 2.5;", [], "fmul"),
        ('asm volatile("msr tpidr_el0, %0" :: "r"(p)); return 0;', [], "tpidr_el0"),
    ],
)
def test_what_goes_through_the_guests_registers_is_refused(tmp_path, body, options, found):
    done = check_code(tmp_path, body, *options)
    assert done.returncode == 1
    assert "uses registers of the guest" in done.stderr and found in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("section", "function", "other", "passes"),
    [
        (".av_timed.text", "av_fast_timed", "av_window_timed_x", True),
        (".av_timed.text", "av_fast_timed", "av_window_x", False),
        (".av_window.text", "av_fast", "av_window_timed_x", False),
        (".av_window.text", "av_fast", "printk", False),
    ],
)
def test_no_copy_of_the_window_refers_to_the_other(tmp_path, section, function, other, passes):
    """Their distance in the window differs from that in the module."""
    source = tmp_path / "fast.c"
    source.write_text(
        f'long {other}(long); __attribute__((section("{section}"))) long {function}(long n)'
        f"{{ return {other}(n) + 1; }}\n"
    )
    ko = tmp_path / "fast.ko"
    subprocess.run([f"{CROSS}gcc", "-O2", "-c", source, "-o", ko], check=True)
    said = f"code of the window refers to {other}, which is not in it"
    assert (said not in check(tmp_path, ko).stderr) == passes


COPIES = (".av_window.text", ".av_timed.text")


# Not of the vectors of light exits in the image, which each copy has for itself.
VBAR = ("vbar_el1, x3", "vbar_el1, x4")


def test_both_copies_are_entered_at_the_same_offsets():
    """The plain copy's low alias, or C in the image of the host, enters the high alias of either
    copy, which begins by setting VBAR_EL1.
    """
    entries = []
    for section in COPIES:
        lines = code(module("stable"), "-j", section)
        sets = [i for i, words in enumerate(lines) if words[0] == "msr" and words[1] in VBAR]
        entries.append(sets)
    assert len(entries[0]) == 3 and entries[0] == entries[1]


def test_plain_code_passes(tmp_path):
    done = check_code(tmp_path, "if (p[0]) p[1] = p[2]; return p[3];")
    assert (done.returncode, done.stderr) == (0, "")


def code(ko: Path, *options: str) -> list[list[str]]:
    """Mnemonic and operands of each instruction."""
    text = subprocess.run(
        [f"{CROSS}objdump", "-d", "--no-show-raw-insn", *options, ko],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return [line.split("\t")[1:] for line in text.splitlines() if line.count("\t") >= 1]


# Functions where a number of a guest or VMM indexes an array behind a branch, and how many arrays.
NUMBERS = {
    "av_vgic_irq": 2,
    "av_vgic_cpu_by_id": 1,
    "av_vm_vcpu_by_id": 1,
    "av_core_reg": 2,
    "av_route_intid": 1,
}


@pytest.mark.parametrize(("function", "arrays"), NUMBERS.items())
def test_numbers_index_arrays_behind_a_speculation_barrier(function: str, arrays: int):
    """array_index_nospec() is visible only by its instructions."""
    names = [words[0] for words in code(module("stable"), f"--disassemble={function}")]
    assert "ret" in names, f"{function}() is not in the module"
    assert names.count("csdb") >= arrays, names


def test_the_vmms_shadow_stack_is_off_in_the_guest():
    """GCSCRE0_EL1, by encoding or, for newer tools, by name: no available emulator has it."""
    lines = (" ".join(words[:2]) for words in code(module("stable")))
    lines = (line.replace("gcscre0_el1", "s3_0_c2_c5_2") for line in lines)
    words = [line for line in lines if "s3_0_c2_c5_2" in line]
    assert len(words) == 3, words
    saved = words[0].removeprefix("mrs ").split(",")[0]
    assert words == [
        f"mrs {saved}, s3_0_c2_c5_2",
        "msr s3_0_c2_c5_2, xzr",
        f"msr s3_0_c2_c5_2, {saved}",
    ]


@pytest.mark.parametrize("section", COPIES)
def test_nothing_is_read_between_the_workaround_and_eret(section: str):
    """Errata 2966298 and 3117295: a load after their TLBI would defeat it."""
    lines = code(module("stable"), "-j", section)
    at = [i for i, words in enumerate(lines) if words[:2] == ["tlbi", "vale1, xzr"]]
    assert len(at) == 1, lines
    assert [" ".join(words[:2]) for words in lines[at[0] + 1 : at[0] + 3]] == ["dsb nsh", "eret"]


def test_the_modules_own_is_looked_at(tmp_path):
    """This kernel exports nothing, so the script complains of the module's symbols, and nothing
    else.
    """
    done = check(tmp_path, module("stable"))
    assert done.returncode == 1 and "9.9.9-test does not export" in done.stderr
    assert "of the window" not in done.stderr
