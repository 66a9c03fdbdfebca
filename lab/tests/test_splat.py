# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The console scanner, on real kernel output."""

import pytest

from armvisor_lab.boards import splat

TROUBLE = [
    ("panic", "[    5.325744] Kernel panic - not syncing: sysrq triggered crash"),
    ("panic", "[    3.1]x"[:0] + "[    0.801234][    T1] Kernel panic - not syncing: VFS: Unable"),
    ("oops", "[   12.000001] Unable to handle kernel NULL pointer dereference at virtual address"
             " 0000000000000008"),
    ("oops", "[   12.000002] Internal error: Oops: 0000000096000004 [#1] SMP"),
    ("oops", "[   12.000002] Unhandled 64-bit el1h sync exception on CPU0, ESR 0x2000000"),
    ("oops", "[   12.000002] SError Interrupt on CPU1, code 0x00000000be000411 -- SError"),
    ("bug", "[    9.123456] kernel BUG at mm/slub.c:448!"),
    ("bug", "[    9.123456] BUG: sleeping function called from invalid context at mm/x.c:1"),
    ("bug", "[    9.123456] BUG: Bad page state in process insmod  pfn:5a2f1"),
    ("bug", "[    9.123456] BUG: scheduling while atomic: sh/77/0x00000002"),
    ("lockup", "[   40.000000] watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [vcpu0:99]"),
    ("lockup", "[   40.000000] BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0"),
    ("kasan", "[   22.000000] BUG: KASAN: slab-use-after-free in vcpu_run+0x10/0x20 [armvisor]"),
    ("kfence", "[   22.000000] BUG: KFENCE: out-of-bounds read in foo+0x1/0x2"),
    ("rcu", "[   61.000000] rcu: INFO: rcu_preempt self-detected stall on CPU"),
    ("rcu", "[   61.000000] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:"),
    ("rcu", "[   61.000000] rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: {"),
    ("rcu", "[    7.000000] WARNING: suspicious RCU usage"),
    ("lockdep", "[    7.000000] WARNING: possible circular locking dependency detected"),
    ("lockdep", "[    7.000000] WARNING: possible recursive locking detected"),
    ("lockdep", "[    7.000000] WARNING: inconsistent lock state"),
    ("lockdep", "[    7.000000] WARNING: HARDIRQ-safe -> HARDIRQ-unsafe lock order detected"),
    ("lockdep", "[    7.000000] WARNING: bad unlock balance detected!"),
    ("lockdep", "[    7.000000] [ BUG: Invalid wait context ]"),
    ("lockdep", "[    7.000000] INFO: trying to register non-static key."),
    ("hung task", "[  242.000000] INFO: task sh:88 blocked for more than 120 seconds."),
    ("warning", "[    3.000000] WARNING: CPU: 0 PID: 66 at module/x.c:10 f+0x2c/0x40 [armvisor]"),
    ("warning", "[    3.000000] WARNING: module/x.c:10 at f+0x2c/0x40, CPU#0: sh/66"),
    ("warning", "[    3.000000] refcount_t: underflow; use-after-free."),
    ("memory leak", "[   30.000000] kmemleak: 3 new suspected memory leaks (see /sys/kernel/...)"),
    ("ubsan", "[    3.000000] UBSAN: array-index-out-of-bounds in module/x.c:10:3"),
    ("object", "[    3.000000] ODEBUG: free active (active state 0) object: ffff0000 object type"),
]  # fmt: skip

HARMLESS = [
    "[    0.000000] Booting Linux on physical CPU 0x0000000000 [0x410fd083]",
    "[    1.943312] clk: Disabling unused clocks",
    "[    0.000000] printk: legacy bootconsole [pl11] enabled",
    "[    2.388579] Checked W+X mappings: passed, no W+X pages found",
    "[    0.001] Kernel panic - not syncing: too short a stamp to be the kernel's",
    "Kernel panic - not syncing: printed by a program, no stamp",
    "guest: [    5.325744] Kernel panic - not syncing: a VM's, relayed",
    "[    1.000000] armvisor: guest kernel BUG at mm/slub.c:448!",
    "[    1.000000] Warning: unable to open an initial console.",
    "[    0.000000] WARNING: x1-x3 nonzero in violation of boot protocol:",
    "[    1.000000] debug: INFO: taskstats version 1",
]


@pytest.mark.parametrize(("kind", "line"), TROUBLE, ids=[line[16:50] for _, line in TROUBLE])
def test_trouble_is_named(kind, line):
    found = splat.scan(f"[    0.100000] before\r\n{line}\r\n[    9.900000] after\r\n")
    assert [each.kind for each in found] == [kind]
    assert found[0].number == 1


@pytest.mark.parametrize("line", HARMLESS)
def test_harmless_lines_are_no_trouble(line):
    assert splat.scan(line + "\n") == []


def test_lines_that_arrive_in_pieces_are_found_once():
    scanner = splat.Scanner()
    for byte in b"[    5.325744] Kernel panic - not syncing: x\r\n[    5.400000] next":
        scanner.feed(bytes([byte]))
    assert len(scanner.splats) == 1
    scanner.finish()
    assert len(scanner.splats) == 1


def test_a_last_line_without_an_end_counts():
    assert [found.kind for found in splat.scan("[    5.325744] kernel BUG at x.c:1!")] == ["bug"]


def test_the_first_trouble_is_the_worst():
    scanner = splat.Scanner()
    scanner.feed(b"[    1.000000] UBSAN: shift\n[    2.000000] Kernel panic - not syncing: y\n")
    assert scanner.worst is not None
    assert scanner.worst.kind == "ubsan"


def test_excerpt_shows_what_is_around():
    console = "".join(f"[    1.{n:06}] line {n}\n" for n in range(100))
    console += "[    2.000000] kernel BUG at x.c:1!\n[    2.000001] Call trace:\n"
    found = splat.scan(console)[0]
    shown = splat.excerpt(console, found).splitlines()
    assert shown[0].endswith("line 98")
    assert shown[-1].endswith("Call trace:")
