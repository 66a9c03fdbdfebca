/* SPDX-License-Identifier: GPL-2.0 */
/*
 * probe_run() and its vectors. Interrupt state: all masked, in and out.
 *
 * probe_run: x0 holds the state. C's registers go to `caller`; `current` remembers
 * the state. A vector saves x0 in TPIDRRO_EL0 and finds everything from there.
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
	save_callers x1, 0
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
	load_callers x1, 0
	ldr	x2, [x1, #96]
	mov	sp, x2
	ret
