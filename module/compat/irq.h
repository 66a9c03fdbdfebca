/* SPDX-License-Identifier: GPL-2.0 */
/* Timers and events: what differs among kernels. */
#ifndef AV_COMPAT_IRQ_H
#define AV_COMPAT_IRQ_H

#include <linux/eventfd.h>
#include <linux/hrtimer.h>
#include <linux/version.h>

/* Add one to an eventfd, from any context: without a count since 6.8. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
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

/* Timers get their function when they are set up, since 6.13. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
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
