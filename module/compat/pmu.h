/* SPDX-License-Identifier: GPL-2.0 */
/* The host's PMUs: differences between kernels, and kernels without PMU support. */
#ifndef AV_COMPAT_PMU_H
#define AV_COMPAT_PMU_H

#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/perf_event.h>
#include <linux/perf/arm_pmu.h>

#if !IS_ENABLED(CONFIG_ARM_PMU)
static inline bool av_pmu_of_event(const struct perf_event *event, unsigned int *counters,
				   cpumask_t *cpus)
{
	return false;
}
#else

/* The number of a PMU's event counters, without the cycle counter. */
#if AV_HAS_PMU_CNTR_MASK
static inline unsigned int av_pmu_event_counters(const struct arm_pmu *pmu)
{
	/* Event counters come first; bit 31 is the cycle counter. */
	return __ffs(~(pmu->cntr_mask[0] & GENMASK(30, 0)));
}
#else
static inline unsigned int av_pmu_event_counters(const struct arm_pmu *pmu)
{
	return pmu->num_events - 1;
}
#endif

/* Describe the PMU of a PERF_TYPE_RAW event; only CPU PMUs accept that type. */
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
