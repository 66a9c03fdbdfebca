/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Per-VM and per-vCPU state of stats/, in struct av_vm and struct av_vcpu.
 */
#ifndef AV_STATS_TYPES_H
#define AV_STATS_TYPES_H

#include <linux/atomic.h>
#include <linux/types.h>

#include "stats/account.h"
#include "stats/fast_time.h"

#define X(event, name)		AV_EVENT_##event,
enum av_event { AV_EVENTS(X) AV_NR_EVENTS };
#undef X

#define X(figure, name, kind, unit) AV_VM_##figure,
enum av_vm_figure { AV_VM_FIGURES(X) AV_NR_VM_FIGURES };
#undef X

struct av_vm_stats {
	atomic64_t figure[AV_NR_VM_FIGURES];
	bool accounting;		/* stats/accounting.c */
};

struct av_vcpu_stats {
	u64 count[AV_NR_EXITS];
	u64 event[AV_NR_EVENTS];
	/* The window's AV_NR_FAST counters, which replace count[AV_EXIT_FAST]. */
	const u64 *fast;
	u64 skipped[AV_NR_FAST];	/* to subtract from fast[]: cpu/exit.c */
	/*
	 * The last thread that accounted its waits for a CPU, and its run delay then; NULL: none.
	 */
	const void *waiter;
	u64 waited;
	u64 idle_since;			/* 0: not idle */
	struct av_account account;
	/* Large and rarely used, so last: the fields before it have short offsets. */
	struct av_fast_log *log;	/* the window's, of the times of fast traps */
	struct av_fast_times times;
};

#endif /* AV_STATS_TYPES_H */
