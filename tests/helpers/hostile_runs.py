# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Hostile VMMs and hostile guests on a board, for the tests of stock hosts and of the host with
checkers.

A run is a script. All that it took from the host must be back when the module has been unloaded.
"""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from built import TOP, make
from guest_runs import MARK
from shared_board import Part, run_parts

from armvisor_lab.archive import kernels
from armvisor_lab.boards.board import Board, Result
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.figures import artefacts

# Parts of module/tests/kvm/hostile/main.c. Each is one board.
PARTS = (
    "memory", "files", "processes", "arguments", "many", "odd", "close", "guests", "swap",
    "power", "messages", "changed", "protected",
)  # fmt: skip
# One for hosts whose KVM has guest_memfd for plain VMs.
NEWEST_PART = "gmem"

SWAP = "echo 64M >/sys/block/zram0/disksize && mkswap /dev/zram0 >/dev/null && swapon /dev/zram0"

# A machine that slept may have lost its channels to the lab (boards/board-init.sh).
SLEEPS = """
status=0; {once} >/tmp/said 2>&1 || status=$?
if /init reopen; then exec >/dev/lab/stdout 2>/dev/lab/stderr; fi
cat /tmp/said; [ $status = 0 ]
"""

# KiB by which the host's own caches may have grown meanwhile.
GROWTH = {"SUnreclaim": 4096, "PageTables": 512, "VmallocUsed": 2048, "Shmem": 512}
FIGURES = f"""
figures() {{
    sync; echo 3 >/proc/sys/vm/drop_caches; sleep 1
    printf '{MARK}figures\\n'; grep -E '^({"|".join(GROWTH)}):' /proc/meminfo; printf '{MARK}\\n'
}}
"""


@dataclass(frozen=True)
class Case:
    """A guest of guests/hostile, and its expected end."""

    name: str
    # None: it does not end by itself and is stopped.
    status: int | None = 0
    # Expected output of the VMM.
    says: str = ""
    # Further arguments for the guest; a case with the same guest needs another name.
    append: str = ""
    # It may end in any way: it harms itself.
    any_end: bool = False
    # Figures that show how much of a hole's page the guest can read: all of it, where there are
    # stubs.
    shown: Sequence[str] = ()

    @property
    def stubs(self) -> bool:
        """The case begins when the module has found room for stubs; KVM has no stubs."""
        return self.name.startswith("annex-") and self.name != "annex-off"

    @property
    def key(self) -> str:
        return f"{self.name},{self.append}" if self.append else self.name


HOLES = (
    "hole-access", "hole-user", "hole-jump", "hole-map", "hole-code", "hole-anchor", "hole-roots",
    "hole-flag",
)  # fmt: skip
CASES = (
    Case("jump"),
    Case("registers"),
    Case("calls"),
    Case("held"),
    Case("tables-device"),
    Case("tables-hole"),
    Case("tables-beyond"),
    Case("tables-self"),
    Case("tables-race"),
    Case("window"),
    Case("vector", None),
    Case("vector-hole", None),
    Case("stack", None),
    Case("wfi", None),
    Case("wfe", None),
    Case("annex-user"),
    Case("annex-kernel"),
    Case("annex-off"),
    Case("annex-remap"),
    Case("annex-remap-first"),
    Case("annex-move"),
    *(Case(name, shown=("shown", "again")) for name in HOLES),
    Case("hole-search", shown=("again",)),
    *(Case("annex-words", append=f"seed={seed}", any_end=True) for seed in range(1, 5)),
    *(Case("annex-garbage", append=f"seed={seed}", any_end=True) for seed in range(1, 9)),
    *(Case("annex-jump", append=f"seed={seed}", any_end=True) for seed in range(1, 5)),
    # After all these, an ordinary guest still runs.
    Case("annex-off", append="again=1"),
)
# One of those that differ by their seed only.
FEW_CASES = tuple(case for case in CASES if case.append in ("", "seed=1", "again=1"))

SIGTERM = 143


@dataclass
class Machine:
    """The host board."""

    kernel: str
    module: Path | None = None
    smp: int = 2
    count: bool = False
    append: str = ""
    leaks: bool = False
    timeout: float = 600
    modules: Sequence[str | Module] = field(default_factory=tuple)

    def board(self, files: dict[str, Path | bytes]) -> Board:
        if self.module:
            files = files | {"/armvisor.ko": self.module}
        return Board(
            el2=not self.module, kernel=self.kernel, smp=self.smp, count=self.count,
            memory=2048, append=self.append, check_leaks=self.leaks, timeout=self.timeout,
            modules=self.modules, files=files,
        )  # fmt: skip

    def script(self, script: str) -> str:
        """With the module loaded before and unloaded after it, if there is one."""
        lines = ["insmod /armvisor.ko", script, "rmmod armvisor"] if self.module else [script]
        return "\n".join(["set -e", *lines])

    def run(self, script: str, files: dict[str, Path | bytes]) -> Result:
        return self.board(files | {"/script": self.script(script).encode()}).run(["sh", "/script"])


def swap_modules(kernel: str) -> tuple[str, ...]:
    """Modules for SWAP on a board with that kernel."""
    # Before Linux 6.12, zram's compressor is a separate module, which zram requests by name.
    its_own = list(kernels.get(kernel).modules.rglob("lzo-rle.ko*"))
    return (*(["lzo-rle"] if its_own else []), "zram")


def programs() -> Path:
    """The folder of the programs that speak KVM's API."""
    make(str(TOP / "module/tests/kvm"))
    return TOP / "build/module/kvm"


def hostile_vmm(machine: Machine, part: str, settings: str = "") -> Result:
    """Run a part of the hostile VMM twice and compare the host's memory after each."""
    if part == "swap":
        machine.modules = (*machine.modules, *swap_modules(machine.kernel))
    once = f"{settings} /hostile {part}"
    if part == "power":
        once = SLEEPS.format(once=once)
    script = [FIGURES, SWAP if part == "swap" else "", once]
    if not machine.leaks:
        script += ["figures", once, "figures"]
    result = machine.run("\n".join(script), {"/hostile": programs() / "hostile"})
    text = result.check().text
    assert text.count("\ndone\n") == (1 if machine.leaks else 2), text
    if not machine.leaks:
        assert_comes_back(text)
        # Stock kernels can do both; the kernel with checkers has no sleep.
        assert "no CPU that could go off" not in text and "no clock that could" not in text
    return result


def hostile_vmms(machine: Machine, parts: Mapping[str, str]) -> dict[str, Part]:
    """Run parts of the hostile VMM (with their settings) on one board, each under the bookkeeper.

    The first one runs before that, too: the host's caches then have grown. The module is loaded
    anew for each.
    """
    once = {part: f"{settings} /hostile {part}" for part, settings in parts.items()}
    scripts = {"before": machine.script(next(iter(once.values())))}
    for part, line in once.items():
        lines = [FIGURES, "figures", machine.script(line), "figures"]
        scripts[part] = "\n".join(lines)
    return run_parts(machine.board({"/hostile": programs() / "hostile"}), scripts)


def assert_no_harm(part: Part) -> None:
    """The host lived, and has what it had before."""
    text = part.check()
    assert text.count("\ndone\n") == 1, text
    assert_comes_back(text)


def fuzz_seconds(otherwise: int) -> int:
    """How long to fuzz the API; `ARMVISOR_FUZZ_SECONDS` overrides it."""
    return int(os.environ.get("ARMVISOR_FUZZ_SECONDS", otherwise))


def fuzzed_api(machine: Machine, seconds: int, settings: str = "") -> Result:
    """Fuzz the API for that long: `ARMVISOR_FUZZ_FIRST` is the first seed.

    Half of it runs before the bookkeeper's first look. If a board's log has a failure, its output
    names the seeds: FIRST and SEEDS run them again.
    """
    first = int(os.environ.get("ARMVISOR_FUZZ_FIRST", "1"))
    half = f"SECONDS={max(1, seconds // 2)} {settings} /fuzz_api"
    again = f"FIRST={first + 1000000} {half}"
    script = [FIGURES, f"FIRST={first} {half}"]
    script += [again] if machine.leaks else ["figures", again, "figures"]
    machine.timeout += 2 * seconds
    result = machine.run("\n".join(script), {"/fuzz_api": programs() / "fuzz_api"})
    text = result.check().text
    assert text.count("\ndone\n") == 2, text
    assert_did_something(text, protected=machine.module is not None)
    if not machine.leaks:
        assert_comes_back(text)
    return result


# Rarely accepted: most of these calls are wrong, or repeat an earlier one.
SELDOM = {
    "any_call", "attribute", "bell_deassign", "counter", "file_exchange", "host_cpu", "its_address",
    "gmem_create", "gmem_slot", "pmu", "ring_enable", "run_too", "slot_odd", "vcpu_create",
    "vgic_address",
}  # fmt: skip
# Operations of protected VMs, which KVM makes only in EL2's protected mode.
PROTECTED = {
    "gmem_advise", "gmem_create", "gmem_file", "gmem_map", "gmem_slot", "gmem_touch", "gmem_vm",
}  # fmt: skip
# After this many operations in a run, each other operation was accepted at least once.
ENOUGH = 10_000


def assert_did_something(text: str, protected: bool = True):
    """Each operation was accepted in a long run, except the rare ones; guests ran."""
    seldom = SELDOM if protected else SELDOM | PROTECTED
    done: dict[str, int] = {}
    tried = 0
    for name, n, good in re.findall(r"^op (\w+): (\d+) tried, (\d+) done", text, re.MULTILINE):
        done[name] = done.get(name, 0) + int(good)
        tried += int(n)
    idle = [name for name, n in done.items() if not n]
    assert len(done) > 50 and len(idle) < len(done) / 3, f"never done: {', '.join(idle)}"
    assert tried < ENOUGH or not set(idle) - seldom, f"never done: {', '.join(idle)}"
    exits = re.findall(r"^exits: (\d+) mmio", text, re.MULTILINE)
    assert sum(map(int, exits)) > 0, "no guest ran"


def assert_comes_back(text: str):
    """The host holds no more memory after the second run than before it."""
    parts = text.split(MARK)
    before, after = (
        {line.split(":")[0]: int(line.split()[1]) for line in part.splitlines()[1:]}
        for part in parts
        if part.startswith("figures\n")
    )
    grown = {name: after[name] - before[name] for name in GROWTH}
    assert all(grown[name] <= GROWTH[name] for name in GROWTH), f"KiB kept by the host: {grown}"


# begin CASE WORDS…: start a guest. await LINE: until the guest has printed it, however long that
# takes, or has ended. let_run SECONDS: then stop it. end CASE: its status and its whole output.
GUESTS = f"""
begin() {{
    printf '{MARK}begin %s\n' "$1"; shift
    "$@" </dev/null >/tmp/out 2>&1 & vm=$!
}}
await() {{
    until grep -q "^$1" /tmp/out; do kill -0 $vm 2>/dev/null || return 0; usleep 20000; done
}}
let_run() {{
    left=$((50 * $1))
    while [ $left -gt 0 ] && kill -0 $vm 2>/dev/null; do usleep 20000; left=$((left - 1)); done
    kill -TERM $vm 2>/dev/null || return 0
}}
end() {{
    status=0; wait $vm || status=$?
    printf '{MARK}end %s %s\n' "$1" $status; cat /tmp/out
}}
"""


def _command(case: Case, seconds: int) -> str:
    words = ["armvisor", "run", "--kernel", "/hostile.img", "--cpus", "2", "--memory", "64M"]
    words += ["--append", f"case={case.name} {case.append}"]
    lines = [shlex.join(["begin", case.key, *words])]
    if case.status is None or case.any_end:
        # Counted from its beginning: the time until then depends on the machine.
        first = "result annex.others" if case.stubs else f"case {case.name}"
        lines += [f"await '{first}'; let_run {seconds}"]
    return "\n".join([*lines, f"end {case.key}"])


def hostile_guests(machine: Machine, cases: Sequence[Case], seconds: int = 5) -> Result:
    """Run the cases in turn; each must end as expected, after its first line.

    Cases that never end by themselves run for that many seconds after it. The others have as long
    as the board.
    """
    files: dict[str, Path | bytes] = {
        "/bin/armvisor": artefacts.vmm(),
        "/hostile.img": artefacts.bare("hostile"),
    }
    script = "\n".join([GUESTS, *(_command(case, seconds) for case in cases)])
    result = machine.run(script, files)
    told = [part.partition("\n")[::2] for part in result.text.split(MARK)[1:]]
    assert not result.failure, f"{result.failure}\nlast: {told[-1:]}"
    result.check()
    parts = {}
    for head, said in told:
        what, name, *status = head.split()
        if what == "end":
            parts[name] = (int(status[0]), said)
    for case in cases:
        status, said = parts[case.key]
        assert f"case {case.name}\n" in said.replace("\r", ""), said
        if case.stubs:
            # All words of the page except the header's: registers, none of them the guest's own.
            assert f"result annex.others {504 if machine.module else 0} count" in said, said
        for name in case.shown:
            assert f"result hole.{name} {512 if machine.module else 0} count" in said, said
        if case.any_end:
            continue
        assert status == (SIGTERM if case.status is None else case.status), (
            f"{case.key} ended with {status}: {said}"
        )
        assert case.says in said, said
        if case.status == 0:
            assert "result hostile.failures 0 count" in said, said
    return result
