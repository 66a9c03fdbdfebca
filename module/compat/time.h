/* SPDX-License-Identifier: GPL-2.0 */
/* The real time and the counter at the same moment: differences between kernels. */
#ifndef AV_COMPAT_TIME_H
#define AV_COMPAT_TIME_H

#include <linux/clocksource_ids.h>
#include <linux/ktime.h>
#include <linux/timekeeping.h>

/* Returns false if the host's clock does not use the architecture's counter. */
#if AV_HAS_SNAPSHOT_ID
static inline bool av_real_time(u64 *real, u64 *counter)
{
	struct system_time_snapshot now;

	ktime_get_snapshot_id(CLOCK_REALTIME, &now);
	*real = now.systime;
	*counter = now.cycles;
	return now.valid && now.cs_id == CSID_ARM_ARCH_COUNTER;
}
#else
static inline bool av_real_time(u64 *real, u64 *counter)
{
	struct system_time_snapshot now;

	ktime_get_snapshot(&now);
	*real = now.real;
	*counter = now.cycles;
	return now.cs_id == CSID_ARM_ARCH_COUNTER;
}
#endif

#endif /* AV_COMPAT_TIME_H */
