# SPDX-License-Identifier: GPL-2.0
"""The A64 load/store decoder against Capstone.

    decode_capstone.py PATH_OF_decode_dump [--seed N] [--fills N]

Every combination of the opcode bits of the "Loads and Stores" group (31:28, 26, 24:21 and 15:10) is
decoded with N random fills of the other bits, and with the fills that select special cases (Rt2, Rs
and Rm of 31). Where Capstone knows the instruction, the decoder must say the same of it: kind,
direction, sizes, registers, addressing, offset. Where Capstone knows none, the decoder must not
claim a transfer that the architecture does not have; differences that are right are named below.
"""

from __future__ import annotations

import argparse
import random
import re
import struct
import subprocess
import sys
from dataclasses import astuple, dataclass

try:
    import capstone
except ImportError:
    sys.exit("decode_capstone.py needs Capstone: 'pip install capstone', or run 'make setup'")

NONE, SINGLE, PAIR, EXCLUSIVE, ATOMIC, SIMD, PAUTH, TAG, COPY, ZVA, UNKNOWN, PREFETCH, CACHE = (
    range(13)
)
OFFSET, PRE, POST, REG, LITERAL = range(5)


@dataclass
class Access:
    kind: int = NONE
    mode: int = OFFSET
    write: int = 0
    sign: int = 0
    wide: int = 0
    ordered: int = 0
    size: int = 0
    rt: int = 0
    rt2: int = 0
    rn: int = 0
    rm: int = 0
    extend: int = 0
    shift: int = 0
    offset: int = 0


KINDS = [
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"(ld|st)(a|l)?x(r|p)[bh]?", EXCLUSIVE),
        (r"casp?a?l?[bh]?", ATOMIC),
        (r"(ld|st)(add|clr|eor|set|[su]max|[su]min)a?l?[bh]?", ATOMIC),
        (r"swpa?l?[bh]?|ld64b|st64b(v0?)?", ATOMIC),
        (r"(ld|st)[1-4]r?", SIMD),
        (r"ldra[ab]", PAUTH),
        (r"ldgm?|st(z2|2|z)?gm?|stgp", TAG),
        (r"(cpy|set)[a-z]+", COPY),
        (r"prfu?m", PREFETCH),
        (r"(ld|st)(n)?p|ldpsw", PAIR),
        (r"(ld|st)(u|t|ar|lar|llr|lr|apr|apur|lur)?r?(sb|sh|sw|b|h)?", SINGLE),
    )
]
SUFFIX = {"sb": (0, 1), "sh": (1, 1), "sw": (2, 1), "b": (0, 0), "h": (1, 0)}
EXTEND = {"uxtw": 2, "lsl": 3, "sxtw": 6, "sxtx": 7}


def kind_of(mnemonic: str, operands: str) -> int:
    for pattern, kind in KINDS:
        if pattern.fullmatch(mnemonic):
            vector = kind in (SINGLE, PAIR) and re.match(r"[bhsdqv{]", operands)
            return SIMD if vector else kind
    raise ValueError(f"no rule for '{mnemonic} {operands}'")


def register(name: str) -> int:
    return 31 if name in ("sp", "wsp", "xzr", "wzr") else int(name[1:])


def number(text: str) -> int:
    value = int(text.lstrip("#"), 0)
    return value - (1 << 64) if value >= 1 << 63 else value


def addressing(access: Access, operands: str) -> None:
    """Fill in mode, rn, rm, extend, shift and offset from the text after the registers."""
    match = re.fullmatch(r"\[([^\]]+)\](!?)(?:, (#.+))?", operands)
    if not match:
        access.mode = LITERAL
        access.rn = -1
        access.offset = number(operands)
        return
    parts = match[1].split(", ")
    access.rn = register(parts[0])
    if match[3]:
        access.mode, access.offset = POST, number(match[3])
    elif len(parts) > 1 and not parts[1].startswith("#"):
        access.mode, access.rm, access.extend = REG, register(parts[1]), 3
        if len(parts) > 2:
            name, _, amount = parts[2].partition(" ")
            access.extend = EXTEND[name]
            access.shift = number(amount) if amount else 0
    else:
        access.mode = PRE if match[2] else OFFSET
        access.offset = number(parts[1]) if len(parts) > 1 else 0


def expected(mnemonic: str, operands: str) -> Access:
    access = Access(kind=kind_of(mnemonic, operands))
    if access.kind not in (SINGLE, PAIR):
        return access
    access.write = int(mnemonic.startswith("st"))
    count = 2 if access.kind == PAIR else 1
    *registers, rest = operands.split(", ", count)
    access.rt = register(registers[0])
    access.rt2 = register(registers[1]) if count == 2 else 0
    wide = registers[0].startswith("x")
    stem = re.fullmatch(r"(.+?)(sb|sh|sw|b|h)?", mnemonic)
    assert stem
    access.size, access.sign = SUFFIX.get(stem[2] or "", (3 if wide else 2, 0))
    access.wide = int(wide)
    access.ordered = int(bool(re.match(r"ldl?ar|stll?r|ldapu?r|stlur", mnemonic)))
    addressing(access, rest)
    return access


def words(seed: int, fills: int) -> list[int]:
    chance = random.Random(seed)
    result = []
    for select in range(1 << 15):
        top, low = select >> 6, select & 0x3F
        word = 1 << 27 | low << 10
        for source, bit in enumerate((21, 22, 23, 24, 26, 28, 29, 30, 31)):
            word |= (top >> source & 1) << bit
        for fill in range(fills + 2):
            rs = (31, chance.choice((0, 2, 30)), chance.randrange(32))[min(fill, 2)]
            rt = chance.choice((0, 30, 31)) if fill < 2 else chance.randrange(32)
            result.append(word | rs << 16 | chance.randrange(32) << 5 | rt)
    return result


# Transfers that the decoder describes and Capstone does not know, each for a reason.
def allowed(word: int, got: Access) -> bool:
    if got.kind in (NONE, UNKNOWN, EXCLUSIVE, SIMD, TAG, COPY, PAUTH):
        return True  # refused in any case; unallocated ones never fault on their address
    if got.kind == ATOMIC and word >> 30 == 3:
        return True  # 64-byte accesses
    should_be_one = 0x1F << 16 | 0x1F << 10
    if word & 0x3F800000 == 0x08800000 or word & 0x3F800000 == 0x08000000:
        # Fields that "should be one" are ignored by processors; Capstone insists on some of them.
        return word & should_be_one != should_be_one
    rt, rn, rt2, rs = (word >> shift & 31 for shift in (0, 5, 10, 16))
    if word & 0x3FE0FC00 == 0x38A0C000:
        return rs != 31  # LDAPR, likewise
    # Writing back to a register that is also transferred is constrained unpredictable; Capstone
    # refuses LDTR and STTR of their base as well, which write nothing back.
    unprivileged = word & 0x3F200C00 == 0x38000800
    if (got.mode in (PRE, POST) or unprivileged) and rn != 31 and rn in (rt, rt2):
        return True
    # LDP of the same register twice likewise.
    return got.kind == PAIR and not got.write and rt == rt2


def compare(word: int, got: Access, text: tuple[str, str] | None) -> str | None:
    if text is None:
        return None if allowed(word, got) else f"Capstone knows none; decoded as {got}"
    want = expected(*text)
    if want.kind not in (SINGLE, PAIR):
        return None if got.kind == want.kind else f"{' '.join(text)}: decoded as {got}"
    if want.mode == LITERAL:
        want.rn = got.rn
    if astuple(got) == astuple(want):
        return None
    return f"{' '.join(text)}:\n  {got}, expected\n  {want}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare the decoder with Capstone.")
    parser.add_argument("dump", help="path of decode_dump")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fills", type=int, default=3, help="random fills each (default 3)")
    args = parser.parse_args()
    every = words(args.seed, args.fills)
    dump = subprocess.run(
        [args.dump], input=struct.pack(f"<{len(every)}I", *every), capture_output=True, check=True
    )
    engine = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)
    bad = known = 0
    for word, line in zip(every, dump.stdout.splitlines(), strict=True):
        texts = list(engine.disasm_lite(struct.pack("<I", word), 0))
        text = (texts[0][2], texts[0][3]) if texts else None
        known += text is not None
        complaint = compare(word, Access(*map(int, line.split())), text)
        if complaint:
            bad += 1
            if bad <= 20:
                print(f"{word:#010x} (seed {args.seed}): {complaint}", file=sys.stderr)
    print(f"decode_capstone: {len(every) - bad} passed, {bad} failed")
    return 1 if bad or known < len(every) // 4 else 0


if __name__ == "__main__":
    sys.exit(main())
