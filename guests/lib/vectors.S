/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Vectors for programs that expect few exceptions: everything is saved to a
 * struct frame on the current EL1 stack and handed to exception().
 */
#include "frame.h"

	.macro	entry
	.balign	128
	sub	sp, sp, #(36 * 8)
	stp	x0, x1, [sp]
	mov	x0, #(. - vectors - 8) & ~0x7f
	b	common
	.endm

	.text
	.balign	2048
	.globl	vectors
vectors:
	.rept	16
	entry
	.endr

common:
	high	stp, sp
	mrs	x1, elr_el1
	stp	x30, x1, [sp, #240]
	mrs	x1, spsr_el1
	mrs	x2, esr_el1
	stp	x1, x2, [sp, #256]
	mrs	x1, far_el1
	stp	x1, x0, [sp, #272]
	mov	x0, sp
	bl	exception
	ldp	x30, x1, [sp, #240]
	msr	elr_el1, x1
	ldr	x1, [sp, #256]
	msr	spsr_el1, x1
	high	ldp, sp
	ldp	x0, x1, [sp]
	add	sp, sp, #(36 * 8)
	eret
