/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counting, always on: every exit is of one class, and its time goes to that
 * class. The classes are rows of one table (stats/classes.h); the binary
 * statistics, their names and their sums come from the same rows.
 *
 * Time is the counter (CNTVCT), in ticks; readers get nanoseconds. Between two
 * marks it belongs to exactly one place (stats/account.h), so the sum of all is the
 * vCPU's life. Between exit and enter, whoever finds out what the exit was says so
 * once with av_count(); the last one said gets the time. All of it is called by the
 * vCPU's own thread only; readers take what they see (64-bit loads).
 *
 * Histograms, and what the thread waits for a CPU, are kept while accounting is on
 * for any VM (stats/accounting.c): a branch that is patched in the code.
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
 * A capability of a VM, of our own: KVM_CHECK_EXTENSION is 1, KVM_ENABLE_CAP's
 * args[0] is whether accounting is on for it, from now on.
 */
#define AV_CAP_ACCOUNTING	0x61760002

/* For one VM: what its statistics file says. May sleep. */
void av_stats_vm_init(struct av_vm_stats *s);
void av_stats_vm_destroy(struct av_vm_stats *s);
void av_stats_set_accounting(struct av_vm_stats *s, bool on);

/* No VM is left, and none will come. */
void av_stats_exit_module(void);

/* This exit is of that class. */
static inline void av_count(struct av_vcpu_stats *s, enum av_exit_class cls)
{
	s->count[cls]++;
	av_account_class(&s->account, cls);
}

/* Take back the last one said: it was counted in the window. */
static inline void av_uncount(struct av_vcpu_stats *s)
{
	s->count[(s->account.at - s->account.row[0]) / AV_ROW_SLOTS]--;
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

static __always_inline void av_stats_enter(struct av_vcpu_stats *s)
{
	/* Likely: where it is on the code is in line. */
	av_account_enter(&s->account, av_stats_now(), static_branch_likely(&av_accounting_key.key));
}

static __always_inline void av_stats_exit(struct av_vcpu_stats *s)
{
	av_account_exit(&s->account, av_stats_now());
}

/* False: it is the first, or accounting was on: av_vcpu_time_begins(). */
static __always_inline bool av_stats_run_begin(struct av_vcpu_stats *s)
{
	return av_account_run(&s->account, av_stats_now());
}

static inline void av_stats_run_end(struct av_vcpu_stats *s)
{
	av_account_leave(&s->account, av_stats_now(), av_stats_accounting());
}

/* So long, up to now, the exit that is handled was in a place of its own. */
static inline void av_stats_skip(struct av_vcpu_stats *s, enum av_place place, u64 ticks)
{
	av_account_skip(&s->account, place, av_stats_now(), ticks, av_stats_accounting());
}

#endif /* AV_STATS_STATS_H */
