# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Kernels that the module is built for: module/compat/headers.sh judges their headers, and
features.sh asks what they have, never which version they are.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from built import TOP, module
from headers import OPTIONS, fake_headers

from armvisor_lab.archive import kernels

SCRIPT = TOP / "module/compat/features.sh"
TESTS = TOP / "module/compat/feature_tests.h"
COMPILER = "aarch64-linux-gnu-gcc"
# Debian's kernels by role.
VERSIONS = {"oldstable": (6, 1), "stable": (6, 12), "newest": (7, 3)}
# The first of Linux's versions that has it; UNTIL: the first that has it no more.
SINCE = {
    "EVENTFD_SIGNAL_ONE": (6, 8),
    "HRTIMER_SETUP": (6, 13),
    "WAIT_PRIORITY_EXCLUSIVE": (6, 17),
    "SNAPSHOT_ID": (7, 2),
    "REALM_WORLD": (6, 13),
    "YOUNG_BOOL": (7, 1),
    "VM_FLAGS_SET": (6, 3),
    "SHRINKER_ALLOC": (6, 7),
    "SHRINKER_NAME": (6, 0),
    "FOLIO_LOCK_KILLABLE": (5, 16),
    "NEON_STATE": (6, 19),
    "PMU_CNTR_MASK": (6, 12),
    "KVM_VENDOR_HYP_BMAP_2": (6, 15),
    "KVM_IMP_IDS": (6, 15),
    "KVM_PMU_NR_COUNTERS": (6, 17),
    "KVM_GUEST_MEMFD_MMAP": (6, 18),
    "KVM_PMU_STRICT": (7, 3),
}
UNTIL = {"SHRINKER_NAME": (6, 7)}


def answers(header: Path) -> dict[str, int]:
    found = re.findall(r"^#define AV_HAS_(\w+) ([01])$", header.read_text(), re.M)
    return {name: int(value) for name, value in found}


@pytest.mark.parametrize("kernel", VERSIONS)
def test_a_kernel_has_what_its_version_has(kernel: str):
    """Of Debian's kernels, which take no such change over from newer ones."""
    told = answers(module(kernel).parent / "features.h")
    version = VERSIONS[kernel]
    assert told == {
        name: since <= version < UNTIL.get(name, (99, 0)) for name, since in SINCE.items()
    }


def test_each_test_is_of_a_change_between_kernels_that_are_tested():
    asked = set(re.findall(r"^#ifdef AV_TEST_(\w+)$", TESTS.read_text(), re.M))
    assert asked == set(SINCE)


def ask(folder: Path, tests: str, *compiler: str) -> subprocess.CompletedProcess[str]:
    (folder / "tests.h").write_text(tests)
    words = [str(SCRIPT), str(folder / "out.h"), str(folder / "tests.h"), *compiler]
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)


HAS = "void call(int number);\nenum names {{ ONE }};\n#ifdef AV_TEST_IT\n{}\n#endif\n"


@pytest.mark.parametrize(
    ("block", "has"),
    [
        ("void test(void) { call(1); }", 1),
        ("void test(void) { call(1, 2); }", 0),
        ("void test(void) { other(1); }", 0),
        ("int test = ONE;", 1),
        ("int test = TWO;", 0),
        ("void (*test)(int number) = call;", 1),
        ("void (*test)(const char *number) = call;", 0),
        ("#include <no/such/header.h>", 0),
        # Only a warning.
        ("int test(void) { int unused; return 0; }", 1),
    ],
)
def test_what_compiles_is_there(tmp_path: Path, block: str, has: int):
    """Also with the flags of a kernel whose warnings are errors."""
    done = ask(tmp_path, HAS.format(block), COMPILER, "-Wall", "-Werror", "-Wp,-MMD,x.d")
    assert (done.returncode, done.stderr) == (0, "")
    assert answers(tmp_path / "out.h") == {"IT": has}
    assert not (tmp_path / "x.d").exists()


def test_each_of_many_is_asked_by_itself(tmp_path: Path):
    blocks = [f"#ifdef AV_TEST_N{n}\nint same = {'n' * (n % 3 == 0)}0;\n#endif\n" for n in range(9)]
    assert ask(tmp_path, "".join(blocks), COMPILER).returncode == 0
    assert answers(tmp_path / "out.h") == {f"N{n}": int(n % 3 != 0) for n in range(9)}


@pytest.mark.parametrize(
    ("compiler", "says"),
    [
        (["no-such-compiler"], "not found"),
        ([COMPILER, "-include", "no_such_header.h"], "no_such_header.h: No such file"),
    ],
)
def test_where_nothing_compiles_it_says_so(tmp_path: Path, compiler: list[str], says: str):
    """A kernel that seems to have nothing would be built for as if it were the oldest."""
    done = ask(tmp_path, HAS.format("int test;"), *compiler)
    assert done.returncode == 1 and not (tmp_path / "out.h").exists()
    assert done.stderr.startswith("armvisor: the compiler cannot use this kernel's headers: ")
    assert says in done.stderr and done.stderr.count("\n") == 1


def test_it_asks_again_only_after_a_change(tmp_path: Path):
    """Of the tests, or of the compiler's flags."""
    ignored = shutil.ignore_patterns("tests")
    copy = Path(shutil.copytree(TOP / "module", tmp_path / "module", ignore=ignored))
    words = ["make", "-C", str(copy), "KVER=stable", f"KDIR={kernels.headers('stable')}"]
    words += [f"OUT={tmp_path}/out", "sparse", "OF=switch/layout.o"]

    def asked(**env: str) -> bool:
        done = subprocess.run(
            words, env=os.environ | env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return "TEST" in (tmp_path / "out/stable/sparse.log").read_text()

    assert asked()
    header = tmp_path / "out/stable/features.h"
    first = header.read_text()
    assert not asked()
    assert asked(KCFLAGS="-DOTHER")
    assert not asked(KCFLAGS="-DOTHER")
    assert header.read_text() == first
    tests = copy / "compat/feature_tests.h"
    tests.write_text(tests.read_text() + "\n#ifdef AV_TEST_NEW\nint test;\n#endif\n")
    assert asked(KCFLAGS="-DOTHER")
    assert header.read_text() == first + "#define AV_HAS_NEW 1\n"


HEADERS = TOP / "module/compat/headers.sh"


def judge(folder: Path, *flags: str, **env: str) -> tuple[int, str]:
    words = [str(HEADERS), str(folder), *flags]
    done = subprocess.run(words, env=os.environ | env, capture_output=True, text=True, check=False)
    assert done.stdout == "" and done.stderr.count("\n") == (done.returncode != 0)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("release", "good"),
    [
        ("5.14.0-570.12.1.el9_6.aarch64", True),
        ("5.14.0", True),
        ("5.100.1", True),
        ("6.12.118+deb13-cloud-arm64", True),
        ("10.0.0-rc1", True),
        ("5.13.19", False),
        ("5.4.0-200-generic", False),
        ("4.18.0-553.el8_10.aarch64", False),
    ],
)
def test_kernels_from_5_14_on_will_do(tmp_path: Path, release: str, good: bool):
    status, said = judge(fake_headers(tmp_path / "kernel", release))
    assert (status == 0) == good, said
    assert good or said == (
        f"armvisor: kernel {release} is too old: the module is built for 5.14 and later\n"
    )


@pytest.mark.parametrize(
    ("lacks", "says"),
    [
        ("", "there is no folder '{}': install the kernel's headers, or give "),
        ("Makefile", "'{}' has no Makefile, so it holds no kernel headers: give "),
        ("include/generated/autoconf.h", "the kernel in '{}' is not configured (no include/"),
        ("include/config/kernel.release", "the kernel in '{}' is not prepared (no include/"),
        ("Module.symvers", "the kernel in '{}' has no Module.symvers, the list of what it exports"),
    ],
)
def test_what_headers_lack_is_one_sentence(tmp_path: Path, lacks: str, says: str):
    folder = tmp_path / "kernel"
    if lacks:
        (fake_headers(folder) / lacks).unlink()
    status, said = judge(folder)
    assert status == 1
    assert said.startswith(f"armvisor: {says.format(folder)}")
    if lacks == "Module.symvers":
        assert judge(folder, KBUILD_MODPOST_WARN="1") == (0, "")


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_that_the_kernel_lacks_is_named(tmp_path: Path, option: str):
    folder = fake_headers(tmp_path / "kernel", without=option)
    status, said = judge(folder)
    assert status == 1
    if option == "ARM64":
        assert said.endswith("is not for arm64: give the headers of an arm64 kernel\n")
    else:
        assert f"was built without CONFIG_{option}, which the module needs" in said
    with (folder / "include/generated/autoconf.h").open("a") as file:
        file.write(f"#define CONFIG_{option}_MODULE 1\n")
    assert judge(folder) == (0, "")


CALLED = ("mmu_notifier_register", "eventfd_ctx_fdget", "anon_inode_getfd")


@pytest.mark.parametrize("lacks", ["", *CALLED])
def test_what_a_kernel_with_trimmed_symbols_lacks_is_named(tmp_path: Path, lacks: str):
    """A kernel may be trimmed and yet export what the module calls."""
    folder = fake_headers(tmp_path / "kernel")
    exported = [name if name != lacks else f"{name}_too" for name in CALLED]
    lines = [f"0x00000000\t{name}\tvmlinux\tEXPORT_SYMBOL_GPL\t\n" for name in exported]
    (folder / "Module.symvers").write_text("".join(lines))
    assert judge(folder) == (0, "")
    with (folder / "include/generated/autoconf.h").open("a") as file:
        file.write("#define CONFIG_TRIM_UNUSED_KSYMS 1\n")
    status, said = judge(folder)
    assert status == (1 if lacks else 0)
    assert not lacks or said == (
        "armvisor: kernel 6.12.9-arm64 exports only what its own modules use "
        f"(CONFIG_TRIM_UNUSED_KSYMS), and not {lacks}: boot a kernel that was built without "
        "CONFIG_TRIM_UNUSED_KSYMS\n"
    )
    assert judge(folder, KBUILD_MODPOST_WARN="1") == (0, "")


@pytest.mark.parametrize("kernel", VERSIONS)
def test_each_version_of_the_module_calls_these(kernel: str):
    words = ["aarch64-linux-gnu-nm", "-u", str(module(kernel))]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert set(CALLED) <= set(done.stdout.split())


@pytest.mark.parametrize(
    ("flags", "lacks"),
    [
        ((), ""),
        (("CC=sh",), ""),
        (("CC=sh -m64", "CROSS_COMPILE=no-such-"), ""),
        (("CC=no-such-gcc",), "no-such-gcc"),
        (("ARCH=arm64", "CROSS_COMPILE=no-such-"), "no-such-gcc"),
        (("CC=no-such-clang", "LLVM=1"), "no-such-clang"),
        (("LLVM=-no-such",), "clang-no-such"),
        (("LLVM=/no-such/",), "/no-such/clang"),
    ],
)
def test_a_compiler_that_is_missing_is_named(tmp_path: Path, flags: tuple[str, ...], lacks: str):
    said = f"armvisor: the compiler {lacks} is missing: install it, or name another as CC=…\n"
    assert judge(fake_headers(tmp_path / "kernel"), *flags) == ((1, said) if lacks else (0, ""))


def test_make_says_what_is_missing_first(tmp_path: Path):
    words = ["make", "-s", "-C", str(TOP / "module"), f"OUT={tmp_path}/out", "KVER=x"]
    words.append(f"KDIR={fake_headers(tmp_path / 'kernel', '5.10.0')}")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and done.stdout == ""
    assert done.stderr.startswith("armvisor: kernel 5.10.0 is too old: ")
