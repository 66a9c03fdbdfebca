# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Bare-metal guests on a board, several in one boot, for the tests of guests and hypervisors.

    outputs = run_guests(Host(cpu="cortex-a72"), [Guest("hello"), Guest("smp", cpus=4)])
    outputs["hello"].results["hello.failures"]

A guest's results are its lines `result NAME VALUE UNIT`. A guest that did not print the last one,
`result NAME.failures 0 count`, has failed, whatever else it printed.
"""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from armvisor_lab.boards.board import Board
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.figures import artefacts

MARK = "\x1e"
# Makes the host's kernel mappings non-global, as with KASLR, which a counted board does not have.
# The module then switches without flushing the TLB.
KPTI = "kpti=1"


@dataclass(frozen=True)
class Host:
    """The host board: with EL2 and KVM, or without EL2 and with a module for it."""

    cpu: str = "cortex-a72"
    kernel: str = "stable"
    el2: bool = True
    module: Path | None = None
    parameters: str = ""  # module parameters
    smp: int = 1
    count: bool = False  # deterministic, even on a busy machine; one CPU
    append: str = ""  # further words for the kernel's command line
    newest_qemu: bool = False

    def __str__(self) -> str:
        return f"{'kvm' if self.el2 else 'module'}-{self.cpu}-{self.kernel}"


@dataclass(frozen=True)
class Guest:
    """A bare-metal program and its VM."""

    program: str
    append: str = ""
    cpus: int = 1
    memory: str = "64M"
    disk: bool = False
    pmu: bool = False
    exits: bool = False  # read the VM's statistics
    options: tuple[str, ...] = ()  # further options of `armvisor run`
    name: str = ""
    before: str = ""  # a line of the board's shell

    @property
    def key(self) -> str:
        """The key of the run in run_guests()'s result."""
        return self.name or self.program


@dataclass
class Output:
    """Output of one guest."""

    status: int = -1
    console: str = ""
    disk: str = ""
    results: dict[str, str] = field(default_factory=dict)
    exits: dict[str, int] = field(default_factory=dict)  # the VM's statistics


def results(text: str) -> dict[str, str]:
    """Values by name, of the lines `result NAME VALUE UNIT`."""
    lines = [line.split() for line in text.splitlines() if line.startswith("result ")]
    return {words[1]: words[2] for words in lines if len(words) == 4}


def _commands(guest: Guest) -> str:
    words = ["armvisor", "run", "--kernel", f"/guests/{guest.program}.img"]
    words += [
        "--memory",
        guest.memory,
        "--cpus",
        str(guest.cpus),
        "--append",
        guest.append,
        *guest.options,
    ]
    lines = [guest.before] if guest.before else []
    if guest.pmu:
        words.append("--pmu")
    if guest.exits:
        words.append("--json")
    if guest.disk:
        words += ["--disk", "/tmp/disk"]
        lines.append("rm -f /tmp/disk; truncate -s 8M /tmp/disk")
    lines.append(f"{shlex.join(words)} >/tmp/console; status=$?")
    lines.append(f"printf '{MARK}%s console %s\\n' {guest.key} $status; cat /tmp/console")
    if guest.disk:
        lines.append(f"printf '{MARK}%s disk 0\\n' {guest.key}; tr -d '\\0' </tmp/disk")
    return "\n".join(lines)


def _exits(text: str) -> dict[str, int]:
    """Statistics by name, of the report that is the last line."""
    last = text.rstrip().rpartition("\n")[2]
    report = json.loads(last) if last.startswith("{") else {}
    return report.get("kvm_exits", {}) | report.get("kvm", {})


def _split(text: str) -> dict[str, Output]:
    outputs: dict[str, Output] = {}
    for part in text.split(MARK)[1:]:
        head, _, body = part.partition("\n")
        key, what, status = head.split()
        output = outputs.setdefault(key, Output())
        if what == "disk":
            output.disk = body
        else:
            output.status = int(status)
            output.console = body
            output.results = results(body)
            output.exits = _exits(body)
    return outputs


def assert_isolated(host: Host, console: str) -> None:
    """If the host was told to isolate page tables, it does."""
    if KPTI in host.append.split():
        assert "detected: Kernel page table isolation (KPTI)" in console


def run_guests(
    host: Host, guests: Sequence[Guest], timeout: float = 500, check: bool = True
) -> dict[str, Output]:
    """Run the guests in turn on one board; with `check`, all must succeed."""
    script = "\n".join(_commands(guest) for guest in guests) + "\nexit 0\n"
    programs = {guest.program for guest in guests}
    board = Board(
        el2=host.el2,
        cpu=host.cpu,
        kernel=host.kernel,
        smp=host.smp,
        count=host.count,
        append=host.append,
        newest_qemu=host.newest_qemu,
        timeout=timeout,
        modules=[Module(str(host.module), host.parameters)] if host.module else (),
        files={
            "/bin/armvisor": artefacts.vmm(),
            "/script": script.encode(),
            **{f"/guests/{name}.img": artefacts.bare(name) for name in programs},
        },
    )
    done = board.run(["sh", "/script"])
    said = done.stderr.decode("utf-8", "replace")[-3000:]
    assert not done.failure, f"{done.failure}\n{done.text[-3000:]}\n{said}"
    # If the module ended a VM, it says why in the log.
    complaints = [line for line in done.console.splitlines() if "armvisor: VM" in line]
    assert not complaints, "\n".join(complaints)
    assert_isolated(host, done.console)
    outputs = _split(done.stdout.decode("latin-1"))
    if check:
        for guest in guests:
            output = outputs[guest.key]
            failures = output.results.get(f"{guest.program}.failures")
            assert (output.status, failures) == (0, "0"), f"{output.console}\n{said}"
    return outputs
