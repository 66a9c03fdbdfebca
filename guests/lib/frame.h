/* SPDX-License-Identifier: GPL-2.0 */
/* For assembly: general registers in memory. */
#ifndef GUESTS_FRAME_H
#define GUESTS_FRAME_H

	/* What a function keeps for its caller, and LR. */
	.macro	save_callers base, at
	stp	x19, x20, [\base, #\at]
	stp	x21, x22, [\base, #\at + 16]
	stp	x23, x24, [\base, #\at + 32]
	stp	x25, x26, [\base, #\at + 48]
	stp	x27, x28, [\base, #\at + 64]
	stp	x29, x30, [\base, #\at + 80]
	.endm

	.macro	load_callers base, at
	ldp	x19, x20, [\base, #\at]
	ldp	x21, x22, [\base, #\at + 16]
	ldp	x23, x24, [\base, #\at + 32]
	ldp	x25, x26, [\base, #\at + 48]
	ldp	x27, x28, [\base, #\at + 64]
	ldp	x29, x30, [\base, #\at + 80]
	.endm

	/* X2 to X29, of registers that are one behind the other. */
	.macro	load_high base
	ldp	x2, x3, [\base, #16]
	ldp	x4, x5, [\base, #32]
	ldp	x6, x7, [\base, #48]
	ldp	x8, x9, [\base, #64]
	ldp	x10, x11, [\base, #80]
	ldp	x12, x13, [\base, #96]
	ldp	x14, x15, [\base, #112]
	ldp	x16, x17, [\base, #128]
	ldp	x18, x19, [\base, #144]
	ldp	x20, x21, [\base, #160]
	ldp	x22, x23, [\base, #176]
	ldp	x24, x25, [\base, #192]
	ldp	x26, x27, [\base, #208]
	ldp	x28, x29, [\base, #224]
	.endm

	/* All 31 from X0's memory. */
	.macro	load_all
	load_high x0
	ldr	x30, [x0, #240]
	ldp	x0, x1, [x0]
	.endm
#endif
