/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Vectors of guest.c. If TPIDR_EL1 is set, an abort is expected: the instruction is skipped,
 * and TPIDR_EL1 becomes 0. An exception from EL0 ends guest_user(). Any other exception is
 * reported.
 */
	.section guest_text, "ax"
	.balign	2048
	.globl	guest_vectors
guest_vectors:
	.rept	4
	b	.Lbad
	.balign	128
	.endr
	b	.Lsync
	.balign	128
	.rept	3
	b	.Lbad
	.balign	128
	.endr
	b	.Luser
	.balign	128
	.rept	7
	b	.Lbad
	.balign	128
	.endr
/*
 * struct user_access guest_user(u64 va, u64 write, u64 text): a load or a store of a word at EL0;
 * text is where EL0 has this section. Returns ESR_EL1, and the word or FAR_EL1.
 */
	.globl	guest_user
guest_user:
	adr	x9, __start_guest_text
	adr	x10, guest_user_text
	sub	x10, x10, x9
	add	x10, x10, x2
	stp	x29, x30, [sp, #-16]!
	msr	elr_el1, x10
	msr	spsr_el1, xzr
	eret
guest_user_text:
	cbnz	x1, 1f
	ldr	x1, [x0]
	svc	#0
1:	str	x1, [x0]
	svc	#0
.Luser:
	mrs	x0, esr_el1
	lsr	x9, x0, #26
	cmp	x9, #0x15
	b.eq	1f
	mrs	x1, far_el1
1:	ldp	x29, x30, [sp], #16
	ret
.Lsync:
	stp	x0, x1, [sp, #-16]!
	mrs	x0, tpidr_el1
	cbz	x0, 1f
	mrs	x0, esr_el1
	lsr	x0, x0, #26
	cmp	x0, #0x25		/* a data abort of its own level */
	b.ne	1f
	msr	tpidr_el1, xzr
	mrs	x0, elr_el1
	add	x0, x0, #4
	msr	elr_el1, x0
	ldp	x0, x1, [sp], #16
	eret
1:	ldp	x0, x1, [sp], #16
.Lbad:
	movz	x9, #0xffff, lsl #48
	movk	x9, #0x8000, lsl #32
	movk	x9, #0x0a00, lsl #16
	mov	x0, #1			/* BAD_FAULT */
	mrs	x1, far_el1
	mrs	x2, esr_el1
	mrs	x3, elr_el1
	str	x0, [x9, #8]
	b	.Lbad

	.section .note.GNU-stack, "", %progbits
