/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Guests of the siege (siege.h). They run at EL1 with the MMU off; x1 is their first page and x2
 * the number of their pages. A store to GUEST_MMIO means a completed round, one to GUEST_BAD a
 * failure. The secret is made in a register: nothing that a VMM has loaded holds it.
 */
	.section .rodata
	.macro	guest name
	.balign	2048
	.globl	\name, \name\()_end
\name:
	.endm

	.macro	word reg, a, b, c, d
	movz	\reg, #\a, lsl #48
	movk	\reg, #\b, lsl #32
	movk	\reg, #\c, lsl #16
	movk	\reg, #\d
	mvn	\reg, \reg
	.endm

	/* Every 64 bytes of the page at x23. */
	.macro	fill reg
	mov	x9, x23
	add	x10, x23, #0x1000
9:	str	\reg, [x9], #64
	cmp	x9, x10
	b.ne	9b
	.endm

	.macro	pause shift
	ubfx	x9, x28, #\shift, #5
	lsl	x9, x9, #8
9:	sub	x9, x9, #1
	tbz	x9, #63, 9b
	.endm

	.macro	call number
	mov	x0, #\number
	movk	x0, #0xc600, lsl #16
	mov	x1, x23
	mov	x2, xzr
	mov	x3, xzr
	hvc	#0
	.endm

/*
 * Has its secret in pages, and in all registers that it needs for nothing else. A page is
 * cleaned and shared, is there for the VMM for a while, is taken back, and has the secret
 * again: from then on nobody may change it.
 */
	guest	guest_sharer
	mov	x20, #0x0a000000
	mov	x21, x1
	mov	x22, x2
	mov	x0, #0x300000
	msr	cpacr_el1, x0
	isb
	word	x19, 0xa13d, 0x185e, 0xe45a, 0x1a12
	word	x18, 0x1111, 0x2222, 0x3333, 0x4444
	mov	x28, xzr
	.irp	n, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 17, 25, 26, 27, 29
	mov	x\n, x19
	.endr
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	dup	v\n\().2d, x19
	.endr
0:	mov	x23, x21
	mov	x24, x22
1:	fill	x18
	call	3
	cbnz	x0, 4f
	pause	0
	tbnz	x28, #2, 2f
	str	x18, [x23, #8]
	ldr	x9, [x23]
2:	call	4
	cbnz	x0, 4f
	fill	x19
	dup	v16.2d, x19
	pause	5
	mov	x9, x23
	add	x10, x23, #0x1000
3:	ldr	x0, [x9], #64
	cmp	x0, x19
	b.ne	4f
	cmp	x9, x10
	b.ne	3b
	mov	x0, v7.d[1]
	cmp	x0, x19
	b.ne	4f
	add	x28, x28, #1
	add	x23, x23, #0x1000
	subs	x24, x24, #1
	b.ne	1b
	str	x28, [x20]
	b	0b
4:	mov	x9, #1
	str	x9, [x20, #8]
	b	4b
guest_sharer_end:

/*
 * Calls for pages that others share too, for bad addresses and addresses without memory, twice, and
 * alone: the answer is 0 or -3, or an abort where there is no memory.
 */
	guest	guest_contender
	mov	x20, #0x0a000000
	mov	x21, x1
	mov	x22, x2
	adr	x0, 5f
	msr	vbar_el1, x0
	isb
	mov	x28, #0x2545
0:	mov	x24, #256
1:	eor	x28, x28, x28, lsl #13
	eor	x28, x28, x28, lsr #7
	eor	x28, x28, x28, lsl #17
	/* A page of its own. */
	udiv	x9, x28, x22
	msub	x9, x9, x22, x28
	add	x23, x21, x9, lsl #12
	/* Or, seldom, any address, or one that is no page's. */
	ubfx	x9, x28, #40, #6
	cmp	x9, #1
	csel	x23, x28, x23, eq
	add	x10, x23, #8
	cmp	x9, #2
	csel	x23, x10, x23, eq
	tbnz	x28, #47, 2f
	call	3
	b	3f
2:	call	4
3:	cbz	x0, 4f
	cmn	x0, #3
	b.ne	6f
4:	subs	x24, x24, #1
	b.ne	1b
	str	x28, [x20]
	b	0b
6:	str	x0, [x20, #8]
	b	6b
	.balign	2048
5:	.skip	0x200
	/* At the call: after it, as if it had been answered. */
	mrs	x9, elr_el1
	add	x9, x9, #4
	msr	elr_el1, x9
	mov	x0, xzr
	eret
guest_contender_end:

/* Shares all pages, and takes all back, once; each round is so much. */
	guest	guest_millions
	mov	x20, #0x0a000000
	mov	x21, x1
	mov	x22, x2
0:	mov	x23, x21
	mov	x24, x22
1:	call	3
	cbnz	x0, 3f
	add	x23, x23, #0x1000
	subs	x24, x24, #1
	b.ne	1b
	str	x22, [x20]
	mov	x23, x21
	mov	x24, x22
2:	call	4
	cbnz	x0, 3f
	add	x23, x23, #0x1000
	subs	x24, x24, #1
	b.ne	2b
	str	x22, [x20]
	b	0b
3:	str	x0, [x20, #8]
	b	3b
guest_millions_end:
