/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The timed copy of the window's code (switch/timing.S): the same files again, and the end of a
 * timed trap.
 */
#define AV_TIMED
#include "switch/vectors.S"
#include "switch/quick.S"

SYM_CODE_START(WINDOW(log))
	/* A trap of switch/quick.S. x0 is the counter's address. */
.Llog:
	log_time .Llog_full
	ldp	x2, x3, [sp, #SRF_REGS + 16]
	ldp	x0, x1, [sp, #SRF_REGS]
	eret
	dsb	nsh				/* no speculation past ERET */
	isb

	/*
	 * A trap of av_fast(), whose result is x0. This repeats code of switch/vectors.S, where a
	 * check behind the last load would slow down light exits too.
	 */
.Llog_fast:
	tbnz	w0, #FAST_DONE_LOW_BIT, .Llog_low
	tbnz	w0, #FAST_DONE_BIT, .Llog_threads
	ldp	x1, x2, [sp, #SRF_ROOT1_EL0]
	tbnz	w0, #FAST_ROOTS_BIT, .Llog_roots
	tst	x0, #1 << FAST_TO_EL0_BIT
	csel	x1, x1, x2, ne
	msr	ttbr1_el1, x1
	hint	#22				/* clrbhb: switch/mitigate.h */
.Llog_threads:
	load_threads sp
	load_high
.Llog_low:
	load_low
	ldr	x30, [sp, #SRF_REGS + 240]
	ldr	x0, [sp, #SRF_TIMED]
	log_time .Llog_full
	ldp	x2, x3, [sp, #SRF_REGS + 16]
	ldr	x0, [sp, #SRF_UNPRIV_TLBI]
	cbnz	x0, .Lunpriv_tlbi
	ldp	x0, x1, [sp, #SRF_REGS]
	eret
	dsb	nsh
	isb
.Llog_roots:
	replace_roots
	b	.Llog_threads

	/*
	 * The trap is done. The state is as for an interrupt: x0 to x3 are saved, the rest is the
	 * guest's.
	 */
.Llog_full:
	mov	x0, #EXIT_LOG
	b	WINDOW(exit_from_x4)
SYM_CODE_END(WINDOW(log))
