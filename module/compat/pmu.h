/* SPDX-License-Identifier: GPL-2.0 */
/* The host's PMUs: what differs among kernels. */
#ifndef AV_COMPAT_PMU_H
#define AV_COMPAT_PMU_H

#include <linux/bitops.h>
#include <linux/perf/arm_pmu.h>
#include <linux/version.h>

/* How many event counters a PMU has, without the cycle counter. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
static inline unsigned int av_pmu_event_counters(const struct arm_pmu *pmu)
{
	/* They are the first ones; bit 31 is the cycle counter's. */
	return __ffs(~(pmu->cntr_mask[0] & GENMASK(30, 0)));
}
#else
static inline unsigned int av_pmu_event_counters(const struct arm_pmu *pmu)
{
	return pmu->num_events - 1;
}
#endif

#endif /* AV_COMPAT_PMU_H */
