// SPDX-License-Identifier: GPL-2.0
/* The pool: modes and rules in pool.h. */
#include "pool.h"

/* Swiotlb aligns buffers of at least this size to it. */
#define PAGE_LIKE	4096

const char *const av_mode_names[AV_MODES] = {
	[AV_MODE_SLOTS] = "slots",
	[AV_MODE_AREAS] = "areas",
	[AV_MODE_SPLIT_CACHE] = "split-cache",
	[AV_MODE_HYBRID] = "hybrid",
};

int av_mode_of(const char *name)
{
	int mode;

	for (mode = 0; mode < AV_MODES; mode++) {
		if (!strcmp(name, av_mode_names[mode]))
			return mode;
	}
	return -EINVAL;
}

static bool has_cache(enum av_mode mode)
{
	return mode == AV_MODE_SPLIT_CACHE || mode == AV_MODE_HYBRID;
}

/* The smallest power of two that is not below n. */
static u32 power_above(u32 n)
{
	return n > 1 ? 1U << fls64(n - 1) : 1;
}

int av_plan_make(struct av_plan *plan, enum av_mode mode, u64 bytes, u32 cpus)
{
	u64 segments = min_t(u64, bytes, 1ULL << 40) >> AV_SEGMENT_SHIFT;
	u32 areas = mode == AV_MODE_SLOTS ? 1 : power_above(cpus);
	u64 cache = 0;
	u32 log = 0;

	if (segments < (has_cache(mode) ? 2 : 1))
		return -ENOSPC;
	/* Each area needs a segment of slots, and the cache gets at most half of the pool. */
	while (areas > segments / (has_cache(mode) ? 2 : 1))
		areas >>= 1;
	if (has_cache(mode)) {
		while (log < AV_CACHE_MAX_LOG &&
		       av_cache_bytes(areas, log + 1) <= (segments << AV_SEGMENT_SHIFT) / 2)
			log++;
		cache = ALIGN(av_cache_bytes(areas, log), AV_SEGMENT_BYTES);
	}
	segments = ((segments << AV_SEGMENT_SHIFT) - cache) / areas >> AV_SEGMENT_SHIFT;
	*plan = (struct av_plan){
		.mode = mode,
		.areas = areas,
		.per_area = segments * AV_SEGMENT_SLOTS,
		.log = log,
		.cache_bytes = cache,
		.bytes = cache + ((u64)areas * segments << AV_SEGMENT_SHIFT),
	};
	return 0;
}

/*
 * The block layer's default limit of a request is 1280 KiB, and 4 MiB since 6.16. Each of its parts
 * may end within a page.
 */
#define REQUEST_MOST	(4ULL << 20)

/* One descriptor per part, plus header and status. */
#define DESCRIPTOR	16
#define EXTRA_PARTS	2

/*
 * Does the largest request fit if each part has up to `most` bytes? In a free area buffers are
 * allocated one after the other, each page-aligned. Each segment wastes less than one buffer at its
 * end; the segment in which the search starts has two ends.
 */
static bool request_fits(const struct av_plan *plan, u32 most, u32 count)
{
	u32 shared = av_slots_end(plan->per_area, AV_SENT);
	u64 own = (u64)(plan->per_area - shared) << AV_SLOT_SHIFT;
	u64 ends = (own + AV_SEGMENT_BYTES - 1) / AV_SEGMENT_BYTES + 1;
	u64 table = ALIGN((u64)DESCRIPTOR * (count + EXTRA_PARTS), PAGE_LIKE);
	u64 data = min_t(u64, (u64)count * most, REQUEST_MOST + (u64)count * PAGE_LIKE);
	u64 waste = ends * (max_t(u64, most, table) - PAGE_LIKE);

	return table <= AV_SEGMENT_BYTES && waste < own &&
	       table + data + EXTRA_PARTS * PAGE_LIKE <= plan->areas * (own - waste);
}

u32 av_plan_max_mapping(const struct av_plan *plan, u32 count)
{
	u32 most = AV_SEGMENT_BYTES;

	while (most >= PAGE_LIKE && !request_fits(plan, most, count))
		most /= 2;
	return most >= PAGE_LIKE ? most : 0;
}

u64 av_plan_least(enum av_mode mode, u32 cpus, u32 count)
{
	struct av_plan plan;
	u64 bytes;

	for (bytes = AV_SEGMENT_BYTES; bytes <= AV_POOL_MOST; bytes += AV_SEGMENT_BYTES) {
		if (!av_plan_make(&plan, mode, bytes, cpus) && av_plan_max_mapping(&plan, count))
			return bytes;
	}
	return 0;
}

/* The offsets of the parts of the metadata, each aligned to 64, and of the end. */
struct parts {
	size_t slot, area, list, record, ring, end;
};

static size_t after(size_t *at, size_t bytes)
{
	size_t begin = *at;

	*at = ALIGN(begin + bytes, 64);
	return begin;
}

static struct parts parts_of(const struct av_plan *plan)
{
	size_t lists = plan->cache_bytes ? (size_t)plan->areas * AV_CACHE_ORDERS : 0;
	struct parts parts;
	size_t at = 0;

	parts.slot = after(&at, sizeof(struct av_slot) * plan->areas * plan->per_area);
	parts.area = after(&at, sizeof(struct av_area) * plan->areas);
	parts.list = after(&at, sizeof(struct av_list) * lists);
	parts.record = after(&at, sizeof(struct av_record) * (lists << plan->log));
	parts.ring = after(&at, sizeof(u16) * (lists << plan->log));
	parts.end = at;
	return parts;
}

size_t av_pool_meta_bytes(const struct av_plan *plan)
{
	return parts_of(plan).end;
}

void av_pool_init(struct av_pool *pool, const struct av_plan *plan, void *meta)
{
	struct parts parts = parts_of(plan);

	*pool = (struct av_pool){ .plan = *plan };
	av_slots_init(&pool->slots, meta + parts.slot, meta + parts.area, plan->areas,
		      plan->per_area);
	pool->slots.reuse = has_cache(plan->mode);
	if (plan->cache_bytes)
		av_cache_init(&pool->cache, meta + parts.list, meta + parts.ring,
			      meta + parts.record, plan->areas, plan->log);
}

static bool sensible(const struct av_ask *ask)
{
	return ask->bytes && ask->bytes <= AV_SEGMENT_BYTES && ask->align &&
	       ask->align <= AV_SEGMENT_BYTES && !(ask->align & (ask->align - 1));
}

u64 av_pool_get_slots(struct av_pool *pool, u32 cpu, const struct av_ask *ask)
{
	struct av_ask paged = *ask;
	u64 offset;

	if (!sensible(ask))
		return AV_NO_BUFFER;
	if (paged.bytes >= PAGE_LIKE)
		paged.align = max_t(u32, paged.align, PAGE_LIKE);
	offset = av_slots_get(&pool->slots, cpu, &paged);
	return offset == AV_NO_BUFFER ? offset : pool->plan.cache_bytes + offset;
}

struct av_use av_pool_use(const struct av_pool *pool)
{
	struct av_use use = {};
	u32 i, n;

	for (i = 0; i < pool->slots.areas; i++) {
		const struct av_area *area = &pool->slots.area[i];

		use.used += READ_ONCE(area->buffers);
		for (n = 0; n < AV_SIZE_CLASSES; n++)
			use.given += READ_ONCE(area->got[n]);
	}
	for (i = 0; i < pool->cache.areas * AV_CACHE_ORDERS; i++) {
		const struct av_list *list = &pool->cache.list[i];

		use.used += BIT(pool->cache.log) - READ_ONCE(list->free);
		use.given += READ_ONCE(list->hits) + READ_ONCE(list->lent);
	}
	return use;
}

u64 av_pool_owned(struct av_pool *pool, u16 owner)
{
	return av_slots_owned(&pool->slots, owner) + av_cache_owned(&pool->cache, owner);
}

u64 av_pool_reclaim(struct av_pool *pool, u16 owner)
{
	return av_slots_reclaim(&pool->slots, owner) + av_cache_reclaim(&pool->cache, owner);
}
