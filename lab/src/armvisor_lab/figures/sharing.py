# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`share.*`, `unshare.*`, `unshare_used.*`: a page of a protected VM, shared and taken back.

`*_range`: the same by calls for many pages; the figure is per page.

A bare-metal guest (guests/bare/share.c) shares pages that it has touched, one call each, and takes
them back: first pages that nobody has had meanwhile, then pages that its disk has just been written
from, which the VMM has mapped by then. `armvisor-pvm-16g` is the same in a VM of 16 GiB, for costs
that must not depend on a VM's size. pKVM does the same in the guest's stage 2 and the host's.
"""

from dataclasses import dataclass
from functools import partial

from armvisor_lab.boards.board import Board, describe
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
    vms,
)

# Each figure, and the guest's name for it, in the order of measurement.
_OF = {"share": "share.cost", "unshare": "share.unshare", "unshare_used": "share.unshare_used"}
# Linux's KVM has no calls for many pages.
_RANGES = {
    "share_range": "share.range",
    "unshare_range": "share.unshare_range",
    "unshare_used_range": "share.unshare_used_range",
}
# The guest's names for the repetitions of a round, or for the pages of a round's call.
_LOOPS = {
    "share": "share.loops",
    "unshare": "share.loops",
    "unshare_used": "share.used_loops",
    "share_range": "share.range_pages",
    "unshare_range": "share.range_pages",
    "unshare_used_range": "share.range_pages",
}


@dataclass(frozen=True)
class Variant:
    """Who makes the protected VM, of how many MiB, on a board with how many."""

    name: str
    regime: str
    memory: int = 64
    host: int = 1024
    el2: bool = False

    @property
    def of(self) -> dict[str, str]:
        """Its figures, and what the guest calls each."""
        return _OF if self.el2 else _OF | _RANGES


VARIANTS = (
    Variant("kvm-pvm", "kvm", el2=True),
    Variant("armvisor-pvm", "armvisor"),
    Variant("armvisor-pvm-16g", "armvisor", memory=16 << 10, host=17 << 10),
)


def _spots(variant: Variant, text: str) -> list[Spot]:
    return [
        Spot(f"{what}.{variant.name}", count(text, _LOOPS[what]), less=True) for what in variant.of
    ]


def _board(variant: Variant) -> Board:
    files = {"/guest/share": artefacts.bare("share"), "/bin/armvisor": artefacts.vmm()}
    if variant.el2:
        return Board(
            el2=True, cpu="cortex-a72", count=True, kernel="newest", memory=variant.host,
            files=files, append="kvm-arm.mode=protected",
        )  # fmt: skip
    return Board(
        el2=False, cpu="cortex-a72", count=True, memory=variant.host, files=files,
        modules=vms.module(),
    )  # fmt: skip


def _sharing(variant: Variant) -> Measurement:
    figures = tuple(f"{what}.{variant.name}" for what in variant.of)

    def measure(start: Start, progress: Progress) -> Outcome:
        board = _board(variant)
        script = (
            "truncate -s 1M /disk && armvisor run --protected --no-randomness "
            f"--memory {variant.memory}M --disk /disk --kernel /guest/share --append measure=1"
        )
        result = start(board, ["sh", "-c", script], progress).check()
        values = {
            figure: instructions(result.text, guest)
            for figure, guest in zip(figures, variant.of.values(), strict=True)
        }
        return Outcome(values, describe(board, result.kernel), text=result.text)

    what = f"pages that a protected VM shares, on {variant.name}"
    marked = Marked(variant.regime, partial(_spots, variant), measure, bare=True)
    return Measurement(figures, what, partial(measure, on_board), marked=marked)


def measurements() -> list[Measurement]:
    """This family's measurements."""
    return list(map(_sharing, VARIANTS))
