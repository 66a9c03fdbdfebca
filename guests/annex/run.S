/* SPDX-License-Identifier: GPL-2.0 */
/*
 * annex_run() and the interrupt's vector. Interrupt state: all masked, in and out; the code in
 * between may change it. TPIDR_EL1 always holds the CPU's struct state, and SP_EL0 is scratch.
 * Nothing here uses the stack, so memory below SP is unchanged.
 */
#include "annex.h"
#include "frame.h"

	.text
	.globl	annex_run
annex_run:
	callers	stp, x0, STATE_CALLER
	mov	x1, sp
	str	x1, [x0, #STATE_CALLER + 96]

	ldp	x1, x2, [x0, #STATE_SYS]
	msr	elr_el1, x1
	msr	spsr_el1, x2
	ldp	x1, x2, [x0, #STATE_SYS + 16]
	msr	contextidr_el1, x1
	msr	tpidrro_el0, x2
	ldr	x1, [x0, #STATE_SYS + 32]
	msr	tpidr_el0, x1
	ldp	x1, x2, [x0, #STATE_SP]
	mov	sp, x1
	msr	nzcv, x2
	load_all
	br	x17

	.globl	annex_end
annex_end:
	msr	daifset, #0xf
	msr	sp_el0, x0
	mrs	x0, tpidr_el1
	stp	x1, x2, [x0, #8]
	stp	x3, x4, [x0, #24]
	stp	x5, x6, [x0, #40]
	stp	x7, x8, [x0, #56]
	stp	x9, x10, [x0, #72]
	stp	x11, x12, [x0, #88]
	stp	x13, x14, [x0, #104]
	stp	x15, x16, [x0, #120]
	stp	x17, x18, [x0, #136]
	stp	x19, x20, [x0, #152]
	stp	x21, x22, [x0, #168]
	stp	x23, x24, [x0, #184]
	stp	x25, x26, [x0, #200]
	stp	x27, x28, [x0, #216]
	stp	x29, x30, [x0, #232]
	mrs	x1, sp_el0
	str	x1, [x0]
	mov	x1, sp
	mrs	x2, nzcv
	stp	x1, x2, [x0, #STATE_SP]
	/* Reads of different registers next to each other, as in kernels. */
	mrs	x1, elr_el1
	mrs	x2, spsr_el1
	stp	x1, x2, [x0, #STATE_SYS]
	mrs	x1, contextidr_el1
	mrs	x2, tpidrro_el0
	stp	x1, x2, [x0, #STATE_SYS + 16]
	mrs	x1, tpidr_el0
	str	x1, [x0, #STATE_SYS + 32]

	callers	ldp, x0, STATE_CALLER
	ldr	x1, [x0, #STATE_CALLER + 96]
	mov	sp, x1
	ret

	.globl	kernel_irq
kernel_irq:
	msr	sp_el0, x0
	mrs	x0, tpidr_el1
	stp	x1, x2, [x0, #STATE_IRQ_X]
	mrs	x1, elr_el1
	mrs	x2, spsr_el1
	stp	x1, x2, [x0, #STATE_IRQ_ELR]
	ldr	x1, [x0, #STATE_IRQ_COUNT]
	add	x1, x1, #1
	mrs	x2, s3_0_c12_c12_0		/* ICC_IAR1 */
	dsb	sy
	stp	x1, x2, [x0, #STATE_IRQ_COUNT]
	msr	cntv_ctl_el0, xzr
	isb
	msr	s3_0_c12_c12_1, x2		/* ICC_EOIR1 */
	isb
	ldp	x1, x2, [x0, #STATE_IRQ_X]
	mrs	x0, sp_el0
	eret
