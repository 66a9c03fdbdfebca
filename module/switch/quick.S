/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Traps that end in the window in assembly (cpu/quick.h): those that kernels
 * take more often than all others. The code lies behind switch/enter.S, whose
 * vector for synchronous exceptions from EL0 branches here first, and is copied
 * with it: position independent.
 *
 * In: x0 is ESR_EL1, x0 and x1 are saved, SP_EL1 is the register file; at
 * av_window_quick_unknown ESR_EL1 equals srf->quick. Out: eret; or, with
 * nothing changed, av_window_slow, or av_window_slow_saved once x2 and x3 are
 * saved: ELR_EL1, SPSR_EL1 and ESR_EL1 are the guest's.
 *
 * Virtual state is where C keeps it, except PC, PSTATE and the stack pointer in
 * use, which are in the hardware while the guest runs. So C finds all state
 * after the next exit.
 */
#include <linux/linkage.h>
#include <asm/assembler.h>
#include "switch/offsets.h"

/* PSTATE bits that are the hardware's (AV_PSR_PHYS), and bits for which ERET here declines. */
#define PHYS_LOW	0x1c00
#define PHYS_HIGH	0xf100
#define DECLINE_LOW	0x3df		/* DAIF, and a mode but EL0t */
#define DECLINE_HIGH	0x0030		/* IL, SS */
#define ERET_LOW	0x03e0
#define ERET_HIGH	0xd69f
#define HVC_LOW		0x0002
#define HVC_HIGH	0xd400
#define PSCI_VERSION	0x84000000
#define PSR_DAIF	0x3c0
#define PSR_BTYPE	0xc00
#define PSR_EL1H	5
#define SCTLR_DSSBS_SHIFT 44
#define EC_SVC64	0x15
#define EC_SYS64	0x18

	/* Skip the instruction; \t is lost. */
	.macro	skip, t
	mrs	\t, elr_el1
	add	\t, \t, #4
	msr	elr_el1, \t
	mrs	\t, spsr_el1
	and	\t, \t, #~PSR_BTYPE
	msr	spsr_el1, \t
	.endm

	.macro	count, counter, t
	ldr	\t, [sp, #SRF_FAST + 8 * \counter]
	add	\t, \t, #1
	str	\t, [sp, #SRF_FAST + 8 * \counter]
	.endm

	/* Count row w3. w3 and x1 are lost; x0 becomes the register's number. */
	.macro	count_row
	ubfx	w3, w3, #10, #5
	and	w0, w1, #31
	add	x3, sp, x3, lsl #3
	ldr	x1, [x3, #SRF_FAST]
	add	x1, x1, #1
	str	x1, [x3, #SRF_FAST]
	.endm

	.macro	resume
	ldp	x2, x3, [sp, #SRF_REGS + 16]
	ldp	x0, x1, [sp, #SRF_REGS]
	eret
	dsb	nsh				/* nothing past eret, not even by speculation */
	isb
	.endm

	/* Branch to register x0's place in a list of two instructions each; \t is lost. */
	.macro	by_register, list, t
	adr	\t, \list
	add	\t, \t, x0, lsl #3
	br	\t
	.endm

	.section .av_window.text, "ax"
	.balign	64
SYM_CODE_START(av_window_quick)
	lsr	x1, x0, #26
	cmp	x1, #EC_SYS64
	b.eq	.Lsys64
	cmp	x1, #EC_SVC64
	b.eq	.Lsvc
.Lnot:
	b	av_window_slow

	/* Virtual EL1, an unknown instruction: read it as EL0, as switch/enter.S does. */
SYM_INNER_LABEL(av_window_quick_unknown, SYM_L_GLOBAL)
	stp	x2, x3, [sp, #SRF_REGS + 16]
	mrs	x0, elr_el1
	mrs	x3, spsr_el1
	ldr	x2, [sp, #SRF_IN_PLACE]
	cbnz	x2, av_window_quick_fetch_copy
SYM_INNER_LABEL(av_window_quick_fetch, SYM_L_GLOBAL)
	ldtr	w1, [x0]
.Lfetched:
	lsr	w2, w1, #20
	orr	w2, w2, #2			/* MRS or MSR */
	cmp	w2, #0xd53
	b.ne	.Leret
	ubfx	w2, w1, #5, #16
	eor	w3, w2, w2, lsr #6		/* av_quick_hash() */
	and	w3, w3, #QUICK_ROWS - 1
	add	x3, sp, x3, lsl #2
	ldr	w3, [x3, #SRF_QUICK_ROWS]
	cmp	w2, w3, lsr #16
	b.ne	.Lno_fetched
	and	w2, w3, #0x1ff
	add	x2, sp, x2, lsl #3
	tbz	w1, #21, .Lwrite
	ldr	x2, [x2, #SRF_SYS]
	count_row
.Lset:
	skip	x1
	by_register .Lset_list, x1
.Lwrite:
	tbz	w3, #9, .Lno_fetched
	count_row
	add	x2, x2, #SRF_SYS
.Lget:
	skip	x1
	by_register .Lget_list, x1
.Lput:
	str	x3, [x2]
.Lresume:
	resume

	/* Copies are execute-only for EL0: read the instruction as EL1. */
SYM_INNER_LABEL(av_window_quick_fetch_copy, SYM_L_GLOBAL)
	ldr	w1, [x0]
	b	.Lfetched

	/* The instruction was read: keep it. */
.Lno_fetched:
	str	x1, [sp, #SRF_INSN]
	mov	x0, #EXIT_SYNC | EXIT_FETCHED
	b	av_window_exit_from_x4
.Lno:
	b	av_window_slow_saved

	/* MSR DAIFSet and DAIFClr, by their syndromes as C has seen them; MRS and MSR DAIF. */
.Lsys64:
	ldr	x1, [sp, #SRF_QUICK]
	cbz	x1, .Lnot
	stp	x2, x3, [sp, #SRF_REGS + 16]
	ldp	x2, x3, [sp, #SRF_QUICK_IMM]
	and	x1, x0, #~(0xf << 1)
	cmp	x1, x2
	b.eq	.Ldaifset
	cmp	x1, x3
	b.eq	.Ldaifclr
	and	x1, x0, #~(0x1f << 5)
	mov	w2, #ESR_DAIF_LOW
	movk	w2, #ESR_DAIF_HIGH, lsl #16
	eor	x2, x1, x2			/* bit 0: a read */
	ubfx	w0, w0, #5, #5
	cbz	x2, .Lmsr_daif
	cmp	x2, #1
	b.ne	.Lno
	ldr	x2, [sp, #SRF_DAIF]
	and	x2, x2, #PSR_DAIF
	count	FAST_DAIF, x1
	b	.Lset
.Lmsr_daif:
	ldr	x1, [sp, #SRF_DUE]
	cbnz	x1, .Lno
	count	FAST_DAIF, x1
	mov	x2, sp
	add	x2, x2, #SRF_SYS
	add	x2, x2, #SRF_DAIF - SRF_SYS
	b	.Lget
.Ldaifset:
	ubfx	x0, x0, #1, #4
	ldr	x1, [sp, #SRF_DAIF]
	orr	x1, x1, x0, lsl #6
	b	.Lput_daif
.Ldaifclr:
	ldr	x1, [sp, #SRF_DUE]
	cbnz	x1, .Lno
	ubfx	x0, x0, #1, #4
	lsl	x0, x0, #6
	ldr	x1, [sp, #SRF_DAIF]
	bic	x1, x1, x0
.Lput_daif:
	and	x1, x1, #PSR_DAIF
	str	x1, [sp, #SRF_DAIF]
	count	FAST_DAIF, x1
	skip	x1
	resume

	/* ERET to virtual EL0, with nothing masked there and nothing pending. x3 is SPSR_EL1. */
.Leret:
	mov	w2, #ERET_LOW
	movk	w2, #ERET_HIGH, lsl #16
	cmp	w1, w2
	b.ne	.Lhvc
	ldr	x1, [sp, #SRF_SPSR_EL1]
	mov	w2, #DECLINE_LOW
	movk	w2, #DECLINE_HIGH, lsl #16
	tst	x1, x2
	b.ne	.Lno
	ldr	x2, [sp, #SRF_QUICK_MODES]
	cbz	x2, .Lno
	ldr	x2, [sp, #SRF_DUE]
	cbnz	x2, .Lno
	mov	w2, #PHYS_LOW
	movk	w2, #PHYS_HIGH, lsl #16
	and	x1, x1, x2
	bic	x3, x3, x2
	orr	x1, x1, x3
	ldr	x0, [sp, #SRF_ELR_EL1]
	msr	spsr_el1, x1
	msr	elr_el1, x0
	ldr	x2, [sp, #SRF_IN_PLACE]
	mrs	x0, sp_el0
	str	x0, [sp, #SRF_SP_EL1]
	cbnz	x2, .Leret_from_copy
	ldr	x1, [sp, #SRF_SP_EL0]
	msr	sp_el0, x1
.Lto_el0:
	ldr	x2, [sp, #SRF_TTBR1_EL0]
	str	xzr, [sp, #SRF_VMODE]		/* EL0t */
	str	xzr, [sp, #SRF_DAIF]
	str	xzr, [sp, #SRF_QUICK]
	count	FAST_ERET_EL0, x1
	/* As in switch/enter.S: the window is the same in both trees. */
	msr	ttbr1_el1, x2
	resume

	/* HVC #0 for PSCI_VERSION; other calls go to C. */
.Lhvc:
	mov	w2, #HVC_LOW
	movk	w2, #HVC_HIGH, lsl #16
	cmp	w1, w2
	b.ne	.Lno_fetched
	ldr	w0, [sp, #SRF_REGS]
	mov	w2, #PSCI_VERSION
	cmp	w0, w2
	b.ne	.Lcall
	ldr	x2, [sp, #SRF_PSCI]
	cbz	x2, .Lcall
	stp	x2, xzr, [sp, #SRF_REGS]
	stp	xzr, xzr, [sp, #SRF_REGS + 16]
	count	FAST_HVC, x1
	skip	x1
	resume

.Lcall:
	str	x1, [sp, #SRF_INSN]
	mov	x0, #EXIT_SYNC | EXIT_FETCHED | EXIT_LEAVE
	b	av_window_exit_from_x4

	/* SP_EL0 goes from TPIDR_EL0 to its own register; EL0's thread registers come back. */
.Leret_from_copy:
	mrs	x0, tpidr_el0
	ldr	x1, [sp, #SRF_TPIDR]
	ldr	x2, [sp, #SRF_TPIDRRO]
	msr	sp_el0, x0
	msr	tpidr_el0, x1
	msr	tpidrro_el0, x2
	str	xzr, [sp, #SRF_IN_PLACE]
	b	.Lto_el0

	/* SVC from virtual EL0, where the mode may change in the window. */
.Lsvc:
	ldr	x1, [sp, #SRF_QUICK_MODES]
	cbz	x1, .Lnot
	ldr	x1, [sp, #SRF_VMODE]
	cbnz	x1, .Lnot			/* an SVC of virtual EL1 */
	stp	x2, x3, [sp, #SRF_REGS + 16]
	str	x0, [sp, #SRF_ESR_EL1]
	mrs	x0, elr_el1
	mrs	x1, spsr_el1
	ldr	x3, [sp, #SRF_DAIF]
	str	x0, [sp, #SRF_ELR_EL1]
	mov	w2, #PHYS_LOW
	movk	w2, #PHYS_HIGH, lsl #16
	and	x3, x3, #PSR_DAIF
	and	x2, x1, x2
	orr	x2, x2, x3
	ldr	x3, [sp, #SRF_SCTLR_EL1]
	str	x2, [sp, #SRF_SPSR_EL1]
	and	x1, x1, #~PHYS_LOW		/* BTYPE, SSBS */
	ubfx	x3, x3, #SCTLR_DSSBS_SHIFT, #1
	bfi	x1, x3, #12, #1
	ldr	x0, [sp, #SRF_VBAR_EL1]
	msr	spsr_el1, x1
	add	x0, x0, #0x400
	msr	elr_el1, x0
	mrs	x0, sp_el0
	ldr	x1, [sp, #SRF_SP_EL1]
	ldr	x2, [sp, #SRF_COPIES]
	msr	sp_el0, x1
	cbnz	x2, .Lsvc_to_copy
	str	x0, [sp, #SRF_SP_EL0]
.Lto_el1:
	mov	x0, #PSR_EL1H
	mov	x1, #PSR_DAIF
	ldr	x2, [sp, #SRF_QUICK_ON]
	ldr	x3, [sp, #SRF_TTBR1_EL1]
	str	x0, [sp, #SRF_VMODE]
	str	x1, [sp, #SRF_DAIF]
	str	x2, [sp, #SRF_QUICK]
	count	FAST_SVC, x1
	msr	ttbr1_el1, x3
	hint	#22				/* clrbhb: switch/mitigate.h */
	resume

	/* x0 is SP_EL0. */
.Lsvc_to_copy:
	mrs	x1, tpidr_el0
	ldr	x3, [sp, #SRF_TPIDR_EL1]
	str	x1, [sp, #SRF_TPIDR]
	str	x2, [sp, #SRF_IN_PLACE]
	msr	tpidr_el0, x0
	msr	tpidrro_el0, x3
	b	.Lto_el1

	/* Register n, two instructions each: n := x2; x3 := n. */
.Lset_list:
	.irp	n, 0, 1, 2, 3
	str	x2, [sp, #SRF_REGS + 8 * \n]
	b	.Lresume
	.endr
	.irp	n, 4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30
	mov	x\n, x2
	b	.Lresume
	.endr
	nop
	b	.Lresume
.Lget_list:
	.irp	n, 0, 1, 2, 3
	ldr	x3, [sp, #SRF_REGS + 8 * \n]
	b	.Lput
	.endr
	.irp	n, 4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30
	mov	x3, x\n
	b	.Lput
	.endr
	mov	x3, xzr
	b	.Lput
SYM_CODE_END(av_window_quick)
