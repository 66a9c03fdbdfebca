/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a vCPU's time goes, and how long its exits take.
 *
 * From its first KVM_RUN on, each tick of a vCPU's life belongs to the guest, to the exit being
 * handled (by class), or to a "place": the VMM, idle (waiting for an interrupt or for power), away
 * (the thread waited for a CPU). A mark ends the lap that the previous mark began, and names its
 * owner:
 *
 *   av_account_run()    KVM_RUN entered           the VMM
 *   av_account_enter()  about to enter the guest  the exit, by its class
 *   av_account_exit()   back from the guest       the guest
 *   av_account_leave()  KVM_RUN left              the exit
 *
 * av_account_skip() takes idle and away time out of the current lap. So the sum over all owners is
 * the time from the first mark to the last.
 *
 * With histograms (hist) an exit is one sample, even if KVM_RUN returns while it is handled:
 * av_account_run_long() resumes the sample that av_account_leave() suspended.
 *
 * One thread makes the marks; others may read at any time. Pure: time is an argument, in any unit
 * that never goes backwards.
 */
#ifndef AV_STATS_ACCOUNT_H
#define AV_STATS_ACCOUNT_H

#include "lib/av_types.h"
#include "stats/classes.h"

#define X(place, name)	AV_PLACE_##place,
enum av_place { AV_PLACES(X) AV_NR_PLACES };
#undef X

/* Rows: one per class, then one per place. */
#define AV_ROW_OF(place)	(AV_NR_EXITS + (place))
#define AV_NR_ROWS		AV_ROW_OF(AV_NR_PLACES)
#define AV_ROW_SLOTS		64

/* For readers: bucket 0 is 0 ns, bucket n is 2^(n-1) to 2^n, the last one is open-ended. */
#define AV_HIST_BUCKETS		40

/* The number of fraction bits in av_account.scale. */
#define AV_SCALE_SHIFT		10

struct av_account {
	u64 stamp;		/* start of the current lap; 0: no KVM_RUN yet, or left with hist */
	u64 scale, bias;	/* nanoseconds per tick; bias is 1, so that no sample is 0 */
	u64 *at;		/* row of the exit being handled */
	u64 exits;
	u64 guest;
	/* KVM_RUN was left with hist: the time, and the ticks of its exit that are in its row */
	u64 left, begun;
	/*
	 * Slot 0 of a row is its total of ticks; the others count samples by the number of leading
	 * zeroes of the time in units of scale, which is 0 only for centuries.
	 */
	u64 row[AV_NR_ROWS][AV_ROW_SLOTS];
};

/* Set the class of the exit being handled. */
static __always_inline void av_account_class(struct av_account *a, enum av_exit_class cls)
{
	a->at = a->row[cls];
}

static inline void av_account_init(struct av_account *a, u64 ticks_per_second)
{
	/* Even, so that a multiple of it plus bias is never 0. */
	a->scale = (1000000000ULL << AV_SCALE_SHIFT) / ticks_per_second & ~1ULL;
	a->bias = 1;
	av_account_class(a, AV_EXIT_OTHER);
}

/* Add a sample to a row. After months the product overflows, but stays odd: its slot is valid. */
static __always_inline void av_hist_add(const struct av_account *a, u64 *row, u64 ticks)
{
	row[__builtin_clzll(ticks * a->scale + a->bias)]++;
}

static __always_inline u64 av_account_ticks(const struct av_account *a, unsigned int row)
{
	return READ_ONCE(a->row[row][0]);
}

/* The readers' bucket for a slot. */
static inline unsigned int av_hist_bucket(unsigned int slot)
{
	unsigned int bits = AV_ROW_SLOTS - slot;

	if (bits <= AV_SCALE_SHIFT)
		return 0;
	return min_t(unsigned int, bits - AV_SCALE_SHIFT, AV_HIST_BUCKETS - 1);
}

static inline void av_hist_read(const u64 *row, u64 *buckets)
{
	unsigned int slot;

	memset(buckets, 0, AV_HIST_BUCKETS * sizeof(*buckets));
	for (slot = 1; slot < AV_ROW_SLOTS; slot++)
		buckets[av_hist_bucket(slot)] += READ_ONCE(row[slot]);
}

static __always_inline u64 av_account_lap(struct av_account *a, u64 now)
{
	u64 ticks = now - a->stamp;

	a->stamp = now;
	return ticks;
}

static __always_inline void av_account_enter(struct av_account *a, u64 now, bool hist)
{
	u64 ticks = av_account_lap(a, now);
	u64 *row = a->at;

	row[0] += ticks;
	if (hist)
		av_hist_add(a, row, ticks);
}

static __always_inline void av_account_exit(struct av_account *a, u64 now)
{
	a->guest += av_account_lap(a, now);
	a->exits++;
	av_account_class(a, AV_EXIT_OTHER);
}

static __always_inline void av_account_leave(struct av_account *a, u64 now, bool hist)
{
	u64 ticks = av_account_lap(a, now);

	a->at[0] += ticks;
	if (hist) {
		a->left = now;
		a->begun = ticks;
		a->stamp = 0;
	}
}

/*
 * The first KVM_RUN, or the first after a leave with hist. away: the ticks since then in which the
 * thread waited for a CPU.
 */
static inline void av_account_run_long(struct av_account *a, u64 now, u64 away)
{
	u64 ticks = now - a->left;

	if (!a->left) {
		a->stamp = now;
		return;
	}
	away = min(away, ticks);
	a->row[AV_ROW_OF(AV_PLACE_AWAY)][0] += away;
	a->row[AV_ROW_OF(AV_PLACE_VMM)][0] += ticks - away;
	av_hist_add(a, a->row[AV_ROW_OF(AV_PLACE_VMM)], ticks - away);
	/* Resume the sample of the exit. */
	a->at[0] -= a->begun;
	a->stamp = now - a->begun;
	a->left = 0;
}

/* Returns false if the caller must call av_account_run_long(). */
static __always_inline bool av_account_run(struct av_account *a, u64 now)
{
	if (unlikely(!a->stamp))
		return false;
	a->row[AV_ROW_OF(AV_PLACE_VMM)][0] += av_account_lap(a, now);
	return true;
}

/* Move ticks from the current lap to a place; at most as many as the lap has. */
static inline void av_account_skip(struct av_account *a, enum av_place place, u64 now, u64 ticks,
				   bool hist)
{
	ticks = min(ticks, now - a->stamp);
	a->row[AV_ROW_OF(place)][0] += ticks;
	a->stamp += ticks;
	if (hist && ticks)
		av_hist_add(a, a->row[AV_ROW_OF(place)], ticks);
}

#endif /* AV_STATS_ACCOUNT_H */
