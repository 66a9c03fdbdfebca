# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Upper bounds of figures: a run that measures a figure above its bound fails.

A bound is a number of instructions, or a multiple of another figure of the same run.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from armvisor_lab.figures.run import show


@dataclass(frozen=True)
class Bound:
    """At most `limit`, or `limit` times the figure `of`."""

    name: str
    limit: float
    of: str = ""

    def judge(self, values: Mapping[str, float]) -> "Verdict | None":
        """How the figure did; None where what it takes was not measured."""
        if self.name not in values or (self.of and self.of not in values):
            return None
        value = values[self.name]
        if not self.of:
            return Verdict(value <= self.limit, f"{self.name} {show(value)} of {self.limit:.0f}")
        times = value / values[self.of]
        text = f"{self.name} {times:.3f} times {self.of}, of {self.limit:g}"
        return Verdict(times <= self.limit, text)


@dataclass(frozen=True)
class Verdict:
    """Whether a bound holds, in words."""

    holds: bool
    text: str


BOUNDS = (
    Bound("boot.kvm", 1.08, "boot.native"),
    Bound("hypercall.armvisor", 345),
    Bound("hypercall_fast.armvisor", 120),
    Bound("hypercall.armvisor-accounting", 350),
    Bound("mmio_user.armvisor", 2_900),
    Bound("irq_completion.armvisor", 850),
    Bound("eoi.armvisor", 1_200),
    Bound("vm_switch.armvisor", 4_800),
    Bound("io_out.armvisor", 6_800),
    Bound("io_in.armvisor", 4_500),
    Bound("boot.armvisor", 1.15e9),
    Bound("lat.null.armvisor", 415),
    Bound("lat.read.armvisor", 810),
    Bound("lat.write.armvisor", 740),
    Bound("lat.signal-install.armvisor", 620),
    Bound("lat.signal-catch.armvisor", 6_750),
    Bound("lat.pipe.armvisor", 13_000),
    Bound("lat.unix-socket.armvisor", 20_500),
    Bound("lat.open-close.armvisor", 7_200),
    Bound("lat.fork-exit.armvisor", 235_000),
    Bound("lat.fork-exec.armvisor", 710_000),
    Bound("lat.fork-sh.armvisor", 1_170_000),
    Bound("lat.map-touch-unmap.armvisor", 385_000),
    Bound("lat.protection-fault.armvisor", 15_000),
    Bound("lat.null.armvisor-n1", 1.3, "lat.null.native-n1"),
    Bound("lat.null.armvisor-newest", 1.3, "lat.null.native-newest"),
    Bound("share.armvisor-pvm", 450),
    Bound("unshare.armvisor-pvm", 450),
    Bound("unshare_used.armvisor-pvm", 3_800),
    Bound("share.armvisor-pvm-16g", 450),
    Bound("unshare.armvisor-pvm-16g", 450),
    Bound("unshare_used_range.armvisor-pvm", 700),
    Bound("unshare_used_range.armvisor-pvm-16g", 700),
    *(
        Bound(f"io.{row}.{protected}-split-cache", 1.1, f"io.{row}.{plain}")
        for protected, plain in (("armvisor-pvm", "armvisor"), ("kvm-pvm", "kvm-protected"))
        for row in (
            "read-request",
            "write-request",
            "echo-request",
            "read-byte",
            "write-byte",
            "send-byte",
            "receive-byte",
        )
    ),
    Bound("ipi.armvisor", 1, "ipi.kvm-nvhe"),
    Bound("fault.1cpu.armvisor", 650),
    Bound("fault.4cpu.armvisor", 1.3, "fault.1cpu.armvisor"),
    *(Bound(f"lock.{cpus}cpu.armvisor", 1.05, f"lock.{cpus}cpu.kvm-nvhe") for cpus in (2, 4, 8)),
    Bound("fork.4cpu.armvisor", 1.2, "fork.1cpu.armvisor"),
    Bound("fork.8cpu.armvisor", 1.25, "fork.1cpu.armvisor"),
)


def judge(values: Mapping[str, float]) -> list[Verdict]:
    """The verdicts on what was measured."""
    return [verdict for bound in BOUNDS if (verdict := bound.judge(values))]
