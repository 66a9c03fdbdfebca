// SPDX-License-Identifier: GPL-2.0
/*
 * Random buffers in every mode against the reference of world.h. No two overlap. Each is aligned,
 * contiguous and found from each of its bytes. A request fails only if there is no room.
 */
#include "check.h"
#include "dice.h"
#include "world.h"

#define STEPS	30000

static u32 size_for(struct dice *d)
{
	switch (dice_below(d, 4)) {
	case 0:
		return 1 + dice_below(d, AV_SEGMENT_BYTES);
	case 1:
		return BIT(dice_below(d, AV_SIZE_CLASSES));
	default:
		return 1 + dice_below(d, 6000);
	}
}

static void check_new(struct world *w, const struct av_ask *ask, u64 offset, u16 id)
{
	u64 end = offset + ask->bytes;
	u64 i;

	CHECK(end <= w->pool.plan.bytes);
	CHECK_EQ(offset >> AV_SEGMENT_SHIFT, (end - 1) >> AV_SEGMENT_SHIFT);
	CHECK(IS_ALIGNED(offset, ask->align));
	if (ask->bytes >= 4096)
		CHECK(IS_ALIGNED(offset, 4096));
	for (i = offset; i < end; i++) {
		REQUIRE(!w->map[i]);
		w->map[i] = id;
	}
	w->live[w->count++] = (struct world_buffer){ offset, ask->bytes, id };
}

/* No buffer: there is none in the cache, nor among the slots. */
static void check_none(struct world *w, const struct av_ask *ask)
{
	u32 order = av_size_class(ask->bytes > ask->align ? ask->bytes : ask->align);

	if (w->pool.plan.cache_bytes && order < AV_CACHE_ORDERS)
		CHECK_EQ(world_cached(w, order), w->pool.plan.areas << w->pool.plan.log);
	CHECK(!world_has_room(w, ask));
}

static void step_get(struct world *w, struct dice *d, u32 *none)
{
	struct av_ask ask = {
		.bytes = size_for(d), .align = 1U << dice_below(d, 14), .owner = dice_below(d, 3),
		.stay = dice_below(d, AV_STAYS),
	};
	u64 offset;
	u16 id;

	if (w->count == WORLD_LIVE)
		return;
	id = world_id(w);
	ask.orig = WORLD_ORIG(id);
	ask.access = id % 4;
	offset = av_pool_get(&w->pool, dice_below(d, 7), &ask);
	if (offset != AV_NO_BUFFER) {
		check_new(w, &ask, offset, id);
		return;
	}
	w->taken[id] = false;
	check_none(w, &ask);
	++*none;
}

static void step_put(struct world *w, struct dice *d)
{
	u32 n = dice_below(d, w->count);
	struct world_buffer buffer = w->live[n];

	if (buffer.bytes > 1) {
		int ret = av_pool_put(&w->pool, buffer.offset + 1 + dice_below(d, buffer.bytes - 1));

		CHECK_EQ(ret, -EINVAL);
	}
	CHECK_EQ(av_pool_put(&w->pool, buffer.offset), 0);
	CHECK_EQ(av_pool_put(&w->pool, buffer.offset), -ENOENT);
	memset(&w->map[buffer.offset], 0, buffer.bytes * sizeof(*w->map));
	w->taken[buffer.id] = false;
	w->live[n] = w->live[--w->count];
}

/* Any offset: the pool's answer equals the reference's. */
static void step_find(struct world *w, struct dice *d)
{
	u64 offset = dice_below(d, w->pool.plan.bytes);
	struct av_found found;
	u16 id;

	if (w->count && dice_below(d, 2)) {
		struct world_buffer buffer = w->live[dice_below(d, w->count)];

		offset = buffer.offset + dice_below(d, buffer.bytes);
	}
	id = w->map[offset];
	if (!id) {
		CHECK_EQ(av_pool_find(&w->pool, offset, &found), -ENOENT);
		CHECK(av_pool_put(&w->pool, offset));
		return;
	}
	CHECK_EQ(av_pool_find(&w->pool, offset, &found), 0);
	REQUIRE(found.begin <= offset && w->map[found.begin] == id);
	CHECK(!found.begin || w->map[found.begin - 1] != id);
	CHECK_EQ(found.orig, WORLD_ORIG(id) + (offset - found.begin));
	CHECK_EQ(found.access, id % 4);
	CHECK_EQ(w->map[offset + found.left - 1], id);
	CHECK(offset + found.left == WORLD_BYTES || w->map[offset + found.left] != id);
}

static void all_free_again(struct world *w)
{
	u32 i, owner;

	while (w->count)
		CHECK_EQ(av_pool_put(&w->pool, w->live[--w->count].offset), 0);
	for (owner = 0; owner < 3; owner++)
		CHECK_EQ(av_pool_owned(&w->pool, owner), 0);
	for (i = 0; i < world_slots(w); i++)
		REQUIRE(w->pool.slots.slot[i].free == AV_SEGMENT_SLOTS - i % AV_SEGMENT_SLOTS);
	for (i = 0; i < w->pool.slots.areas; i++)
		CHECK_EQ(w->pool.slots.area[i].used, 0);
	for (i = 0; i < AV_CACHE_ORDERS; i++)
		CHECK_EQ(world_cached(w, i), 0);
}

static void random_buffers(enum av_mode mode, u64 bytes, u32 cpus, u64 seed)
{
	struct world *w = world_new(mode, bytes, cpus);
	struct dice d = dice_of(seed);
	u32 none = 0, i;

	for (i = 0; i < STEPS; i++) {
		/* Fuller and emptier in turns, to both extremes. */
		bool filling = i / 4000 % 2 == 0;

		if (w->count && dice_below(&d, 10) < (filling ? 3 : 7))
			step_put(w, &d);
		else
			step_get(w, &d, &none);
		step_find(w, &d);
	}
	CHECK(none > 10);
	all_free_again(w);
	world_free(w);
}

static void slots(void)
{
	random_buffers(AV_MODE_SLOTS, WORLD_BYTES, 4, 1);
	random_buffers(AV_MODE_SLOTS, AV_SEGMENT_BYTES, 4, 2);
}

static void areas(void)
{
	random_buffers(AV_MODE_AREAS, WORLD_BYTES, 4, 3);
	random_buffers(AV_MODE_AREAS, WORLD_BYTES / 2 + 5, 3, 4);
}

static void split_cache(void)
{
	random_buffers(AV_MODE_SPLIT_CACHE, WORLD_BYTES, 4, 5);
	random_buffers(AV_MODE_SPLIT_CACHE, 2 * AV_SEGMENT_BYTES, 8, 6);
	random_buffers(AV_MODE_HYBRID, WORLD_BYTES / 2, 1, 7);
}

int main(void)
{
	RUN(slots);
	RUN(areas);
	RUN(split_cache);
	return TESTS_DONE();
}
