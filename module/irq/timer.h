/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An EL1 generic timer in software: CTL, CVAL and TVAL over a counter.
 *
 * The guest reads the counter (CNTVCT_EL0) from the hardware; its timers trap.
 * A timer holds no time of its own: whoever asks says what the counter is,
 * and whoever owns it sees to asking again when it expires.
 *
 * Pure. A timer is its vCPU's own: no lock.
 */
#ifndef AV_IRQ_TIMER_H
#define AV_IRQ_TIMER_H

#include "lib/av_types.h"

#define AV_TIMER_ENABLE		BIT(0)
#define AV_TIMER_IMASK		BIT(1)
#define AV_TIMER_ISTATUS	BIT(2)

struct av_timer {
	u64 cval;
	u32 ctl;		/* as written, but for ISTATUS */
};

enum av_timer_reg { AV_TIMER_CTL, AV_TIMER_CVAL, AV_TIMER_TVAL };

/* The VMM's view of CTL, KVM's: ISTATUS of a timer that is off, bits that are none. */
u64 av_timer_user_ctl(const struct av_timer *timer, u64 now);

u64 av_timer_read(const struct av_timer *timer, enum av_timer_reg reg, u64 now);
void av_timer_write(struct av_timer *timer, enum av_timer_reg reg, u64 val, u64 now);

/* Is the interrupt line high? */
static inline bool av_timer_line(const struct av_timer *timer, u64 now)
{
	return (timer->ctl & (AV_TIMER_ENABLE | AV_TIMER_IMASK)) == AV_TIMER_ENABLE &&
	       now >= timer->cval;
}

/* Will the line rise by itself? Then *in is how many ticks from now, at least 1. */
static inline bool av_timer_armed(const struct av_timer *timer, u64 now, u64 *in)
{
	if ((timer->ctl & (AV_TIMER_ENABLE | AV_TIMER_IMASK)) != AV_TIMER_ENABLE ||
	    now >= timer->cval)
		return false;
	*in = timer->cval - now;
	return true;
}

#endif /* AV_IRQ_TIMER_H */
