/* SPDX-License-Identifier: GPL-2.0 */
/*
 * probe_run() and its vectors. Interrupt state: all masked, in and out.
 *
 * probe_run: x0 holds the state. C's registers go to `caller`, the state's address to `current`.
 * A vector saves x0 in TPIDRRO_EL0, then finds the state by `current`.
 */
#include "frame.h"
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
	callers	stp, x1, 0
	mov	x2, sp
	stp	x2, x0, [x1, #96]

	ldp	x1, x2, [x0, #PROBE_SP_EL0]
	msr	sp_el0, x1
	mov	sp, x2
	ldp	x1, x2, [x0, #PROBE_PC]
	msr	elr_el1, x1
	msr	spsr_el1, x2
	load_all
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
	high	stp, x0
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
	callers	ldp, x1, 0
	ldr	x2, [x1, #96]
	mov	sp, x2
	ret
