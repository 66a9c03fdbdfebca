/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pool of bounce buffers, in one of four modes:
 *
 *   slots        slots of 2 KiB in one area with one lock, as in plain swiotlb
 *   areas        the same with one area per CPU, as in swiotlb since 6.0
 *   split-cache  areas, with a cache of small buffers in front (cache.h), the paper's SWIOTLB-opt
 *   hybrid       split-cache, and whole pages are shared at run time instead (shares.h)
 *
 * Pure code: offsets in the pool, not its memory. A buffer's offset says where it is returned to:
 * the cache is at the front, the slots follow.
 */
#ifndef AV_CORE_POOL_H
#define AV_CORE_POOL_H

#include "cache.h"
#include "slots.h"

/* Limits the slots that one search may visit with interrupts off to 131072. */
#define AV_POOL_MOST	(256ULL << 20)

enum av_mode {
	AV_MODE_SLOTS,
	AV_MODE_AREAS,
	AV_MODE_SPLIT_CACHE,
	AV_MODE_HYBRID,
	AV_MODES,
};

extern const char *const av_mode_names[AV_MODES];

/* How a pool of a given size is divided, for a given number of CPUs. */
struct av_plan {
	enum av_mode mode;
	u32 areas;		/* a power of two */
	u32 per_area;		/* slots of an area */
	u32 log;		/* each list of the cache has 2^log buffers */
	u64 cache_bytes;	/* size of the cache at the pool's front, whole segments; 0: none */
	u64 bytes;		/* the part of the pool that is used: whole segments */
};

struct av_pool {
	struct av_plan plan;
	struct av_slots slots;
	struct av_cache cache;
};

/* The number of the named mode, or -EINVAL. */
int av_mode_of(const char *name);

/* 0, or -ENOSPC: less than one segment (slots, areas) or two (others). */
int av_plan_make(struct av_plan *plan, enum av_mode mode, u64 bytes, u32 cpus);

/*
 * The limit of one mapping, a power of two, of a disk whose requests have up to `count` parts: the
 * largest request then fits into the slots that only disks may use (slots.h), once earlier ones are
 * done. 0: the pool is too small even for parts of a page.
 */
u32 av_plan_max_mapping(const struct av_plan *plan, u32 count);

/* The smallest pool in bytes for which that is not 0; 0: AV_POOL_MOST is too small. */
u64 av_plan_least(enum av_mode mode, u32 cpus, u32 count);

/* The size of the metadata that av_pool_init() needs. */
size_t av_pool_meta_bytes(const struct av_plan *plan);

/* meta: that many bytes, zeroed and aligned to 64. */
void av_pool_init(struct av_pool *pool, const struct av_plan *plan, void *meta);

/* As av_slots_get(): never from the cache. For long-lived buffers. */
u64 av_pool_get_slots(struct av_pool *pool, u32 cpu, const struct av_ask *ask);

/*
 * Returns a buffer's offset, or AV_NO_BUFFER if no free buffer is large enough or ask is invalid.
 * Buffers of at least a page are page-aligned, as in swiotlb. Any context. Inline, like the next
 * two functions, as each mapping calls them.
 */
static __always_inline u64 av_pool_get(struct av_pool *pool, u32 cpu, const struct av_ask *ask)
{
	u64 offset = AV_NO_BUFFER;

	if (pool->cache.areas && ask->bytes && ask->bytes <= AV_CACHE_MAX_BYTES && ask->align &&
	    !(ask->align & (ask->align - 1)))
		offset = av_cache_get(&pool->cache, cpu, ask);
	return offset != AV_NO_BUFFER ? offset : av_pool_get_slots(pool, cpu, ask);
}

/* Returns 0, or -ENOENT if no mapping is at this offset. */
static __always_inline int av_pool_find(const struct av_pool *pool, u64 offset,
					struct av_found *found)
{
	u64 front = pool->plan.cache_bytes;
	struct av_found apart;	/* *found stays in registers */
	int ret;

	if (offset < front)
		return av_cache_find(&pool->cache, offset, found);
	ret = av_slots_find(&pool->slots, offset - front, &apart);
	if (ret)
		return ret;
	*found = apart;
	found->begin += front;
	return 0;
}

/* Returns 0; -ENOENT: already free; -EINVAL: no buffer begins there. */
static inline int av_pool_put(struct av_pool *pool, u64 offset)
{
	u64 front = pool->plan.cache_bytes;

	if (offset < front)
		return av_cache_put(&pool->cache, offset);
	return av_slots_put(&pool->slots, offset - front);
}

/* The same for what av_pool_find() found at the buffer's first byte. */
static __always_inline int av_pool_put_found(struct av_pool *pool, const struct av_found *found)
{
	if (found->list)
		return av_cache_put_found(&pool->cache, found);
	return av_slots_put(&pool->slots, found->begin - pool->plan.cache_bytes);
}

/* The number of buffers ever given out, and of those now in use. */
struct av_use {
	u64 given, used;
};

struct av_use av_pool_use(const struct av_pool *pool);

/* The number of buffers that a device has. Slow. */
u64 av_pool_owned(struct av_pool *pool, u16 owner);

/* Free the mappings that a driver left behind. Returns their number. Slow. */
u64 av_pool_reclaim(struct av_pool *pool, u16 owner);

#endif /* AV_CORE_POOL_H */
