# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`units.OPERATION.*`: the cost of each kind of trap that a kernel's work causes.

A bare-metal guest does the same as Linux (guests/bare/units.c). Under armvisor it traps; under KVM
it does not, except for reads of ID registers: the difference is the cost of the traps. `refill`
begins with the TLBI of the page, `refill-code`, `refill-many` and `refill-places` with that of the
ASID; `ttbr0` is two writes, to alternating spaces, `other-space` the same to one that was not used
lately, and `other-pair` one write, to a space of more than the window keeps in the same set.
`refill-places` reads a page at each place where a process has its memory. lab's model adds them up.
"""

from functools import partial

from armvisor_lab.boards.board import describe
from armvisor_lab.boards.results import count, instructions
from armvisor_lab.figures import (
    Marked,
    Measurement,
    Outcome,
    Progress,
    Spot,
    Start,
    artefacts,
    on_board,
)
from armvisor_lab.figures.hosts import HOSTS, Host

# In the guest's order; it does all of them twice and prints the second time.
OPERATIONS = (
    "svc", "user-abort", "kernel-abort", "tlbi-va", "refill", "tlbi-asid", "refill-code",
    "refill-many", "ttbr0", "refill-places", "other-space", "other-pair", "timer",
    "id-register",
)  # fmt: skip
PAGES = 16  # pages that a fault of `refill-many` and of `refill-places` finds
PLACES = 3  # of `refill-places`, like a process of Linux
_VARIANTS = ("kvm-nvhe", "armvisor")


def _spots(variant: str, text: str) -> list[Spot]:
    loops = count(text, "units.loops")
    unseen = [Spot("", loops, less=True) for _ in OPERATIONS]
    return [*unseen, *(Spot(f"units.{each}.{variant}", loops, less=True) for each in OPERATIONS)]


def on(host: Host) -> list[Measurement]:
    """The traps of a guest there."""
    variant = host.name
    figures = tuple(f"units.{each}.{variant}" for each in OPERATIONS)

    def measure(start: Start, progress: Progress) -> Outcome:
        files = {"/guest/units": artefacts.bare("units"), "/bin/armvisor": artefacts.vmm()}
        board = host.board(files)
        command = f"{host.run} --no-randomness --memory 128M --kernel /guest/units"
        result = start(board, ["sh", "-c", command], progress).check()
        values = {
            figure: instructions(result.text, f"units.{each}")
            for figure, each in zip(figures, OPERATIONS, strict=True)
        }
        return Outcome(values, describe(board, result.kernel), text=result.text)

    what = f"single traps of a bare-metal guest on {variant}"
    marked = Marked(host.regime, partial(_spots, variant), measure, bare=True)
    return [Measurement(figures, what, partial(measure, on_board), marked=marked)]


def measurements() -> list[Measurement]:
    """This family's measurements."""
    return [each for variant in _VARIANTS for each in on(HOSTS[variant])]
