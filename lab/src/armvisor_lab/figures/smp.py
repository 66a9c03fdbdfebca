# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`ipi.*`, `fault.*`, `fork.*`: what several vCPUs cost, on boards with four CPUs.

A counted board lets its CPUs take turns, and its clock is the instructions of all of them
together, with no time for those that wait. So a figure is all the work that was done, and not how
long it took: CPUs that spin for each other add to it, CPUs that work side by side do not halve it.
What a CPU spins for ends as soon as the other one has its turn, which a yield or a WFE gives it:
a long queue for a contended lock costs more on silicon.

`ipi` is an interrupt from one vCPU to one that waits in WFI, and the answer; `fault` a page that is
touched for the first time, 64 MiB on each vCPU; `fork` a process that begins and ends, where each
vCPU has one that forks. `1cpu` and `4cpu` are guests with as many vCPUs, on the same board.
"""

from pathlib import Path

from armvisor_lab.board import Board
from armvisor_lab.cli_board import describe
from armvisor_lab.figures import Measurement, Outcome, Progress, artefacts, vms
from armvisor_lab.figures.exits import HOSTS
from armvisor_lab.results import all_instructions, instructions

_BOARD_CPUS = 4
_CPUS = (1, 4)
_RUN = f"armvisor run --no-randomness --kernel /guest/%s --cpus %d --memory {vms.GUEST_MIB}M"


def _board(variant: str, files: dict[str, Path], timeout: float) -> Board:
    host = HOSTS[variant]
    return Board(
        el2=host.el2, cpu=host.cpu, count=True, smp=_BOARD_CPUS, memory=2048, timeout=timeout,
        files={**files, "/bin/armvisor": artefacts.vmm()},
        modules=() if host.el2 else vms.module(),
    )  # fmt: skip


def _bare(variant: str) -> Measurement:
    pages = tuple(f"fault.{cpus}cpu.{variant}" for cpus in _CPUS)
    ipi = f"ipi.{variant}"
    commands = [_RUN % ("ipi", 2), *(_RUN % ("touch", cpus) for cpus in _CPUS)]

    def run(progress: Progress) -> Outcome:
        files = {f"/guest/{name}": artefacts.bare(name) for name in ("ipi", "touch")}
        board = _board(variant, files, 900)
        result = board.run(["sh", "-c", " && ".join(commands)], progress=progress).check()
        values = dict(zip(pages, all_instructions(result.text, "touch.page"), strict=True))
        values[ipi] = instructions(result.text, "ipi.cost")
        return Outcome(values, describe(board, result.kernel))

    return Measurement((ipi, *pages), f"several vCPUs of a bare-metal guest on {variant}", run)


def _fork_names(variant: str) -> tuple[str, ...]:
    return tuple(f"fork.{cpus}cpu.{variant}" for cpus in _CPUS)


def _fork_outcome(variant: str, board: Board, script: str, progress: Progress) -> Outcome:
    result = board.run(["sh", "-c", script], progress=progress).check()
    values = all_instructions(result.text, "forks.fork")
    named = dict(zip(_fork_names(variant), values, strict=True))
    return Outcome(named, describe(board, result.kernel))


def _fork_native() -> Measurement:
    script = " && ".join(f"forks {cpus}" for cpus in _CPUS)

    def run(progress: Progress) -> Outcome:
        files = {"/bin/forks": artefacts.tool("forks")}
        board = Board(count=True, smp=_BOARD_CPUS, memory=2048, files=files, timeout=900)
        return _fork_outcome("native", board, script, progress)

    return Measurement(_fork_names("native"), "forks on the board itself", run)


def _fork_in_vm(variant: str) -> Measurement:
    append = f"--initrd /guest/initrd --append '{vms.SAME} armvisor.test=forks'"
    script = " && ".join(f"{_RUN % ('Image', cpus)} {append}" for cpus in _CPUS)

    def run(progress: Progress) -> Outcome:
        guest = artefacts.guest(vms.GUEST)
        files = {f"/guest/{name}": guest[name] for name in ("Image", "initrd")}
        return _fork_outcome(variant, _board(variant, files, 3600), script, progress)

    what = f"forks on the vCPUs of a Debian guest on {variant}"
    return Measurement(_fork_names(variant), what, run, slow=not HOSTS[variant].el2)


def measurements() -> list[Measurement]:
    """This family's measurements."""
    forks = [_fork_in_vm(variant) for variant in HOSTS]
    return [*map(_bare, HOSTS), _fork_native(), *forks]
