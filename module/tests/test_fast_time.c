// SPDX-License-Identifier: GPL-2.0
/* The log of timed traps (stats/fast_time.h): kinds, times, a full log, and bad contents. */
#include <stdlib.h>

#include "check.h"
#include "vm/regfile.h"

static struct av_srf srf;
static struct av_fast_times times;
static struct av_account account;

/* As the window writes it: by the counter's address in its own mapping. */
static void log_time(unsigned int kind, u64 ticks)
{
	u64 va = 0xffffffffffe04000ULL + offsetof(struct av_srf, fast) + kind * sizeof(u64);

	srf.log.entry[srf.log.nr++] = (ticks & AV_TIME_TICKS) | va << 48;
}

static void take(void)
{
	av_fast_log_take(&times, &account, &srf.log, srf.fast);
	CHECK_EQ(srf.log.nr, 0);
}

static void fresh(void)
{
	memset(&srf, 0, sizeof(srf));
	memset(&times, 0, sizeof(times));
	av_account_init(&account, 62500000);
}

static u64 samples(unsigned int kind)
{
	u64 buckets[AV_HIST_BUCKETS], n = 0;
	unsigned int i;

	av_hist_read(times.row[kind], buckets);
	for (i = 0; i < AV_HIST_BUCKETS; i++)
		n += buckets[i];
	return n;
}

static void test_each_kind_gets_its_times(void)
{
	u64 buckets[AV_HIST_BUCKETS];
	unsigned int kind;

	fresh();
	for (kind = 0; kind < AV_NR_FAST; kind++)
		log_time(kind, kind);
	take();
	log_time(AV_FAST_DAIF, 1000);
	take();
	take();
	for (kind = 0; kind < AV_NR_FAST; kind++) {
		CHECK_EQ(times.row[kind][0], kind + (kind == AV_FAST_DAIF ? 1000 : 0));
		CHECK_EQ(samples(kind), 1 + (kind == AV_FAST_DAIF));
	}
	/* 16 ns a tick: 16000 ns. */
	av_hist_read(times.row[AV_FAST_DAIF], buckets);
	CHECK_EQ(buckets[14], 1);
}

static void test_a_full_log_has_all_of_its_entries(void)
{
	unsigned int i;

	fresh();
	for (i = 0; i < AV_TIME_LOG; i++)
		log_time(AV_FAST_SVC, i);
	take();
	CHECK_EQ(samples(AV_FAST_SVC), AV_TIME_LOG);
	CHECK_EQ(times.row[AV_FAST_SVC][0], AV_TIME_LOG * (AV_TIME_LOG - 1) / 2);
}

static void test_no_entry_reaches_beyond_the_rows(void)
{
	struct av_fast_times before;
	u64 n;

	fresh();
	before = times;
	/* Any bits, and more of them than there is room for. */
	for (n = 0; n < 100000; n++) {
		u64 at = n * 0x9e3779b97f4a7c15ULL;

		srf.log.entry[n % AV_TIME_LOG] = at;
		srf.log.nr = n % 3 ? at : n % (AV_TIME_LOG + 1);
		take();
	}
	CHECK(memcmp(&before, &times, sizeof(times)));
	fresh();
	log_time(AV_NR_FAST, 5);
	srf.log.entry[srf.log.nr++] = 5;
	take();
	CHECK(!memcmp(&before, &times, sizeof(times)));
}

static void test_one_in_so_many_is_timed(void)
{
	unsigned int count, n = 0;

	for (count = 1; count <= 1000; count++) {
		n += av_time_this(count);
		CHECK_EQ(n, (count + AV_TIME_EVERY - AV_TIME_PHASE) / AV_TIME_EVERY);
	}
	/* A token that exits to C is not timed. */
	CHECK(!av_time_this(1024));
}

int main(void)
{
	RUN(test_each_kind_gets_its_times);
	RUN(test_a_full_log_has_all_of_its_entries);
	RUN(test_no_entry_reaches_beyond_the_rows);
	RUN(test_one_in_so_many_is_timed);
	return TESTS_DONE();
}
