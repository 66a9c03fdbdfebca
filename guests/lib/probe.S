/* SPDX-License-Identifier: GPL-2.0 */
/*
 * probe_run() and its vectors. Interrupt state: all masked, in and out.
 *
 * probe_run: x0 holds the state. C's registers go to `caller`; `current` remembers
 * the state. A vector saves x0 in TPIDRRO_EL0 and finds everything from there.
 */
#include "probe.h"

	.data
	.balign	16
caller:	.space	13 * 8
current: .quad	0

	.text
	.globl	probe_run
probe_run:
	adrp	x1, caller
	add	x1, x1, :lo12:caller
	stp	x19, x20, [x1]
	stp	x21, x22, [x1, #16]
	stp	x23, x24, [x1, #32]
	stp	x25, x26, [x1, #48]
	stp	x27, x28, [x1, #64]
	stp	x29, x30, [x1, #80]
	mov	x2, sp
	stp	x2, x0, [x1, #96]

	ldp	x1, x2, [x0, #PROBE_SP_EL0]
	msr	sp_el0, x1
	mov	sp, x2
	ldp	x1, x2, [x0, #PROBE_PC]
	msr	elr_el1, x1
	msr	spsr_el1, x2
	ldp	x2, x3, [x0, #16]
	ldp	x4, x5, [x0, #32]
	ldp	x6, x7, [x0, #48]
	ldp	x8, x9, [x0, #64]
	ldp	x10, x11, [x0, #80]
	ldp	x12, x13, [x0, #96]
	ldp	x14, x15, [x0, #112]
	ldp	x16, x17, [x0, #128]
	ldp	x18, x19, [x0, #144]
	ldp	x20, x21, [x0, #160]
	ldp	x22, x23, [x0, #176]
	ldp	x24, x25, [x0, #192]
	ldp	x26, x27, [x0, #208]
	ldp	x28, x29, [x0, #224]
	ldr	x30, [x0, #240]
	ldp	x0, x1, [x0]
	eret

	.macro	vector_table name, flag
	.balign	2048
	.globl	\name
\name:
	.set	offset, 0
	.rept	16
	.balign	128
	msr	tpidrro_el0, x0
	adrp	x0, current
	ldr	x0, [x0, :lo12:current]
	str	x1, [x0, #8]
	mov	x1, #(offset | \flag)
	b	save
	.set	offset, offset + 128
	.endr
	.endm

	vector_table probe_vectors, 0
	vector_table probe_vectors_second, VECTOR_SECOND

save:
	stp	x2, x3, [x0, #16]
	stp	x4, x5, [x0, #32]
	stp	x6, x7, [x0, #48]
	stp	x8, x9, [x0, #64]
	stp	x10, x11, [x0, #80]
	stp	x12, x13, [x0, #96]
	stp	x14, x15, [x0, #112]
	stp	x16, x17, [x0, #128]
	stp	x18, x19, [x0, #144]
	stp	x20, x21, [x0, #160]
	stp	x22, x23, [x0, #176]
	stp	x24, x25, [x0, #192]
	stp	x26, x27, [x0, #208]
	stp	x28, x29, [x0, #224]
	str	x30, [x0, #240]
	mrs	x2, tpidrro_el0
	str	x2, [x0]
	mrs	x2, sp_el0
	mov	x3, sp
	stp	x2, x3, [x0, #PROBE_SP_EL0]
	mrs	x2, elr_el1
	mrs	x3, spsr_el1
	stp	x2, x3, [x0, #PROBE_PC]
	mrs	x2, esr_el1
	mrs	x3, far_el1
	stp	x2, x3, [x0, #PROBE_ESR]
	str	x1, [x0, #PROBE_VECTOR]

	adrp	x1, caller
	add	x1, x1, :lo12:caller
	ldp	x19, x20, [x1]
	ldp	x21, x22, [x1, #16]
	ldp	x23, x24, [x1, #32]
	ldp	x25, x26, [x1, #48]
	ldp	x27, x28, [x1, #64]
	ldp	x29, x30, [x1, #80]
	ldr	x2, [x1, #96]
	mov	sp, x2
	ret
