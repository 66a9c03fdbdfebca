/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The world switch: assembly.
 *
 * The host runs from its own tables in TTBR1 and cannot replace the tables that it runs from.
 * So the switch goes through the window: pages of code that are mapped twice, at a low address
 * through a table of ours in TTBR0 (aux) and at a high address in every guest tree. The host's
 * text branches to the low alias, which replaces TTBR1 and branches to the high alias, which
 * replaces TTBR0 and does ERET. An exception from the guest enters the high alias and goes back
 * the same way.
 *
 * ASIDs. TCR_EL1.A1 is 1, so TTBR1 holds the ASID. A TLB may cache, also by speculation, any
 * entry that is reachable under the current tables, and tags it with the current ASID. So two
 * tables that translate an address differently must never be live under one ASID while the
 * address matters:
 *
 *	step			TTBR0	TTBR1	ASID
 *	host			host's	host	host's
 *	leave user tables	none	host	host's
 *	own ASID		none	host	H (host hop)
 *	low alias		aux	host	H
 *	-> low code		aux	guest	G (guest hop)
 *	-> high code		none	guest	G
 *	own ASID		none	guest	context's
 *	guest			guest	guest	context's
 *
 * Under H, the host's tree is live only together with aux. Under G, guest trees of one VM are
 * live with aux; all of them agree on the window, and nothing else is used then. Global host
 * entries match under every ASID: if the host has any, SW_FLUSH makes the low code flush the
 * whole TLB once the host's tree is out of TTBR1. Our entries are never global: the way back
 * needs no flush.
 *
 * Registers. av_switch_enter(priv) is an ordinary C function, called with interrupts off; all
 * of DAIF is masked from its first lines to its last. In the window, SP_EL1 is the high address
 * of the register file; av_fast()'s stack is the rest of the file's first page.
 *
 * A light exit restores only the host's tables, vectors, stack and current task, then calls C.
 * x19 to x28 still hold the guest's values and are not in the register file; C saves those that
 * it uses. Registers that affect EL0 keep the guest's values, and so do the enables of pointer
 * authentication and EPAN (srf->light promises that the others are as the host needs them). If
 * C has dealt with the exit, the guest continues; otherwise the rest of the full exit follows.
 *
 * Speculation. This code and the VM's register files, which hold the addresses of three tables,
 * are mapped while the guest runs: a core without CSV3 could read them at EL0. The private
 * page, which holds the host's tables and return address, is not mapped then. It is accessed
 * only under aux, with its low address in x0.
 */
#include <linux/linkage.h>
#include <asm/assembler.h>
#include "switch/offsets.h"

/* Frame of av_switch_enter on the host's stack. */
#define F_X29		0
#define F_X19		16
#define F_PRIVATE	96
#define F_DAIF		104
#define F_X18		112
#define F_SIZE		128

	.text

/* Write the value at \guest to \reg, and save the old value at \host. */
	.macro	swap_in reg, guest, host, from=x0
	mrs	x1, \reg
	ldr	x2, [\from, #\guest]
	str	x1, [x0, #\host]
	msr	\reg, x2
	.endm

	.macro	swap_back reg, host
	ldr	x1, [x0, #\host]
	msr	\reg, x1
	.endm

/* Load TPIDR_EL0 and TPIDRRO_EL0 from \srf, or in place SP_EL0 and TPIDR_EL1. Clobbers x1, x2. */
	.macro	load_threads srf
	ldr	w1, [\srf, #SRF_IN_PLACE]
	cbz	w1, .Lown\@
	ldr	x1, [\srf, #SRF_SP_EL0]
	ldr	x2, [\srf, #SRF_TPIDR_EL1]
	b	.Lload\@
.Lown\@:
	ldr	x1, [\srf, #SRF_TPIDR_EL0]
	ldr	x2, [\srf, #SRF_TPIDRRO_EL0]
.Lload\@:
	msr	tpidr_el0, x1
	msr	tpidrro_el0, x2
	.endm

/* Switch between the host's TTBRs and the window's low alias, with TTBR0 empty in between. */
	.macro	load_host_tables none, ttbr1, ttbr0
	msr	ttbr0_el1, \none
	isb
	msr	ttbr1_el1, \ttbr1
	isb
	msr	ttbr0_el1, \ttbr0
	.endm

SYM_FUNC_START(av_switch_enter)
	stp	x29, x30, [sp, #-F_SIZE]!
	mov	x29, sp
	stp	x19, x20, [sp, #F_X19]
	stp	x21, x22, [sp, #F_X19 + 16]
	stp	x23, x24, [sp, #F_X19 + 32]
	stp	x25, x26, [sp, #F_X19 + 48]
	stp	x27, x28, [sp, #F_X19 + 64]
	mrs	x1, daif
	stp	x0, x1, [sp, #F_PRIVATE]
	str	x18, [sp, #F_X18]
	msr	daifset, #0xf

	mrs	x1, ttbr0_el1
	mrs	x2, ttbr1_el1
	stp	x1, x2, [x0, #SW_H_TTBR0]
	ldr	x1, [x0, #SW_ASID_HOST]
	bfi	x2, x1, #48, #16
	str	x2, [x0, #SW_H_TTBR1_HOP]
	mov	x5, x2
	mrs	x1, vbar_el1
	mov	x2, sp
	stp	x1, x2, [x0, #SW_H_VBAR]
	mrs	x1, sp_el0
	adr	x2, .Lreturn
	stp	x1, x2, [x0, #SW_H_SP_EL0]

	/* These affect the guest at EL0, but not the host's own code. */
	swap_in	cpacr_el1, SW_CPACR, SW_H_CPACR
	swap_in	cntkctl_el1, SW_CNTKCTL, SW_H_CNTKCTL
	swap_in	mdscr_el1, SW_MDSCR, SW_H_MDSCR
	ldr	x3, [x0, #SW_SRF]
	mrs	x1, tpidr_el0
	mrs	x2, tpidrro_el0
	str	x1, [x0, #SW_H_TPIDR]
	str	x2, [x0, #SW_H_TPIDRRO]
	load_threads x3
	swap_in	sctlr_el1, SW_SCTLR, SW_H_SCTLR

	ldr	x1, [x0, #SW_TTBR_NONE]
	msr	ttbr0_el1, x1
	isb
	msr	ttbr1_el1, x5
	mrs	x1, tcr_el1
	ldr	x2, [x0, #SW_TCR]
	str	x1, [x0, #SW_H_TCR]
	/* Last use of x0: if it is a tagged pointer, it needs the host's TBI1. */
	ldr	x3, [x0, #SW_TTBR0_AUX]
	ldp	x16, x4, [x0, #SW_LOW_CODE]	/* and the private page's low address */
	cmp	x1, x2
	b.eq	1f
	msr	tcr_el1, x2
1:	isb
	msr	ttbr0_el1, x3
	isb
	add	x16, x16, #(.Llow_entry - av_window_code)
	br	x16

	/* x0 is the private page: its host address or its low one. */
.Lreturn:
	hint	#36				/* bti j */
.Lback:
	ldr	x1, [x0, #SW_H_SP]
	mov	sp, x1
	ldp	x2, x3, [x0, #SW_H_TTBR0]
	ldr	x4, [x0, #SW_TTBR_NONE]
	ldr	x5, [x0, #SW_H_TCR]
	ldr	x0, [sp, #F_PRIVATE]
	msr	ttbr0_el1, x4
	isb
	msr	ttbr1_el1, x3
	mrs	x1, tcr_el1
	cmp	x1, x5
	b.eq	1f
	msr	tcr_el1, x5
1:	isb
	msr	ttbr0_el1, x2
	swap_back vbar_el1, SW_H_VBAR
	swap_back sp_el0, SW_H_SP_EL0
	swap_back sctlr_el1, SW_H_SCTLR
	swap_back cpacr_el1, SW_H_CPACR
	swap_back cntkctl_el1, SW_H_CNTKCTL
	swap_back mdscr_el1, SW_H_MDSCR
	swap_back tpidr_el0, SW_H_TPIDR
	swap_back tpidrro_el0, SW_H_TPIDRRO
	isb

	ldr	x1, [sp, #F_DAIF]
	msr	daif, x1
	ldr	x18, [sp, #F_X18]
	ldp	x27, x28, [sp, #F_X19 + 64]
	ldp	x25, x26, [sp, #F_X19 + 48]
	ldp	x23, x24, [sp, #F_X19 + 32]
	ldp	x21, x22, [sp, #F_X19 + 16]
	ldp	x19, x20, [sp, #F_X19]
	ldp	x29, x30, [sp], #F_SIZE
	ret

	/* A light exit. x0 is the private page's low address; x19 to x28 are the guest's. */
SYM_INNER_LABEL(av_switch_light, SYM_L_GLOBAL)
	hint	#36				/* bti j */
	ldr	x1, [x0, #SW_TTBR_NONE]
	ldp	x2, x3, [x0, #SW_H_TTBR0]
	ldp	x4, x5, [x0, #SW_H_VBAR]	/* and SP */
	ldr	x6, [x0, #SW_H_SP_EL0]
	load_host_tables x1, x3, x2
	msr	vbar_el1, x4
	mov	sp, x5
	msr	sp_el0, x6
	isb
	ldr	x18, [sp, #F_X18]
	mov	x29, sp
	ldr	x0, [sp, #F_PRIVATE]
	ldr	x1, [x0, #SW_LIGHT_PSTATE]
	cbnz	x1, .Llight_pstate
.Llight_ask:
	ldp	x1, x0, [x0, #SW_LIGHT]		/* and its data */
	blr	x1
	ldr	x1, [sp, #F_PRIVATE]
	tbz	w0, #0, .Llight_leave		/* a bool: only its low bits are defined */
	/* C may have taken the vCPU to the other exception level. */
	ldr	x6, [x1, #SW_SRF]
	ldr	w7, [x6, #SRF_VMODE]
	ldr	x2, [x6, #SRF_ROOT0]
	ubfx	w7, w7, #2, #1
	add	x6, x6, x7, lsl #3
	ldr	x3, [x6, #SRF_ROOT1_EL0]
	stp	x2, x3, [x1, #SW_TTBR0]
	ldp	x2, x3, [x1, #SW_TTBR_NONE]	/* and aux */
	ldr	x5, [x1, #SW_H_TTBR1_HOP]
	ldp	x16, x4, [x1, #SW_LOW_CODE]	/* and the private page's low address */
	load_host_tables x2, x5, x3
	isb
	add	x16, x16, #(.Llow_again - av_window_code)
	br	x16

	/* Rare: restore host PSTATE before any other C code runs. */
.Llight_pstate:
	bl	av_switch_light_pstate
	ldr	x0, [sp, #F_PRIVATE]
	b	.Llight_ask

.Llight_leave:
	ldr	x2, [x1, #SW_SRF]
	mov	x0, x1
	stp	x19, x20, [x2, #SRF_REGS + 152]
	stp	x21, x22, [x2, #SRF_REGS + 168]
	stp	x23, x24, [x2, #SRF_REGS + 184]
	stp	x25, x26, [x2, #SRF_REGS + 200]
	stp	x27, x28, [x2, #SRF_REGS + 216]
	b	.Lback
SYM_FUNC_END(av_switch_enter)

/*
 * The window's code: executed only as a copy, so position independent. The vectors come first,
 * then cpu/fast.c in the same section, then switch/window-end.S.
 */
	.section .av_window.text, "ax"
	.balign	4096
SYM_CODE_START(av_window_code)
	/*
	 * From EL1, on either stack: a failed fetch (see below), or a bug of ours. After a bug
	 * the guest's registers may be lost: C is told, and ends the VM. SP may be in
	 * av_fast()'s stack: rounded down, it is the register file.
	 */
	.macro	fatal
	mov	x1, sp
	and	sp, x1, #~(SRF_SIZE - 1)
	mov	x0, #EXIT_FATAL
	b	.Lexit_saved
	.endm
	.rept	4
	.balign	128
	fatal
	.endr
	.balign	128
	mrs	x1, elr_el1
	adr	x2, .Lfetch
	cmp	x1, x2
	b.eq	.Lfetch_failed
	adr	x2, .Lfetch_copy
	cmp	x1, x2
	b.eq	.Lfetch_failed
	adr	x2, av_window_quick_fetch
	cmp	x1, x2
	b.eq	.Lquick_fetch_failed
	adr	x2, av_window_quick_fetch_copy
	cmp	x1, x2
	b.eq	.Lquick_fetch_failed
	fatal
	.rept	3
	.balign	128
	fatal
	.endr
	/* From EL0: synchronous, then IRQ, FIQ, SError. */
	.balign	128
	stp	x0, x1, [sp, #SRF_REGS]
	stp	x2, x3, [sp, #SRF_REGS + 16]
	mrs	x0, esr_el1
	ldp	w1, w2, [sp, #SRF_QUICK]
	sub	w1, w0, w1
	cbz	w1, av_window_quick_first
	cmp	w1, w2
	b.hs	av_window_quick
	ubfx	w2, w1, #5, #5			/* a token, or an unknown instruction */
	adr	x3, av_window_tokens
	add	x3, x3, x2, lsl #4
	br	x3
	.irp	code, 1, 2, 3
	.balign	128
	stp	x0, x1, [sp, #SRF_REGS]
	mov	x0, #\code
	b	.Lexit
	.endr
	/* From AArch32, which no guest runs in. Other code fills the rest of the 128 bytes. */
	.balign	128
	fatal
	/* After the last load. Any address will do, as in the host's own return to EL0. */
.Lunpriv_tlbi:
	ldp	x0, x1, [sp, #SRF_REGS]
	tlbi	vale1, xzr
	dsb	nsh
	eret
	dsb	nsh
	isb
	.balign	128
	fatal
	/* Replace both roots. TTBR0 is empty while TTBR1 changes the ASID. x2 is EL1's TTBR1. */
.Lroots:
	ldr	x1, [sp, #SRF_TTBR_NONE]
	ldr	x3, [sp, #SRF_ROOT0]
	msr	ttbr0_el1, x1
	isb
	msr	ttbr1_el1, x2
	isb
	msr	ttbr0_el1, x3
	b	.Lresume_threads
	.rept	2
	.balign	128
	fatal
	.endr
	.balign	128

	/* Runs in the low alias; x4 is the private page's low address. */
	.macro	low_entry high
	ldr	x6, [x4, #SW_FLUSH]
	ldr	x7, [x4, #SW_TTBR_NONE]
	ldp	x2, x8, [x4, #SW_TTBR1_HOP]
	ldr	x9, [x4, #SW_TTBR1]
	ldp	x3, x5, [x4, #SW_HIGH_CODE]
	msr	ttbr1_el1, x2
	isb
	cbz	x6, .Lkeep\@
	tlbi	vmalle1
	dsb	nsh
	isb
.Lkeep\@:
	add	x16, x3, #(\high - av_window_code)
	br	x16
	.endm

	/* Runs in the high alias: x3 its address, x5 the register file's, x7 to x9 tables. */
	.macro	high_entry
	msr	vbar_el1, x3
	mov	sp, x5
	msr	ttbr0_el1, x7
	isb
	msr	ttbr1_el1, x9
	isb
	msr	ttbr0_el1, x8
	.endm

.Llow_again:
	low_entry .Lhigh_again
	/* x19 to x28 still hold the guest's values. */
.Lhigh_again:
	high_entry
	load_threads sp
	ldr	x5, [sp, #SRF_SP]
	ldr	x18, [sp, #SRF_REGS + 144]
	ldr	x29, [sp, #SRF_REGS + 232]
	msr	sp_el0, x5
	b	.Lresume_low

.Llow_entry:
	low_entry .Lhigh_entry
.Lhigh_entry:
	high_entry
.Lresume_all:
	ldr	x5, [sp, #SRF_SP]
	ldp	x18, x19, [sp, #SRF_REGS + 144]
	ldp	x20, x21, [sp, #SRF_REGS + 160]
	ldp	x22, x23, [sp, #SRF_REGS + 176]
	ldp	x24, x25, [sp, #SRF_REGS + 192]
	ldp	x26, x27, [sp, #SRF_REGS + 208]
	ldp	x28, x29, [sp, #SRF_REGS + 224]
	msr	sp_el0, x5
	/* av_fast() did not touch SP and x18 to x29: they still hold the guest's values. */
.Lresume_low:
	ldp	x3, x4, [sp, #SRF_PC]
	msr	elr_el1, x3
	msr	spsr_el1, x4
	ldp	x2, x3, [sp, #SRF_REGS + 16]
	ldp	x4, x5, [sp, #SRF_REGS + 32]
	ldp	x6, x7, [sp, #SRF_REGS + 48]
	ldp	x8, x9, [sp, #SRF_REGS + 64]
	ldp	x10, x11, [sp, #SRF_REGS + 80]
	ldp	x12, x13, [sp, #SRF_REGS + 96]
	ldp	x14, x15, [sp, #SRF_REGS + 112]
	ldp	x16, x17, [sp, #SRF_REGS + 128]
	ldr	x0, [sp, #SRF_UNPRIV_TLBI]
	ldr	x30, [sp, #SRF_REGS + 240]
	cbnz	x0, .Lunpriv_tlbi
	ldp	x0, x1, [sp, #SRF_REGS]
	eret
	dsb	nsh				/* no speculation past ERET */
	isb

	.macro	save_x4_to_x17
	stp	x4, x5, [sp, #SRF_REGS + 32]
	stp	x6, x7, [sp, #SRF_REGS + 48]
	stp	x8, x9, [sp, #SRF_REGS + 64]
	stp	x10, x11, [sp, #SRF_REGS + 80]
	stp	x12, x13, [sp, #SRF_REGS + 96]
	stp	x14, x15, [sp, #SRF_REGS + 112]
	stp	x16, x17, [sp, #SRF_REGS + 128]
	.endm

	/* Returns the guest's PC in x1, ESR_EL1 in x3, srf->in_place in w5. Clobbers x2. */
	.macro	save_exception
	mrs	x1, elr_el1
	mrs	x2, spsr_el1
	stp	x1, x2, [sp, #SRF_PC]
	mrs	x3, esr_el1
	mrs	x2, far_el1
	stp	x3, x2, [sp, #SRF_ESR]
	/* The guest can write TPIDR_EL0, but not TPIDRRO_EL0. */
	mrs	x2, tpidr_el0
	ldr	w5, [sp, #SRF_IN_PLACE]
	cbz	w5, .Lown\@
	str	x2, [sp, #SRF_SP_EL0]
	b	.Lsaved\@
.Lown\@:
	str	x2, [sp, #SRF_TPIDR_EL0]
.Lsaved\@:
	.endm

	/* x0 is the exit code; x0 and x1 are saved. */
.Lexit:
	stp	x2, x3, [sp, #SRF_REGS + 16]
SYM_INNER_LABEL(av_window_exit_from_x4, SYM_L_GLOBAL)
	save_x4_to_x17
	stp	x18, x19, [sp, #SRF_REGS + 144]
	stp	x20, x21, [sp, #SRF_REGS + 160]
	stp	x22, x23, [sp, #SRF_REGS + 176]
	stp	x24, x25, [sp, #SRF_REGS + 192]
	stp	x26, x27, [sp, #SRF_REGS + 208]
	stp	x28, x29, [sp, #SRF_REGS + 224]
	str	x30, [sp, #SRF_REGS + 240]
	mrs	x1, sp_el0
	str	x1, [sp, #SRF_SP]
.Lexit_saved:
	save_exception
	and	x4, x0, #~(EXIT_FETCHED | EXIT_LEAVE)
	str	x4, [sp, #SRF_EXIT]

	/*
	 * Read an unknown instruction as EL0 would, while the TLB entry that its fetch just
	 * used is still valid. If another vCPU's TLBI comes in between, C fetches the
	 * instruction.
	 */
	lsr	x3, x3, #26
	orr	x3, x3, x0
	cbnz	x3, .Lfetched
	/* Copies are execute-only for EL0: read the instruction as EL1. */
	cbnz	x5, .Lfetch_copy
.Lfetch:
	ldtr	w2, [x1]
	b	.Lfetch_done
.Lfetch_copy:
	ldr	w2, [x1]
.Lfetch_done:
	str	x2, [sp, #SRF_INSN]
.Lfetched:
	/* av_fast() handles exits that need only the register file. */
	cbnz	x4, .Lleave
	tbnz	x0, #EXIT_LEAVE_BIT, .Lleave
	mov	x0, sp
	add	sp, sp, #4096
	bl	av_fast
	sub	sp, sp, #4096
	tbnz	w0, #FAST_DONE_LOW_BIT, .Lresume_low
	tbnz	w0, #FAST_DONE_BIT, .Lresume_threads
	cbz	w0, .Lleave
	/*
	 * Change to the other level's tree and ASID. The window is the same in both trees, and
	 * the exception return is the barrier.
	 */
	ldp	x1, x2, [sp, #SRF_ROOT1_EL0]
	tbnz	w0, #FAST_ROOTS_BIT, .Lroots
	tst	x0, #1 << FAST_TO_EL0_BIT
	csel	x1, x1, x2, ne
	msr	ttbr1_el1, x1
	hint	#22				/* clrbhb: switch/mitigate.h */
.Lresume_threads:
	load_threads sp
	b	.Lresume_all
.Lleave:
	adr	x16, .Llow_exit
	/* x16 is where to enter the low alias, as a high address. */
.Lleave_to:
	/*
	 * Clear the guest's branch history: CLRBHB, or the loop where CLRBHB is a NOP. Nothing
	 * of the host is reachable until its tables are back, and the ISBs on the way there
	 * wait for this.
	 */
	hint	#22
	ldr	x0, [sp, #SRF_LOOPS]
	cbz	x0, 2f
1:	b	. + 4
	subs	x0, x0, #1
	b.ne	1b
2:	ldp	x1, x2, [sp, #SRF_TTBR_NONE]
	ldp	x3, x0, [sp, #SRF_TTBR0_AUX]
	and	x16, x16, #LOW_MASK
	msr	ttbr0_el1, x1
	isb
	msr	ttbr1_el1, x2
	isb
	msr	ttbr0_el1, x3
	isb
	br	x16

.Lfetch_failed:
	mov	x2, #INSN_UNKNOWN
	b	.Lfetch_done

	/* x0 and x3 are the guest's ELR_EL1 and SPSR_EL1, overwritten by the failed fetch. */
.Lquick_fetch_failed:
	mov	x1, #ESR_UNKNOWN
	msr	elr_el1, x0
	msr	spsr_el1, x3
	msr	esr_el1, x1
	/* Synchronous exceptions of the guest that switch/quick.S declines. */
SYM_INNER_LABEL(av_window_slow, SYM_L_GLOBAL)
	mov	x0, #EXIT_SYNC
	b	av_window_exit_from_x4

	/* Exceptions that are light exits: x0 to x3 are saved. */
SYM_INNER_LABEL(av_window_light, SYM_L_GLOBAL)
	save_x4_to_x17
	mrs	x1, sp_el0
	str	x18, [sp, #SRF_REGS + 144]
	stp	x29, x30, [sp, #SRF_REGS + 232]
	str	x1, [sp, #SRF_SP]
	save_exception
	.if EXIT_SYNC
	.error "SRF_EXIT is stored as 0"
	.endif
	str	xzr, [sp, #SRF_EXIT]
	adr	x16, .Llow_light
	b	.Lleave_to

	/* Runs in the low alias; x0 is the private page's low address. */
.Llow_light:
	ldr	x17, [x0, #SW_H_LIGHT]
	b	1f
.Llow_exit:
	ldr	x17, [x0, #SW_H_RET]
1:	ldr	x4, [x0, #SW_H_TTBR1_HOP]
	msr	ttbr1_el1, x4
	isb
	br	x17
SYM_CODE_END(av_window_code)
