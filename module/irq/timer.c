// SPDX-License-Identifier: GPL-2.0
/* The registers of a generic timer. Pure; rules in timer.h. */
#include "irq/timer.h"

u64 av_timer_read(const struct av_timer *timer, enum av_timer_reg reg, u64 now)
{
	switch (reg) {
	case AV_TIMER_CVAL:
		return timer->cval;
	case AV_TIMER_TVAL:
		/* 32 bits, zero-extended; the guest takes them as signed. */
		return (u32)(timer->cval - now);
	default:
		/* ISTATUS is unknown while disabled: clear, as processors have it. */
		if ((timer->ctl & AV_TIMER_ENABLE) && now >= timer->cval)
			return timer->ctl | AV_TIMER_ISTATUS;
		return timer->ctl;
	}
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
		timer->ctl = (u32)val & (AV_TIMER_ENABLE | AV_TIMER_IMASK);
		break;
	}
}
