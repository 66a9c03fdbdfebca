# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`hypercall.xen`, `mmio_kernel.xen`, `irq_completion.xen`, `eoi.xen`, `ipi_running.xen`: Xen's.

The same programs as under KVM and the module, as Xen's first domain on a board with EL2 (lab's
xen.py says which Xen and how it is set up). `hypercall.xen` is one of Xen's own, which says what
version it is, as in ISCA'16; `hypercall_psci.xen` is what `hypercall.*` is elsewhere: PSCI's
MIGRATE_INFO_TYPE.
"""

from collections.abc import Mapping

from armvisor_lab import xen
from armvisor_lab.figures import Measurement, Outcome, Progress, artefacts
from armvisor_lab.results import instructions

_EXITS = {
    "hypercall": {"hypercall.xen": "hypercall.xen", "hypercall_psci.xen": "hypercall.cost"},
    "mmio": {"mmio_kernel.xen": "mmio.kernel"},
    "irq": {"irq_completion.xen": "irq.completion", "eoi.xen": "irq.eoi"},
}
_IPI = {"ipi": {"ipi_running.xen": "ipi.running"}}


def _programs(what: str, programs: Mapping[str, Mapping[str, str]], smp: int = 1) -> Measurement:
    """Programs one after the other, each on its own board, and the figures of their results."""

    def measure(progress: Progress) -> Outcome:
        found = xen.hypervisor(progress)
        values: dict[str, float] = {}
        texts = []
        for program, figures in programs.items():
            board = xen.XenBoard(artefacts.bare(program), smp)
            text = board.run(found.image).text
            values |= {figure: instructions(text, name) for figure, name in figures.items()}
            texts.append(text)
        return Outcome(values, board.describe(found.package), text="".join(texts))

    names = tuple(name for figures in programs.values() for name in figures)
    return Measurement(names, what, measure, seconds=2)


def measurements() -> list[Measurement]:
    """This family's measurements."""
    return [
        _programs("exits of a bare-metal guest on xen", _EXITS),
        _programs("two vCPUs of a bare-metal guest on xen", _IPI, smp=2),
    ]
