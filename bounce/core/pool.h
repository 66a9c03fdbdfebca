/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pool of bounce buffers in one of four modes:
 *
 *   slots        slots of 2 KiB in one area with one lock, as plain swiotlb
 *   areas        the same, an area a CPU, as swiotlb since 6.0
 *   split-cache  before the areas a cache of small buffers (cache.h), the paper's SWIOTLB-opt
 *   hybrid       split-cache; whole pages are shared at run time instead (shares.h)
 *
 * Pure code: offsets in the pool, no memory of it. A buffer goes back to where it came
 * from, which its offset says: the cache is in front, the slots follow.
 */
#ifndef AV_CORE_POOL_H
#define AV_CORE_POOL_H

#include "cache.h"
#include "slots.h"

/* A search looks at one slot after the other with interrupts off: at 131072 at most. */
#define AV_POOL_MOST	(256ULL << 20)

enum av_mode {
	AV_MODE_SLOTS,
	AV_MODE_AREAS,
	AV_MODE_SPLIT_CACHE,
	AV_MODE_HYBRID,
	AV_MODES,
};

extern const char *const av_mode_names[AV_MODES];

/* What a pool of so many bytes for so many CPUs is made of. */
struct av_plan {
	enum av_mode mode;
	u32 areas;		/* a power of two */
	u32 per_area;		/* slots */
	u32 log;		/* buffers in a list of the cache: 2^log */
	u64 cache_bytes;	/* at the front of the pool, whole segments; 0: no cache */
	u64 bytes;		/* of the pool that are used: whole segments */
};

struct av_pool {
	struct av_plan plan;
	struct av_slots slots;
	struct av_cache cache;
};

/* The mode's number, or -EINVAL. */
int av_mode_of(const char *name);

/* 0, or -ENOSPC: bytes are fewer than a segment (slots), or two (others). */
int av_plan_make(struct av_plan *plan, enum av_mode mode, u64 bytes, u32 cpus);

/*
 * The most that a disk may map at once, a power of two, if its requests have up to `count` parts:
 * so much that the largest request fits into what only disks' may have (slots.h), once those
 * before it are done. 0: the pool is too small even for parts of a page.
 */
u32 av_plan_max_mapping(const struct av_plan *plan, u32 count);

/* The fewest bytes of a pool in which that is not 0; 0: AV_POOL_MOST are too few. */
u64 av_plan_least(enum av_mode mode, u32 cpus, u32 count);

/* Bytes of metadata that av_pool_init() is to be given. */
size_t av_pool_meta_bytes(const struct av_plan *plan);

/* meta: that many bytes, zero, aligned to 64. */
void av_pool_init(struct av_pool *pool, const struct av_plan *plan, void *meta);

/* As av_slots_get(): never from the cache, for buffers that stay. */
u64 av_pool_get_slots(struct av_pool *pool, u32 cpu, const struct av_ask *ask);

/*
 * A buffer's offset, or AV_NO_BUFFER: nothing is free that is large enough, or the ask has
 * no size that a segment can hold. Buffers of a page and more are aligned to pages, as
 * swiotlb's are. In any context. Inline, as the next two: each is asked for every mapping.
 */
static inline u64 av_pool_get(struct av_pool *pool, u32 cpu, const struct av_ask *ask)
{
	u64 offset = AV_NO_BUFFER;

	if (pool->cache.areas && ask->bytes && ask->bytes <= AV_CACHE_MAX_BYTES && ask->align &&
	    !(ask->align & (ask->align - 1)))
		offset = av_cache_get(&pool->cache, cpu, ask);
	return offset != AV_NO_BUFFER ? offset : av_pool_get_slots(pool, cpu, ask);
}

/* 0, or -ENOENT if no mapping is at this offset. */
static inline int av_pool_find(const struct av_pool *pool, u64 offset, struct av_found *found)
{
	u64 front = pool->plan.cache_bytes;
	int ret;

	if (offset < front)
		return av_cache_find(&pool->cache, offset, found);
	ret = av_slots_find(&pool->slots, offset - front, found);
	if (!ret)
		found->begin += front;
	return ret;
}

/* 0; -ENOENT: free already; -EINVAL: no buffer begins there. */
static inline int av_pool_put(struct av_pool *pool, u64 offset)
{
	u64 front = pool->plan.cache_bytes;

	if (offset < front)
		return av_cache_put(&pool->cache, offset);
	return av_slots_put(&pool->slots, offset - front);
}

/* The same of what av_pool_find() found at the buffer's beginning. */
static inline int av_pool_put_found(struct av_pool *pool, const struct av_found *found)
{
	if (found->list)
		return av_cache_put_found(&pool->cache, found);
	return av_slots_put(&pool->slots, found->begin - pool->plan.cache_bytes);
}

/* Buffers given since the beginning, and those of them that are in use. */
struct av_use {
	u64 given, used;
};

struct av_use av_pool_use(const struct av_pool *pool);

/* How many buffers a device has. Slow. */
u64 av_pool_owned(struct av_pool *pool, u16 owner);

/* Mappings that a driver left when it went are free again: how many there were. Slow. */
u64 av_pool_reclaim(struct av_pool *pool, u16 owner);

#endif /* AV_CORE_POOL_H */
