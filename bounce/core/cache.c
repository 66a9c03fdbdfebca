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

u64 av_cache_borrow(struct av_cache *cache, u32 cpu, u32 order, const struct av_ask *ask)
{
	u32 i;

	for (i = 1; i < cache->areas; i++) {
		u32 area = (cpu + i) & (cache->areas - 1);
		struct av_list *list = av_cache_list(cache, area, order);
		s32 number;

		/* Skip empty lists without taking their lock. */
		if (!READ_ONCE(list->free))
			continue;
		number = av_list_pop(list, cache->log, false, ask);
		if (number >= 0)
			return av_cache_base(cache, area, order) + ((u64)number << order);
	}
	return AV_NO_BUFFER;
}

int av_cache_put(struct av_cache *cache, u64 offset)
{
	struct av_place place;

	if (!av_cache_place(cache, offset, &place) || offset != place.begin)
		return -EINVAL;
	return av_list_put(place.list, cache->log, place.number);
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
			av_list_push(list, cache->log, n);
			reclaimed++;
		}
		av_unlock(&list->lock, flags);
	}
	return reclaimed;
}
