/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counting, always on: every exit is of one class, and its time goes to that
 * class. The classes are rows of one table (stats/classes.h); the binary
 * statistics, their names and their sums come from the same rows.
 *
 * Time is the counter (CNTVCT), in ticks; readers get nanoseconds. Between two
 * marks it belongs to exactly one place, so the sum of all is the vCPU's life
 * in KVM_RUN and between two:
 *
 *   av_stats_run_begin()   KVM_RUN entered          time since run_end → the VMM
 *   av_stats_enter()       about to enter the guest time since the exit → its class
 *   av_stats_exit()        back from the guest      time since enter → the guest
 *   av_stats_run_end()     KVM_RUN left             time since the exit → its class
 *
 * Between exit and enter, whoever finds out what the exit was says so once
 * with av_count(); the last one said gets the time. All of it is called by the
 * vCPU's own thread only; readers take what they see (64-bit loads).
 */
#ifndef AV_STATS_STATS_H
#define AV_STATS_STATS_H

#include <asm/sysreg.h>

#include "stats/types.h"

static inline u64 av_stats_now(void)
{
	return read_sysreg(cntvct_el0);
}

/* This exit is of that class. */
static inline void av_count(struct av_vcpu_stats *s, enum av_exit_class cls)
{
	s->count[cls]++;
	s->cls = cls;
}

/* Take back the last one said: it was counted in the window. */
static inline void av_uncount(struct av_vcpu_stats *s)
{
	s->count[s->cls]--;
}

/* Something that happens within exits, or many times in one. */
static inline void av_stat_inc(struct av_vcpu_stats *s, enum av_event event)
{
	s->event[event]++;
}

static inline void av_stat_add(struct av_vcpu_stats *s, enum av_event event, u64 n)
{
	s->event[event] += n;
}

/* The VM's own figures; any context, any thread. */
static inline void av_vm_stat_add(struct av_vm_stats *s, enum av_vm_figure figure, s64 n)
{
	atomic64_add(n, &s->figure[figure]);
}

static inline u64 av_stats_lap(struct av_vcpu_stats *s)
{
	u64 now = av_stats_now();
	u64 ticks = now - s->stamp;

	s->stamp = now;
	return ticks;
}

static inline void av_stats_enter(struct av_vcpu_stats *s)
{
	s->ticks[s->cls] += av_stats_lap(s);
}

static inline void av_stats_exit(struct av_vcpu_stats *s)
{
	s->guest_ticks += av_stats_lap(s);
	s->exits++;
	s->cls = AV_EXIT_OTHER;
}

static inline void av_stats_run_begin(struct av_vcpu_stats *s)
{
	if (s->stamp) {
		s->vmm_ticks += av_stats_lap(s);
		return;
	}
	/* The first KVM_RUN has no last one to count from, and no exit. */
	s->stamp = av_stats_now();
	s->cls = AV_EXIT_OTHER;
}

static inline void av_stats_run_end(struct av_vcpu_stats *s)
{
	av_stats_enter(s);
}

#endif /* AV_STATS_STATS_H */
