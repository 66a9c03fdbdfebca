// SPDX-License-Identifier: GPL-2.0
/* Pages shared at run time: by hand, and at random against a count for each page. */
#include "check.h"
#include "dice.h"
#include "hyp_world.h"

#define NO_FRAME	(~0ULL)
#define LOG		4

static struct av_share_set set[1 << LOG];
static struct av_shares shares;
static struct hyp hyp;

static void fresh(void)
{
	memset(set, 0, sizeof(set));
	hyp = (struct hyp){ .never = NO_FRAME, .keep = NO_FRAME };
	av_shares_init(&shares, &hyp_ops, &hyp, set, LOG);
}

static u32 shared_now(void)
{
	u32 frame, count = 0;

	for (frame = 0; frame < HYP_FRAMES; frame++)
		count += hyp.shared[frame];
	return count;
}

static void first_shares_and_last_unshares(void)
{
	fresh();
	CHECK_EQ(av_shares_get(&shares, 5, 1, true), 0);
	CHECK_EQ(hyp.wiped, 1);
	CHECK(hyp.shared[5] && av_shares_has(&shares, 5));
	/* A device reads the page meanwhile: it keeps its contents. */
	CHECK_EQ(av_shares_get(&shares, 5, 1, true), 0);
	CHECK_EQ(hyp.wiped, 1);
	CHECK_EQ(av_shares_put(&shares, 5, 1), 0);
	CHECK(hyp.shared[5] && av_shares_has(&shares, 5));
	CHECK_EQ(av_shares_put(&shares, 5, 1), 0);
	CHECK(!hyp.shared[5] && !av_shares_has(&shares, 5));
	CHECK_EQ(av_shares_put(&shares, 5, 1), -ENOENT);
	CHECK_EQ(hyp.refused, 0);
}

static void all_pages_or_none(void)
{
	fresh();
	hyp.never = 103;
	CHECK_EQ(av_shares_get(&shares, 100, 8, false), -EPERM);
	CHECK_EQ(shared_now(), 0);
	hyp.never = NO_FRAME;
	CHECK_EQ(av_shares_get(&shares, 100, 8, false), 0);
	CHECK_EQ(shared_now(), 8);
	CHECK_EQ(av_shares_put(&shares, 99, 9), -ENOENT);
	CHECK_EQ(av_shares_put(&shares, 104, 5), -ENOENT);
	CHECK_EQ(shared_now(), 8);
	CHECK_EQ(av_shares_put(&shares, 100, 8), 0);
	CHECK_EQ(shared_now(), 0);
	CHECK_EQ(av_shares_get(&shares, 7, 0, false), 0);
	CHECK_EQ(hyp.refused, 0);
}

static void a_full_table_says_so(void)
{
	u32 frame, got = 0, full = 0, i;

	fresh();
	for (frame = 0; frame < HYP_FRAMES; frame++)
		got += !av_shares_get(&shares, frame, 1, false);
	for (i = 0; i < ARRAY_SIZE(set); i++)
		full += set[i].full;
	CHECK_EQ(got, ARRAY_SIZE(set) * AV_SHARE_WAYS);
	CHECK_EQ(got + full, HYP_FRAMES);
	CHECK_EQ(shared_now(), got);
	for (frame = 0; frame < HYP_FRAMES; frame++) {
		bool shared = hyp.shared[frame];

		CHECK_EQ(av_shares_put(&shares, frame, 1), shared ? 0 : -ENOENT);
	}
	CHECK_EQ(shared_now(), 0);
}

/* Nobody may treat the page as private, and a later mapping of it works. */
static void a_page_that_stays_shared(void)
{
	fresh();
	hyp.keep = 9;
	CHECK_EQ(av_shares_get(&shares, 9, 1, false), 0);
	CHECK_EQ(av_shares_put(&shares, 9, 1), 0);
	CHECK_EQ(hyp.stuck, 1);
	CHECK(!av_shares_has(&shares, 9));
	CHECK_EQ(av_shares_put(&shares, 9, 1), -ENOENT);
	CHECK_EQ(av_shares_get(&shares, 9, 1, false), 0);
	CHECK_EQ(av_shares_put(&shares, 9, 1), 0);
	CHECK_EQ(hyp.stuck, 1);
	CHECK_EQ(av_shares_get(&shares, 9, 1, false), 0);
	hyp.keep = NO_FRAME;
	CHECK_EQ(av_shares_put(&shares, 9, 1), 0);
	CHECK_EQ(shared_now(), 0);
	CHECK_EQ(hyp.refused, 0);
}

static void at_random(void)
{
	struct dice d = dice_of(1);
	u32 count[HYP_FRAMES] = {};
	u32 i;

	fresh();
	for (i = 0; i < 200000; i++) {
		u32 frame = dice_below(&d, 200);

		if (dice_below(&d, 2)) {
			int ret = av_shares_get(&shares, frame, 1, false);

			CHECK(!ret || (ret == -ENOSPC && !count[frame]));
			count[frame] += !ret;
		} else {
			CHECK_EQ(av_shares_put(&shares, frame, 1), count[frame] ? 0 : -ENOENT);
			count[frame] -= !!count[frame];
		}
		CHECK_EQ(hyp.shared[frame], !!count[frame]);
		CHECK_EQ(av_shares_has(&shares, frame), !!count[frame]);
	}
	CHECK_EQ(hyp.refused, 0);
}

int main(void)
{
	RUN(first_shares_and_last_unshares);
	RUN(all_pages_or_none);
	RUN(a_full_table_says_so);
	RUN(a_page_that_stays_shared);
	RUN(at_random);
	return TESTS_DONE();
}
