/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The world switch: assembly.
 *
 * The host runs from its own tables in TTBR1 and cannot replace the tables that it runs from.
 * So the switch goes through the window: pages of code that are mapped twice, at a low address
 * through a table of ours in TTBR0 (aux) and at a high address in every guest tree, the vCPU's
 * position (switch/window_desc.h). The host's text branches to the low alias, which replaces
 * TTBR1 by a root that maps only the window (hop) and branches to the high alias, which replaces
 * both and does ERET. An exception from the guest enters the high alias and goes back the same
 * way. No address of the window is in this code: C has them in the private page and the register
 * file.
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
 *	-> low code		aux	hop	G (guest hop)
 *	-> high code		none	hop	G
 *	own ASID		none	guest	context's
 *	guest			guest	guest	context's
 *
 * Under H, the host's tree is live only together with aux. Under G, only hop and aux of one VM are
 * live, and on some hosts its image: they map nothing of a guest, and no address has two mappings,
 * nor two tables, in them. Global host entries match under every ASID: if the host has any, SW_FLUSH makes the low code flush the whole
 * TLB once the host's tree is out of TTBR1. Our entries are never global: the way back needs no
 * flush.
 *
 * Sizes. The guest's tables are for 48 bits in both halves. Where the host's are for other sizes
 * (39 or 52 bits), TCR_EL1 changes with the tables: T1SZ while TTBR1 has the hop root and the code
 * runs from aux, T0SZ while TTBR0 is empty and the code runs from hop. So no table is ever live
 * under another size than its own, but the hop root for a moment, which then maps nothing. The
 * copy of the window's code is patched for that (switch/vectors.S, wide_sites).
 *
 * Light exits run in tables of their own, the image (switch/image.h), where there is one. Otherwise
 * they take the same way as full exits.
 *
 * Registers. av_switch_enter(priv) is an ordinary C function, called with interrupts off; all
 * of DAIF is masked from its first lines to its last. In the window, SP_EL1 is the high address
 * of the register file; av_fast()'s stack is the rest of the file's first page.
 *
 * A light exit restores tables, vectors, stack and current task of the host, or those that it has
 * in the image, then calls C.
 * x19 to x28 still hold the guest's values and are not in the register file; C saves those that
 * it uses. Registers that affect EL0 keep the guest's values, and so do the enables of pointer
 * authentication and EPAN (srf->light promises that the others are as the host needs them). If
 * C has dealt with the exit, the guest continues; otherwise the rest of the full exit follows.
 *
 * Speculation. This code and the VM's register files, which hold the addresses of four tables,
 * are mapped while the guest runs: a core without CSV3 could read them at EL0. The private
 * page, which holds the host's tables and return address, is not mapped then. It is accessed
 * only under aux, with its low address in x0, and in the image.
 */
#include <linux/linkage.h>
#include <asm/assembler.h>
#include "switch/offsets.h"
#include "switch/threads.S"

#define ENTER_SIZE	2048

/* Frame of av_switch_enter on the host's stack. */
#define F_X29		0
#define F_X19		16
#define F_PRIVATE	FRAME_PRIVATE
#define F_DAIF		104
#define F_SIZE		SW_FRAME

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

/* Switch between the host's TTBRs and the window's low alias, with TTBR0 empty in between. */
	.macro	load_host_tables none, ttbr1, ttbr0
	msr	ttbr0_el1, \none
	isb
	msr	ttbr1_el1, \ttbr1
	isb
	msr	ttbr0_el1, \ttbr0
	.endm

	/* In one page, which never leaves the image: its code must not be missed (switch/image.h). */
	.balign	ENTER_SIZE
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
	str	x18, [x0, #SW_H_X18]
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
	ldr	x1, [x0, #SW_TCR_MID]
	cbnz	x1, 1f				/* the window does it */
	msr	tcr_el1, x2
1:	isb
	msr	ttbr0_el1, x3
	isb
	add	x16, x16, #(.Llow_entry - av_window_code)
	br	x16

	/* x0 is the private page: its host address, its low one or the image's. */
.Lreturn:
	hint	#36				/* bti j */
.Lback:
	ldp	x2, x3, [x0, #SW_H_TTBR0]
	ldr	x4, [x0, #SW_TTBR_NONE]
	ldr	x5, [x0, #SW_H_TCR]
	ldr	x6, [x0, #SW_H_SP]
	ldr	x0, [x0, #SW_SELF]
	msr	ttbr0_el1, x4
	isb
	msr	ttbr1_el1, x3
	mrs	x1, tcr_el1
	cmp	x1, x5
	b.eq	1f
	msr	tcr_el1, x5
1:	isb
	msr	ttbr0_el1, x2
	mov	sp, x6
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
	ldr	x18, [x0, #SW_H_X18]
	ldp	x27, x28, [sp, #F_X19 + 64]
	ldp	x25, x26, [sp, #F_X19 + 48]
	ldp	x23, x24, [sp, #F_X19 + 32]
	ldp	x21, x22, [sp, #F_X19 + 16]
	ldp	x19, x20, [sp, #F_X19]
	ldp	x29, x30, [sp], #F_SIZE
	ret

	/* The guest's roots in x2, x3: C may have changed the exception level. Clobbers x6, x7. */
	.macro	guests_roots srf
	ldr	w7, [\srf, #SRF_VMODE]
	ldr	x2, [\srf, #SRF_ROOT0]
	ubfx	w7, w7, #2, #1
	add	x6, \srf, x7, lsl #3
	ldr	x3, [x6, #SRF_ROOT1_EL0]
	.endm

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
	mov	x29, sp
	ldr	x0, [sp, #F_PRIVATE]
	ldr	x18, [x0, #SW_H_X18]
.Llight_call:
	ldr	x1, [x0, #SW_LIGHT_PSTATE]
	cbnz	x1, .Llight_pstate
.Llight_ask:
	ldp	x1, x0, [x0, #SW_LIGHT]		/* and its data */
	blr	x1
	ldr	x1, [sp, #F_PRIVATE]
	tbz	w0, #0, .Llight_leave		/* a bool: only its low bits are defined */
	ldr	x4, [x1, #SW_KEPT]
	cbnz	x4, .Llight_again_image
	ldr	x6, [x1, #SW_SRF]
	guests_roots x6
	ldr	x4, [x1, #SW_IMAGE]
	str	x4, [x1, #SW_KEPT]
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
	ldr	x0, [x0, #SW_SELF]
	bl	av_switch_light_pstate
	ldr	x0, [sp, #F_PRIVATE]
	b	.Llight_ask

	/*
	 * A light exit in the image: as above, but x0 is the private page's address there. After
	 * a miss it is none any more, and the frame has the host's: whatever may miss must not
	 * keep it. Accesses of that page and of the window miss nothing. x16 is the address of
	 * .Limage_vectors.
	 */
SYM_INNER_LABEL(av_switch_light_image, SYM_L_GLOBAL)
	hint	#36				/* bti j */
	ldr	x5, [x0, #SW_IMAGE_SP]
	ldr	x6, [x0, #SW_H_SP_EL0]
	add	x18, x5, #SW_FRAME		/* a shadow call stack, as the thread's is in vmalloc */
	mov	sp, x5
	msr	sp_el0, x6
	str	x0, [sp, #F_PRIVATE]
	/* The vectors need the stack. A fault before this ends the VM, by the window's. */
	msr	vbar_el1, x16
	isb
	mov	x29, sp
	b	.Llight_call

	/* The host's tables were not used. */
.Llight_again_image:
	ldp	x4, x5, [x1, #SW_HIGH_CODE]
	guests_roots x5
	add	x16, x4, #(.Lhigh_image - av_window_code)
	br	x16

	/*
	 * The image lacks what C has accessed, or there is no such address. x0 is the private
	 * page's address in the image; x0 to x5 are below SP. Execute the instruction again under
	 * the host's tables and vectors.
	 */
SYM_INNER_LABEL(av_switch_image_missed, SYM_L_GLOBAL)
	hint	#36				/* bti j */
	ldp	x2, x3, [x0, #SW_H_TTBR0]
	ldr	x4, [x0, #SW_H_VBAR]
	ldr	x5, [x0, #SW_SELF]
	str	xzr, [x0, #SW_KEPT]
	msr	ttbr1_el1, x3
	isb
	msr	ttbr0_el1, x2
	msr	vbar_el1, x4
	isb
	mov	x0, sp
	orr	x0, x0, #(THREAD_SIZE - 1)
	stur	x5, [x0, #(FRAME_PRIVATE - SW_FRAME + 1)]
	ldp	x0, x1, [sp]
	ldp	x2, x3, [sp, #16]
	ldp	x4, x5, [sp, #32]
	add	sp, sp, #48
	eret
	dsb	nsh				/* no speculation past ERET */
	isb

.Llight_leave:
	ldr	x2, [x1, #SW_SRF]
	stp	x19, x20, [x2, #SRF_REGS + 152]
	stp	x21, x22, [x2, #SRF_REGS + 168]
	stp	x23, x24, [x2, #SRF_REGS + 184]
	stp	x25, x26, [x2, #SRF_REGS + 200]
	stp	x27, x28, [x2, #SRF_REGS + 216]
	ldr	x0, [sp, #F_PRIVATE]		/* those may have missed */
	ldr	x3, [x0, #SW_IMAGE]
	str	x3, [x0, #SW_KEPT]
	b	.Lback
.Lenter_end:
	.if	.Lenter_end - av_switch_enter > ENTER_SIZE
	.error	"av_switch_enter() crosses a page"
	.endif
SYM_FUNC_END(av_switch_enter)

#include "switch/vectors.S"
