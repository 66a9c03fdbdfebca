# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Finds errors in a kernel's console output.

Only lines with a kernel time stamp count, so that output of a program or a VM's guest on the
console is not mistaken for a failure of the board.
"""

import re
from dataclasses import dataclass

# [    1.234567], or with the caller when printk.caller is on: [    1.234567][    T1]
_STAMP = re.compile(r"^\[ *\d+\.\d{6}\](?:\[ *[TC]\d+\])? ?(.*)$")

# Kind and pattern; the first match names the error.
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("panic", r"Kernel panic - not syncing"),
        ("kasan", r"BUG: K(A|M|C)SAN"),
        ("kfence", r"BUG: KFENCE"),
        ("lockup", r"(watchdog: )?BUG: (soft|workqueue) lockup|hard LOCKUP"),
        ("rcu", r"(rcu: )?INFO: rcu\w* (self-)?detected (expedited )?stall"),
        ("rcu", r"WARNING: suspicious RCU usage"),
        ("lockdep", r"WARNING: (possible|inconsistent|bad|held|lock|nested|Nested)\b"),
        ("lockdep", r"INFO: (possible|inconsistent|HARDIRQ|SOFTIRQ)\b.*(lock|detected)"),
        ("lockdep", r"INFO: trying to register non-static key"),
        ("lockdep", r"WARNING: (HARDIRQ|SOFTIRQ|RECLAIM_FS)\S* -> "),
        ("lockdep", r"(\[ )?BUG: (Invalid wait context|MAX_LOCK|key |held lock freed)"),
        ("hung task", r"INFO: task .* blocked (for more than|in I/O wait)"),
        ("oops", r"Unable to handle kernel"),
        ("oops", r"Internal error: "),
        ("oops", r"Unhandled (64-bit|32-bit)? ?\S+ .*(exception|interrupt)"),
        ("oops", r"Bad mode in |SError Interrupt on CPU"),
        ("bug", r"kernel BUG at "),
        ("bug", r"BUG: "),
        ("ubsan", r"UBSAN: "),
        ("object", r"ODEBUG: "),
        ("memory leak", r"kmemleak: \d+ new suspected memory leak"),
        ("warning", r"WARNING: .*(CPU[:#] ?\d+|PID: \d+|\+0x[0-9a-f]+/0x)"),
        ("warning", r"refcount_t: |list_(add|del) corruption|DEBUG_LOCKS_WARN_ON"),
        ("warning", r"unregister_netdevice: waiting for "),
    )
)

_EXCERPT_BEFORE = 2
_EXCERPT_AFTER = 40


@dataclass(frozen=True)
class Splat:
    """One thing that the kernel complained about."""

    kind: str
    line: str
    number: int


class Scanner:
    """Finds splats in console output that arrives in chunks."""

    def __init__(self) -> None:
        self._rest = ""
        self._number = 0
        self.splats: list[Splat] = []

    def feed(self, data: bytes) -> None:
        """Look at the next chunk; a line counts once it is complete."""
        text = self._rest + data.decode("utf-8", "replace")
        *lines, self._rest = text.split("\n")
        for line in lines:
            self._look(line.rstrip("\r"))

    def finish(self) -> None:
        """Look at what is left when the console is closed."""
        if self._rest:
            self._look(self._rest)
            self._rest = ""

    def _look(self, line: str) -> None:
        number, self._number = self._number, self._number + 1
        if not (match := _STAMP.match(line)):
            return
        for kind, pattern in _PATTERNS:
            if pattern.match(match[1]):
                self.splats.append(Splat(kind, match[1], number))
                return

    @property
    def worst(self) -> Splat | None:
        """The first splat: what follows is mostly its consequence."""
        return self.splats[0] if self.splats else None


def scan(console: str) -> list[Splat]:
    """All splats of a finished console log."""
    scanner = Scanner()
    scanner.feed(console.encode())
    scanner.finish()
    return scanner.splats


def excerpt(console: str, splat: Splat) -> str:
    """The lines around a splat."""
    lines = console.splitlines()
    return "\n".join(lines[max(0, splat.number - _EXCERPT_BEFORE) : splat.number + _EXCERPT_AFTER])
