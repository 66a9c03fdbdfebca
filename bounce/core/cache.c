// SPDX-License-Identifier: GPL-2.0
/* The split cache: rules and layout in cache.h. */
#include "cache.h"

void av_cache_init(struct av_cache *cache, struct av_list *list, u16 *ring,
		   struct av_record *record, u32 areas, u32 log)
{
	u32 i, n;

	*cache = (struct av_cache){ .list = list, .areas = areas, .log = log };
	for (i = 0; i < areas * AV_CACHE_ORDERS; i++) {
		list[i].ring = ring + ((size_t)i << log);
		list[i].record = record + ((size_t)i << log);
		list[i].free = BIT(log);
		list[i].least = BIT(log);
		for (n = 0; n < BIT(log); n++)
			list[i].ring[n] = n;
		av_lock_init(&list[i].lock);
	}
}

static struct av_list *list_of(const struct av_cache *cache, u32 area, u32 order)
{
	return &cache->list[area * AV_CACHE_ORDERS + order];
}

/* The offset in the cache of a list's first buffer. */
static u64 base_of(const struct av_cache *cache, u32 area, u32 order)
{
	u64 before = BIT(AV_CACHE_AREA_SHIFT) - BIT(order + 1);

	return av_cache_bytes(area, cache->log) + (before << cache->log);
}

/* Take a buffer and return its number, or -1. own: the list is the calling CPU's. */
static __always_inline s32 pop(struct av_list *list, u32 log, bool own, const struct av_ask *ask)
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
static void push(struct av_list *list, u32 log, u32 number)
{
	list->record[number].left = 0;
	list->ring[(list->head + list->free) & (BIT(log) - 1)] = number;
	WRITE_ONCE(list->free, list->free + 1);
}

/* The CPU's own list is empty. */
static noinline u64 borrow(struct av_cache *cache, u32 cpu, u32 order, const struct av_ask *ask)
{
	u32 i;

	for (i = 1; i < cache->areas; i++) {
		u32 area = (cpu + i) & (cache->areas - 1);
		struct av_list *list = list_of(cache, area, order);
		s32 number;

		/* Skip empty lists without taking their lock. */
		if (!READ_ONCE(list->free))
			continue;
		number = pop(list, cache->log, false, ask);
		if (number >= 0)
			return base_of(cache, area, order) + ((u64)number << order);
	}
	return AV_NO_BUFFER;
}

u64 av_cache_get(struct av_cache *cache, u32 cpu, const struct av_ask *ask)
{
	u32 order = av_size_class(max(ask->bytes, ask->align));
	u32 area = cpu & (cache->areas - 1);
	s32 number;

	if (order >= AV_CACHE_ORDERS || !cache->areas)
		return AV_NO_BUFFER;
	number = pop(list_of(cache, area, order), cache->log, true, ask);
	if (number < 0)
		return borrow(cache, cpu, order, ask);
	return base_of(cache, area, order) + ((u64)number << order);
}

/* Where an offset is: a list, and a buffer's number in it. */
struct place {
	struct av_list *list;
	u64 begin;
	u32 number;
};

static __always_inline bool place_of(const struct av_cache *cache, u64 offset, struct place *place)
{
	u32 shift = AV_CACHE_AREA_SHIFT + cache->log;
	u64 area = offset >> shift, from_end = ~offset & (BIT(shift) - 1);
	u64 in_list;
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
	in_list = (offset & (BIT(shift) - 1)) - ((BIT(AV_CACHE_AREA_SHIFT) - BIT(order + 1)) << cache->log);
	place->number = in_list >> order;
	place->begin = offset - (in_list & (BIT(order) - 1));
	place->list = list_of(cache, area, order);
	return true;
}

int av_cache_find(const struct av_cache *cache, u64 offset, struct av_found *found)
{
	const struct av_record *record;
	struct place place;
	u32 within, left;

	if (!place_of(cache, offset, &place))
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

static int put(struct av_list *list, u32 log, u32 number)
{
	unsigned long flags = av_lock(&list->lock);
	int ret = 0;

	if (list->record[number].left)
		push(list, log, number);
	else
		ret = -ENOENT;
	av_unlock(&list->lock, flags);
	return ret;
}

int av_cache_put_found(struct av_cache *cache, const struct av_found *found)
{
	return put(found->list, cache->log, found->number);
}

int av_cache_put(struct av_cache *cache, u64 offset)
{
	struct place place;

	if (!place_of(cache, offset, &place) || offset != place.begin)
		return -EINVAL;
	return put(place.list, cache->log, place.number);
}

u64 av_cache_owned(struct av_cache *cache, u16 owner)
{
	u64 owned = 0;
	u32 i, n;

	for (i = 0; i < cache->areas * AV_CACHE_ORDERS; i++) {
		struct av_list *list = &cache->list[i];
		unsigned long flags = av_lock(&list->lock);

		for (n = 0; n < BIT(cache->log); n++)
			owned += list->record[n].left && list->record[n].owner == owner;
		av_unlock(&list->lock, flags);
	}
	return owned;
}

u64 av_cache_reclaim(struct av_cache *cache, u16 owner)
{
	u64 reclaimed = 0;
	u32 i, n;

	for (i = 0; i < cache->areas * AV_CACHE_ORDERS; i++) {
		struct av_list *list = &cache->list[i];
		unsigned long flags = av_lock(&list->lock);

		for (n = 0; n < BIT(cache->log); n++) {
			const struct av_record *record = &list->record[n];

			if (!record->left || record->owner != owner || record->orig == AV_NO_ORIG)
				continue;
			push(list, cache->log, n);
			reclaimed++;
		}
		av_unlock(&list->lock, flags);
	}
	return reclaimed;
}
