/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Assembly that completes the traps that kernels take most often, in the window (cpu/quick.h).
 * switch/vectors.S's vector for synchronous exceptions from EL0 branches here first. This code is
 * linked behind switch/vectors.S and copied with it, so it is position independent.
 *
 * In: x0 is ESR_EL1, x0 to x3 are saved, SP_EL1 is the register file; at WINDOW(tokens) x1 is
 * ESR_EL1 less srf->quick. Out: ERET; or WINDOW(slow) with nothing changed: ELR_EL1, SPSR_EL1
 * and ESR_EL1 are still the guest's.
 *
 * Virtual state is where C keeps it, except that PC, PSTATE and the stack pointer in use stay
 * in the hardware while the guest runs. So C finds all state after the next exit.
 */
#include <linux/linkage.h>
#include <asm/assembler.h>
#include "switch/timing.S"
#include "vm/token.h"

#define PHYS_ON		0x300		/* PSTATE bits always set in the guest: D, A */
#define HVC_LOW		0x0002
#define HVC_HIGH	0xd400
#define PSCI_VERSION	0x84000000
#define PSR_DAIF	0x3c0
#define PSR_BTYPE	0xc00
#define PSR_BTYPE_SHIFT	10
#define PSR_EL1H	5
#define EC_SYS64	0x18
/* Data and instruction aborts from EL0: their classes differ in one bit. */
#define EC_ABORT	0x20
#define EC_ABORT_OTHER	0x04
/* The upper 20 bits of an instruction. */
#define TLBI_LOW	0x5088
#define TLBI_HIGH	0x000d
#define ESR_IL		0x02000000

/* Stands for a TTBR where an offset in the register file is expected; larger than any offset. */
#define IS_TTBR_BIT	13
#define IS_TTBR		(1 << IS_TTBR_BIT)
.if SRF_SIZE > IS_TTBR
	.error "offsets have the bit of a TTBR"
.endif
.if ROOTS_SIZE * ROOTS_WAYS != 5 << 5 || ROOTS_SETS & (ROOTS_SETS - 1)
	.error "the address of a set is computed otherwise"
.endif

	/* Skip the instruction. Clobbers \t. */
	.macro	skip, t
	mrs	\t, elr_el1
	add	\t, \t, #4
	msr	elr_el1, \t
	mrs	\t, spsr_el1
	and	\t, \t, #~PSR_BTYPE
	msr	spsr_el1, \t
	.endm

	/* Clobbers \t. A token goes to \sampled once in a while. */
	.macro	count, counter, t, sampled
	ldr	\t, [sp, #SRF_FAST + 8 * \counter]
	add	\t, \t, #1
	str	\t, [sp, #SRF_FAST + 8 * \counter]
	time_this \t, sp, SRF_FAST+8*\counter, \sampled
	.endm

	/* Count row w3. Returns the register's number in x0; clobbers w3, x1. */
	.macro	count_row
	ubfx	w3, w3, #QUICK_COUNTER_SHIFT, #5
	and	w0, w1, #31
	add	x3, sp, x3, lsl #3
	ldr	x1, [x3, #SRF_FAST]
	add	x1, x1, #1
	str	x1, [x3, #SRF_FAST]
	time_this x1, x3, SRF_FAST
	.endm

	.macro	resume
	timing_ends .Llog, x0
	ldp	x2, x3, [sp, #SRF_REGS + 16]
	ldp	x0, x1, [sp, #SRF_REGS]
	eret
	dsb	nsh				/* no speculation past ERET */
	isb
	.endm

	/* Answer the call in w0 if it is PSCI_VERSION and the window may; else go to \other. */
	.macro	psci_version other
	ldr	w0, [sp, #SRF_REGS]
	mov	w2, #PSCI_VERSION
	cmp	w0, w2
	b.ne	\other
	ldr	x2, [sp, #SRF_PSCI]
	cbz	x2, \other
	stp	x2, xzr, [sp, #SRF_REGS]
	stp	xzr, xzr, [sp, #SRF_REGS + 16]
	count	FAST_HVC, x1
	.endm

	/* Branch to entry x0 of a list with two instructions per register. Clobbers \t. */
	.macro	by_register, list, t
	adr	\t, \list
	add	\t, \t, x0, lsl #3
	br	\t
	.endm

	.section WINDOW_SECTION, "ax"
	.balign	64
SYM_CODE_START(WINDOW(quick))
	lsr	x1, x0, #26
	cmp	x1, #EC_SYS64
	b.eq	.Lsys64
	ldr	w2, [sp, #SRF_LIGHT]
	cbz	w2, .Lno
	and	x3, x1, #~EC_ABORT_OTHER
	cmp	x3, #EC_ABORT
	b.eq	.Labort
	cbz	x1, .Lunknown
.Lno:
	b	WINDOW(slow)

	/* Accesses to devices always take the full exit. */
.Labort:
	mrs	x2, far_el1
	ldr	w3, [sp, #SRF_DEVICE_PAGE]
	lsr	x1, x2, #12
	cmp	w1, w3
	b.eq	.Lno
	ldr	w3, [sp, #SRF_QUICK]
	mov	w1, #ESR_SVC
	cmp	w3, w1
	b.eq	.Labort_of_el0
.Llight:
	b	WINDOW(light)

#include "switch/own_abort.S"

	/* The instruction is in a copy, which is execute-only for EL0: read it as EL1. */
.Lunknown:
	ldr	w2, [sp, #SRF_IN_PLACE]
	cbz	w2, .Lno
	mrs	x0, elr_el1
	mrs	x3, spsr_el1
SYM_INNER_LABEL(WINDOW(quick_fetch_copy), SYM_L_GLOBAL)
	ldr	w1, [x0]
	b	.Lno_fetched

	/*
	 * Virtual EL1 without copies, an unknown instruction: read it as EL0, as
	 * switch/vectors.S does.
	 */
.Ltoken_UNKNOWN:
	mrs	x0, elr_el1
	mrs	x3, spsr_el1
SYM_INNER_LABEL(WINDOW(quick_fetch), SYM_L_GLOBAL)
	ldtr	w1, [x0]
	lsr	w2, w1, #20
	orr	w2, w2, #2			/* match MRS and MSR */
	cmp	w2, #0xd53
	b.ne	.Lhvc
	ubfx	w2, w1, #5, #16
	eor	w3, w2, w2, lsr #6		/* av_quick_hash() */
	and	w3, w3, #QUICK_ROWS - 1
	add	x3, sp, x3, lsl #2
	ldr	w3, [x3, #SRF_QUICK_ROWS]
	cmp	w2, w3, lsr #16
	b.ne	.Lno_fetched
	ubfiz	x2, x3, #3, #QUICK_VREG_BITS
	tbz	w1, #21, .Lwrite
	ldr	x2, [sp, x2]
	count_row
.Lset:
	skip	x1
	by_register .Lset_list, x1
.Lwrite:
	tbz	w3, #QUICK_WRITE_BIT, .Lno_fetched
	count_row
.Lget:
	skip	x1
	by_register .Lget_list, x1
	/* x2 is the register's offset, or IS_TTBR plus the number of the TTBR. */
.Lput:
	tbnz	x2, #IS_TTBR_BIT, .Lttbr
	str	x3, [sp, x2]
.Lresume:
	resume

	/* Keep the instruction that was read. av_fast() does not handle SGIs: CRn 12, CRm 11. */
.Lno_fetched:
	mov	w3, #TLBI_LOW			/* SYS with op1 0 and CRn 8 */
	movk	w3, #TLBI_HIGH, lsl #16
	cmp	w3, w1, lsr #12
	b.eq	.Ltlbi
	ubfx	w2, w1, #8, #8
	cmp	w2, #0xcb
	b.eq	.Lcall
	str	x1, [sp, #SRF_INSN]
	mov	x0, #EXIT_SYNC | EXIT_FETCHED
	b	WINDOW(exit_from_x4)

	/* MSR DAIFSet and DAIFClr, by the syndromes that C has seen before; MRS and MSR DAIF. */
.Lsys64:
	ldp	w1, w2, [sp, #SRF_QUICK]
	cbz	w1, .Lno
	cbz	w2, .Lno			/* virtual EL0: only SVC */
	ldp	x2, x3, [sp, #SRF_QUICK_IMM]
	and	x1, x0, #~(0xf << 1)
	cmp	x1, x2
	b.eq	.Ldaifset
	cmp	x1, x3
	b.eq	.Ldaifclr
	and	x1, x0, #~(0x1f << 5)
	mov	w2, #ESR_DAIF_LOW
	movk	w2, #ESR_DAIF_HIGH, lsl #16
	eor	x2, x1, x2			/* bit 0: it is a read */
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
	mov	x2, #SRF_DAIF
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

	/* HVC for PSCI_VERSION; C handles other calls. */
.Lhvc:
	mov	w2, #HVC_LOW
	movk	w2, #HVC_HIGH, lsl #16
	cmp	w1, w2
	b.ne	.Lno_fetched
	psci_version .Lmaybe_light
	skip	x1
	resume

	/* A light exit does not save x19 to x28: a TLBI that uses one of them needs a full exit. */
.Ltlbi:
	ubfx	w2, w1, #0, #5
	sub	w2, w2, #19
	cmp	w2, #10
	b.lo	.Lcall
	/* av_fast() does not handle these. */
.Lmaybe_light:
	ldr	w2, [sp, #SRF_LIGHT]
	cbz	w2, .Lcall
	str	x1, [sp, #SRF_INSN]
	b	.Llight
.Lcall:
	str	x1, [sp, #SRF_INSN]
	mov	x0, #EXIT_SYNC | EXIT_FETCHED | EXIT_LEAVE
	b	WINDOW(exit_from_x4)

	/* For each register n, two instructions: n := x2; x3 := n. */
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

	/*
	 * Tokens (vm/token.h), 16 bytes of code each. x1 is operation and operand. An SVC has
	 * already advanced ELR_EL1 past the instruction.
	 */
	.macro	token_read word, counter
	.balign	16
	ldr	x2, [sp, #\word]
	add	x3, sp, #SRF_FAST + 8 * \counter
	b	.Lset_counted
	.endm

	.macro	token_write word, counter
	.balign	16
	mov	x2, #\word
	add	x3, sp, #SRF_FAST + 8 * \counter
	b	.Lget_counted
	.endm

	.macro	token_other name
	.balign	16
	b	.Ltoken_\name
	.endm

#define OTHER(name)	token_other name;
#define READ(name)	token_read SRF_##name, FAST_##name;
#define WRITE(name)	token_write SRF_##name, FAST_##name;
	.balign	16
SYM_INNER_LABEL(WINDOW(tokens), SYM_L_GLOBAL)
	AV_TOKENS_ALWAYS(OTHER, READ, WRITE)
	AV_TOKENS_ROWS(OTHER, READ, WRITE)

#undef OTHER
#undef READ
#undef WRITE
#define OTHER(name)	.long AV_WORD_##name;
#define READ(name)	.long AV_WORD_READ(name);
#define WRITE(name)	.long AV_WORD_WRITE(name);
	.balign	4
SYM_INNER_LABEL(WINDOW(token_insns), SYM_L_GLOBAL)
	AV_TOKENS_ALWAYS(OTHER, READ, WRITE)
	AV_TOKENS_ROWS(OTHER, READ, WRITE)

	/* Every AV_TOKEN_SAMPLE'th token of a kind exits to C, which may improve its site. */
	.macro	count_token
	ldr	x0, [x3]
	add	x0, x0, #1
	str	x0, [x3]
	time_this x0, x3, 0, .Lsample
	.endm

	/* Operand's register := x2, or register at offset x2 := operand's; x3 is the counter. */
.Lset_counted:
	count_token
	and	x0, x1, #31
	by_register .Lset_list, x1
.Lget_counted:
	count_token
.Lget_uncounted:
	and	x0, x1, #31
	by_register .Lget_list, x1

	/* Write x3 to TTBRn (n: bit 0 of x2), if mmu/roots/root.c has the new roots ready. */
.Lttbr:
	ldr	x0, [sp, #SRF_TTBR0_EL1]
	ldr	x1, [sp, #SRF_TTBR1_EL1]
	ands	x2, x2, #1
	csel	x0, x3, x0, eq
	csel	x1, x1, x3, eq
	str	x2, [sp, #SRF_TTBR]
	ldr	x2, [sp, #SRF_IDLE + ROOTS_TTBR0]
	cmp	x2, x0
	b.eq	.Lidle_pair
	/* av_srf_set_of() */
	lsr	x2, x0, #49
	add	x2, x2, x1, lsr #49
	and	x2, x2, #ROOTS_SETS - 1
	add	x2, x2, x2, lsl #2
	mov	x3, sp
	add	x2, x3, x2, lsl #5
	.set	at, SRF_ROOTS
	.rept	ROOTS_WAYS
	ldr	x3, [x2, #at + ROOTS_TTBR0]
	cmp	x3, x0
	b.ne	1f
	ldr	x3, [x2, #at + ROOTS_TTBR0 + 8]
	cmp	x3, x1
	b.ne	1f
	ldr	x3, [x2, #at + ROOTS_ROOT1_EL1]
	add	x2, x2, #at
	cbnz	x3, .Lpair
	b	.Lno
1:
	.set	at, at + ROOTS_SIZE
	.endr
	b	.Lno
	/* av_srf_same_base() */
.Lidle_pair:
	ldr	x3, [sp, #SRF_IDLE + ROOTS_TTBR0 + 8]
	eor	x3, x3, x1
	lsl	x3, x3, #16
	cbnz	x3, .Lno
	ldr	x3, [sp, #SRF_IDLE + ROOTS_ROOT1_EL1]
	add	x2, sp, #SRF_IDLE
	cbz	x3, .Lno
.Lpair:
	str	x0, [sp, #SRF_TTBR0_EL1]
	str	x1, [sp, #SRF_TTBR1_EL1]
	str	x0, [sp, #SRF_SHOWN_TTBR0_EL1]
	str	x1, [sp, #SRF_SHOWN_TTBR1_EL1]
	mov	x1, sp
	sub	x0, x2, x1
	sub	x0, x0, #SRF_ROOTS
	str	x0, [sp, #SRF_ROOTS_AT]
	ldp	x0, x1, [x2, #ROOTS_ROOT0]	/* and virtual EL0's TTBR1 */
	str	x0, [sp, #SRF_ROOT0]
	stp	x1, x3, [sp, #SRF_ROOT1_EL0]
	ldr	x2, [sp, #SRF_MODES_SAME]
	cmp	x1, #0
	csel	x2, xzr, x2, eq
	ldr	x1, [sp, #SRF_DUE]
	str	x2, [sp, #SRF_MODES]
	cmp	x1, #0
	csel	x2, x2, xzr, eq
	ldr	x1, [sp, #SRF_TTBR]
	str	x2, [sp, #SRF_QUICK_MODES]
	add	x1, sp, x1, lsl #3
	ldr	x2, [x1, #SRF_FAST + 8 * FAST_TTBR0_EL1]
	add	x2, x2, #1
	str	x2, [x1, #SRF_FAST + 8 * FAST_TTBR0_EL1]
	time_this x2, x1, SRF_FAST+8*FAST_TTBR0_EL1
	/* As at .Lroots in switch/vectors.S. */
	ldr	x1, [sp, #SRF_TTBR_NONE]
	msr	ttbr0_el1, x1
	isb
	msr	ttbr1_el1, x3
	isb
	msr	ttbr0_el1, x0
	resume

.Ltoken_MRS_DAIF:
	ldr	x2, [sp, #SRF_DAIF]
	add	x3, sp, #SRF_FAST + 8 * FAST_DAIF
	and	x2, x2, #PSR_DAIF
	b	.Lset_counted
.Ltoken_MSR_DAIF:
	ldr	x3, [sp, #SRF_DUE]
	cbnz	x3, .Lno
	mov	x2, #SRF_DAIF
	add	x3, sp, #SRF_FAST + 8 * FAST_DAIF
	b	.Lget_counted
.Ltoken_MSR_TTBR0:
	mov	x2, #IS_TTBR
	b	.Lget_uncounted
.Ltoken_MSR_TTBR1:
	mov	x2, #IS_TTBR | 1
	b	.Lget_uncounted
.Ltoken_DAIFSET:
	ldr	x2, [sp, #SRF_DAIF]
	ubfiz	x0, x1, #6, #4
	orr	x2, x2, x0
	b	.Lmasks
.Ltoken_DAIFCLR:
	ldr	x3, [sp, #SRF_DUE]
	cbnz	x3, .Lno
	ldr	x2, [sp, #SRF_DAIF]
	ubfiz	x0, x1, #6, #4
	bic	x2, x2, x0
.Lmasks:
	count	FAST_DAIF, x1, .Lsample
	and	x2, x2, #PSR_DAIF
	str	x2, [sp, #SRF_DAIF]
	resume

	/* Nothing is done yet except the count. */
.Lsample:
	mov	x0, #EXIT_SYNC | EXIT_LEAVE
	b	WINDOW(exit_from_x4)

.Ltoken_HVC:
	psci_version 1f
	resume
	/* As without copies: an unknown instruction, already read. */
1:	mrs	x1, elr_el1
	sub	x1, x1, #4
	msr	elr_el1, x1
	mov	x1, #ESR_IL
	msr	esr_el1, x1
	mov	w1, #HVC_LOW
	movk	w1, #HVC_HIGH, lsl #16
	b	.Lmaybe_light

	/*
	 * ERET from a copy to virtual EL0 with DAIF clear there, or SVC #0 from virtual EL0 to
	 * a copy. The value of srf->quick lets no other syndrome get here.
	 */
SYM_INNER_LABEL(WINDOW(quick_first), SYM_L_GLOBAL)
	tbz	w0, #15, .Lsvc_to_copy
.Ltoken_ERET:
	ldp	x0, x2, [sp, #SRF_PHYS]		/* and quick_modes */
	add	x3, sp, #SRF_SHARED
	ldr	x1, [x3, #SHARED_SPSR_EL1]
	bics	xzr, x1, x0
	b.ne	.Leret_to_el1
	cbz	x2, .Lno
	ldr	x0, [x3, #SHARED_ELR_EL1]
	orr	x1, x1, #PHYS_ON
	msr	elr_el1, x0
	msr	spsr_el1, x1
	/* SP_EL0 moves from TPIDR_EL0 to its own register; EL0's thread registers are restored. */
	mrs	x0, sp_el0
	mrs	x2, tpidr_el0
	stp	xzr, x0, [x3, #SHARED_DAIF]	/* and SP_EL1 */
	ldp	x0, x1, [x3, #SHARED_TPIDR_EL0]	/* and TPIDRRO_EL0 */
	msr	sp_el0, x2
	msr	tpidr_el0, x0
	msr	tpidrro_el0, x1
	ldp	x0, x1, [sp, #SRF_QUICK_EL0]	/* and the tree */
	stp	x0, xzr, [sp, #SRF_QUICK]	/* EL0t; nothing in place */
	count	FAST_ERET_EL0, x2
	/* As in switch/vectors.S: the window is the same in both trees. */
	msr	ttbr1_el1, x1
	resume

.Lsvc_to_copy:
	count	FAST_SVC, x1
	add	x3, sp, #SRF_SHARED
	/* An exception to virtual EL1 with syndrome x0; x3 is the shared page. */
.Lto_copy:
	mov	x1, #PSR_DAIF
	stp	x0, x1, [x3, #SHARED_ESR_EL1]	/* and DAIF */
	ldp	x0, x1, [sp, #SRF_ROOT1_EL1]	/* and PHYS */
	msr	ttbr1_el1, x0
	mrs	x0, elr_el1
	mrs	x2, spsr_el1
	and	x1, x2, x1
	stp	x0, x1, [x3, #SHARED_ELR_EL1]	/* and SPSR_EL1 */
	ldp	x0, x1, [sp, #SRF_SVC_PC]	/* and SSBS, BTYPE */
	bfi	x2, x1, #PSR_BTYPE_SHIFT, #3
	msr	elr_el1, x0
	msr	spsr_el1, x2
	/* SP_EL0 and TPIDR_EL1 replace EL0's thread registers. */
	mrs	x0, sp_el0
	mrs	x1, tpidr_el0
	str	x1, [x3, #SHARED_TPIDR_EL0]
	ldp	x1, x2, [x3, #SHARED_SP_EL1]	/* and TPIDR_EL1 */
	msr	sp_el0, x1
	msr	tpidr_el0, x0
	msr	tpidrro_el0, x2
	ldp	x0, x1, [sp, #SRF_QUICK_ON]
	stp	x0, x1, [sp, #SRF_QUICK]	/* quick_nr, vmode, in_place */
	hint	#22				/* clrbhb: switch/mitigate.h */
	resume

	/* ERET to virtual EL1, with any DAIF. */
.Leret_to_el1:
	ldr	x2, [sp, #SRF_DUE]
	cbnz	x2, .Lno
	bic	x3, x1, x0			/* without the physical bits */
	and	x2, x3, #PSR_DAIF
	eor	x3, x3, x2
	cmp	x3, #PSR_EL1H
	b.ne	.Lno
	ldr	x3, [sp, #SRF_ELR_EL1]
	and	x1, x1, x0
	orr	x1, x1, #PHYS_ON
	str	x2, [sp, #SRF_DAIF]
	msr	elr_el1, x3
	msr	spsr_el1, x1
	count	FAST_ERET, x1
	resume
SYM_CODE_END(WINDOW(quick))
