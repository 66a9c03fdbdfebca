# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lat.ROW.*`: system calls, signals, processes and memory, each repeated, the best taken.

The program `lat` measures with the counter, which a guest reads without leaving, and
prints at its end. Natively it runs on a settled board.
"""

from armvisor_lab.board import Board
from armvisor_lab.cli_board import describe
from armvisor_lab.figures import Measurement, Outcome, Progress, artefacts, vms
from armvisor_lab.results import instructions

# In the order in which `lat` prints them.
ROWS = (
    "null", "read", "write", "open-close", "signal-install", "signal-catch", "arithmetic",
    "pipe", "unix-socket", "fork-exit", "fork-exec", "fork-sh", "map-touch-unmap",
    "protection-fault",
)  # fmt: skip

# Debian's QEMU on KVM would show the guest that armvisor shows on KVM.
_VARIANTS = ("kvm", "armvisor", "qemu-tcg")


def _values(text: str, variant: str) -> dict[str, float]:
    return {f"lat.{row}.{variant}": instructions(text, f"lat.{row}") for row in ROWS}


def _names(variant: str) -> tuple[str, ...]:
    return tuple(f"lat.{row}.{variant}" for row in ROWS)


def _native(progress: Progress) -> Outcome:
    board = Board(count=True, files={"/bin/lat": artefacts.tool("lat")}, timeout=600)
    result = board.run(["lat"], progress=progress).check()
    return Outcome(_values(result.text, "native"), describe(board, result.kernel))


def _in_vm(variant: vms.Variant) -> Measurement:
    def run(progress: Progress) -> Outcome:
        board, result, packages = vms.run(variant, ["armvisor.test=lat"], progress)
        values = _values(result.text, variant.name)
        return Outcome(values, describe(board, result.kernel), packages)

    what = f"latencies in the guest: {variant.what}"
    return Measurement(_names(variant.name), what, run, slow=variant.slow)


def measurements() -> list[Measurement]:
    """This family's measurements."""
    native = Measurement(_names("native"), "latencies on the board itself", _native)
    return [native, *(_in_vm(each) for each in vms.VARIANTS if each.name in _VARIANTS)]
