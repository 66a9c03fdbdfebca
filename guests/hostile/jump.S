/* SPDX-License-Identifier: GPL-2.0 */
/* Jumps to places where foreign code may be; that code may continue anywhere. */
#include "frame.h"
#include "hole.h"

	.text
	/* The word at hole_jump.at, under begin_try(). */
	.globl	hole_jump_run
hole_jump_run:
	adrp	x0, hole_jump
	add	x0, x0, :lo12:hole_jump
	callers	stp, x0, JUMP_CALLER
	mov	x1, sp
	str	x1, [x0, #JUMP_CALLER + 96]
	/*
	 * Code that takes registers from the stack, as the library's vectors do, continues there
	 * too.
	 */
	adr	x19, jumped
	add	x1, x0, #JUMP_STACK
	mov	x2, #JUMP_STACK_SIZE
1:	str	x19, [x1], #8
	subs	x2, x2, #8
	b.ne	1b
	sub	sp, x1, #JUMP_ABOVE
	add	x28, x1, #JUMP_SCRATCH_SIZE / 2
	mov	x29, x28
	mov	x30, x28
	ldr	x17, [x0, #JUMP_AT]
	ldp	x6, x7, [x0, #JUMP_X + 48]
	ldp	x4, x5, [x0, #JUMP_X + 32]
	ldp	x2, x3, [x0, #JUMP_X + 16]
	ldp	x0, x1, [x0, #JUMP_X]
	br	x17
jumped:
	adrp	x0, hole_jump
	add	x0, x0, :lo12:hole_jump
	callers	ldp, x0, JUMP_CALLER
	ldr	x1, [x0, #JUMP_CALLER + 96]
	mov	sp, x1
	ret

	/* Call x0 with X0 to X7 from the words at x1, and store them there after the call. */
	.globl	hole_call
hole_call:
	stp	x29, x30, [sp, #-32]!
	str	x1, [sp, #16]
	mov	x17, x0
	mov	x16, x1
	ldp	x6, x7, [x16, #48]
	ldp	x4, x5, [x16, #32]
	ldp	x2, x3, [x16, #16]
	ldp	x0, x1, [x16]
	blr	x17
	ldr	x16, [sp, #16]
	stp	x0, x1, [x16]
	stp	x2, x3, [x16, #16]
	stp	x4, x5, [x16, #32]
	stp	x6, x7, [x16, #48]
	ldp	x29, x30, [sp], #32
	ret

	.balign	8
	.globl	hole_far, hole_far_end
hole_far:
	msr	elr_el1, x0
	nop
	msr	spsr_el1, x1
	nop
	msr	contextidr_el1, x2
	nop
	msr	tpidrro_el0, x3
	nop
	msr	tpidr_el0, x4
	nop
	msr	daifclr, #15
	nop
	msr	daifset, #15
	nop
	msr	daif, x1
	nop
	mrs	x5, tpidr_el0
	nop
	mrs	x6, contextidr_el1
	nop
	mrs	x7, tpidrro_el0
	nop
	ret
	nop
hole_far_end:
