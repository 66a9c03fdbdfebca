# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The commands in the documents: each is run here, or by another test.

A command of a document is a line of a fenced block marked `sh`. A command that this file does not
know fails, and so does a row here that no document has any more.
"""

import re
import subprocess
from pathlib import Path

import pytest
from built import HANGS

TOP = Path(__file__).resolve().parents[1]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", *map(str, sorted(TOP.glob("*/*.md")))]

# Run here, from the checkout's top: text that standard output must contain.
RUN = {
    "make demo": r"This is Debian in a VM: Linux (?s:.*)Where the time went(?s:.*)As a page: /",
    "bin/lab board run -- uname -a": r"^Linux .* aarch64 GNU/Linux$",
    "bin/lab board run --el2 --cpu cortex-a76 --kernel newest -- ls /dev/kvm": r"^/dev/kvm$",
    "bin/lab kernel list": r"^stable +trixie +\d+\.\d+",
    "bin/lab board run --el2 --count --json -- cat /proc/uptime": r'"stdout": "\d+\.\d\d ',
    "make -C module check-symbols": r"^check-symbols: .*/newest/armvisor\.ko: \d+ symbols, ",
}

# Run by other tests, perhaps with other names of files and VMs: the test, and text to find there.
ELSEWHERE = {
    "make test": (".ci/run", "make test"),
    "make login": ("tests/test_module_clients.py", '"make", "login"'),
    "make figures": ("tests/test_figures.py", "figures"),
    "make bench": ("tests/test_bench.py", '"make", "bench"'),
    "bin/lab report": ("tests/test_report_page.py", '"report"'),
    "bin/lab compare OLD.json NEW.json": ("tests/test_bench.py", '"compare"'),
    "bin/lab compare lat.null ": ("tests/test_figures.py", '"compare", "hypercall"'),
    "make -C module KVER=stable": ("tests/helpers/built.py", "KVER="),
    "make -C module KVER=stable sparse": ("tests/test_module_sparse.py", '"sparse"'),
    "make -C module test": ("tools/test.py", '"module", "test"'),
    "bin/lab reach": ("tests/test_reach.py", '"reach"'),
    "bin/lab reach --on ": ("tests/test_reach.py", '"reach", "--on", "native"'),
    "bin/lab figures --classes ": ("tests/test_model.py", '"figures", "--classes"'),
    "bin/lab figures --only ": ("tests/test_figures.py", '"--only"'),
    "bin/lab model rows ": ("tests/test_model.py", '"model", "rows"'),
    "bin/lab model cycles ": ("tests/test_model.py", '"model", "cycles"'),
    "bin/lab model published": ("tests/test_model.py", '"model", "published"'),
    "apt install ./armvisor*.deb": (
        "tests/test_packages_debian.py",
        "apt-get install -y ./armvisor",
    ),
    "adduser USER kvm": ("tests/test_packages_debian.py", "useradd -m -G kvm user"),
    "make silicon-kit": ("tests/test_silicon.py", "silicon-kit"),
    "tar xf armvisor-silicon.tar.gz": ("tests/test_silicon.py", "tar xf "),
    "cd armvisor-silicon": ("tests/test_silicon.py", "cd armvisor-silicon"),
    "sudo ./run.sh": ("tests/test_silicon.py", "./run.sh --quick"),
    "make packages": ("tests/helpers/made_packages.py", "packages/build.sh"),
    "make install": ("tests/test_module_install.py", "module/install.sh"),
    "modprobe armvisor": ("tests/test_module_install.py", "modprobe armvisor"),
    "cd vmm && cargo build --release": ("tools/test.py", "tools/cargo"),
    "target/release/armvisor run ": ("tests/helpers/debian_runs.py", "armvisor run "),
    "armvisor run --image ": ("tests/test_image.py", "run --image "),
    "armvisor run --protected ": ("tests/test_protected.py", "armvisor run --protected "),
    "bin/lab board run --el2 --kernel newest --append kvm-arm.mode=protected ": (
        "tests/test_protected.py",
        "kvm-arm.mode=protected",
    ),
    "armvisor run --access-platform ": ("tests/test_bounce.py", "--access-platform"),
    "make bounce": ("Makefile", "test: vmm guests plugins module bounce"),
    "make apps": ("Makefile", "bench-full: vmm guests plugins module bounce apps"),
    "make -C bounce KVER=stable": ("tests/helpers/built.py", "KVER="),
    "make -C bounce test": ("tools/test.py", '"bounce/tests", "test"'),
    "insmod armvisor_bounce.ko": ("guests/debian/init", "armvisor_bounce.ko"),
    "insmod armvisor_bounce.ko ": ("guests/debian/init", "armvisor_bounce.ko"),
    "cat /sys/kernel/debug/armvisor_bounce/stats": (
        "guests/debian/init",
        "/sys/kernel/debug/armvisor_bounce/stats",
    ),
    "target/release/armvisor doctor": ("tests/test_doctor.py", "armvisor doctor"),
    "armvisor up web": ("tests/test_life.py", "armvisor up web"),
    "armvisor up web --image ": ("tests/test_life.py", "armvisor up web --config web.toml"),
    "armvisor ssh web": ("tests/test_life.py", "armvisor ssh web"),
    "armvisor stop web": ("tests/test_life.py", "armvisor stop web"),
    "armvisor list": ("tests/test_vmm_life.py", "armvisor list"),
    "armvisor stat VM --json": ("tests/test_vmm_life.py", "armvisor stat"),
    "armvisor stat VM --accounting on --watch": (
        "tests/test_module_stats.py",
        "armvisor stat known --accounting on --watch",
    ),
    "armvisor pause VM": ("tests/test_vmm_life.py", "armvisor pause"),
    "armvisor resume VM": ("tests/test_vmm_life.py", "armvisor resume"),
    "armvisor balloon VM 128M": ("tests/test_devices_debian.py", "armvisor balloon"),
    "armvisor stop VM": ("tests/test_devices_debian.py", "armvisor stop pressed"),
    "armvisor stop --force VM": ("tests/test_vmm_life.py", "armvisor stop --force"),
}


def shown() -> list[str]:
    """Every command in a document, in order, once."""
    commands: dict[str, None] = {}
    for document in DOCUMENTS:
        text = (TOP / document).read_text()
        for block in re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S):
            for line in block.splitlines():
                command = line.partition(" #")[0].strip()
                if command:
                    commands[command] = None
    return list(commands)


def elsewhere(command: str) -> list[str]:
    """The rows that cover `command`: itself or, for a row that ends in a blank, its beginning."""
    return [
        known
        for known in ELSEWHERE
        if command == known or (known.endswith(" ") and command.startswith(known))
    ]


def test_every_command_is_run_somewhere():
    unknown = [c for c in shown() if c not in RUN and not elsewhere(c)]
    assert not unknown


def test_nothing_is_run_that_no_document_shows():
    commands = shown()
    assert not [c for c in RUN if c not in commands]
    used = {known for command in commands for known in elsewhere(command)}
    assert set(ELSEWHERE) == used


# Folders in which a document's paths begin.
FOLDERS = (
    "",
    "module",
    "bounce",
    "lab",
    "lab/src/armvisor_lab",
    "vmm",
    "vmm/armvisor/src",
    "guests",
    "silicon",
)
SOURCE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:c|h|S|py|rs|toml|config))`")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_that_it_names_are_there(document: str):
    named = set(SOURCE.findall((TOP / document).read_text()))
    assert not [name for name in named if not any((TOP / top / name).exists() for top in FOLDERS)]


def test_the_tour_names_files():
    assert len(SOURCE.findall((TOP / "docs/architecture.md").read_text())) > 10


@pytest.mark.parametrize(("where", "what"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_the_other_place_has_it(where: str, what: str):
    assert what in (TOP / where).read_text()


@pytest.mark.parametrize("command", RUN)
def test_command(command: str):
    done = subprocess.run(
        ["bash", "-c", command], cwd=TOP, capture_output=True, text=True, timeout=HANGS, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert re.search(RUN[command], done.stdout, re.M), done.stdout[-2000:]
