# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`ops.*`: what `lat` leaves out, one row each (guests/tools/ops).

Memory and mappings, faults and signals, timers, processes and threads, debuggers, code that is made
at run time, and tracers. A row whose name ends in a size is of all of that size.
"""

from armvisor_lab.archive import kernels
from armvisor_lab.figures import Measurement, vms
from armvisor_lab.figures.rows import Program

# In the order in which `ops` prints them.
ROWS = (
    "read-midr", "read-ctr", "read-counter", "cache-line", "clock", "cpu-clock", "rusage", "uname",
    "yield", "affinity", "priority", "futex-wake", "membarrier", "eventfd", "epoll", "poll",
    "socket-page", "pass-descriptor", "process-vm-read", "proc-stat", "proc-maps", "io-uring-nop",
    "io-uring-read", "nanosleep", "timerfd", "timer-set", "itimer", "posix-timer",
    "sigsegv", "sigsegv-execute", "sigbus", "sigbus-unaligned", "sigill", "sigtrap",
    "signal-stack", "signal-queue", "signalfd", "signal-process", "touch-written-4m",
    "touch-read-4m", "touch-both-4m", "populate-4m", "huge-page", "huge-pages-16m", "free-4m",
    "dontneed-4m", "cold-4m", "clear-refs-4m", "copy-2m", "child-cow-16m", "parent-cow-16m",
    "fork-16m", "uffd-copy", "uffd-protect", "map-page", "map-64k", "map-1m", "move-4m", "grow",
    "protect-page", "protect-4m", "lock-1m", "mincore-4m", "pagemap-4m", "brk-1m", "shared-1m",
    "file-read-1m", "file-write-1m", "file-new-1m", "file-map-1m", "file-cow-1m", "vfork",
    "vfork-exec", "spawn", "exec-busybox", "thread", "thread-turns", "namespaces", "ptrace-step",
    "ptrace-syscall", "ptrace-registers", "ptrace-peek", "ptrace-attach", "watchpoint-hit",
    "watchpoint-set", "watchpoint-switch", "breakpoint-hit", "perf-open", "perf-read", "jit",
    "jit-protect", "jit-two-maps", "bpf-load", "bpf-run", "bpf-map", "socket-filter",
    "trace-event", "static-key", "tracer-one", "traced-read", "graph-read", "kprobe",
    "kprobe-read", "tracer-all", "console-byte",
)  # fmt: skip

PROGRAM = Program("ops", "operations", ROWS, added=True, seconds=60)

_VARIANTS = ("kvm", "armvisor")


def measurements() -> list[Measurement]:
    """This family's measurements."""
    vm = [PROGRAM.in_vm(each) for each in vms.VARIANTS if each.name in _VARIANTS]
    return [PROGRAM.natively("native", "cortex-a72", kernels.DEFAULT), *vm]


def on(variant: vms.Variant) -> list[Measurement]:
    """All rows in a guest there."""
    return [PROGRAM.in_vm(variant)]
