// SPDX-License-Identifier: GPL-2.0
/* The registers of a generic timer. Pure; rules in timer.h. */
#include "irq/timer.h"

#define CTL_BITS	(AV_TIMER_ENABLE | AV_TIMER_IMASK)

u64 av_timer_read(const struct av_timer *timer, enum av_timer_reg reg, u64 now)
{
	switch (reg) {
	case AV_TIMER_CVAL:
		return timer->cval;
	case AV_TIMER_TVAL:
		/* 32 bits, zero-extended; the guest takes them as signed. */
		return (u32)(timer->cval - now);
	default:
		/* ISTATUS is UNKNOWN while the timer is disabled: clear, as in hardware. */
		if ((timer->ctl & AV_TIMER_ENABLE) && now >= timer->cval)
			return (timer->ctl & CTL_BITS) | AV_TIMER_ISTATUS;
		return timer->ctl & CTL_BITS;
	}
}

u64 av_timer_user_ctl(const struct av_timer *timer, u64 now)
{
	return timer->ctl | (now >= timer->cval ? AV_TIMER_ISTATUS : 0);
}

void av_timer_write(struct av_timer *timer, enum av_timer_reg reg, u64 val, u64 now)
{
	switch (reg) {
	case AV_TIMER_CVAL:
		timer->cval = val;
		break;
	case AV_TIMER_TVAL:
		timer->cval = now + (u64)(s64)(s32)(u32)val;
		break;
	default:
		timer->ctl = (u32)val & ~(u32)AV_TIMER_ISTATUS;
		break;
	}
}
