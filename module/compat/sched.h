/* SPDX-License-Identifier: GPL-2.0 */
/* Scheduler statistics of the current thread, if the kernel keeps them; requests to reschedule. */
#ifndef AV_COMPAT_SCHED_H
#define AV_COMPAT_SCHED_H

#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/thread_info.h>

/*
 * Must the current thread reschedule before it enters the guest? With lazy preemption most requests
 * set a separate flag, which need_resched() does not test. The tick would turn that flag into the
 * ordinary one, up to two ticks later.
 */
#ifdef TIF_NEED_RESCHED_LAZY
#define AV_TIF_RESCHED	(_TIF_NEED_RESCHED | BIT(TIF_NEED_RESCHED_LAZY))
#else
#define AV_TIF_RESCHED	_TIF_NEED_RESCHED
#endif

static __always_inline bool av_need_resched(void)
{
	return unlikely(READ_ONCE(current_thread_info()->flags) & AV_TIF_RESCHED);
}

/* How long this thread has waited for a CPU, in nanoseconds; 0 without statistics. */
#ifdef CONFIG_SCHED_INFO
static inline u64 av_run_delay(void)
{
	return READ_ONCE(current->sched_info.run_delay);
}
#else
static inline u64 av_run_delay(void)
{
	return 0;
}
#endif

#endif /* AV_COMPAT_SCHED_H */
