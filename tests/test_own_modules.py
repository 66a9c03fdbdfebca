# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The module on kernels that take no module, or not this one: under lockdown, with trimmed symbols.

The kernel under lockdown is the lab's `distribution` (lab/kernel/distribution.config), whose key
its build made. The one with trimmed symbols is the lab's `phone`, configured anew and built again
as far as that needs.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from built import TOP, own_kernel, own_module
from hostile_runs import programs
from shared_board import Part, run_parts

from armvisor_lab.archive.debugkernel import compiler
from armvisor_lab.archive.linuxsource import CROSS
from armvisor_lab.boards.board import Board
from armvisor_lab.figures import artefacts

pytestmark = [pytest.mark.conformance, pytest.mark.xdist_group("own-modules")]


# ---- lockdown and signatures ----------------------------------------------------------------


def sign(key: Path, certificate: Path, target: Path) -> Path:
    """A copy of the module, signed by the kernel's own program."""
    program = own_kernel("distribution") / "build/scripts/sign-file"
    words = [str(program), "sha256", str(key), str(certificate)]
    subprocess.run([*words, str(own_module("distribution")), str(target)], check=True)
    return target


def new_key(folder: Path) -> tuple[Path, Path]:
    """A key that no kernel knows, with its certificate."""
    key, certificate = folder / "key.pem", folder / "key.x509"
    words = ["openssl", "req", "-new", "-x509", "-newkey", "rsa:2048", "-nodes", "-sha256"]
    words += ["-subj", "/CN=armvisor test/", "-outform", "DER", "-days", "36500"]
    subprocess.run(
        [*words, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True
    )
    return key, certificate


TRY = "insmod /{name}.ko; echo $?; ! test -e /dev/kvm || echo there"
DOCTOR = "mount -t securityfs none /sys/kernel/security 2>/dev/null; armvisor doctor; echo $?"
SCRIPTS = {
    "unsigned": TRY.format(name="armvisor"),
    "foreign": TRY.format(name="foreign"),
    "before": DOCTOR,
    "signed": f"{TRY.format(name='signed')}; /memory",
    "after": DOCTOR,
}


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Part]:
    folder = tmp_path_factory.mktemp("keys")
    certs = own_kernel("distribution") / "build/certs"
    files = {
        "/armvisor.ko": own_module("distribution"),
        "/foreign.ko": sign(*new_key(folder), folder / "foreign.ko"),
        "/signed.ko": sign(
            certs / "signing_key.pem", certs / "signing_key.x509", folder / "signed.ko"
        ),
        "/bin/armvisor": artefacts.vmm(),
        "/memory": programs() / "memory",
        "/etc/os-release": b"ID=debian\n",
    }
    board = Board(
        kernel=str(own_kernel("distribution")), append="lockdown=integrity", memory=1536,
        files=files,
    )  # fmt: skip
    return run_parts(board, SCRIPTS)


def test_a_locked_kernel_takes_no_unsigned_module(locked: dict[str, Part]):
    said = locked["unsigned"].check().splitlines()
    assert said == ["1"]
    assert (
        "insmod: can't insert '/armvisor.ko': Operation not permitted" in locked["unsigned"].stderr
    )
    assert "Lockdown: insmod: unsigned module loading is restricted" in locked["unsigned"].console


def test_a_locked_kernel_takes_no_key_that_it_does_not_know(locked: dict[str, Part]):
    assert locked["foreign"].check().splitlines() == ["1"]
    assert "insmod: can't insert '/foreign.ko': Operation not permitted" in locked["foreign"].stderr


def test_a_signed_module_serves_a_locked_kernel(locked: dict[str, Part]):
    said = locked["signed"].check().splitlines()
    assert said[:2] == ["0", "there"] and said[-1] == "done"


def test_the_doctor_says_so(locked: dict[str, Part]):
    before, after = (locked[name].check() for name in ("before", "after"))
    assert "the kernel is locked down (integrity): it loads signed modules only" in before
    assert "sign the module" in before
    assert after.startswith("Yes"), after


# ---- trimmed symbols --------------------------------------------------------------------------


@pytest.fixture
def trimmed(tmp_path: Path) -> Iterator[Path]:
    """The phone's kernel with CONFIG_TRIM_UNUSED_KSYMS, built in a copy of its tree.

    Only lists of symbols are made anew, so that takes a minute.
    """
    build = tmp_path / "build"
    shutil.copytree(own_kernel("phone") / "build", build, symlinks=True)
    subprocess.run(["scripts/config", "--enable", "TRIM_UNUSED_KSYMS"], cwd=build, check=True)
    installed = f"INSTALL_MOD_PATH={tmp_path}"
    for targets in (["olddefconfig"], ["Image", "modules"], [installed, "modules_install"]):
        words = ["make", "-s", f"-j{os.cpu_count() or 1}", *CROSS, *compiler("phone"), *targets]
        subprocess.run(words, cwd=build, check=True, capture_output=True)
    shutil.copy(build / "arch/arm64/boot/Image", tmp_path / "Image")
    (tmp_path / "modules").symlink_to(next((tmp_path / "lib/modules").iterdir()))
    yield tmp_path
    # Two gigabytes, which pytest would keep.
    shutil.rmtree(build)


def test_trimmed_symbols_are_named(trimmed: Path):
    """When the module is built for such a kernel, and when another's module is loaded there."""
    words = ["make", "-s", "-C", str(TOP / "module"), f"OUT={trimmed}/out", "KVER=trimmed"]
    words += [f"KDIR={trimmed / 'build'}", *compiler("phone")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    first = done.stderr.splitlines()[0]
    assert "exports only what its own modules use (CONFIG_TRIM_UNUSED_KSYMS), and not" in first
    assert first.endswith("boot a kernel that was built without CONFIG_TRIM_UNUSED_KSYMS")
    board = Board(kernel=str(trimmed), files={"/armvisor.ko": own_module("phone")})
    loaded = board.run(["sh", "-c", "insmod /armvisor.ko; echo $?; ls /dev/kvm"])
    assert not loaded.failure, loaded.failure
    # ENOENT
    assert loaded.text == "2\n" and b"unknown symbol in module" in loaded.stderr
    assert "armvisor: Unknown symbol mmu_notifier_register (err -2)" in loaded.console
