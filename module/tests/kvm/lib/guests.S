/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Guests of a few instructions, each from its name to its name with _end. They run from GUEST_BASE,
 * all but the last with the MMU off, and report to GUEST_MMIO: a store there means a completed
 * round, a store to GUEST_BAD (8 bytes on) means a failure.
 */
	.section .rodata
	.macro	guest name
	.balign	8
	.globl	\name, \name\()_end
\name:
	.endm

/*
 * Counts in every 128 bytes of memory but the first page: a value that is not
 * the round's number was lost or came from somewhere else.
 */
	guest	guest_counter
	mov	x0, #0x0a000000
	mov	x3, xzr
0:	mov	x1, #0x40000000
	add	x1, x1, #0x1000
	mov	x2, #0x40200000
1:	ldr	x4, [x1]
	cmp	x4, x3
	b.ne	2f
	add	x4, x4, #1
	str	x4, [x1]
	add	x1, x1, #0x80
	cmp	x1, x2
	b.ne	1b
	add	x3, x3, #1
	str	x3, [x0]
	b	0b
2:	str	x1, [x0, #8]
	b	2b
guest_counter_end:

/* Reads one address, x1, again and again, and tells each value. */
	guest	guest_reader
	mov	x0, #0x0a000000
1:	ldr	x2, [x1]
	str	x2, [x0]
	b	1b
guest_reader_end:

/*
 * Goes round an ITS's queue (CWRITER), looks how far it is (CREADR), has LPIs
 * looked at anew (INVALLR, INVLPIR), and turns LPIs and the ITS off and on now
 * and then. Places as in its_machine.c.
 */
	guest	guest_commander
	mov	x0, #0x08080000
	mov	x4, #0x080a0000
	mov	x5, #0x0a000000
	mov	x6, xzr
0:	add	x1, x1, #0x60
	and	x1, x1, #0xfe0
	str	x1, [x0, #0x88]
	ldr	x2, [x0, #0x90]
	str	x1, [x4, #0xb0]
	mov	w3, #8200
	str	w3, [x4, #0xa0]
	add	x6, x6, #1
	tst	x6, #15
	b.ne	1f
	str	wzr, [x4]
	mov	w3, #1
	str	w3, [x4]
	str	wzr, [x0]
	str	w3, [x0]
1:	str	x1, [x5]
	b	0b
guest_commander_end:

/*
 * Does as its VMM says, with page tables that the VMM wrote (mapper.c): x5 is
 * the part to go to, after each of which it tells GUEST_MMIO (x0).
 */
	guest	guest_mapper
0:	str	x1, [x0]
	br	x5
	.globl	guest_mapper_touch
guest_mapper_touch:
1:	str	x1, [x1]
	add	x1, x1, x3
	cmp	x1, x2
	b.lo	1b
	b	0b
	.globl	guest_mapper_execute
guest_mapper_execute:
1:	blr	x1
	add	x1, x1, x3
	cmp	x1, x2
	b.lo	1b
	b	0b
	.globl	guest_mapper_all
guest_mapper_all:
	dsb	ishst
	tlbi	vmalle1
	dsb	ish
	isb
	b	0b
	.globl	guest_mapper_asid
guest_mapper_asid:
	dsb	ishst
	tlbi	aside1, x1
	dsb	ish
	isb
	b	0b
	.globl	guest_mapper_va
guest_mapper_va:
	dsb	ishst
	tlbi	vae1, x1
	dsb	ish
	isb
	b	0b
	.globl	guest_mapper_vaa
guest_mapper_vaa:
	dsb	ishst
	tlbi	vaae1, x1
	dsb	ish
	isb
	b	0b
	.globl	guest_mapper_poke
guest_mapper_poke:
	str	w2, [x1]
	b	0b
	.globl	guest_mapper_sgi
guest_mapper_sgi:
	msr	S3_0_C12_C11_5, x1	/* ICC_SGI1R_EL1 */
	b	0b
	/* Or stores, when its VMM changes it; x4 is what it reads. */
	.globl	guest_mapper_load
guest_mapper_load:
1:	ldr	x4, [x1]
	b	1b
guest_mapper_end:

/* Executes an instruction that its VMM puts into the slot, and tells x0; vectors are the VMM's. */
	guest	guest_caller
0:	str	x0, [x9]
	.globl	guest_caller_slot
guest_caller_slot:
	nop
	b	0b
guest_caller_end:

/*
 * A protected guest's calls, after each kind of which it tells the result: the granule, the
 * measurement, x6 pages from x5 on shared, and taken back.
 */
	.macro	private_call low
	mov	w0, #\low
	movk	w0, #0xc600, lsl #16
	mov	x3, xzr
	hvc	#0
	.endm
	.macro	private_change low
	mov	x7, x5
	mov	x8, x6
1:	mov	x1, x7
	mov	x2, x8
	private_call \low
	cbnz	x0, 2f
	sub	x8, x8, x1
	add	x7, x7, x1, lsl #12
	cbnz	x8, 1b
2:	str	x0, [x9]
	.endm
	guest	guest_private
	mov	x9, #0x0a000000
	str	x0, [x9]
	mov	x1, xzr
	mov	x2, xzr
	private_call 0x0002
	str	x0, [x9]
	mov	x1, xzr
	mov	x2, xzr
	private_call 0xf000
	str	x0, [x9]
	private_change 0x0003
	private_change 0x0004
guest_private_end:

	.section .note.GNU-stack, "", %progbits
