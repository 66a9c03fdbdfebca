/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The window's code: executed only as a copy, so position independent. The vectors come first,
 * then switch/quick.S and cpu/fast.c in the same section, then its end. switch/enter.S includes
 * this for the plain copy, and says how it is used; switch/timed.S for the timed one.
 */
#include <linux/linkage.h>
#include <asm/assembler.h>
#include "switch/threads.S"
#include "switch/timing.S"

	.section WINDOW_SECTION, "ax"
	.balign	4096
SYM_CODE_START(WINDOW(code))
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
	adr	x2, WINDOW(quick_fetch)
	cmp	x1, x2
	b.eq	.Lquick_fetch_failed
	adr	x2, WINDOW(quick_fetch_copy)
	cmp	x1, x2
	b.eq	.Lquick_fetch_failed
	adr	x2, WINDOW(quick_table)
	cmp	x1, x2
	b.eq	.Lquick_table_failed
	fatal
	.rept	3
	.balign	128
	fatal
	.endr
	/* From EL0: synchronous, then IRQ, FIQ, SError. */
	.balign	128
	stp	x0, x1, [sp, #SRF_REGS]
	stp	x2, x3, [sp, #SRF_REGS + 16]
	timing_begins
	mrs	x0, esr_el1
	ldp	w1, w2, [sp, #SRF_QUICK]
	sub	w1, w0, w1
	cbz	w1, WINDOW(quick_first)
	cmp	w1, w2
	b.hs	WINDOW(quick)
	ubfx	w2, w1, #5, #5			/* a token, or an unknown instruction */
	adr	x3, WINDOW(tokens)
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
	.macro	replace_roots
	ldr	x1, [sp, #SRF_TTBR_NONE]
	ldr	x3, [sp, #SRF_ROOT0]
	msr	ttbr0_el1, x1
	isb
	msr	ttbr1_el1, x2
	isb
	msr	ttbr0_el1, x3
	.endm
.Lroots:
	replace_roots
	b	.Lresume_threads
	.rept	2
	.balign	128
	fatal
	.endr
	.balign	128

	/*
	 * The vectors of light exits in the image (switch/image.h). DAIF is masked and SP is
	 * SP_EL1, so only one of the entries is used: synchronous, from EL1 with SP_EL1. The
	 * private page's address is in the frame at the stack's end.
	 */
	.balign	2048
.Limage_vectors:
	.rept	4
	.balign	128
	fatal
	.endr
	.balign	128
	sub	sp, sp, #48
	stp	x0, x1, [sp]
	stp	x2, x3, [sp, #16]
	stp	x4, x5, [sp, #32]
	mov	x0, sp
	orr	x0, x0, #(THREAD_SIZE - 1)
	ldur	x0, [x0, #(FRAME_PRIVATE - SW_FRAME + 1)]
	mrs	x1, far_el1
	mrs	x2, esr_el1
	ldr	x3, [x0, #SW_MISSES]
	and	x4, x3, #(IMAGE_MISSES - 1)
	add	x4, x0, x4, lsl #4
	add	x3, x3, #1
	str	x1, [x4, #SW_MISS]
	str	x2, [x4, #SW_MISS + 8]
	str	x3, [x0, #SW_MISSES]
	ldr	x5, [x0, #SW_H_MISSED]
	br	x5

	/*
	 * Runs in the low alias of the plain copy; x4 is the private page's low address. The
	 * high alias may be the timed copy's, where the two labels are at the same offsets.
	 */
	.macro	low_entry high, name
	ldr	x6, [x4, #SW_FLUSH]
	ldr	x7, [x4, #SW_TTBR_NONE]
	ldp	x2, x8, [x4, #SW_TTBR1_HOP]
	ldr	x9, [x4, #SW_TTBR1]
	ldp	x3, x5, [x4, #SW_HIGH_CODE]
	msr	ttbr1_el1, x2
	isb
.Lin_low_\name:
	cbz	x6, .Lkeep_\name
	tlbi	vmalle1
	dsb	nsh
	isb
.Lkeep_\name:
	add	x16, x3, #(\high - WINDOW(code))
	br	x16
	.endm

	/* Runs in the high alias: x3 its address, x5 the register file's, x7 to x9 tables. */
	.macro	high_entry name
	msr	vbar_el1, x3
	mov	sp, x5
	msr	ttbr0_el1, x7
	isb
.Lin_high_\name:
	msr	ttbr1_el1, x9
	isb
	msr	ttbr0_el1, x8
	.endm

	/*
	 * From a light exit in the image: x2, x3 are the guest's tables, x4, x5 the addresses of
	 * the window's code and the register file.
	 */
.Lhigh_image:
	msr	vbar_el1, x4
	mov	sp, x5
	msr	ttbr1_el1, x3
	isb
	msr	ttbr0_el1, x2
	b	.Lagain

.Llow_again:
	low_entry .Lhigh_again, again
	/* x19 to x28 still hold the guest's values. */
.Lhigh_again:
	high_entry again
.Lagain:
	load_threads sp
	ldr	x5, [sp, #SRF_SP]
	ldr	x18, [sp, #SRF_REGS + 144]
	ldr	x29, [sp, #SRF_REGS + 232]
	msr	sp_el0, x5
	b	.Lresume_low

	.macro	load_high
	ldr	x5, [sp, #SRF_SP]
	ldp	x18, x19, [sp, #SRF_REGS + 144]
	ldp	x20, x21, [sp, #SRF_REGS + 160]
	ldp	x22, x23, [sp, #SRF_REGS + 176]
	ldp	x24, x25, [sp, #SRF_REGS + 192]
	ldp	x26, x27, [sp, #SRF_REGS + 208]
	ldp	x28, x29, [sp, #SRF_REGS + 224]
	msr	sp_el0, x5
	.endm

	/* All others but x0, x1 and x30. */
	.macro	load_low
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
	.endm

.Llow_entry:
	low_entry .Lhigh_entry, first
.Lhigh_entry:
	high_entry first
.Lresume_all:
	load_high
	/* av_fast() did not touch SP and x18 to x29: they still hold the guest's values. */
.Lresume_low:
	load_low
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

	/*
	 * Clear the guest's branch history: CLRBHB, or the loop where CLRBHB is a NOP. Nothing
	 * of the host is reachable until its tables are back, and the ISBs on the way there
	 * wait for this. Clobbers x0.
	 */
	.macro	clear_history
	hint	#22
	ldr	x0, [sp, #SRF_LOOPS]
	cbz	x0, .Lclear\@
.Lloop\@:
	b	. + 4
	subs	x0, x0, #1
	b.ne	.Lloop\@
.Lclear\@:
	.endm

	/* x0 is the exit code; x0 and x1 are saved. */
.Lexit:
	stp	x2, x3, [sp, #SRF_REGS + 16]
SYM_INNER_LABEL(WINDOW(exit_from_x4), SYM_L_GLOBAL)
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
	bl	WINDOW_FAST
	sub	sp, sp, #4096
	timing_ends .Llog_fast, x1
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
	clear_history
	ldp	x1, x2, [sp, #SRF_TTBR_NONE]
	ldp	x3, x0, [sp, #SRF_TTBR0_AUX]
	and	x16, x16, #LOW_MASK
	msr	ttbr0_el1, x1
	isb
.Lout_high:
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
SYM_INNER_LABEL(WINDOW(slow), SYM_L_GLOBAL)
	mov	x0, #EXIT_SYNC
	b	WINDOW(exit_from_x4)

	/* The guest's table was taken away while it was read: the exception as it was before. */
.Lquick_table_failed:
	ldp	x0, x1, [sp, #SRF_PC]
	ldp	x2, x3, [sp, #SRF_ESR]
	msr	elr_el1, x0
	msr	spsr_el1, x1
	msr	esr_el1, x2
	msr	far_el1, x3
	/* Exceptions that are light exits: x0 to x3 are saved. */
SYM_INNER_LABEL(WINDOW(light), SYM_L_GLOBAL)
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
	ldr	x2, [sp, #SRF_IMAGE]
	cbz	x2, .Llight_host
	clear_history
	ldr	x1, [sp, #SRF_TTBR_NONE]
	ldr	x0, [sp, #SRF_IMAGE_PRIVATE]
	adr	x16, .Limage_vectors
	msr	ttbr0_el1, x1
	isb
	msr	ttbr1_el1, x2
	isb
	ldr	x17, [x0, #SW_H_LIGHT]
	br	x17
.Llight_host:
	adr	x16, .Llow_light
	b	.Lleave_to

	/* Runs in the low alias; x0 is the private page's low address. */
.Llow_light:
	ldr	x17, [x0, #SW_H_LIGHT]
	b	1f
.Llow_exit:
	ldr	x17, [x0, #SW_H_RET]
1:
.Lout_low:
	ldr	x4, [x0, #SW_H_TTBR1_HOP]
	msr	ttbr1_el1, x4
	isb
	br	x17

	/*
	 * For a host with addresses of other sizes, a branch replaces the instruction at each of
	 * wide_sites; what stood there is repeated here. x6 takes TCR_EL1 from low to high.
	 */
	.irp	name, again, first
.Lwide_in_low_\name:
	cbz	x6, 2f
	tlbi	vmalle1
	dsb	nsh
	isb
2:	ldr	x10, [x4, #SW_TCR_MID]
	ldr	x6, [x4, #SW_TCR]
	msr	tcr_el1, x10
	isb
	b	.Lkeep_\name
.Lwide_in_high_\name:
	msr	ttbr1_el1, x9
	msr	tcr_el1, x6
	b	.Lin_high_\name + 4
	.endr
.Lwide_out_high:
	ldr	x1, [sp, #SRF_TCR_MID]
	msr	ttbr1_el1, x2
	msr	tcr_el1, x1
	b	.Lout_high + 4
.Lwide_out_low:
	ldr	x4, [x0, #SW_H_TCR]
	msr	tcr_el1, x4
	isb
	ldr	x4, [x0, #SW_H_TTBR1_HOP]
	b	.Lout_low + 4
SYM_CODE_END(WINDOW(code))

	/* Offsets in the code: what is replaced, and where the branch goes. */
	.section .rodata, "a"
	.balign	4
SYM_DATA_START(WINDOW(wide_sites))
	.irp	name, in_low_again, in_low_first, in_high_again, in_high_first, out_high, out_low
	.long	.L\name - WINDOW(code), .Lwide_\name - WINDOW(code)
	.endr
SYM_DATA_END(WINDOW(wide_sites))
	.section WINDOW_SECTION, "ax"
