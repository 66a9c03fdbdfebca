// SPDX-License-Identifier: GPL-2.0
/*
 * Threads map and unmap the same few pages. A thread with a mapping finds the page shared, and the
 * hypervisor never sees a page shared or unshared twice.
 */
#include "check.h"
#include "dice.h"
#include "hyp_world.h"

#define THREADS	4
#define STEPS	40000
#define LOG	3

static struct av_share_set set[1 << LOG];
static struct av_shares shares;
static struct hyp hyp = { .never = ~0ULL, .keep = ~0ULL };

struct worker {
	pthread_t thread;
	u64 seed, wrong, mapped;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct dice d = dice_of(w->seed);
	u32 i;

	for (i = 0; i < STEPS; i++) {
		u64 frame = dice_below(&d, 40);

		if (av_shares_get(&shares, frame, 1, false))
			continue;
		w->mapped++;
		w->wrong += !__atomic_load_n(&hyp.shared[frame], __ATOMIC_ACQUIRE);
		w->wrong += !av_shares_has(&shares, frame);
		w->wrong += !!av_shares_put(&shares, frame, 1);
	}
	return NULL;
}

static void threads(void)
{
	struct worker workers[THREADS] = {};
	u32 i;

	av_shares_init(&shares, &hyp_ops, &hyp, set, LOG);
	for (i = 0; i < THREADS; i++) {
		workers[i].seed = i + 1;
		REQUIRE(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	}
	for (i = 0; i < THREADS; i++) {
		REQUIRE(!pthread_join(workers[i].thread, NULL));
		CHECK_EQ(workers[i].wrong, 0);
		CHECK(workers[i].mapped > STEPS / 2);
	}
	CHECK_EQ(hyp.refused, 0);
	for (i = 0; i < HYP_FRAMES; i++)
		CHECK_EQ(hyp.shared[i], 0);
}

int main(void)
{
	RUN(threads);
	return TESTS_DONE();
}
