/* SPDX-License-Identifier: GPL-2.0 */
/* Timers and eventfds: differences between kernels. */
#ifndef AV_COMPAT_IRQ_H
#define AV_COMPAT_IRQ_H

#include <linux/eventfd.h>
#include <linux/hrtimer.h>

/* Add one to an eventfd, from any context. Since 6.8 there is no count argument. */
#if AV_HAS_EVENTFD_SIGNAL_ONE
static inline void av_eventfd_signal(struct eventfd_ctx *ctx)
{
	eventfd_signal(ctx);
}
#else
static inline void av_eventfd_signal(struct eventfd_ctx *ctx)
{
	eventfd_signal(ctx, 1);
}
#endif

/* Since 6.13 hrtimers get their function at set-up. */
#if AV_HAS_HRTIMER_SETUP
static inline void av_hrtimer_setup(struct hrtimer *timer,
				    enum hrtimer_restart (*expired)(struct hrtimer *timer),
				    clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_setup(timer, expired, clock, mode);
}
#else
static inline void av_hrtimer_setup(struct hrtimer *timer,
				    enum hrtimer_restart (*expired)(struct hrtimer *timer),
				    clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = expired;
}
#endif

#endif /* AV_COMPAT_IRQ_H */
