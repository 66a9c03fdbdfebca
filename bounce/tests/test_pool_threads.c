// SPDX-License-Identifier: GPL-2.0
/*
 * Threads take buffers, write to them without any lock, hand them to each other, and return them.
 * TSan sees if two get the same byte, and so do the bytes that they write.
 */
#include "check.h"
#include "dice.h"
#include "world.h"

#define THREADS		4
#define STEPS		20000
#define HELD		64
#define EXCHANGE	16

static struct av_pool *pool;
static u8 memory[WORLD_BYTES];
/* Buffers that one thread leaves for any other. */
static u64 exchange[EXCHANGE];

struct worker {
	pthread_t thread;
	u32 number;
	u64 held[HELD];
	u64 got, none, wrong;
};

static void leave(struct worker *w, u64 offset)
{
	struct av_found found;

	if (av_pool_find(pool, offset, &found)) {
		w->wrong++;
		return;
	}
	w->wrong += found.orig != WORLD_ORIG(found.owner);
	w->wrong += found.begin != offset;
	/* It still has the contents from when it was taken. */
	w->wrong += memory[offset] != (u8)found.left;
	w->wrong += memory[offset + found.left - 1] != (u8)found.left;
	w->wrong += !!av_pool_put_found(pool, &found);
}

static u64 take(struct worker *w, struct dice *d)
{
	u32 bytes = 1 + dice_below(d, dice_below(d, 4) ? 4096 : 40000);
	struct av_ask ask = {
		.orig = WORLD_ORIG(w->number), .bytes = bytes, .align = 1, .owner = w->number,
	};
	u64 offset = av_pool_get(pool, w->number, &ask);

	if (offset == AV_NO_BUFFER) {
		w->none++;
		return offset;
	}
	w->got++;
	memset(memory + offset, (u8)bytes, bytes);
	return offset;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct dice d = dice_of(w->number + 1);
	u32 i;

	for (i = 0; i < STEPS; i++) {
		u64 *slot = &w->held[dice_below(&d, HELD)];

		if (*slot != AV_NO_BUFFER) {
			u64 *shelf = &exchange[dice_below(&d, EXCHANGE)];

			/* Acquire and release: the contents go along. */
			if (dice_below(&d, 2))
				*slot = __atomic_exchange_n(shelf, *slot, __ATOMIC_ACQ_REL);
			if (*slot != AV_NO_BUFFER)
				leave(w, *slot);
		}
		*slot = take(w, &d);
	}
	for (i = 0; i < HELD; i++)
		if (w->held[i] != AV_NO_BUFFER)
			leave(w, w->held[i]);
	return NULL;
}

static void threads(enum av_mode mode, u64 bytes)
{
	struct world *world = world_new(mode, bytes, THREADS / 2);
	struct worker workers[THREADS] = {};
	struct av_found found;
	u64 got = 0, none = 0;
	u32 i, n;

	pool = &world->pool;
	for (i = 0; i < EXCHANGE; i++)
		exchange[i] = AV_NO_BUFFER;
	for (i = 0; i < THREADS; i++) {
		workers[i].number = i;
		for (n = 0; n < HELD; n++)
			workers[i].held[n] = AV_NO_BUFFER;
		REQUIRE(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	}
	for (i = 0; i < THREADS; i++) {
		REQUIRE(!pthread_join(workers[i].thread, NULL));
		CHECK_EQ(workers[i].wrong, 0);
		got += workers[i].got;
		none += workers[i].none;
	}
	for (i = 0; i < EXCHANGE; i++)
		CHECK(exchange[i] == AV_NO_BUFFER || !av_pool_put(pool, exchange[i]));
	for (i = 0; i < THREADS; i++)
		CHECK_EQ(av_pool_owned(pool, i), 0);
	for (i = 0; i < bytes; i += 512)
		REQUIRE(av_pool_find(pool, i, &found) == -ENOENT);
	CHECK_EQ(got + none, THREADS * STEPS);
	CHECK(got > none);
	world_free(world);
}

static void slots(void)
{
	threads(AV_MODE_SLOTS, WORLD_BYTES);
}

static void areas(void)
{
	threads(AV_MODE_AREAS, WORLD_BYTES / 2);
}

static void split_cache(void)
{
	threads(AV_MODE_SPLIT_CACHE, WORLD_BYTES);
	threads(AV_MODE_SPLIT_CACHE, WORLD_BYTES / 4);
}

int main(void)
{
	RUN(slots);
	RUN(areas);
	RUN(split_cache);
	return TESTS_DONE();
}
