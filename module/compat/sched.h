/* SPDX-License-Identifier: GPL-2.0 */
/* Scheduler statistics of the current thread, if the kernel keeps them. */
#ifndef AV_COMPAT_SCHED_H
#define AV_COMPAT_SCHED_H

#include <linux/sched.h>
#include <linux/sched/stat.h>

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
