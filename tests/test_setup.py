# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""tools/setup: immediate and offline once done, and clear about failures."""

import os
import pwd
import re
import subprocess
from pathlib import Path

import pytest

from armvisor_lab import paths

TOP = Path(__file__).resolve().parents[1]
SETUP = TOP / "tools/setup"


def can_leave_the_network() -> bool:
    return subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode == 0


def write_program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def run_with(programs: Path, cache: Path, **more: str) -> subprocess.CompletedProcess[str]:
    path = f"{programs}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "ARMVISOR_CACHE": str(cache), **more}
    return subprocess.run([SETUP], env=env, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not can_leave_the_network(), reason="needs root to be without a network")
def test_a_second_run_is_quiet_and_offline():
    subprocess.run([SETUP], check=True)
    before = os.times()
    done = subprocess.run(["unshare", "-n", SETUP], capture_output=True, text=True, check=False)
    after = os.times()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    # CPU time, because the machine may be busy.
    used = (after.children_user - before.children_user) + (
        after.children_system - before.children_system
    )
    assert used < 2


def test_rust_s_settings_read_the_same_in_the_shell_and_in_make():
    lines = (paths.cache() / "rust.env").read_text().splitlines()
    pairs = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    assert {"CARGO", "RUSTC", "CARGO_BUILD_TARGET"} <= set(pairs)
    for value in pairs.values():
        assert not set(value) & set(" \t'\"$#\\")
    assert Path(pairs["CARGO"]).exists()
    assert pairs["CARGO_BUILD_TARGET"].startswith("aarch64-unknown-linux-")


def test_a_package_that_cannot_be_installed_is_said_with_apt_s_words(tmp_path):
    programs = tmp_path / "bin"
    write_program(programs, "dpkg-query", "exit 1")
    write_program(programs, "id", "echo 0")
    write_program(programs, "env", 'shift; exec "$@"')
    write_program(
        programs, "apt-get", '[ "$1" = update ] || { echo "E: held broken packages"; exit 100; }'
    )
    done = run_with(programs, tmp_path / "cache")
    assert done.returncode == 1
    assert "installing Debian packages: bc" in done.stderr
    assert "E: held broken packages" in done.stderr
    assert "failed: installing Debian packages" in done.stderr
    assert str(tmp_path / "cache/setup.log") in done.stderr


def test_without_root_and_sudo_the_command_to_run_is_told(tmp_path):
    programs = tmp_path / "bin"
    write_program(programs, "dpkg-query", "exit 1")
    write_program(programs, "id", "echo 1000")
    for name in ("bash", "dirname", "readlink", "mkdir", "flock", "sed", "sort", "comm", "rm",
                 "tail", "printf", "env", "apt-get"):  # fmt: skip
        target = next(
            Path(folder) / name for folder in ("/bin", "/usr/bin") if (Path(folder) / name).exists()
        )
        (programs / name).symlink_to(target)
    env = {"PATH": str(programs), "ARMVISOR_CACHE": str(tmp_path / "cache"), "HOME": "/"}
    done = subprocess.run([SETUP], env=env, capture_output=True, text=True, check=False)
    said = done.stderr + (tmp_path / "cache/setup.log").read_text()
    assert done.returncode == 1
    assert "needs root" in said
    assert "as root: apt-get update" in said


def test_an_unknown_choice_of_rust_is_refused(tmp_path):
    env = {**os.environ, "ARMVISOR_RUST": "nightly", "ARMVISOR_CACHE": str(tmp_path)}
    done = subprocess.run(
        [TOP / "tools/setup-rust"], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "rustup or debian" in done.stderr


def test_an_unknown_part_is_refused(tmp_path):
    env = {**os.environ, "ARMVISOR_CACHE": str(tmp_path)}
    done = subprocess.run([SETUP, "nosuch"], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no part 'nosuch'" in done.stderr
    assert not list(tmp_path.iterdir())


# ---- where the cache is ----------------------------------------------------------------------


@pytest.fixture
def toolchain(tmp_path) -> Path:
    """Programs that stand for a complete rustup; `cargo` builds unless there is a `broken`."""
    programs = tmp_path / "bin"
    write_program(programs, "rustc", "echo 'rustc 1.90.0 (0)'")
    listed = "aarch64-unknown-linux-musl\\nrustfmt\\nclippy"
    write_program(programs, "rustup", f"printf '{listed}\\n'")
    made = "target/$CARGO_BUILD_TARGET/debug"
    write_program(
        programs, "cargo",
        f'[ ! -e "{tmp_path}/broken" ] && mkdir -p {made} && echo >{made}/proof',
    )  # fmt: skip
    write_program(programs, "qemu-aarch64-static", "echo proven")
    return programs


def run_at(folder: Path, program: str, *words: str, programs: Path | None = None, **env: str):
    """A program of the checkout, from another folder; HOME only if it is given."""
    path = f"{programs}:{os.environ['PATH']}" if programs else os.environ["PATH"]
    kept = {k: v for k, v in os.environ.items() if k not in ("HOME", "ARMVISOR_CACHE")}
    return subprocess.run(
        [TOP / program, *words], cwd=folder, env={**kept, "PATH": path, **env},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_relative_cache_is_one_of_the_caller_s_folder(tmp_path, toolchain):
    done = run_at(tmp_path, "tools/setup-rust", programs=toolchain, ARMVISOR_CACHE="rel",
                  HOME=str(tmp_path))  # fmt: skip
    # Set-up makes the folder, and this is the only part of it here.
    assert done.returncode == 1 and "failed" in done.stderr
    (tmp_path / "rel").mkdir()
    done = run_at(tmp_path, "tools/setup-rust", programs=toolchain, ARMVISOR_CACHE="rel",
                  HOME=str(tmp_path))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "done; Rust: rustup" in done.stderr and "failed" not in done.stderr
    assert (tmp_path / "rel/rust.env").exists()
    done = run_at(tmp_path, "tools/cargo", "--version", programs=toolchain, ARMVISOR_CACHE="rel")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_toolchain_that_builds_nothing_is_a_failure(tmp_path, toolchain):
    (tmp_path / "broken").touch()
    (tmp_path / "cache").mkdir()
    done = run_at(tmp_path, "tools/setup-rust", programs=toolchain, HOME=str(tmp_path),
                  ARMVISOR_CACHE=str(tmp_path / "cache"))  # fmt: skip
    assert done.returncode == 1
    assert "failed: Rust cannot build an arm64 program" in done.stderr
    assert "done" not in done.stderr
    assert not (tmp_path / "cache/rust.env").exists()


def test_without_home_the_user_s_own_is_found(tmp_path):
    cache = str(paths.cache())
    for program in ("bin/lab", "tools/cargo"):
        done = run_at(tmp_path, program, "--version", ARMVISOR_CACHE=cache)
        assert done.returncode == 0, f"{program}: {done.stderr}"
    said = run_at(tmp_path, "bin/lab", "--version", ARMVISOR_CACHE=cache).stdout
    assert re.fullmatch(r"lab \d+\.\d+\.\d+, revision [0-9a-f]{9}\+?\n", said)


@pytest.mark.parametrize("how", ["environment", "command line"])
def test_make_knows_the_cache_by_its_full_name(tmp_path, how):
    """In every folder, and without HOME, too."""
    (tmp_path / "top.mk").write_text(
        f"include {TOP}/Makefile\nshow: ; @echo $(CACHE) $(VENV) $$ARMVISOR_CACHE; "
        f"$(MAKE) -C {tmp_path} -f sub.mk\n"
    )
    (tmp_path / "sub.mk").write_text("all: ; @echo $$ARMVISOR_CACHE $$HOME\n")
    words = ["-s", "-C", str(TOP), "-f", str(tmp_path / "top.mk"), "show"]
    env = {k: v for k, v in os.environ.items() if k not in ("HOME", "ARMVISOR_CACHE", "MAKEFLAGS")}
    if how == "environment":
        env["ARMVISOR_CACHE"] = "rel"
    else:
        words.append("ARMVISOR_CACHE=rel")
    done = subprocess.run(["make", *words], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    wanted, home = f"{TOP}/rel", pwd.getpwuid(os.getuid()).pw_dir
    assert done.stdout == f"{wanted} {wanted}/venv/bin {wanted}\n{wanted} {home}\n"
