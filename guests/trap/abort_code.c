// SPDX-License-Identifier: GPL-2.0
/* Instruction aborts: jumps to each kind of place. ELR and FAR hold its address. */
#include "trap.h"

#define JUMP(place, address, modes) \
	TRAP("jump." place, modes, IMM("x20", address) "blr x20")

JUMP("k-data", K_DATA, ALL);
JUMP("k-readonly", K_READONLY, EL1);
JUMP("k-user", K_USER, ALL);
JUMP("k-unmapped", K_UNMAPPED, ALL);
JUMP("k-unmapped-2", K_UNMAPPED_2, ALL);
JUMP("k-unmapped-1", K_UNMAPPED_1, ALL);
JUMP("k-outside", K_OUTSIDE, ALL);
JUMP("k-block", K_BLOCK, ALL);
JUMP("k-table-xn", K_TABLE_XN, ALL);
JUMP("k-device", K_DEVICE, EL1);
JUMP("k-old", K_OLD, ALL);
JUMP("k-code", K_CODE, EL0);
JUMP("u-code", U_CODE, EL1);
JUMP("u-data", U_DATA, ALL);
JUMP("u-readonly", U_READONLY, ALL);
JUMP("u-kernel", U_KERNEL, ALL);
JUMP("u-unmapped", U_UNMAPPED, ALL);
JUMP("u-unmapped-2", U_UNMAPPED_2, ALL);
JUMP("u-unmapped-1", U_UNMAPPED_1, ALL);
JUMP("u-outside", U_OUTSIDE, ALL);
JUMP("u-old", U_OLD, ALL);
JUMP("null", 0, ALL);
JUMP("hole", 0x0010000000000000, ALL);
JUMP("hole-high", 0xff0fffffffffff00, ALL);

/* The same code at its other address, which EL0 may execute but not read. */
TRAP("jump.u-execute", EL0, IMM("x20", U_EXECUTE)
     "adr x21, 1f\n\tand x21, x21, #0xfff\n\tadd x20, x20, x21\n\tbr x20\n1:\tadr x22, .");
/* The PC moves from the end of a page to a page that is not executable. */
TRAP("jump.data-from-code", ALL, "adr x20, .\n\tadd x20, x20, #0x2000\n\tand x20, x20, #~0xfff\n\t"
     "br x20");
