# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lat.ROW.*`: system calls, signals, processes and memory, each repeated, the best taken.

The program `lat` measures with the counter, which a guest reads without an exit, and prints at its
end. Natively it runs on a settled board. Its processes have one layout, without randomization,
natively and in every guest: a fork copies the same number of tables everywhere.

`*-n1` is another core, `*-oldstable` and `*-newest` are other kernels: natively the board's, in a
VM the guest's.
"""

from dataclasses import replace
from functools import partial

from armvisor_lab.archive import kernels
from armvisor_lab.boards.board import CPUS, Board, describe
from armvisor_lab.boards.results import count, instructions
from armvisor_lab.figures import (
    Marked,
    Measurement,
    Outcome,
    Progress,
    Spot,
    Start,
    artefacts,
    hosts,
    on_board,
    vms,
)

# In the order in which `lat` prints them.
ROWS = (
    "null", "read", "write", "open-close", "stat", "select-10", "select-100", "signal-install",
    "signal-catch", "arithmetic", "pipe", "unix-socket", "fork-exit", "fork-exec", "fork-sh",
    "ctx-2p-0k", "ctx-2p-16k", "ctx-2p-64k", "ctx-8p-16k", "ctx-8p-64k", "ctx-16p-16k",
    "ctx-16p-64k", "tcp", "udp", "map-touch-unmap", "protection-fault", "page-fault", "mmap",
    "memory-read", "memory-write", "memory-copy", "memory-latency",
)  # fmt: skip

# Debian's QEMU on KVM would show its guest the same as armvisor on KVM.
_VARIANTS = ("kvm", "armvisor", "qemu-tcg")
_ELSEWHERE = (
    ("n1", "neoverse-n1", kernels.DEFAULT),
    ("oldstable", "cortex-a72", "oldstable"),
    ("newest", "cortex-a72", "newest"),
)


def _values(text: str, variant: str) -> dict[str, float]:
    return {f"lat.{row}.{variant}": instructions(text, f"lat.{row}") for row in ROWS}


def _names(variant: str) -> tuple[str, ...]:
    return tuple(f"lat.{row}.{variant}" for row in ROWS)


def _spots(variant: str, text: str) -> list[Spot]:
    return [Spot(f"lat.{row}.{variant}", count(text, f"lat.{row}.loops")) for row in ROWS]


def _native(name: str, cpu: str, kernel: str, append: str = "") -> Measurement:
    """On the board itself."""

    def measure(start: Start, progress: Progress) -> Outcome:
        board = Board(
            cpu=cpu, kernel=kernel, count=True, files={"/bin/lat": artefacts.tool("lat")},
            timeout=600, append=append,
        )  # fmt: skip
        result = start(board, ["lat"], progress).check()
        values = _values(result.text, name)
        return Outcome(values, describe(board, result.kernel), text=result.text)

    what = ", ".join(filter(None, (f"latencies on the board itself, {cpu}", append)))
    what += f", kernel {kernel}"
    marked = Marked("native", partial(_spots, name), measure)
    return Measurement(_names(name), what, partial(measure, on_board), marked=marked)


def in_vm(variant: vms.Variant) -> Measurement:
    """All rows in a guest."""

    def measure(start: Start, progress: Progress) -> Outcome:
        board, result, packages = vms.run(variant, ["armvisor.test=lat"], progress, start)
        values = _values(result.text, variant.name)
        return Outcome(values, describe(board, result.kernel), packages, text=result.text)

    what = f"latencies in the guest: {variant.what}"
    marked = None
    if variant.regime and variant.marks:
        marked = Marked(variant.regime, partial(_spots, variant.name), measure)
    run = partial(measure, on_board)
    return Measurement(_names(variant.name), what, run, slow=variant.slow, marked=marked)


def _elsewhere() -> list[Measurement]:
    """Another core, and other kernels."""
    here = next(each for each in vms.VARIANTS if each.name == "armvisor")
    found = []
    for suffix, cpu, kernel in _ELSEWHERE:
        vm = replace(
            here, name=f"armvisor-{suffix}", cpu=cpu, guest=kernel,
            what=f"{here.what}, {cpu}, guest {kernel}",
        )  # fmt: skip
        found += [_native(f"native-{suffix}", cpu, kernel), in_vm(vm)]
    return found


def measurements() -> list[Measurement]:
    """This family's measurements."""
    native = _native("native", "cortex-a72", kernels.DEFAULT)
    vm = [in_vm(each) for each in vms.VARIANTS if each.name in _VARIANTS]
    return [native, *vm, *_elsewhere()]


def natively(variant: str) -> list[Measurement]:
    """All rows on the board itself with another CPU, as `native-cortex-a76`; none of no CPU.

    Or on a board with more words on its kernel's command line, as `native@cortex-a76+kpti=1`.
    """
    base, place = hosts.place(variant)
    if place is not None:
        native = base == "native"
        return [_native(variant, place.cpu, kernels.DEFAULT, place.append)] if native else []
    cpu = variant.removeprefix("native-")
    known = variant != cpu and cpu in CPUS
    return [_native(variant, cpu, kernels.DEFAULT)] if known else []


def on(variant: vms.Variant) -> list[Measurement]:
    """All rows in a guest there."""
    return [in_vm(variant)]
