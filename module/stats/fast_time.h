/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Times of fast traps, while accounting is on. Reading the clock costs as much as such a trap, so
 * one in AV_TIME_EVERY of each kind is timed: those with fast[] % AV_TIME_EVERY == AV_TIME_PHASE,
 * so that sampling is deterministic. A time runs from the vector's first instructions to the load
 * of the guest's last registers, without exception entry and return.
 *
 * The window (switch/timing.S) logs the times in the register file's first page, the only memory
 * that it can write. The vCPU's thread collects them after the stay. A full log ends the stay,
 * after at least AV_TIME_LOG * AV_TIME_EVERY traps, so that none is lost.
 *
 * The log is mapped while the guest runs, but the guest cannot access it. A core without CSV3 may
 * leak it (switch/private.h): the times of the guest's own traps, and the host's counter at the
 * last one. The same page has the offset of the guest's counter from that. Pure.
 */
#ifndef AV_STATS_FAST_TIME_H
#define AV_STATS_FAST_TIME_H

#include "lib/av_types.h"
#include "stats/account.h"

/* The assembler knows these (switch/timing.S). */
#define AV_TIME_EVERY	64
#define AV_TIME_PHASE	32
#define AV_TIME_LOG	48

/* A log entry: ticks, and the low bits of its counter's address. */
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
