/* SPDX-License-Identifier: GPL-2.0 */
/* For assembly: general registers in memory; op is LDP or STP. */
#ifndef GUESTS_FRAME_H
#define GUESTS_FRAME_H

	/* The callee-saved registers, and LR. */
	.macro	callers op, base, at
	\op	x19, x20, [\base, #\at]
	\op	x21, x22, [\base, #\at + 16]
	\op	x23, x24, [\base, #\at + 32]
	\op	x25, x26, [\base, #\at + 48]
	\op	x27, x28, [\base, #\at + 64]
	\op	x29, x30, [\base, #\at + 80]
	.endm

	/* X2 to X29, of all registers in consecutive words. */
	.macro	high op, base
	\op	x2, x3, [\base, #16]
	\op	x4, x5, [\base, #32]
	\op	x6, x7, [\base, #48]
	\op	x8, x9, [\base, #64]
	\op	x10, x11, [\base, #80]
	\op	x12, x13, [\base, #96]
	\op	x14, x15, [\base, #112]
	\op	x16, x17, [\base, #128]
	\op	x18, x19, [\base, #144]
	\op	x20, x21, [\base, #160]
	\op	x22, x23, [\base, #176]
	\op	x24, x25, [\base, #192]
	\op	x26, x27, [\base, #208]
	\op	x28, x29, [\base, #224]
	.endm

	/* All 31 from X0's memory. */
	.macro	load_all
	high	ldp, x0
	ldr	x30, [x0, #240]
	ldp	x0, x1, [x0]
	.endm
#endif
