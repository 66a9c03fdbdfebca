/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Statistics that are always on: every exit has one class, which gets its time. The classes are
 * rows of one table (stats/classes.h), from which the binary statistics and their names and sums
 * are generated.
 *
 * Time is the counter (CNTVCT) in ticks; readers get nanoseconds. The time between two marks has
 * exactly one owner (stats/account.h), so the sum is the vCPU's life. Between exit and enter,
 * whoever knows the exit's class calls av_count(); the last call's class gets the time. Only the
 * vCPU's own thread calls these functions; readers use 64-bit loads without a lock.
 *
 * Histograms and the thread's waits for a CPU are kept while accounting is on for any VM
 * (stats/accounting.c, a static key).
 */
#ifndef AV_STATS_STATS_H
#define AV_STATS_STATS_H

#include <linux/jump_label_ratelimit.h>
#include <asm/sysreg.h>

#include "stats/types.h"

static inline u64 av_stats_now(void)
{
	return read_sysreg(cntvct_el0);
}

extern struct static_key_false_deferred av_accounting_key;

static __always_inline bool av_stats_accounting(void)
{
	return static_branch_unlikely(&av_accounting_key.key);
}

/*
 * The module's own VM capability: KVM_CHECK_EXTENSION returns 1; args[0] of
 * KVM_ENABLE_CAP turns accounting on or off for the VM, from then on.
 */
#define AV_CAP_ACCOUNTING	0x61760002

/* A VM's accounting: init, teardown, on or off. May sleep. */
void av_stats_vm_init(struct av_vm_stats *s);
void av_stats_vm_destroy(struct av_vm_stats *s);
void av_stats_set_accounting(struct av_vm_stats *s, bool on);

/* At module unload: no VM is left. */
void av_stats_exit_module(void);

/* Count this exit as cls. */
static inline void av_count(struct av_vcpu_stats *s, enum av_exit_class cls)
{
	s->count[cls]++;
	av_account_class(&s->account, cls);
}

/* Undo the last av_count(): the window has counted this trap already. */
static inline void av_uncount(struct av_vcpu_stats *s)
{
	s->count[(s->account.at - s->account.row[0]) / AV_ROW_SLOTS]--;
}

/* Count an event that happens within exits, possibly several times. */
static inline void av_stat_inc(struct av_vcpu_stats *s, enum av_event event)
{
	s->event[event]++;
}

static inline void av_stat_add(struct av_vcpu_stats *s, enum av_event event, u64 n)
{
	s->event[event] += n;
}

/* Figures of the VM; any context, any thread. */
static inline void av_vm_stat_add(struct av_vm_stats *s, enum av_vm_figure figure, s64 n)
{
	atomic64_add(n, &s->figure[figure]);
}

/* The same for a figure that only changes under one lock, which the caller holds. */
static inline void av_vm_stat_add_locked(struct av_vm_stats *s, enum av_vm_figure figure, s64 n)
{
	atomic64_set(&s->figure[figure], atomic64_read(&s->figure[figure]) + n);
}

static __always_inline void av_stats_enter(struct av_vcpu_stats *s)
{
	/* likely: keeps the code inline for when it is on. */
	av_account_enter(&s->account, av_stats_now(), static_branch_likely(&av_accounting_key.key));
}

static __always_inline void av_stats_exit(struct av_vcpu_stats *s)
{
	av_account_exit(&s->account, av_stats_now());
}

/* Returns false if the caller must call av_vcpu_time_begins(): first run, or accounting was on. */
static __always_inline bool av_stats_run_begin(struct av_vcpu_stats *s)
{
	return av_account_run(&s->account, av_stats_now());
}

void av_stats_sort_log(struct av_vcpu_stats *s);

/* Take the times of fast traps from the window's log. Not while the guest runs. */
static inline void av_stats_take_log(struct av_vcpu_stats *s)
{
	if (s->log->nr)
		av_stats_sort_log(s);
}

static inline void av_stats_run_end(struct av_vcpu_stats *s)
{
	u64 now = av_stats_now();

	if (av_stats_accounting()) {
		av_account_leave(&s->account, now, true);
		av_stats_take_log(s);
	} else {
		av_account_leave(&s->account, now, false);
	}
}

/* The last ticks of the exit being handled belong to a place. */
static inline void av_stats_skip(struct av_vcpu_stats *s, enum av_place place, u64 ticks)
{
	av_account_skip(&s->account, place, av_stats_now(), ticks, av_stats_accounting());
}

#endif /* AV_STATS_STATS_H */
