// SPDX-License-Identifier: GPL-2.0
/*
 * A vCPU's time (stats/account.h), against a model that gives each tick to its owner as it passes:
 * kinds, their sum, histograms.
 */
#include <stdlib.h>

#include "check.h"
#include "stats/account.h"

#define HZ_PS	1000000000ULL	/* a tick a nanosecond */

/* One at a time: it points into itself. */
static struct av_account *fresh(u64 hz)
{
	static struct av_account a;

	memset(&a, 0, sizeof(a));
	av_account_init(&a, hz);
	return &a;
}

static u64 samples(const struct av_account *a, unsigned int row)
{
	u64 buckets[AV_HIST_BUCKETS], n = 0;
	unsigned int i;

	av_hist_read(a->row[row], buckets);
	for (i = 0; i < AV_HIST_BUCKETS; i++)
		n += buckets[i];
	return n;
}

/* The bucket of one sample of this many ticks. */
static unsigned int bucket_of(u64 hz, u64 ticks)
{
	struct av_account *a = fresh(hz);
	u64 buckets[AV_HIST_BUCKETS];
	unsigned int i;

	av_hist_add(a, a->row[3], ticks);
	CHECK_EQ(samples(a, 2) + samples(a, 4), 0);
	av_hist_read(a->row[3], buckets);
	for (i = 0; i < AV_HIST_BUCKETS && !buckets[i]; i++)
		;
	return i;
}

static void test_buckets_are_powers_of_two_nanoseconds(void)
{
	unsigned int i;

	CHECK_EQ(bucket_of(HZ_PS, 0), 0);
	CHECK_EQ(bucket_of(HZ_PS, 1), 1);
	for (i = 1; i < AV_HIST_BUCKETS - 1; i++) {
		CHECK_EQ(bucket_of(HZ_PS, 1ULL << i), i + 1);
		CHECK_EQ(bucket_of(HZ_PS, (1ULL << i) - 1), i);
	}
	/* 16 ns a tick: 1 tick is from 16 on. */
	CHECK_EQ(bucket_of(62500000, 1), 5);
	CHECK_EQ(bucket_of(62500000, 0), 0);
	/* 41.67 ns */
	CHECK_EQ(bucket_of(24000000, 1), 6);
	CHECK_EQ(bucket_of(24000000, 24000000), 30);
}

static void test_no_time_is_too_long_for_a_histogram(void)
{
	static const u64 ticks[] = { 1ULL << 52, 1ULL << 63, ~0ULL, ~0ULL << 10, 1ULL << 54 };
	unsigned int i;

	CHECK_EQ(bucket_of(HZ_PS, 1ULL << 52), AV_HIST_BUCKETS - 1);
	/* What overflows is in some slot of the row, or one tick more. */
	for (i = 0; i < ARRAY_SIZE(ticks); i++) {
		CHECK(bucket_of(HZ_PS, ticks[i]) <= AV_HIST_BUCKETS);
		CHECK(bucket_of(1000, ticks[i]) <= AV_HIST_BUCKETS);
	}
}

static void test_an_exit_to_the_vmm_is_one_sample(void)
{
	struct av_account *a = fresh(HZ_PS);
	u64 buckets[AV_HIST_BUCKETS];

	CHECK(!av_account_run(a, 100));
	av_account_run_long(a, 100, 0);
	av_account_enter(a, 110, true);
	av_account_exit(a, 200);
	av_account_class(a, AV_EXIT_MMIO_USER);
	av_account_leave(a, 230, true);
	CHECK_EQ(av_account_ticks(a, AV_EXIT_MMIO_USER), 30);
	CHECK(!av_account_run(a, 1230));
	av_account_run_long(a, 1230, 100);
	av_account_enter(a, 1240, true);
	CHECK_EQ(av_account_ticks(a, AV_EXIT_MMIO_USER), 40);
	CHECK_EQ(av_account_ticks(a, AV_ROW_OF(AV_PLACE_VMM)), 900);
	CHECK_EQ(av_account_ticks(a, AV_ROW_OF(AV_PLACE_AWAY)), 100);
	CHECK_EQ(a->guest, 90);
	CHECK_EQ(samples(a, AV_EXIT_MMIO_USER), 1);
	av_hist_read(a->row[AV_EXIT_MMIO_USER], buckets);
	CHECK_EQ(buckets[6], 1);
	CHECK_EQ(samples(a, AV_ROW_OF(AV_PLACE_VMM)), 1);
}

static void test_what_is_skipped_is_no_more_than_the_lap(void)
{
	struct av_account *a = fresh(HZ_PS);

	av_account_run_long(a, 1000, 0);
	av_account_skip(a, AV_PLACE_AWAY, 1010, ~0ULL, true);
	CHECK_EQ(av_account_ticks(a, AV_ROW_OF(AV_PLACE_AWAY)), 10);
	av_account_skip(a, AV_PLACE_IDLE, 1010, 5, true);
	CHECK_EQ(av_account_ticks(a, AV_ROW_OF(AV_PLACE_IDLE)), 0);
	av_account_enter(a, 1011, true);
	CHECK_EQ(av_account_ticks(a, AV_EXIT_OTHER), 1);
	CHECK_EQ(samples(a, AV_ROW_OF(AV_PLACE_AWAY)), 1);
	CHECK_EQ(samples(a, AV_ROW_OF(AV_PLACE_IDLE)), 0);
}

static u64 below(u64 n)
{
	return random() % n;
}

/* Where the model's vCPU is. */
enum where { OUT, HANDLER, GUEST };

struct model {
	enum where where;
	u64 now, begun, guest, place[AV_NR_PLACES];
	u64 exit;	/* of the exit that is handled, up to now */
	u64 ticks[AV_NR_EXITS];
	u64 samples[AV_NR_ROWS];
};

static u64 sum(const struct av_account *a)
{
	u64 n = a->guest;
	unsigned int i;

	for (i = 0; i < AV_NR_EXITS; i++)
		n += av_account_ticks(a, i);
	for (i = 0; i < AV_NR_PLACES; i++)
		n += av_account_ticks(a, AV_ROW_OF(i));
	return n;
}

static unsigned int class_of(const struct av_account *a)
{
	return (a->at - a->row[0]) / AV_ROW_SLOTS;
}

/* Up to the last mark: the ticks of each kind. */
static void compare(const struct av_account *a, const struct model *m)
{
	unsigned int i;

	CHECK_EQ(a->guest, m->guest);
	for (i = 0; i < AV_NR_PLACES; i++)
		CHECK_EQ(av_account_ticks(a, AV_ROW_OF(i)), m->place[i]);
	for (i = 0; i < AV_NR_EXITS; i++)
		CHECK_EQ(av_account_ticks(a, i), m->ticks[i]);
	for (i = 0; i < AV_NR_ROWS; i++)
		CHECK_EQ(samples(a, i), m->samples[i]);
}

static void step_handler(struct av_account *a, struct model *m, bool hist,
			 u64 took)
{
	enum av_place place = below(2) ? AV_PLACE_IDLE : AV_PLACE_AWAY;
	u64 part = below(took + 1);

	switch (below(4)) {
	case 0:
		m->exit += took;
		av_account_class(a, below(AV_NR_EXITS));
		return;
	case 1:
		av_account_skip(a, place, m->now, part, hist);
		m->place[place] += part;
		m->exit += took - part;
		m->samples[AV_ROW_OF(place)] += hist && part;
		return;
	case 2:
		m->exit += took;
		av_account_leave(a, m->now, hist);
		m->ticks[class_of(a)] += m->exit;
		m->where = OUT;
		return;
	default:
		m->exit += took;
		av_account_enter(a, m->now, hist);
		m->ticks[class_of(a)] += m->exit;
		m->samples[class_of(a)] += hist;
		m->exit = 0;
		m->where = GUEST;
	}
}

static void step(struct av_account *a, struct model *m, bool hist)
{
	u64 took = below(1 << below(20)), away = 0;

	m->now += took;
	if (m->where == HANDLER) {
		step_handler(a, m, hist, took);
	} else if (m->where == GUEST) {
		av_account_exit(a, m->now);
		m->guest += took;
		m->where = HANDLER;
	} else {
		bool was = a->left;

		away = was ? below(took + 1) : 0;
		if (!av_account_run(a, m->now))
			av_account_run_long(a, m->now, away);
		m->place[AV_PLACE_AWAY] += away;
		m->place[AV_PLACE_VMM] += took - away;
		m->samples[AV_ROW_OF(AV_PLACE_VMM)] += was;
		/* During an unfinished sample, its time so far is not reported. */
		if (was)
			m->ticks[class_of(a)] -= m->exit;
		else
			m->exit = 0;
		m->where = HANDLER;
	}
}

/* hist: 0 off, 1 on, 2 switched at any time. */
static void against_model(unsigned int seed, unsigned int hist)
{
	struct av_account *a = fresh(HZ_PS);
	struct model m = { .now = 1 + seed };
	unsigned int i;
	bool on;

	srandom(seed);
	av_account_run_long(a, m.now, 0);
	m.begun = m.now;
	m.where = HANDLER;
	for (i = 0; i < 2000; i++) {
		on = hist == 2 ? below(2) : hist;
		step(a, &m, on);
		compare(a, &m);
		/* While an exit is handled it has time that is not yet told. */
		if (m.where != HANDLER)
			CHECK_EQ(sum(a), m.now - m.begun);
	}
}

static void test_it_agrees_with_the_model(void)
{
	unsigned int seed;

	for (seed = 0; seed < 30; seed++) {
		against_model(seed, 0);
		against_model(seed, 1);
		against_model(seed, 2);
	}
}

int main(void)
{
	RUN(test_buckets_are_powers_of_two_nanoseconds);
	RUN(test_no_time_is_too_long_for_a_histogram);
	RUN(test_an_exit_to_the_vmm_is_one_sample);
	RUN(test_what_is_skipped_is_no_more_than_the_lap);
	RUN(test_it_agrees_with_the_model);
	return TESTS_DONE();
}
