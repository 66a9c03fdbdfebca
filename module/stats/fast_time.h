/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long fast traps take, while accounting is on. A clock costs as much as such a trap, so one in
 * AV_TIME_EVERY of each kind is timed: those whose number in fast[] leaves the remainder
 * AV_TIME_PHASE, so that no chance is in it. A time is from the vector's first instructions to the
 * guest's last registers: the hardware's exception and return are not in it.
 *
 * The window (switch/timing.S) logs the times in the register file's first page, as it can reach
 * nothing else; the vCPU's thread takes them from there after the stay. A full log ends the stay,
 * after AV_TIME_LOG * AV_TIME_EVERY traps at least, so that none is lost.
 *
 * The log is mapped while the guest runs, out of its reach. A core without CSV3 may show it
 * (switch/private.h): times of the guest's own traps, and when the last one came by the host's
 * counter, from which the guest's own has an offset that is in the same page. Pure.
 */
#ifndef AV_STATS_FAST_TIME_H
#define AV_STATS_FAST_TIME_H

#include "lib/av_types.h"
#include "stats/account.h"

/* The assembler knows these (switch/timing.S). */
#define AV_TIME_EVERY	64
#define AV_TIME_PHASE	32
#define AV_TIME_LOG	48

/* A log's entry: ticks, and low bits of the counter's address. */
#define AV_TIME_TICKS	GENMASK_ULL(47, 0)
#define AV_TIME_COUNTER	GENMASK_ULL(59, 48)
#define AV_TIME_PAGE	4096

struct av_fast_log {
	u64 begun;		/* the counter when the last exception came */
	u64 timed;		/* address of the counter of the trap that is being timed, or 0 */
	u64 nr;
	u64 entry[AV_TIME_LOG];
};

/* By kind; rows are as in struct av_account. */
struct av_fast_times {
	u64 row[AV_NR_FAST][AV_ROW_SLOTS];
};

static __always_inline bool av_time_this(u64 count)
{
	return count % AV_TIME_EVERY == AV_TIME_PHASE;
}

/* Sort the logged times by kind. fast: the counters, at any address with the same page offset. */
static inline void av_fast_log_take(struct av_fast_times *times, const struct av_account *a,
				    struct av_fast_log *log, const u64 *fast)
{
	u64 nr = min_t(u64, log->nr, AV_TIME_LOG), ticks;
	unsigned int i, kind, base = (uintptr_t)fast % AV_TIME_PAGE;

	for (i = 0; i < nr; i++) {
		kind = (FIELD_GET(AV_TIME_COUNTER, log->entry[i]) - base) / sizeof(u64);
		if (kind >= AV_NR_FAST)
			continue;
		ticks = log->entry[i] & AV_TIME_TICKS;
		times->row[kind][0] += ticks;
		av_hist_add(a, times->row[kind], ticks);
	}
	log->nr = 0;
}

#endif /* AV_STATS_FAST_TIME_H */
