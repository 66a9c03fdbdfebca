# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`boot.*`: the Debian test guest from start to power-off, 512 MiB, one CPU.

The same kernel and initramfs each time, with the kernel's randomness off and the console on
the serial port that the machine has. Under a VMM its own start and end are counted.
"""

from armvisor_lab import kernels, programs
from armvisor_lab.board import Board
from armvisor_lab.cli_board import describe
from armvisor_lab.direct import boot
from armvisor_lab.figures import Measurement, Outcome, Progress, artefacts, names
from armvisor_lab.results import instructions

GUEST = kernels.DEFAULT
GUEST_MIB = 512
QUIET = "nokaslr randomize_kstack_offset=off"
QEMU_SUITE = "trixie"

_GUEST_FILES = {"/guest/Image": "Image", "/guest/initrd": "initrd"}


def _native(progress: Progress) -> Outcome:
    board = Board(count=True, memory=GUEST_MIB)
    files = artefacts.guest(GUEST)
    append = f"console=ttyAMA0 panic=-1 {QUIET}"
    booted = boot(board, files["Image"], files["initrd"], append, lambda _: None)
    kernel = kernels.get(GUEST, progress=progress)
    value = instructions(booted.console, "guest.end.ticks")
    return Outcome({"boot.native": value}, describe(board, kernel))


def _counted(figure: str, board: Board, command: list[str], progress: Progress) -> Outcome:
    """A VMM's run on a counted board, measured from outside by count-run."""
    guest = artefacts.guest(GUEST)
    board.files = {
        **board.files,
        **{name: guest[key] for name, key in _GUEST_FILES.items()},
        "/bin/count-run": artefacts.tool("count-run"),
    }
    result = board.run(["count-run", "-e", *command], progress=progress).check()
    # The guest got to its own end, or the figure is one of a failure.
    instructions(result.text, "guest.end.ticks")
    value = instructions(result.stderr.decode(errors="replace"), "count-run.elapsed")
    return Outcome({figure: value}, describe(board, result.kernel))


def armvisor_command(append: str = QUIET) -> list[str]:
    """How `armvisor` boots the guest."""
    words = ["armvisor", "run", "--kernel", "/guest/Image", "--initrd", "/guest/initrd"]
    words += ["--memory", f"{GUEST_MIB}M", "--cpus", "1", "--no-randomness"]
    return [*words, "--append", append]


def _kvm(progress: Progress) -> Outcome:
    board = Board(el2=True, count=True, memory=2048, files={"/bin/armvisor": artefacts.vmm()})
    return _counted("boot.kvm", board, armvisor_command(), progress)


def _qemu_command(accel: str, cpu: str) -> list[str]:
    words = ["qemu-system-aarch64", "-accel", accel, "-nographic", "-nic", "none"]
    words += ["-M", "virt,gic-version=3,dtb-randomness=off", "-cpu", cpu]
    words += ["-m", str(GUEST_MIB), "-smp", "1"]
    words += ["-kernel", "/guest/Image", "-initrd", "/guest/initrd"]
    return [*words, "-append", f"console=ttyAMA0 {QUIET}"]


def _qemu(figure: str, *, el2: bool, accel: str, cpu: str, timeout: float) -> Measurement:
    def run(progress: Progress) -> Outcome:
        files, packages = programs.with_libraries(
            "qemu-system-arm", "usr/bin/qemu-system-aarch64", QEMU_SUITE, progress
        )
        board = Board(el2=el2, count=True, memory=3072, files=files, timeout=timeout)
        outcome = _counted(figure, board, _qemu_command(accel, cpu), progress)
        return Outcome(outcome.values, outcome.board, names(packages))

    what = f"Debian's QEMU with -accel {accel} boots the guest"
    return Measurement((figure,), what, run, minutes=timeout / 240)


def measurements() -> list[Measurement]:
    """This family's measurements."""
    return [
        Measurement(("boot.native",), "the guest on the bare board", _native, minutes=0.5),
        Measurement(("boot.kvm",), "armvisor boots the guest on KVM (nVHE)", _kvm),
        _qemu("boot.qemu-kvm", el2=True, accel="kvm", cpu="host", timeout=300),
        _qemu("boot.qemu-tcg", el2=False, accel="tcg", cpu="cortex-a72", timeout=2400),
    ]
