// SPDX-License-Identifier: GPL-2.0
/* The pool by hand: plans, where buffers come from and return to, exhaustion, bad calls. */
#include "check.h"
#include "dice.h"
#include "world.h"

static struct av_ask ask_of(u32 bytes)
{
	return (struct av_ask){
		.orig = 0x40000000, .bytes = bytes, .align = 1, .owner = 1, .stay = AV_REQUEST,
	};
}

static u64 get(struct world *w, u32 cpu, u32 bytes)
{
	struct av_ask ask = ask_of(bytes);

	return av_pool_get(&w->pool, cpu, &ask);
}

static void modes_have_names(void)
{
	int mode;

	for (mode = 0; mode < AV_MODES; mode++)
		CHECK_EQ(av_mode_of(av_mode_names[mode]), mode);
	CHECK_EQ(av_mode_of("split"), -EINVAL);
	CHECK_EQ(av_mode_of(""), -EINVAL);
}

/* A power of two, from a page to a segment, and less for more parts; 0 if there is no room. */
static void max_mapping(const struct av_plan *plan)
{
	static const u32 counts[] = { 1, 14, 126, 254, 1022, 16382, 16383, ~0U };
	u32 last = AV_SEGMENT_BYTES, i;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		u32 most = av_plan_max_mapping(plan, counts[i]);

		CHECK(!most || (most >= 4096 && most <= last && !(most & (most - 1))));
		/* Whole requests of such parts fit into the disks' part. */
		CHECK((u64)most * min_t(u64, counts[i], (4 << 20) / max(1U, most)) <=
		      (u64)plan->areas * plan->per_area * AV_SLOT_BYTES / 2);
		last = most ?: last;
	}
	CHECK_EQ(av_plan_max_mapping(plan, 16383), 0);
}

static void plans(void)
{
	struct av_plan plan;
	u32 cpus, mode;
	u64 bytes;

	for (mode = 0; mode < AV_MODES; mode++) {
		bool cache = mode >= AV_MODE_SPLIT_CACHE;

		CHECK_EQ(av_plan_make(&plan, mode, 0, 1), -ENOSPC);
		CHECK_EQ(av_plan_make(&plan, mode, AV_SEGMENT_BYTES - 1, 1), -ENOSPC);
		CHECK_EQ(av_plan_make(&plan, mode, AV_SEGMENT_BYTES, 1), cache ? -ENOSPC : 0);
		for (cpus = 1; cpus <= 512; cpus += 13) {
			for (bytes = 2 * AV_SEGMENT_BYTES; bytes <= BIT_ULL(33); bytes = bytes * 3 + 1) {
				CHECK_EQ(av_plan_make(&plan, mode, bytes, cpus), 0);
				CHECK(plan.bytes <= bytes && plan.cache_bytes <= bytes / 2);
				CHECK(plan.areas <= 2 * cpus && !(plan.areas & (plan.areas - 1)));
				CHECK(plan.areas >= cpus || mode == AV_MODE_SLOTS ||
				      2 * plan.areas > bytes >> (AV_SEGMENT_SHIFT + cache));
				CHECK(plan.per_area && plan.per_area % AV_SEGMENT_SLOTS == 0);
				CHECK_EQ(plan.cache_bytes % AV_SEGMENT_BYTES, 0);
				CHECK_EQ(plan.cache_bytes != 0, cache);
				CHECK(plan.areas == 1 || mode != AV_MODE_SLOTS);
				CHECK(av_cache_bytes(plan.areas, plan.log) <= plan.cache_bytes || !cache);
				max_mapping(&plan);
			}
		}
	}
	/* A hostile size is no overflow. */
	CHECK_EQ(av_plan_make(&plan, AV_MODE_SLOTS, ~0ULL, 4), 0);
	CHECK(plan.bytes <= BIT_ULL(40));
}

/* Buffers of one kind until none is left: returns their number. */
static u32 fill(struct world *w, u32 bytes, enum av_stay stay)
{
	struct av_ask ask = ask_of(bytes);
	u32 count = 0;

	ask.stay = stay;
	while (av_pool_get_slots(&w->pool, count, &ask) != AV_NO_BUFFER)
		count++;
	return count;
}

/* A request of this many parts of up to `most` bytes; at the end all of it is free again. */
static void request(struct world *w, struct dice *dice, u32 parts, u32 most)
{
	u64 *at = calloc(parts + 3, sizeof(*at)), total = 0;
	struct av_ask ask = ask_of(16 * (parts + 2));
	u32 i;

	ask.stay = AV_REQUEST;
	for (i = 0; i < parts + 3 && total < 4UL << 20; i++) {
		at[i] = av_pool_get_slots(&w->pool, dice_below(dice, 4), &ask);
		REQUIRE(at[i] != AV_NO_BUFFER);
		/* The table, the header and the status, then data: much of it of the worst sizes. */
		ask.bytes = i < 2 ? 16 : most - (dice_below(dice, 3) ? 0 : dice_below(dice, most / 2));
		total += i < 2 ? 0 : ask.bytes;
	}
	while (i--)
		REQUIRE(!av_pool_put(&w->pool, at[i]));
	free(at);
}

/* Whatever else is in the pool, and wherever the last one ended. */
static void the_largest_request_fits(void)
{
	static const u32 parts[] = { 1, 16, 126, 254 };
	struct dice dice = dice_of(5);
	u32 mode, cpus, i, n, most, tried = 0;

	for (mode = 0; mode < AV_MODES; mode++) {
		for (cpus = 1; cpus <= 4; cpus += 3) {
			struct world *w = world_new(mode, WORLD_BYTES, cpus);

			CHECK(fill(w, 2048, AV_WAITS) && fill(w, 65536, AV_SENT));
			CHECK(!fill(w, 2048, AV_WAITS));
			for (i = 0; i < ARRAY_SIZE(parts); i++) {
				most = av_plan_max_mapping(&w->pool.plan, parts[i]);
				for (n = 0; most && n < 50; n++, tried++)
					request(w, &dice, parts[i], most);
			}
			/* All of it was theirs, and no more than that. */
			CHECK_EQ(fill(w, 2048, AV_REQUEST) +
				 w->pool.slots.areas * av_slots_end(w->pool.slots.per_area, AV_SENT),
				 world_slots(w));
			world_free(w);
		}
	}
	CHECK(tried >= 1000);
}

/* With a cache before them, freed slots are reused at once; swiotlb continues round the area. */
static void slots_are_reused(void)
{
	u32 mode, i;

	for (mode = 0; mode < AV_MODES; mode++) {
		struct world *w = world_new(mode, WORLD_BYTES, 1);
		u64 first = get(w, 0, 20000), second = get(w, 0, 20000), again;

		REQUIRE(first != AV_NO_BUFFER && second > first);
		for (i = 0; i < 5; i++) {
			CHECK_EQ(av_pool_put(&w->pool, second), 0);
			again = get(w, 0, 20000);
			CHECK_EQ(again == second, mode >= AV_MODE_SPLIT_CACHE);
			second = again;
		}
		/* At the beginning of the run of free slots: both of these. */
		CHECK_EQ(av_pool_put(&w->pool, first), 0);
		CHECK_EQ(av_pool_put(&w->pool, second), 0);
		CHECK_EQ(get(w, 0, 20000) == first, mode >= AV_MODE_SPLIT_CACHE);
		world_free(w);
	}
}

static void the_least_pool(void)
{
	struct av_plan plan;
	u32 mode, parts;

	for (mode = 0; mode < AV_MODES; mode++) {
		for (parts = 1; parts <= 16382; parts = parts * 2 + 1) {
			u64 least = av_plan_least(mode, 2, parts);

			CHECK(least && !av_plan_make(&plan, mode, least, 2) &&
			      av_plan_max_mapping(&plan, parts) >= 4096);
			CHECK(av_plan_make(&plan, mode, least - AV_SEGMENT_BYTES, 2) ||
			      !av_plan_max_mapping(&plan, parts));
		}
		/* Even a table of that many cannot be mapped. */
		CHECK_EQ(av_plan_least(mode, 2, 16383), 0);
		CHECK_EQ(av_plan_least(mode, 2, ~0U), 0);
	}
}

static void sizes_that_cannot_be(void)
{
	struct world *w = world_new(AV_MODE_SPLIT_CACHE, WORLD_BYTES, 2);
	struct av_ask ask = ask_of(0);

	CHECK_EQ(av_pool_get(&w->pool, 0, &ask), AV_NO_BUFFER);
	ask.bytes = AV_SEGMENT_BYTES + 1;
	CHECK_EQ(av_pool_get(&w->pool, 0, &ask), AV_NO_BUFFER);
	ask.bytes = ~0U;
	CHECK_EQ(av_pool_get(&w->pool, 0, &ask), AV_NO_BUFFER);
	ask = ask_of(16);
	ask.align = 0;
	CHECK_EQ(av_pool_get(&w->pool, 0, &ask), AV_NO_BUFFER);
	ask.align = 48;
	CHECK_EQ(av_pool_get_slots(&w->pool, 0, &ask), AV_NO_BUFFER);
	ask.align = 2 * AV_SEGMENT_BYTES;
	CHECK_EQ(av_pool_get(&w->pool, 0, &ask), AV_NO_BUFFER);
	ask.align = AV_SEGMENT_BYTES;
	CHECK(IS_ALIGNED(av_pool_get(&w->pool, 0, &ask), AV_SEGMENT_BYTES));
	CHECK(get(w, 0, AV_SEGMENT_BYTES) != AV_NO_BUFFER);
	world_free(w);
}

/* The own list, then another CPU's, then the pool; each buffer returns to its origin. */
static void lists_then_others_then_slots(void)
{
	struct world *w = world_new(AV_MODE_SPLIT_CACHE, WORLD_BYTES, 2);
	const u32 each = BIT(w->pool.cache.log), order = 11;
	struct av_list *own = &w->pool.cache.list[order];
	struct av_list *other = &w->pool.cache.list[AV_CACHE_ORDERS + order];
	u64 first = get(w, 0, 1500), from_slots;
	u32 i;

	for (i = 1; i < 2 * each; i++)
		CHECK(get(w, 0, 1500) < w->pool.plan.cache_bytes);
	CHECK_EQ(own->hits, each);
	CHECK_EQ(own->misses, each);
	CHECK_EQ(other->lent, each);
	CHECK_EQ(other->hits, 0);
	CHECK_EQ(own->least, 0);
	from_slots = get(w, 0, 1500);
	CHECK(from_slots >= w->pool.plan.cache_bytes && from_slots != AV_NO_BUFFER);
	CHECK_EQ(w->pool.slots.area[0].used, 1);
	CHECK_EQ(w->pool.slots.area[0].got[order], 1);

	CHECK_EQ(av_pool_put(&w->pool, from_slots), 0);
	CHECK_EQ(w->pool.slots.area[0].used, 0);
	CHECK_EQ(own->free, 0);
	CHECK_EQ(av_pool_put(&w->pool, first), 0);
	CHECK_EQ(own->free, 1);
	CHECK_EQ(get(w, 1, 2048), first);
	CHECK_EQ(own->lent, 1);
	world_free(w);
}

/* The requests of a class: sizes above half of its buffers' up to theirs, or alignments. */
static void classes(void)
{
	u32 order;

	for (order = 0; order < AV_CACHE_ORDERS; order++) {
		struct world *w = world_new(AV_MODE_HYBRID, WORLD_BYTES, 1);
		struct av_ask aligned = ask_of(1);

		CHECK(IS_ALIGNED(get(w, 0, BIT(order)), BIT(order)));
		CHECK(get(w, 0, order ? BIT(order - 1) + 1 : 1) < w->pool.plan.cache_bytes);
		aligned.align = BIT(order);
		CHECK(IS_ALIGNED(av_pool_get(&w->pool, 0, &aligned), BIT(order)));
		CHECK_EQ(w->pool.cache.list[order].hits, 3);
		CHECK(get(w, 0, AV_CACHE_MAX_BYTES + 1) >= w->pool.plan.cache_bytes);
		world_free(w);
	}
}

static void areas_help_each_other(void)
{
	struct world *w = world_new(AV_MODE_AREAS, WORLD_BYTES, 4);
	u32 segments = WORLD_BYTES / AV_SEGMENT_BYTES, i;

	for (i = 0; i < segments; i++)
		CHECK(get(w, 2, AV_SEGMENT_BYTES) != AV_NO_BUFFER);
	CHECK_EQ(get(w, 2, AV_SEGMENT_BYTES), AV_NO_BUFFER);
	CHECK_EQ(get(w, 1, 1), AV_NO_BUFFER);
	for (i = 0; i < 4; i++) {
		CHECK_EQ(w->pool.slots.area[i].used, w->pool.slots.per_area);
		CHECK_EQ(w->pool.slots.area[i].most, w->pool.slots.per_area);
	}
	CHECK_EQ(av_pool_owned(&w->pool, 1), segments);
	CHECK_EQ(av_pool_owned(&w->pool, 2), 0);
	for (i = 0; i < segments; i++)
		CHECK_EQ(av_pool_put(&w->pool, (u64)i * AV_SEGMENT_BYTES), 0);
	CHECK_EQ(av_pool_owned(&w->pool, 1), 0);
	world_free(w);
}

/* Swiotlb's search: from where the last one ended, slot by slot. */
static void a_search_looks_at_each_slot(void)
{
	struct world *w = world_new(AV_MODE_SLOTS, WORLD_BYTES, 4);
	u32 slots = WORLD_BYTES / AV_SLOT_BYTES, i;

	CHECK_EQ(w->pool.slots.areas, 1);
	for (i = 0; i < slots; i++)
		CHECK_EQ(get(w, i, 1), (u64)i * AV_SLOT_BYTES);
	CHECK_EQ(w->pool.slots.area[0].looked, slots);
	/* The last slot only: all others are looked at first. */
	CHECK_EQ(av_pool_put(&w->pool, (u64)(slots - 1) * AV_SLOT_BYTES), 0);
	CHECK_EQ(get(w, 0, 2), (u64)(slots - 1) * AV_SLOT_BYTES);
	CHECK_EQ(w->pool.slots.area[0].looked, 2 * slots);
	CHECK_EQ(get(w, 0, 2), AV_NO_BUFFER);
	CHECK_EQ(w->pool.slots.area[0].failed, 1);
	world_free(w);
}

static void freed_twice_or_from_the_middle(void)
{
	struct world *w = world_new(AV_MODE_SPLIT_CACHE, WORLD_BYTES, 1);
	struct av_found found;
	u64 small = get(w, 0, 3000), large = get(w, 0, 9000);

	CHECK_EQ(av_pool_put(&w->pool, small + 1), -EINVAL);
	CHECK_EQ(av_pool_put(&w->pool, large + 1), -EINVAL);
	CHECK_EQ(av_pool_put(&w->pool, large + AV_SLOT_BYTES), -EINVAL);
	CHECK_EQ(av_pool_find(&w->pool, large + 8999, &found), 0);
	CHECK_EQ(found.left, 1);
	CHECK_EQ(found.begin, large);
	CHECK_EQ(found.owner, 1);
	CHECK_EQ(found.orig, 0x40000000 + 8999);
	CHECK_EQ(av_pool_find(&w->pool, large + 9000, &found), -ENOENT);
	CHECK_EQ(av_pool_find(&w->pool, small + 3000, &found), -ENOENT);
	CHECK_EQ(av_pool_find(&w->pool, large, &found), 0);
	CHECK_EQ(av_pool_put_found(&w->pool, &found), 0);
	CHECK_EQ(av_pool_put_found(&w->pool, &found), -ENOENT);
	CHECK_EQ(av_pool_put(&w->pool, large), -ENOENT);
	CHECK_EQ(av_pool_find(&w->pool, small, &found), 0);
	CHECK_EQ(av_pool_put_found(&w->pool, &found), 0);
	CHECK_EQ(av_pool_put_found(&w->pool, &found), -ENOENT);
	CHECK_EQ(av_pool_put(&w->pool, small), -ENOENT);
	small = get(w, 0, 3000);
	large = get(w, 0, 9000);
	CHECK_EQ(av_pool_put(&w->pool, small), 0);
	CHECK_EQ(av_pool_put(&w->pool, small), -ENOENT);
	CHECK_EQ(av_pool_put(&w->pool, large), 0);
	CHECK_EQ(av_pool_put(&w->pool, large), -ENOENT);
	CHECK_EQ(av_pool_put(&w->pool, large + AV_SLOT_BYTES), -ENOENT);
	CHECK_EQ(av_pool_put(&w->pool, w->pool.plan.bytes), -EINVAL);
	CHECK_EQ(av_pool_put(&w->pool, ~0ULL), -EINVAL);
	CHECK_EQ(av_pool_find(&w->pool, w->pool.plan.bytes, &found), -ENOENT);
	CHECK_EQ(av_pool_find(&w->pool, ~0ULL, &found), -ENOENT);
	world_free(w);
}

/* Coherent buffers stand for no memory, at any offset, and never come from the cache. */
static void coherent_buffers(void)
{
	struct world *w = world_new(AV_MODE_SPLIT_CACHE, WORLD_BYTES, 1);
	struct av_ask ask = { .orig = AV_NO_ORIG, .bytes = 20000, .align = 4096, .owner = 3 };
	struct av_found found;
	u64 offset = av_pool_get_slots(&w->pool, 0, &ask);

	CHECK(offset >= w->pool.plan.cache_bytes && IS_ALIGNED(offset, 4096));
	CHECK_EQ(av_pool_find(&w->pool, offset + 5000, &found), 0);
	CHECK_EQ(found.orig, AV_NO_ORIG);
	ask.bytes = 100;
	CHECK(av_pool_get_slots(&w->pool, 0, &ask) >= w->pool.plan.cache_bytes);
	CHECK_EQ(av_pool_owned(&w->pool, 3), 2);
	world_free(w);
}

/* A driver's leftovers, in lists and slots; not another driver's, not coherent or free ones. */
static void what_a_driver_left(void)
{
	static const u32 sizes[] = { 1, 64, 4096, 5000, 70000, AV_SEGMENT_BYTES };
	struct world *w = world_new(AV_MODE_SPLIT_CACHE, WORLD_BYTES, 2);
	struct av_ask other = { .orig = 0x50000000, .bytes = 5000, .align = 1, .owner = 2 };
	struct av_ask coherent = { .orig = AV_NO_ORIG, .bytes = 8192, .align = 4096, .owner = 1 };
	u64 kept = av_pool_get(&w->pool, 0, &other), ring = av_pool_get_slots(&w->pool, 0, &coherent);
	u32 used = w->pool.slots.area[0].used, round, i;
	struct av_found found;
	u64 offset;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			CHECK(get(w, 0, sizes[i]) != AV_NO_BUFFER);
			offset = get(w, 1, sizes[i]);
			CHECK(offset != AV_NO_BUFFER);
		}
		CHECK_EQ(av_pool_owned(&w->pool, 1), 2 * ARRAY_SIZE(sizes) + 1);
		CHECK_EQ(av_pool_reclaim(&w->pool, 1), 2 * ARRAY_SIZE(sizes));
		CHECK_EQ(av_pool_owned(&w->pool, 1), 1);
		CHECK_EQ(av_pool_put(&w->pool, offset), -ENOENT);
		CHECK_EQ(av_pool_reclaim(&w->pool, 1), 0);
		CHECK_EQ(w->pool.slots.area[0].used, used);
		CHECK_EQ(w->pool.slots.area[1].used, 0);
		for (i = 0; i < AV_CACHE_ORDERS; i++)
			CHECK_EQ(world_cached(w, i), 0);
	}
	CHECK_EQ(av_pool_find(&w->pool, kept, &found), 0);
	CHECK_EQ(found.left, 5000);
	CHECK_EQ(av_pool_put(&w->pool, ring), 0);
	CHECK_EQ(av_pool_put(&w->pool, kept), 0);
	world_free(w);
}

int main(void)
{
	RUN(modes_have_names);
	RUN(plans);
	RUN(the_largest_request_fits);
	RUN(slots_are_reused);
	RUN(the_least_pool);
	RUN(sizes_that_cannot_be);
	RUN(lists_then_others_then_slots);
	RUN(classes);
	RUN(areas_help_each_other);
	RUN(a_search_looks_at_each_slot);
	RUN(freed_twice_or_from_the_middle);
	RUN(coherent_buffers);
	RUN(what_a_driver_left);
	return TESTS_DONE();
}
