# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The silicon kit (silicon/): what it says of wrong calls, what becomes of its facts, and the kit
from `make silicon-kit` on boards, where what it measures means nothing.
"""

import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from built import TOP, host_disk, module

from armvisor_lab.archive import kernels
from armvisor_lab.boards.board import Board, Result
from armvisor_lab.boards.host import Host
from armvisor_lab.reach import cores, profile

KIT = TOP / "silicon"
FACTS = r"""made midr 0x413fd0c1
made time 2026-01-01T00:00:00+00:00
made revision "quoted" \ and	tab
cycles-per-tick 40000
cost isb 31.500 34.000
cost dmb 0.000 4.000
figure lat.null.native 10.5 lat, best of 7
check translations-asid ok 40000 right
check guest-trap differs 1 of 2 lines
line trap one: x
"""


def as_json(facts: str, folder: Path) -> subprocess.CompletedProcess[str]:
    file = folder / "facts"
    file.write_text(facts)
    words = ["awk", "-v", "like=neoverse-n1", "-f", str(KIT / "json.awk"), str(file)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_facts_become_a_profile(tmp_path: Path):
    file = tmp_path / "out.json"
    file.write_text(as_json(FACTS, tmp_path).stdout)
    found = profile.read(file)
    assert (found.core.name, found.like.name) == ("silicon-413fd0c1", "neoverse-n1")
    assert found.costs == {"isb": (31.5, 34)}, "what takes nothing was not measured"
    # 40 cycles a tick.
    assert found.figures == {"lat.null.native": 420}
    assert found.checks["translations-asid"] == ("ok", "40000 right")
    assert found.checks["guest-trap"][0] == "differs"
    assert found.lines == ["trap one: x"]
    assert found.made["revision"] == '"quoted" \\ and tab'
    assert found.made["cycles-per-tick"] == "40"


def test_without_a_clock_there_is_no_profile(tmp_path: Path):
    done = as_json(FACTS.replace("cycles-per-tick 40000", ""), tmp_path)
    assert done.returncode == 1 and "how long a tick is" in done.stderr


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["--help"], 0, "usage: run.sh"),
        (["--what"], 2, "there is no option '--what'; --help tells"),
        (["-o"], 2, "-o takes a value"),
        (["--built", "/none"], 2, "/none is no folder"),
        (["--cpu", "-1"], 2, "--cpu takes a number"),
    ],
)
def test_what_it_is_asked(words: list[str], status: int, says: str):
    done = subprocess.run(
        ["sh", str(KIT / "run.sh"), *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == status and says in done.stdout + done.stderr


def test_the_core_that_it_names_is_the_models():
    named = re.findall(r"\becho ((?:cortex|neoverse)-\w+)", (KIT / "run.sh").read_text())
    assert len(named) > 3 and set(named) <= set(cores.known())


# ---- the kit --------------------------------------------------------------------------------


@cache
def kit() -> Path:
    """The archive, unpacked."""
    subprocess.run(["make", "-s", "silicon-kit"], cwd=TOP, check=True, capture_output=True)
    folder = TOP / "build/silicon/unpacked"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    archive = TOP / "build/silicon/armvisor-silicon.tar.gz"
    subprocess.run(["tar", "-C", str(folder), "-xzf", str(archive)], check=True)
    return folder / "armvisor-silicon"


@cache
def built() -> Path:
    """Its modules, for the boards' kernel."""
    folder = TOP / "build/silicon/modules"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(kit() / "costs", folder)
    make = ["make", "-s", "-C", str(kernels.headers("stable")), f"M={folder}", "ARCH=arm64"]
    make += ["CROSS_COMPILE=aarch64-linux-gnu-", "CC=aarch64-linux-gnu-gcc"]
    make += ["CONFIG_DEBUG_INFO_BTF_MODULES=", "CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=", "W=1"]
    done = subprocess.run([*make, "modules"], capture_output=True, text=True, check=True)
    assert "warning" not in done.stderr
    shutil.copy(module("stable"), folder / "armvisor.ko")
    return folder


def on_board(modules: Path, **board: object) -> tuple[Result, profile.Measured, Path]:
    """One run of the kit, quick; the file that it left."""
    machine = Board(
        memory=3072, timeout=1800, files={"/kit": kit(), "/modules": modules}, **board
    )  # fmt: skip
    script = "/kit/run.sh --quick --built /modules -o /out.json; echo status $? >&2; lsmod >&2; "
    done = machine.run(["sh", "-c", script + "ls /tmp >&2; cat /out.json"])
    assert not done.failure, done.failure
    file = TOP / "build/silicon/result.json"
    file.write_bytes(done.stdout)
    return done, profile.read(file), file


@pytest.mark.conformance
@pytest.mark.xdist_group("silicon")
@pytest.mark.parametrize("cpu", ["cortex-a72", "neoverse-n2"])
def test_on_a_board_without_el2(cpu: str):
    done, found, _ = on_board(built(), cpu=cpu)
    said = done.stderr.decode()
    assert "status 0" in said and "armvisor" not in said.partition("status 0")[2], said
    states = {name: state for name, (state, _) in found.checks.items()}
    for name in ("module", "translations-asid", "translations-flush", "guest-icc", "guest-debian"):
        assert states[name] == "ok", found.checks
    assert states["guest-trap"] in ("ok", "differs") and "failed" not in states.values()
    assert set(found.costs) >= {"isb", "tlbi", "exception"}
    assert found.checks["frequency"][0] in ("ok", "differs")
    assert {"lat.null.native", "lat.null.armvisor", "irq_completion.armvisor"} <= set(found.figures)
    # The same core as the oracle's: what differs is declared, in tests/data/module_traps.toml.
    if cpu == "cortex-a72":
        assert states["a32-srs"] == "seen" and states["guest-random"] == "ok", found.checks
        assert len(found.lines) < 60


@pytest.mark.conformance
@pytest.mark.xdist_group("silicon")
def test_on_a_board_with_kvm():
    _, found, _ = on_board(built(), el2=True)
    assert found.checks["module"][0] == "absent"
    assert found.checks["guest-trap"][0] == found.checks["guest-random"][0] == "ok", found.lines
    assert "lat.null.kvm" in found.figures


@pytest.mark.conformance
@pytest.mark.xdist_group("silicon")
def test_a_module_that_does_not_load_is_said(tmp_path: Path):
    modules = tmp_path / "modules"
    shutil.copytree(built(), modules)
    (modules / "armvisor.ko").write_bytes(b"no module")
    done, found, _ = on_board(modules)
    assert "status 3" in done.stderr.decode() and found.checks["module"][0] == "failed"
    assert "lat.null.native" in found.figures and "lat.null.armvisor" not in found.figures


@pytest.mark.conformance
@pytest.mark.xdist_group("silicon")
def test_it_builds_its_modules_on_a_debian(tmp_path: Path):
    """As its README says, with Debian's compiler and headers; then nothing is left."""
    host = Host(host_disk(tmp_path))
    archive = TOP / "build/silicon/armvisor-silicon.tar.gz"
    assert kit().is_dir()
    script = """
set -eu
cd /root && tar xf /run/orders/kit.tar.gz && cd armvisor-silicon
./run.sh --quick -o /root/out.json || echo "status: $?"
echo "modules: $(lsmod | grep armvisor || echo none)"
echo "files: $(ls -d /tmp/armvisor-silicon* 2>/dev/null || echo none)"
echo "json: $(tr -d '\\n' </root/out.json)"
"""
    done = host.run(script, {"kit.tar.gz": archive}).check()
    lines = dict(line.split(": ", 1) for line in done.text.splitlines() if ": " in line)
    assert lines["modules"] == lines["files"] == "none" and "status" not in lines, done.text
    assert json.loads(lines["json"])["checks"]["guest-debian"]["state"] == "ok"
