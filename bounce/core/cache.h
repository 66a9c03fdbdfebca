/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The split cache of the paper's section 3 (SWIOTLB-opt): one area per CPU, each with 13 free lists
 * of buffers of 2^0 to 2^12 bytes, which are cut out of the pool beforehand. A list is a ring of
 * its free buffers' numbers, so that taking and returning a buffer take constant time. Each list
 * has its own lock.
 *
 * Pure code. Rules:
 * - Rings and records are private memory; the buffers, which the VMM sees, hold no metadata.
 * - A size is served from its own class only: first from the CPU's list, then from the other CPUs'.
 *   If all of them are empty, the pool's slots serve it (pool.h).
 * - One lock at a time, for a constant number of instructions, with interrupts off.
 *
 * Layout: an area has room for 2^log times 8192 bytes. The list of 2^12 comes first, then that of
 * 2^11 and so on, each with 2^log buffers. So each buffer is aligned to its size, and its list and
 * number can be computed from its offset.
 */
#ifndef AV_CORE_CACHE_H
#define AV_CORE_CACHE_H

#include "slots.h"

#define AV_CACHE_ORDERS		13
#define AV_CACHE_MAX_BYTES	BIT(AV_CACHE_ORDERS - 1)
#define AV_CACHE_MAX_LOG	12
#define AV_CACHE_AREA_SHIFT	AV_CACHE_ORDERS

struct av_record {
	u64 orig;
	u32 left;	/* bytes of the mapping; 0: free */
	u16 owner;
	u8 access;
};

struct av_list {
	struct av_lock lock;
	u32 head;	/* ring index of the next buffer to take */
	u32 free;	/* buffers in the ring; peeked at without the lock */
	u32 least;	/* the lowest value of free so far */
	u64 hits;	/* buffers taken by this area's CPU */
	u64 misses;	/* times that this area's CPU found the list empty */
	u64 lent;	/* buffers taken by other CPUs, whose own list was empty */
	u16 *ring;
	struct av_record *record;
} __aligned(64);

struct av_cache {
	struct av_list *list;	/* areas * AV_CACHE_ORDERS */
	u32 areas;		/* a power of two; 0: no cache */
	u32 log;		/* each list has 2^log buffers */
};

static inline u64 av_cache_bytes(u32 areas, u32 log)
{
	return (u64)areas << (AV_CACHE_AREA_SHIFT + log);
}

/* list has AV_CACHE_ORDERS * areas entries; ring and record have 2^log entries per list. */
void av_cache_init(struct av_cache *cache, struct av_list *list, u16 *ring,
		   struct av_record *record, u32 areas, u32 log);

/* Returns a buffer's offset in the cache, or AV_NO_BUFFER if all lists of its size are empty. */
u64 av_cache_get(struct av_cache *cache, u32 cpu, const struct av_ask *ask);

/* As their namesakes in slots.h. */
int av_cache_find(const struct av_cache *cache, u64 offset, struct av_found *found);
int av_cache_put(struct av_cache *cache, u64 offset);

/* Return a buffer that was found by its first byte, without looking it up again. */
int av_cache_put_found(struct av_cache *cache, const struct av_found *found);
u64 av_cache_owned(struct av_cache *cache, u16 owner);
u64 av_cache_reclaim(struct av_cache *cache, u16 owner);

#endif /* AV_CORE_CACHE_H */
