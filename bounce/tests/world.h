/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A pool for tests, with a simple reference: the owner of each byte. Every buffer is compared with
 * it. IDs are from 1 on; 0 is nobody.
 */
#ifndef AV_TESTS_WORLD_H
#define AV_TESTS_WORLD_H

#include <stdlib.h>

#include "pool.h"
#include "require.h"

#define WORLD_BYTES	(4UL << 20)
#define WORLD_LIVE	60000
/* The address of the drivers' memory; each ID has a MiB. */
#define WORLD_ORIG(id)	(0x100000000ULL + ((u64)(id) << 20))

struct world_buffer {
	u64 offset;
	u32 bytes;
	u16 id;
};

struct world {
	struct av_pool pool;
	void *meta;
	u16 map[WORLD_BYTES];
	struct world_buffer live[WORLD_LIVE];
	u32 count;
	bool taken[WORLD_LIVE + 1];	/* IDs */
	u32 last;			/* the ID given last */
};

static inline struct world *world_new(enum av_mode mode, u64 bytes, u32 cpus)
{
	struct world *w = calloc(1, sizeof(*w));
	struct av_plan plan;
	size_t meta;

	REQUIRE(w && bytes <= WORLD_BYTES && !av_plan_make(&plan, mode, bytes, cpus));
	meta = av_pool_meta_bytes(&plan);
	w->meta = aligned_alloc(64, ALIGN(meta, 64));
	REQUIRE(w->meta);
	memset(w->meta, 0, meta);
	av_pool_init(&w->pool, &plan, w->meta);
	return w;
}

static inline void world_free(struct world *w)
{
	free(w->meta);
	free(w);
}

static inline u32 world_slots(const struct world *w)
{
	return w->pool.slots.areas * w->pool.slots.per_area;
}

/* Is there room for the ask among the slots, by the simplest search? */
static inline bool world_has_room(const struct world *w, const struct av_ask *ask)
{
	u32 need = (ask->bytes + AV_SLOT_BYTES - 1) / AV_SLOT_BYTES;
	u32 align = ask->bytes >= 4096 && ask->align < 4096 ? 4096 : ask->align;
	u32 stride = align > AV_SLOT_BYTES ? align / AV_SLOT_BYTES : 1;
	u32 per_area = w->pool.slots.per_area, at, i;

	for (at = 0; at + need <= world_slots(w); at += stride) {
		const u16 *map = &w->map[w->pool.plan.cache_bytes + (u64)at * AV_SLOT_BYTES];

		if (at / AV_SEGMENT_SLOTS != (at + need - 1) / AV_SEGMENT_SLOTS)
			continue;
		if (at % per_area + need > av_slots_end(per_area, ask->stay))
			continue;
		/* A slot that is in use has its first byte in use. */
		for (i = 0; i < need && !map[(u64)i * AV_SLOT_BYTES]; i++)
			;
		if (i == need)
			return true;
	}
	return false;
}

/* Buffers of the ask's class that are in use in the cache, of all CPUs. */
static inline u32 world_cached(const struct world *w, u32 order)
{
	u32 area, count = 0;

	for (area = 0; area < w->pool.cache.areas; area++)
		count += BIT(w->pool.cache.log) -
			 w->pool.cache.list[area * AV_CACHE_ORDERS + order].free;
	return count;
}

static inline u16 world_id(struct world *w)
{
	do {
		w->last = w->last % WORLD_LIVE + 1;
	} while (w->taken[w->last]);
	w->taken[w->last] = true;
	return w->last;
}

#endif /* AV_TESTS_WORLD_H */
