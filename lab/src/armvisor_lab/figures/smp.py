# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The cost of several vCPUs.

`ipi.*`, `ipi_running.*`, `lpi.*`, `fault.*` and `fork.*` have 4 or 8 CPUs; `lock.*` has one.

A counted board lets its CPUs take turns. Its clock is the instructions of all of them together;
waiting takes no time. So a figure is all work that was done, not how long it took: CPUs that spin
for each other add to it, CPUs that work in parallel do not halve it. A CPU stops spinning as soon
as the other one has its turn, which a yield or a WFE gives it: a long queue for a contended lock
costs more on silicon.

`ipi` is an interrupt from one vCPU to one that waits in WFI, and the answer. `ipi_running` is one
to a running vCPU, until it is taken there: all work of both sides, some of which overlaps on
silicon. `lpi` is the same for an interrupt that the first vCPU has the ITS send, by a command that
it waits for, as in kvm-unit-tests' micro-bench; Debian's QEMU is the VMM there, because `armvisor
run` gives its VMs no ITS, and has no part in the cost. `fault` is the first touch of a page, 64 MiB
on each vCPU. `fork` is a process that starts and exits, where each vCPU has one that forks. `1cpu`
and `4cpu` are guests with as many vCPUs on the same board, `8cpu` one on a board with eight CPUs.

`lock` is one hand-over of a ticket lock for which all vCPUs contend, with 500 loops inside and 250
outside, on a board with one CPU: the cost if a vCPU waits for one that has no CPU.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from armvisor_lab.boards.board import Board, describe
from armvisor_lab.boards.results import all_counts, all_instructions, count, instructions
from armvisor_lab.figures import (
    Marked,
    Measurement,
    Outcome,
    Progress,
    Spot,
    Start,
    artefacts,
    names,
    on_board,
    vms,
)
from armvisor_lab.figures.hosts import HOSTS, PROTECTED, Host

# The board's CPUs, and the guests'.
_SIZES = {1: (2, 4, 8), 4: (1, 4), 8: (8,)}
_SEVERAL = (4, 8)
_FORK_ROUNDS = 5  # of guests/tools/forks.c

Measure = Callable[[Start, Progress], Outcome]


def _run(host: Host, kernel: str, cpus: int) -> str:
    memory = max(vms.GUEST_MIB, 128 * cpus)
    words = f"--no-randomness --kernel /guest/{kernel} --cpus {cpus} --memory {memory}M"
    return f"{host.run} {words}"


def _board(host: Host, smp: int, files: dict[str, Path], timeout: float) -> Board:
    files = {**files, "/bin/armvisor": artefacts.vmm()}
    return host.board(files, smp=smp, memory=2048, timeout=timeout)


def _ipi(host: Host) -> Measurement:
    variant = host.name
    ipis = {f"ipi.{variant}": "ipi.cost", f"ipi_running.{variant}": "ipi.running"}

    def measure(start: Start, progress: Progress) -> Outcome:
        board = _board(host, 4, {"/guest/ipi": artefacts.bare("ipi")}, 900)
        result = start(board, ["sh", "-c", _run(host, "ipi", 2)], progress).check()
        values = {figure: instructions(result.text, name) for figure, name in ipis.items()}
        return Outcome(values, describe(board, result.kernel), text=result.text)

    def spots(text: str) -> list[Spot]:
        return [Spot(figure, count(text, "ipi.loops"), less=True) for figure in ipis]

    what = f"two vCPUs of a bare-metal guest on {variant}"
    marked = Marked(host.regime, spots, measure, bare=True)
    return Measurement(tuple(ipis), what, partial(measure, on_board), marked=marked)


def _lpi(host: Host) -> Measurement:
    figure = f"lpi.{host.name}"
    command = (
        "qemu-system-aarch64 -accel kvm -nographic -nic none -M virt,gic-version=3 -cpu host "
        "-m 128 -smp 2 -kernel /guest/ipi"
    )

    def measure(start: Start, progress: Progress) -> Outcome:
        files, packages = vms.qemu_files(progress)
        files = {**files, "/guest/ipi": artefacts.bare("ipi")}
        board = host.board(files, smp=4, memory=2048, timeout=900)
        result = start(board, ["sh", "-c", command], progress).check()
        values = {figure: instructions(result.text, "ipi.lpi")}
        where = describe(board, result.kernel)
        return Outcome(values, where, names(packages), text=result.text)

    def spots(text: str) -> list[Spot]:
        loops = count(text, "ipi.loops")
        return [Spot(each, loops, less=True) for each in ("", "", figure)]

    what = f"an LPI to a vCPU of a bare-metal guest of Debian's QEMU on {host.name}"
    marked = Marked(host.regime, spots, measure, bare=True)
    return Measurement((figure,), what, partial(measure, on_board), marked=marked, seconds=40)


def _emulated() -> Measurement:
    """Interrupts between vCPUs that Debian's QEMU emulates, each on a thread of its own.

    One that spins does not end its CPU's turn by an emulated YIELD: there is none to a vCPU that
    runs.
    """
    figure = f"ipi.{vms.EMULATOR}"

    def run(progress: Progress) -> Outcome:
        files, packages = vms.qemu_files(progress)
        board = vms.emulator_board({**files, "/guest/ipi": artefacts.bare("ipi")}, smp=4)
        script = f"{vms.EMULATE} /guest/ipi -smp 2 -append running=0"
        result = board.run(["sh", "-c", script], progress=progress).check()
        values = {figure: instructions(result.text, "ipi.cost")}
        return Outcome(values, describe(board, result.kernel), names(packages))

    what = "two vCPUs of a bare-metal guest that Debian's QEMU emulates"
    return Measurement((figure,), what, run, slow=True)


def _bare(host: Host, smp: int, family: str, row: str, loops: str, what: str) -> Measurement:
    """A bare-metal guest of one size after the other. `row` and `loops` are what it tells."""
    sizes = _SIZES[smp]
    program = row.partition(".")[0]
    figures = tuple(f"{family}.{cpus}cpu.{host.name}" for cpus in sizes)
    script = " && ".join(_run(host, program, cpus) for cpus in sizes)

    def measure(start: Start, progress: Progress) -> Outcome:
        board = _board(host, smp, {f"/guest/{program}": artefacts.bare(program)}, 900)
        result = start(board, ["sh", "-c", script], progress).check()
        values = dict(zip(figures, all_instructions(result.text, row), strict=True))
        return Outcome(values, describe(board, result.kernel), text=result.text)

    marked = _marked(host.regime, figures, loops, 1, measure, bare=True)
    return Measurement(figures, what, partial(measure, on_board), marked=marked)


def _touch(host: Host, smp: int) -> Measurement:
    what = f"several vCPUs of a bare-metal guest on {host.name}"
    return _bare(host, smp, "fault", "touch.page", "touch.pages", what)


def _lock(host: Host) -> Measurement:
    what = f"vCPUs of a bare-metal guest that want a lock, on one CPU, on {host.name}"
    return _bare(host, 1, "lock", "lock.turn", "lock.turns", what)


def _marked(regime: str, figures: tuple[str, ...], loops: str, rounds: int,
            measure: Measure, bare: bool = False) -> Marked:  # fmt: skip
    """Runs one after the other, each with its own number of operations, the result `loops`."""

    def spots(text: str) -> list[Spot]:
        times = all_counts(text, loops)
        return [Spot(n, each, rounds=rounds) for n, each in zip(figures, times, strict=True)]

    return Marked(regime, spots, measure, bare)


def _fork_names(variant: str, smp: int) -> tuple[str, ...]:
    return tuple(f"fork.{cpus}cpu.{variant}" for cpus in _SIZES[smp])


def _forks(regime: str, figures: tuple[str, ...], what: str, script: str,
           board: Callable[[], Board], slow: bool = False) -> Measurement:  # fmt: skip

    def measure(start: Start, progress: Progress) -> Outcome:
        on = board()
        result = start(on, ["sh", "-c", script], progress).check()
        values = dict(zip(figures, all_instructions(result.text, "forks.fork"), strict=True))
        return Outcome(values, describe(on, result.kernel), text=result.text)

    marked = _marked(regime, figures, "forks.forks", _FORK_ROUNDS, measure)
    return Measurement(figures, what, partial(measure, on_board), slow=slow, marked=marked)


def _fork_native(smp: int) -> Measurement:
    script = " && ".join(f"forks {cpus}" for cpus in _SIZES[smp])

    def board() -> Board:
        files = {"/bin/forks": artefacts.tool("forks")}
        return Board(count=True, smp=smp, memory=2048, files=files, timeout=900)

    figures = _fork_names("native", smp)
    return _forks("native", figures, "forks on the board itself", script, board)


def _fork_in_vm(host: Host, smp: int) -> Measurement:
    figures = _fork_names(host.name, smp)
    append = f"--initrd /guest/initrd --append '{vms.SAME} armvisor.test=forks'"
    script = " && ".join(f"{_run(host, 'Image', cpus)} {append}" for cpus in _SIZES[smp])

    def board() -> Board:
        guest = artefacts.guest(vms.GUEST)
        files = {f"/guest/{name}": guest[name] for name in ("Image", "initrd")}
        return _board(host, smp, files, 3600)

    what = f"forks on the vCPUs of a Debian guest on {host.name}"
    return _forks(host.regime, figures, what, script, board, slow=not host.el2)


def on(host: Host) -> list[Measurement]:
    """What vCPUs cost there."""
    touch = [_touch(host, smp) for smp in _SEVERAL]
    forks = [_fork_in_vm(host, smp) for smp in _SEVERAL]
    lpi = [] if host.protected else [_lpi(host)]
    return [_ipi(host), *lpi, *touch, *forks, _lock(host)]


def measurements() -> list[Measurement]:
    """This family's measurements."""
    touch = [_touch(host, smp) for smp in _SEVERAL for host in HOSTS.values()]
    native = [_fork_native(smp) for smp in _SEVERAL]
    forks = [_fork_in_vm(host, smp) for smp in _SEVERAL for host in HOSTS.values()]
    lock = [_lock(host) for host in HOSTS.values()]
    ipi = [_ipi(host) for host in (*HOSTS.values(), *PROTECTED.values())]
    lpi = [*(_lpi(host) for host in HOSTS.values()), _emulated()]
    return [*ipi, *lpi, *touch, *native, *forks, *lock]
