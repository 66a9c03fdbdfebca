/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Exits of each kind while x18 and x20 to x28 hold a value. x19 is where a fault continues: an
 * address of this function, so it is of no use to a guest that means harm.
 */
#include "held.h"

	.text
	/* void held_run(struct held *held), under begin_try(). */
	.globl	held_run
held_run:
	stp	x29, x30, [sp, #-112]!
	stp	x18, x19, [sp, #16]
	stp	x20, x21, [sp, #32]
	stp	x22, x23, [sp, #48]
	stp	x24, x25, [sp, #64]
	stp	x26, x27, [sp, #80]
	str	x28, [sp, #96]
	mov	x29, x0
	ldr	x18, [x29, #HELD_VALUE]
	.irp	n, 20, 21, 22, 23, 24, 25, 26, 27, 28
	mov	x\n, x18
	.endr

	/* An abort of memory that is there, a TLBI of the page, and the abort again. */
	ldr	x1, [x29, #HELD_FRESH]
	ldr	x2, [x1]
	lsr	x3, x1, #12
	dsb	ishst
	tlbi	vaae1is, x3
	dsb	ish
	ldr	x2, [x1]
	/* A call of firmware, by the way that the machine has. */
	ldr	x0, [x29, #HELD_CALL]
	ldr	x1, [x29, #HELD_SMC]
	cbnz	x1, 1f
	hvc	#0
	b	2f
1:	smc	#0
	/* Another process, and back. */
2:	ldr	x1, [x29, #HELD_TTBR]
	mrs	x2, ttbr0_el1
	msr	ttbr0_el1, x1
	isb
	ldr	x3, [x29, #HELD_FRESH]
	ldr	x3, [x3]
	msr	ttbr0_el1, x2
	isb
	/* A device's register, which the VMM has. */
	ldr	x1, [x29, #HELD_DEVICE]
	ldr	w2, [x1]
	/* A fault of the guest's own, whose handler sees the same registers. */
	adr	x19, 3f
	ldr	x1, [x29, #HELD_NOWHERE]
	ldr	x2, [x1]

3:	add	x1, x29, #HELD_SEEN
	str	x18, [x1], #8
	.irp	n, 20, 21, 22, 23, 24, 25, 26, 27, 28
	str	x\n, [x1], #8
	.endr
	ldr	x28, [sp, #96]
	ldp	x26, x27, [sp, #80]
	ldp	x24, x25, [sp, #64]
	ldp	x22, x23, [sp, #48]
	ldp	x20, x21, [sp, #32]
	ldp	x18, x19, [sp, #16]
	ldp	x29, x30, [sp], #112
	ret
