/* SPDX-License-Identifier: GPL-2.0 */
/* Counting, without time. */
#ifndef AV_TESTS_FAKE_HOST_STATS_H
#define AV_TESTS_FAKE_HOST_STATS_H

#include "stats/types.h"

static inline void av_stat_inc(struct av_vcpu_stats *s, enum av_event event)
{
	s->event[event]++;
}

static inline void av_stat_add(struct av_vcpu_stats *s, enum av_event event, u64 n)
{
	s->event[event] += n;
}

static inline void av_vm_stat_add(struct av_vm_stats *s, enum av_vm_figure figure, s64 n)
{
	atomic64_add(n, &s->figure[figure]);
}

#define av_vm_stat_add_locked(s, figure, n)	av_vm_stat_add(s, figure, n)

#endif /* AV_TESTS_FAKE_HOST_STATS_H */
