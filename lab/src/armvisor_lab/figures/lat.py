# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lat.ROW.*`: system calls, signals, processes and memory, each repeated, the best taken.

`*-n1` is another core, `*-oldstable` and `*-newest` are other kernels: natively the board's, in a
VM the guest's.
"""

from dataclasses import replace

from armvisor_lab.archive import kernels
from armvisor_lab.figures import Measurement, vms
from armvisor_lab.figures.rows import Program

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


PROGRAM = Program("lat", "latencies", ROWS)


def _elsewhere() -> list[Measurement]:
    """Another core, and other kernels."""
    here = next(each for each in vms.VARIANTS if each.name == "armvisor")
    found = []
    for suffix, cpu, kernel in _ELSEWHERE:
        vm = replace(
            here, name=f"armvisor-{suffix}", cpu=cpu, guest=kernel,
            what=f"{here.what}, {cpu}, guest {kernel}",
        )  # fmt: skip
        found += [PROGRAM.natively(f"native-{suffix}", cpu, kernel), PROGRAM.in_vm(vm)]
    return found


def measurements() -> list[Measurement]:
    """This family's measurements."""
    native = PROGRAM.natively("native", "cortex-a72", kernels.DEFAULT)
    vm = [PROGRAM.in_vm(each) for each in vms.VARIANTS if each.name in _VARIANTS]
    return [native, *vm, *_elsewhere()]


def on(variant: vms.Variant) -> list[Measurement]:
    """All rows in a guest there."""
    return [PROGRAM.in_vm(variant)]
