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
	stp	x2, x3, [sp, #16]
	stp	x4, x5, [sp, #32]
	stp	x6, x7, [sp, #48]
	stp	x8, x9, [sp, #64]
	stp	x10, x11, [sp, #80]
	stp	x12, x13, [sp, #96]
	stp	x14, x15, [sp, #112]
	stp	x16, x17, [sp, #128]
	stp	x18, x19, [sp, #144]
	stp	x20, x21, [sp, #160]
	stp	x22, x23, [sp, #176]
	stp	x24, x25, [sp, #192]
	stp	x26, x27, [sp, #208]
	stp	x28, x29, [sp, #224]
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
	load_high sp
	ldp	x0, x1, [sp]
	add	sp, sp, #(36 * 8)
	eret
