# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Programs of rows: `lat` and `ops` (guests/tools/lat/measure.c), natively and in a Debian guest.

A program does each row's operation again and again, measures with the counter, which a guest reads
without an exit, and prints the best of its rounds at its end. Natively it runs on a settled board.
Its processes have one layout, without randomization, natively and in every guest: a fork copies
the same number of tables everywhere.
"""

from dataclasses import dataclass
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


@dataclass(frozen=True)
class Program:
    """A program and its rows, in the order in which it prints them.

    Its name is that of the family of figures, of the tool and of the guest's test. `added`: the
    guest's initramfs does not have it. `seconds` as in `Measurement`.
    """

    name: str
    what: str
    rows: tuple[str, ...]
    added: bool = False
    seconds: float = 0

    def _values(self, text: str, variant: str) -> dict[str, float]:
        return {
            f"{self.name}.{row}.{variant}": instructions(text, f"{self.name}.{row}")
            for row in self.rows
        }

    def _names(self, variant: str) -> tuple[str, ...]:
        return tuple(f"{self.name}.{row}.{variant}" for row in self.rows)

    def _spots(self, variant: str, text: str) -> list[Spot]:
        return [
            Spot(f"{self.name}.{row}.{variant}", count(text, f"{self.name}.{row}.loops"))
            for row in self.rows
        ]

    def natively(self, name: str, cpu: str, kernel: str, append: str = "") -> Measurement:
        """All rows on the board itself."""

        def measure(start: Start, progress: Progress) -> Outcome:
            board = Board(
                cpu=cpu, kernel=kernel, count=True, timeout=1200, append=append,
                files={f"/bin/{self.name}": artefacts.tool(self.name)},
            )  # fmt: skip
            result = start(board, [self.name], progress).check()
            values = self._values(result.text, name)
            return Outcome(values, describe(board, result.kernel), text=result.text)

        what = ", ".join(filter(None, (f"{self.what} on the board itself, {cpu}", append)))
        what += f", kernel {kernel}"
        marked = Marked("native", partial(self._spots, name), measure)
        run = partial(measure, on_board)
        return Measurement(self._names(name), what, run, marked=marked, seconds=self.seconds)

    def on_board_of(self, variant: str) -> list[Measurement]:
        """All rows on the board itself with another CPU, as `native-cortex-a76`; none of no CPU.

        Or on a board with more words on its kernel's command line, as `native@cortex-a76+kpti=1`.
        """
        base, place = hosts.place(variant)
        if place is not None:
            here = self.natively(variant, place.cpu, kernels.DEFAULT, place.append)
            return [here] if base == "native" else []
        cpu = variant.removeprefix("native-")
        known = variant != cpu and cpu in CPUS
        return [self.natively(variant, cpu, kernels.DEFAULT)] if known else []

    def in_vm(self, variant: vms.Variant) -> Measurement:
        """All rows in a guest."""

        def measure(start: Start, progress: Progress) -> Outcome:
            board, result, packages = vms.run(
                variant, [f"armvisor.test={self.name}"], progress, start,
                programs=[self.name] if self.added else (),
            )  # fmt: skip
            values = self._values(result.text, variant.name)
            return Outcome(values, describe(board, result.kernel), packages, text=result.text)

        what = f"{self.what} in the guest: {variant.what}"
        marked = None
        if variant.regime and variant.marks:
            marked = Marked(variant.regime, partial(self._spots, variant.name), measure)
        run = partial(measure, on_board)
        return Measurement(
            self._names(variant.name), what, run, slow=variant.slow, marked=marked,
            seconds=self.seconds,
        )  # fmt: skip
