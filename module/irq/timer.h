/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An EL1 generic timer in software: CTL, CVAL and TVAL.
 *
 * The guest reads the counter (CNTVCT_EL0) from the hardware; accesses to its
 * timers trap. A timer does not run by itself: the caller passes the counter's
 * value, and calls again when the timer expires.
 *
 * Pure. No lock: a timer belongs to its vCPU's thread.
 */
#ifndef AV_IRQ_TIMER_H
#define AV_IRQ_TIMER_H

#include "lib/av_types.h"

#define AV_TIMER_ENABLE		BIT(0)
#define AV_TIMER_IMASK		BIT(1)
#define AV_TIMER_ISTATUS	BIT(2)

struct av_timer {
	u64 cval;
	u32 ctl;		/* as written, without ISTATUS */
};

enum av_timer_reg { AV_TIMER_CTL, AV_TIMER_CVAL, AV_TIMER_TVAL, AV_TIMER_CNT };

/* CTL as KVM shows it to the VMM: ISTATUS even if disabled, and reserved bits. */
u64 av_timer_user_ctl(const struct av_timer *timer, u64 now);

u64 av_timer_read(const struct av_timer *timer, enum av_timer_reg reg, u64 now);
void av_timer_write(struct av_timer *timer, enum av_timer_reg reg, u64 val, u64 now);

/* Is the interrupt line asserted? */
static inline bool av_timer_line(const struct av_timer *timer, u64 now)
{
	return (timer->ctl & (AV_TIMER_ENABLE | AV_TIMER_IMASK)) == AV_TIMER_ENABLE &&
	       now >= timer->cval;
}

/* Will the timer expire? Sets *in to the ticks until then, at least 1. */
static inline bool av_timer_armed(const struct av_timer *timer, u64 now, u64 *in)
{
	if ((timer->ctl & (AV_TIMER_ENABLE | AV_TIMER_IMASK)) != AV_TIMER_ENABLE ||
	    now >= timer->cval)
		return false;
	*in = timer->cval - now;
	return true;
}

#endif /* AV_IRQ_TIMER_H */
