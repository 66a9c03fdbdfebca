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

/* ---- inline, as each mapping calls them ------------------------------------------------ */

static inline struct av_list *av_cache_list(const struct av_cache *cache, u32 area, u32 order)
{
	return &cache->list[area * AV_CACHE_ORDERS + order];
}

/* The offset in the cache of a list's first buffer. */
static inline u64 av_cache_base(const struct av_cache *cache, u32 area, u32 order)
{
	u64 before = BIT(AV_CACHE_AREA_SHIFT) - BIT(order + 1);

	return av_cache_bytes(area, cache->log) + (before << cache->log);
}

/* Take a buffer and return its number, or -1. own: the list is the calling CPU's. */
static __always_inline s32 av_list_pop(struct av_list *list, u32 log, bool own,
				       const struct av_ask *ask)
{
	unsigned long flags = av_lock(&list->lock);
	s32 number = -1;

	if (list->free) {
		number = list->ring[list->head];
		list->head = (list->head + 1) & (BIT(log) - 1);
		WRITE_ONCE(list->free, list->free - 1);
		list->least = min(list->least, list->free);
		list->record[number] = (struct av_record){
			.orig = ask->orig, .left = ask->bytes, .owner = ask->owner,
			.access = ask->access,
		};
		list->hits += own;
		list->lent += !own;
	} else {
		list->misses += own;
	}
	av_unlock(&list->lock, flags);
	return number;
}

/* Return a buffer that is in use to the list, whose lock is held. */
static inline void av_list_push(struct av_list *list, u32 log, u32 number)
{
	list->record[number].left = 0;
	list->ring[(list->head + list->free) & (BIT(log) - 1)] = number;
	WRITE_ONCE(list->free, list->free + 1);
}

/* The CPU's own list is empty: take a buffer from another CPU's list. */
u64 av_cache_borrow(struct av_cache *cache, u32 cpu, u32 order, const struct av_ask *ask);

/* Returns a buffer's offset in the cache, or AV_NO_BUFFER if all lists of its size are empty. */
static __always_inline u64 av_cache_get(struct av_cache *cache, u32 cpu, const struct av_ask *ask)
{
	u32 order = av_size_class(max(ask->bytes, ask->align));
	u32 area = cpu & (cache->areas - 1);
	s32 number;

	if (order >= AV_CACHE_ORDERS || !cache->areas)
		return AV_NO_BUFFER;
	number = av_list_pop(av_cache_list(cache, area, order), cache->log, true, ask);
	if (number < 0)
		return av_cache_borrow(cache, cpu, order, ask);
	return av_cache_base(cache, area, order) + ((u64)number << order);
}

/* Where an offset is: a list, and a buffer's number in it. */
struct av_place {
	struct av_list *list;
	u64 begin;
	u32 number;
};

static __always_inline bool av_cache_place(const struct av_cache *cache, u64 offset,
					   struct av_place *place)
{
	u32 shift = AV_CACHE_AREA_SHIFT + cache->log;
	u64 area = offset >> shift, from_end = ~offset & (BIT(shift) - 1);
	u64 before, in_list;
	u32 order;

	if (area >= cache->areas)
		return false;
	/*
	 * Sizes from the area's end: an unused part of 2^log bytes, then lists
	 * of 2^log, 2 * 2^log and so on.
	 */
	order = fls64(from_end >> cache->log);
	if (!order)
		return false;
	order--;
	before = (BIT(AV_CACHE_AREA_SHIFT) - BIT(order + 1)) << cache->log;
	in_list = (offset & (BIT(shift) - 1)) - before;
	place->number = in_list >> order;
	place->begin = offset - (in_list & (BIT(order) - 1));
	place->list = av_cache_list(cache, area, order);
	return true;
}

/* As its namesake in slots.h. */
static __always_inline int av_cache_find(const struct av_cache *cache, u64 offset,
					 struct av_found *found)
{
	const struct av_record *record;
	struct av_place place;
	u32 within, left;

	if (!av_cache_place(cache, offset, &place))
		return -ENOENT;
	record = &place.list->record[place.number];
	within = offset - place.begin;
	left = READ_ONCE(record->left);
	if (within >= left)
		return -ENOENT;
	*found = (struct av_found){
		.orig = record->orig == AV_NO_ORIG ? AV_NO_ORIG : record->orig + within,
		.begin = place.begin,
		.left = left - within,
		.owner = record->owner,
		.access = record->access,
		.list = place.list,
		.number = place.number,
	};
	return 0;
}

static __always_inline int av_list_put(struct av_list *list, u32 log, u32 number)
{
	unsigned long flags = av_lock(&list->lock);
	int ret = 0;

	if (list->record[number].left)
		av_list_push(list, log, number);
	else
		ret = -ENOENT;
	av_unlock(&list->lock, flags);
	return ret;
}

/* Return a buffer that was found by its first byte, without looking it up again. */
static __always_inline int av_cache_put_found(struct av_cache *cache, const struct av_found *found)
{
	return av_list_put(found->list, cache->log, found->number);
}

/* ---- the others ------------------------------------------------------------------------- */

/* As their namesakes in slots.h. */
int av_cache_put(struct av_cache *cache, u64 offset);
u64 av_cache_owned(struct av_cache *cache, u16 owner);
u64 av_cache_reclaim(struct av_cache *cache, u16 owner);

#endif /* AV_CORE_CACHE_H */
