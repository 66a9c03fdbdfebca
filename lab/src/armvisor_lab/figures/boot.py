# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`boot.*`: the Debian test guest from start to power-off, 512 MiB, one CPU.

Kernel, initramfs and command line are the same each time, except for the console, which is the
machine's serial port. Natively the count is from the board's reset to the kernel's power-off, on
the board with EL2 that KVM runs on. Under a VMM it is the VMM's whole run, from before its start to
after its end.

A boot is no fixed piece of work. The kernel's self-tests of its cryptography continue in the
background until the power-off, on random numbers, which alone changes a boot by 1 to 3 %. So a
figure is the mean of several boots. Each has a different word on the command line, which the kernel
mixes into its random numbers.

A VM gets an RNG seed from its VMM. The kernel of `boot.native` gets none and gathers jitter entropy
instead, some 130 M instructions of hashing; bounds and goals refer to it. The kernel of
`boot.native-seeded` gets a seed, like a guest.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

from armvisor_lab.archive import kernels
from armvisor_lab.boards.board import Board, describe
from armvisor_lab.boards.direct import Boot, boot
from armvisor_lab.boards.results import all_instructions, until_power_off
from armvisor_lab.errors import LabError
from armvisor_lab.figures import (
    Marked,
    Measurement,
    Outcome,
    Progress,
    Spot,
    Start,
    artefacts,
    on_board,
    vms,
)
from armvisor_lab.reach.plugin import Section

_END = "guest.end"
_TIMEOUT = 1800  # for a boot with the plugin
# The boot from reset, by figure, and QEMU's options; by itself a counted board has a seed.
_NATIVE = {
    "boot.native": ("the bare board", ("-M", "dtb-randomness=off")),
    "boot.native-seeded": ("the bare board, with random numbers to begin with", ()),
}


def _words(count: int) -> list[str]:
    return [f"armvisor.boot={number}" for number in range(1, count + 1)]


def _directly(board: Board, command: Sequence[str], progress: Progress) -> Boot:
    """`command`: the image, the initrd, what is appended."""
    image, initrd, append = command
    return boot(board, Path(image), Path(initrd), append, lambda _: None)


def _native(figure: str, start: Start, progress: Progress) -> Outcome:
    board = Board(el2=True, count=True, memory=vms.GUEST_MIB, timeout=_TIMEOUT,
                  qemu_args=_NATIVE[figure][1])  # fmt: skip
    guest = artefacts.guest(vms.GUEST)
    samples = []
    for number, word in enumerate(_words(vms.BOOTS), 1):
        progress(f"boot {number} of {vms.BOOTS}")
        append = f"console=ttyAMA0 panic=-1 {vms.SAME} {word}"
        booted = start(board, [str(guest["Image"]), str(guest["initrd"]), append], progress)
        samples.append(until_power_off(booted.console, _END))
    where = describe(board, kernels.get(vms.GUEST))
    return Outcome({figure: fmean(samples)}, where, samples={figure: samples})


def _together(sections: Sequence[Section]) -> list[Section]:
    """All boots as one, as the figure is their mean."""
    whole = Section((1, 0))
    for section in sections:
        for what in ("insns", "tlbi", "accesses", "entries"):
            for who, counts in getattr(section, what).items():
                into = getattr(whole, what).setdefault(who, {})
                for name, number in counts.items():
                    into[name] = into.get(name, 0) + number
    return [whole]


def _spots(figure: str, boots: int, _text: str) -> list[Spot]:
    return [Spot(figure, boots, rounds=1, waits=True)]


def _in_vm(variant: vms.Variant) -> Measurement:
    figure = f"boot.{variant.name}"

    def measure(start: Start, progress: Progress) -> Outcome:
        words = _words(variant.boots)
        board, result, packages = vms.run(variant, words, progress, start, mark=True)
        # Each guest reached its own end; otherwise the figure would be that of a failure.
        ends = all_instructions(result.text, f"{_END}.ticks")
        samples = all_instructions(result.stderr.decode(errors="replace"), "count-run.elapsed")
        if not len(ends) == len(samples) == len(words):
            raise LabError(f"{len(ends)} of {len(words)} guests came to their end")
        where = describe(board, result.kernel)
        return Outcome({figure: fmean(samples)}, where, packages, {figure: samples})

    spots = partial(_spots, figure, variant.boots)
    marked = Marked(variant.regime, spots, measure, order=_together)
    what = f"boot of the guest: {variant.what}"
    run = partial(measure, on_board)
    return Measurement((figure,), what, run, slow=variant.slow, marked=marked)


def _on_the_bare_board(figure: str) -> Measurement:
    spots = partial(_spots, figure, vms.BOOTS)
    measure = partial(_native, figure)
    marked = Marked("native", spots, measure, order=_together, do=_directly, whole=True)
    what = f"boot of the guest: {_NATIVE[figure][0]}"
    return Measurement((figure,), what, partial(measure, _directly), marked=marked)


def measurements() -> list[Measurement]:
    """This family's measurements."""
    return [*map(_on_the_bare_board, _NATIVE), *map(_in_vm, vms.VARIANTS)]


def on(variant: vms.Variant) -> list[Measurement]:
    """The guest's boots there."""
    return [_in_vm(variant)]
