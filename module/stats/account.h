/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a vCPU's time goes, and how long its exits take.
 *
 * From its first KVM_RUN on each tick of a vCPU's life is of one kind: the
 * guest's, of the exit that is handled (by class), or of a place beside them: the
 * VMM's, idle (waiting for an interrupt or for power), away (the thread waited for
 * a CPU). A mark ends the lap since the mark before, and says whose it was:
 *
 *   av_account_run()    KVM_RUN entered          the lap was the VMM's
 *   av_account_enter()  about to enter the guest  … the exit's, by its class
 *   av_account_exit()   back from the guest       … the guest's
 *   av_account_leave()  KVM_RUN left              … the exit's
 *
 * av_account_skip() takes idle and away time out of the lap at hand. So the sum
 * of all kinds is the time from the first mark to the last.
 *
 * With histograms ("long" marks) an exit's handling is one sample, however often
 * KVM_RUN was left in it: av_account_run() then goes on where av_account_leave()
 * stopped.
 *
 * One thread makes the marks; others may look at any time. Pure: the time is an
 * argument, in any unit that does not go back.
 */
#ifndef AV_STATS_ACCOUNT_H
#define AV_STATS_ACCOUNT_H

#include "lib/av_types.h"
#include "stats/classes.h"

#define X(place, name)	AV_PLACE_##place,
enum av_place { AV_PLACES(X) AV_NR_PLACES };
#undef X

/* Rows: of each class, then of each place. */
#define AV_ROW_OF(place)	(AV_NR_EXITS + (place))
#define AV_NR_ROWS		AV_ROW_OF(AV_NR_PLACES)
#define AV_ROW_SLOTS		64

/* What readers get: bucket 0 is 0 ns, bucket n from 2^(n-1) to 2^n, the last all beyond. */
#define AV_HIST_BUCKETS		40

/* av_account.scale has so many bits behind the point. */
#define AV_SCALE_SHIFT		10

struct av_account {
	u64 stamp;		/* where the lap at hand began; 0: KVM_RUN was not entered, or long left */
	u64 scale, bias;	/* nanoseconds of a tick; 1, so that no sample is 0 */
	u64 *at;		/* the row of the exit that is handled */
	u64 exits;
	u64 guest;
	/* of the exit that KVM_RUN was long left with: when, and what its row has of it */
	u64 left, begun;
	/*
	 * All ticks of a row in slot 0, which would be samples of centuries; samples by
	 * number of zeroes before the time in units of scale. So one address does for both.
	 */
	u64 row[AV_NR_ROWS][AV_ROW_SLOTS];
};

/* The exit that is handled is of that class. */
static __always_inline void av_account_class(struct av_account *a, enum av_exit_class cls)
{
	a->at = a->row[cls];
}

static inline void av_account_init(struct av_account *a, u64 ticks_per_second)
{
	/* Even: what is added to a multiple of it leaves no 0. */
	a->scale = (1000000000ULL << AV_SCALE_SHIFT) / ticks_per_second & ~1ULL;
	a->bias = 1;
	av_account_class(a, AV_EXIT_OTHER);
}

/*
 * A sample of a row. Time overflows after months: whatever comes of it is odd, so the
 * slot is one of the row's.
 */
static __always_inline void av_hist_add(const struct av_account *a, u64 *row, u64 ticks)
{
	row[__builtin_clzll(ticks * a->scale + a->bias)]++;
}

static __always_inline u64 av_account_ticks(const struct av_account *a, unsigned int row)
{
	return READ_ONCE(a->row[row][0]);
}

/* The bucket of readers that a slot's samples are in. */
static inline unsigned int av_hist_bucket(unsigned int slot)
{
	unsigned int bits = AV_ROW_SLOTS - slot;

	if (bits <= AV_SCALE_SHIFT)
		return 0;
	return min_t(unsigned int, bits - AV_SCALE_SHIFT, AV_HIST_BUCKETS - 1);
}

static inline void av_hist_read(const struct av_account *a, unsigned int row, u64 *buckets)
{
	unsigned int slot;

	memset(buckets, 0, AV_HIST_BUCKETS * sizeof(*buckets));
	for (slot = 1; slot < AV_ROW_SLOTS; slot++)
		buckets[av_hist_bucket(slot)] += READ_ONCE(a->row[row][slot]);
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

/* The first KVM_RUN, which no exit comes before; or after a long leave: away is of the time since. */
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
	/* The sample goes on. */
	a->at[0] -= a->begun;
	a->stamp = now - a->begun;
	a->left = 0;
}

/* False: av_account_run_long() is to be called. */
static __always_inline bool av_account_run(struct av_account *a, u64 now)
{
	if (unlikely(!a->stamp))
		return false;
	a->row[AV_ROW_OF(AV_PLACE_VMM)][0] += av_account_lap(a, now);
	return true;
}

/* Of the exit's lap at hand so many ticks were of a place. They are cut to what the lap has. */
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
