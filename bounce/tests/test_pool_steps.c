// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of a buffer, in instructions of this machine. With the split cache it is the same in an
 * empty, a nearly full, a small and a large pool; with slots it grows.
 */
#include "check.h"
#include "steps.h"
#include "world.h"

static struct world *world;
static u64 got;

static void get_and_put(void)
{
	struct av_ask ask = { .orig = 0, .bytes = 1500, .align = 1, .stay = AV_REQUEST };

	got = av_pool_get(&world->pool, 0, &ask);
	av_pool_put(&world->pool, got);
}

/* Steps of one buffer while all but one that could serve it are in use. */
static unsigned long steps_when_full(enum av_mode mode, u64 bytes, bool full)
{
	struct av_ask ask = { .orig = 0, .bytes = 1500, .align = 1, .stay = AV_REQUEST };
	u64 last = AV_NO_BUFFER, offset;
	unsigned long steps;

	world = world_new(mode, bytes, 1);
	for (;;) {
		offset = av_pool_get(&world->pool, 0, &ask);
		if (!full || offset == AV_NO_BUFFER || (last < world->pool.plan.cache_bytes &&
							offset >= world->pool.plan.cache_bytes))
			break;
		last = offset;
	}
	if (full)
		REQUIRE(!av_pool_put(&world->pool, last));
	steps = steps_of(get_and_put);
	world_free(world);
	return steps;
}

static void the_cache_is_constant(void)
{
	unsigned long empty = steps_when_full(AV_MODE_SPLIT_CACHE, WORLD_BYTES, false);

	CHECK(empty > 20 && empty < 1000);
	CHECK_EQ(steps_when_full(AV_MODE_SPLIT_CACHE, WORLD_BYTES, true), empty);
	CHECK_EQ(steps_when_full(AV_MODE_SPLIT_CACHE, WORLD_BYTES / 8, true), empty);
}

/* As in the paper: O(n) of the pool's size. Without that, nothing here is compared with it. */
static void slots_are_not(void)
{
	unsigned long empty = steps_when_full(AV_MODE_SLOTS, WORLD_BYTES, false);

	CHECK(steps_when_full(AV_MODE_SLOTS, WORLD_BYTES, true) > 10 * empty);
	CHECK(steps_when_full(AV_MODE_SLOTS, WORLD_BYTES, true) >
	      4 * steps_when_full(AV_MODE_SLOTS, WORLD_BYTES / 8, true));
}

int main(void)
{
	RUN(the_cache_is_constant);
	RUN(slots_are_not);
	return TESTS_DONE();
}
