/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The window's code exists twice, assembled from the same files (switch/vectors.S, switch/quick.S):
 * the plain copy, and one that also times fast traps (stats/fast_time.h), for VMs with accounting.
 * These macros are the difference. In the plain copy they are empty and cost nothing.
 *
 * The vector records the time of every exception (timing_begins). When the counter of a kind of
 * trap reaches a value to be timed, time_this records that counter's address. The return to the
 * guest finds it (timing_ends) and logs the time since the exception (log_time).
 */
#ifndef AV_SWITCH_TIMING_H
#define AV_SWITCH_TIMING_H

#include "switch/offsets.h"
#include "vm/token.h"

#ifdef AV_TIMED

#define WINDOW_SECTION	.av_timed.text
#define WINDOW(name)	av_window_timed_##name
#define WINDOW_FAST	av_fast_timed

	.if TIME_EVERY - 64 || TIME_PHASE - 32
	.error "time_this tests bit 5 of multiples of 32"
	.endif

	/* In the vector. Clobbers x0. */
	.macro	timing_begins
	mrs	x0, cntvct_el0
	str	x0, [sp, #SRF_BEGUN]
	.endm

	/*
	 * Register \count has the new value of the counter at \base + \offset. Must it be timed?
	 * \count may be lost. \sampled: where to go if it is a sample of its token instead.
	 */
	.macro	time_this count, base, offset, sampled
	tst	\count, #TIME_PHASE - 1
	b.eq	.Ltime\@
.Lgo_on\@:
	.subsection 1
.Ltime\@:
	.ifnb	\sampled
	tst	\count, #AV_TOKEN_SAMPLE - 1
	b.eq	\sampled
	.endif
	tbz	\count, #5, .Lgo_on\@
	add	\count, \base, #\offset
	str	\count, [sp, #SRF_TIMED]
	b	.Lgo_on\@
	.subsection 0
	.endm

	/* The trap is done: must it be logged? */
	.macro	timing_ends log, t
	ldr	\t, [sp, #SRF_TIMED]
	cbnz	\t, \log
	.endm

	/* x0 is the counter's address. Clobbers x0 to x3. C empties a full log. */
	.macro	log_time full
	isb					/* all of the trap's work is done */
	mrs	x1, cntvct_el0
	ldr	x2, [sp, #SRF_BEGUN]
	ldr	x3, [sp, #SRF_LOG_NR]
	str	xzr, [sp, #SRF_TIMED]
	sub	x1, x1, x2
	bfi	x1, x0, #48, #16
	add	x2, x3, #1
	cmp	x2, #TIME_LOG
	b.hi	\full				/* C has not taken it yet: no room */
	str	x2, [sp, #SRF_LOG_NR]
	add	x3, sp, x3, lsl #3
	str	x1, [x3, #SRF_LOG]
	b.eq	\full
	.endm

#else

#define WINDOW_SECTION	.av_window.text
#define WINDOW(name)	av_window_##name
#define WINDOW_FAST	av_fast

	.macro	timing_begins
	.endm

	.macro	time_this count, base, offset, sampled
	.ifnb	\sampled
	tst	\count, #AV_TOKEN_SAMPLE - 1
	b.eq	\sampled
	.endif
	.endm

	.macro	timing_ends log, t
	.endm

#endif
#endif /* AV_SWITCH_TIMING_H */
