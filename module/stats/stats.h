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

#include "api/vcpu.h"

static inline u64 av_stats_now(void)
{
	return read_sysreg(cntvct_el0);
}

/* This exit is of that class. */
static inline void av_count(struct av_vcpu *vcpu, enum av_exit_class cls)
{
	vcpu->stats.count[cls]++;
	vcpu->stats.cls = cls;
}

/* Something that happens within exits, or many times in one. */
static inline void av_stat_inc(struct av_vcpu *vcpu, enum av_event event)
{
	vcpu->stats.event[event]++;
}

static inline void av_stat_add(struct av_vcpu *vcpu, enum av_event event, u64 n)
{
	vcpu->stats.event[event] += n;
}

/* The VM's own figures; any context, any thread. */
static inline void av_vm_stat_add(struct av_vm *vm, enum av_vm_figure figure, s64 n)
{
	atomic64_add(n, &vm->stats.figure[figure]);
}

static inline u64 av_stats_lap(struct av_vcpu_stats *s)
{
	u64 now = av_stats_now();
	u64 ticks = now - s->stamp;

	s->stamp = now;
	return ticks;
}

static inline void av_stats_enter(struct av_vcpu *vcpu)
{
	struct av_vcpu_stats *s = &vcpu->stats;

	s->ticks[s->cls] += av_stats_lap(s);
}

static inline void av_stats_exit(struct av_vcpu *vcpu)
{
	struct av_vcpu_stats *s = &vcpu->stats;

	s->guest_ticks += av_stats_lap(s);
	s->exits++;
	s->cls = AV_EXIT_OTHER;
}

static inline void av_stats_run_begin(struct av_vcpu *vcpu)
{
	struct av_vcpu_stats *s = &vcpu->stats;

	if (s->stamp) {
		s->vmm_ticks += av_stats_lap(s);
		return;
	}
	/* The first KVM_RUN has no last one to count from, and no exit. */
	s->stamp = av_stats_now();
	s->cls = AV_EXIT_OTHER;
}

static inline void av_stats_run_end(struct av_vcpu *vcpu)
{
	av_stats_enter(vcpu);
}

/* KVM_GET_STATS_FD. */
int av_stats_vm_fd(struct av_vm *vm);
int av_stats_vcpu_fd(struct av_vcpu *vcpu);

#endif /* AV_STATS_STATS_H */
