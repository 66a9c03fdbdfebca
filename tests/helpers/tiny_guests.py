# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Guests of a few instructions, built here: an arm64 Image header and words of code.

What such a guest makes its VMM do is known to the instruction, so tests can check exact counts.
"""

import struct

UART = 0x0900_0000
RTC = 0x0901_0000
NOTHING = 0x0B00_0000
# Memory beyond all images here.
MEMORY = 0x4010_0000

SYSTEM_OFF = 0x8400_0008
SYSTEM_RESET = 0x8400_0009

MAGIC = b"ARM\x64"
_BRANCH_OVER_HEADER = 0x1400_0010
HVC = 0xD400_0002


def image(*words: int, size: int = 0x1000, flags: int = 0b1010) -> bytes:
    """An Image that runs these instructions."""
    header = struct.pack("<II3Q3Q4sI", _BRANCH_OVER_HEADER, 0, 0, size, flags, 0, 0, 0, MAGIC, 0)
    return header + struct.pack(f"<{len(words)}I", *words)


def load(register: int, value: int) -> list[int]:
    """x`register` = `value` (32 bits)."""
    low, high = value & 0xFFFF, value >> 16
    return [0xD280_0000 | low << 5 | register, 0xF2A0_0000 | high << 5 | register]


def ldr(register: int, base: int) -> int:
    """w`register` = 32 bits at [x`base`]."""
    return 0xB940_0000 | base << 5 | register


def store(register: int, base: int) -> int:
    """32 bits at [x`base`] = w`register`."""
    return 0xB900_0000 | base << 5 | register


def cbnz(register: int, words: int) -> int:
    """Skip `words` instructions ahead, this one included, if w`register` is not zero."""
    return 0x3500_0000 | words << 5 | register


def ldp(register: int, base: int) -> int:
    """x`register` and its neighbour = 128 bits at [x`base`]: no syndrome for a hypervisor."""
    return 0xA940_0000 | (register + 1) << 10 | base << 5 | register


def strb(register: int, base: int) -> int:
    """The byte at [x`base`] = w`register`."""
    return 0x3900_0000 | base << 5 | register


def msr(system: tuple[int, int, int, int, int], register: int) -> int:
    """The system register op0, op1, CRn, CRm, op2 = x`register`."""
    op0, op1, crn, crm, op2 = system
    return 0xD510_0000 | (op0 - 2) << 19 | op1 << 16 | crn << 12 | crm << 8 | op2 << 5 | register


def mrs(register: int, system: tuple[int, int, int, int, int]) -> int:
    """x`register` = the system register."""
    return msr(system, register) | 1 << 21


def psci(function: int) -> list[int]:
    """A call that does not return."""
    return [*load(0, function), HVC, LOOP]


LOOP = 0x1400_0000  # b .
# The same for counted boards, whose QEMU takes ten times as long for blocks of one instruction.
SPIN = [*[0xD503_201F] * 63, 0x1400_0000 | (-63 & 0x3FF_FFFF)]  # nop, 63 times; b .-252
ISB = 0xD503_3FDF
WFI_LOOP = [0xD503_207F, 0x17FF_FFFF]  # wfi; b .-4


def say(text: str) -> list[int]:
    """Store each character to the UART, without asking it anything."""
    words = load(1, UART)
    for character in text.encode():
        words += [*load(2, character), strb(2, 1)]
    return words
