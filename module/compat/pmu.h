/* SPDX-License-Identifier: GPL-2.0 */
/* The host's PMUs: what differs among kernels, one of which may be built without. */
#ifndef AV_COMPAT_PMU_H
#define AV_COMPAT_PMU_H

#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/perf_event.h>
#include <linux/perf/arm_pmu.h>
#include <linux/version.h>

#if !IS_ENABLED(CONFIG_ARM_PMU)
static inline bool av_pmu_of_event(const struct perf_event *event, unsigned int *counters,
				   cpumask_t *cpus)
{
	return false;
}
#else

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

/* The PMU of an event of type PERF_TYPE_RAW, which only CPUs' PMUs take. */
static inline bool av_pmu_of_event(const struct perf_event *event, unsigned int *counters,
				   cpumask_t *cpus)
{
	const struct arm_pmu *pmu = to_arm_pmu(event->pmu);

	*counters = av_pmu_event_counters(pmu);
	*cpus = pmu->supported_cpus;
	return true;
}
#endif

#endif /* AV_COMPAT_PMU_H */
