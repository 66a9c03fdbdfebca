// SPDX-License-Identifier: GPL-2.0
/* Slots in areas: rules in slots.h. */
#include "slots.h"

void av_slots_init(struct av_slots *slots, struct av_slot *slot, struct av_area *area, u32 areas,
		   u32 per_area)
{
	u32 i;

	*slots = (struct av_slots){ .slot = slot, .area = area, .areas = areas, .per_area = per_area };
	for (i = 0; i < areas; i++)
		av_lock_init(&area[i].lock);
	for (i = 0; i < areas * per_area; i++)
		slot[i].free = AV_SEGMENT_SLOTS - i % AV_SEGMENT_SLOTS;
}

static u32 slots_of(u32 bytes)
{
	return (bytes + AV_SLOT_BYTES - 1) >> AV_SLOT_SHIFT;
}

/* Find the first run of `need` free slots before `end` at a multiple of `stride`, or per_area. */
static u32 search(const struct av_slots *slots, struct av_area *area, u32 need, u32 stride, u32 end)
{
	const struct av_slot *slot = slots->slot + (area - slots->area) * slots->per_area;
	u32 at = ALIGN(area->next, stride);
	u32 looked;

	for (looked = 0; looked < end; looked += stride) {
		if (at >= end)
			at = 0;
		area->looked++;
		if (slot[at].free >= need && need <= end - at)
			return at;
		at += stride;
	}
	return slots->per_area;
}

/* Mark the slots from `first` on as a buffer, and shorten the run of free slots before it. */
static void take(struct av_slot *slot, u32 first, u32 need, const struct av_ask *ask)
{
	u32 i;

	slot[first] = (struct av_slot){
		.orig = ask->orig, .bytes = ask->bytes, .owner = ask->owner, .access = ask->access,
	};
	for (i = 1; i < need; i++) {
		slot[first + i].free = 0;
		slot[first + i].before = i;
	}
	for (i = first; i % AV_SEGMENT_SLOTS && slot[i - 1].free; i--)
		slot[i - 1].free = first - (i - 1);
}

static u64 get_from(struct av_slots *slots, struct av_area *area, const struct av_ask *ask)
{
	u32 need = slots_of(ask->bytes), stride = max_t(u32, 1, ask->align >> AV_SLOT_SHIFT);
	u32 first = (area - slots->area) * slots->per_area;
	unsigned long flags = av_lock(&area->lock);
	u32 at = slots->per_area;

	if (need <= slots->per_area - area->used)
		at = search(slots, area, need, stride,
			    av_slots_end(slots->per_area, ask->stay));
	if (at == slots->per_area) {
		area->failed++;
		av_unlock(&area->lock, flags);
		return AV_NO_BUFFER;
	}
	take(slots->slot, first + at, need, ask);
	area->next = at + need == slots->per_area ? 0 : at + need;
	area->used += need;
	area->most = max(area->most, area->used);
	area->buffers++;
	area->got[av_size_class(ask->bytes)]++;
	av_unlock(&area->lock, flags);
	return (u64)(first + at) << AV_SLOT_SHIFT;
}

u64 av_slots_get(struct av_slots *slots, u32 cpu, const struct av_ask *ask)
{
	u64 offset;
	u32 i;

	for (i = 0; i < slots->areas; i++) {
		offset = get_from(slots, &slots->area[(cpu + i) & (slots->areas - 1)], ask);
		if (offset != AV_NO_BUFFER)
			return offset;
	}
	return AV_NO_BUFFER;
}

static const struct av_slot *slot_at(const struct av_slots *slots, u64 offset)
{
	u64 index = offset >> AV_SLOT_SHIFT, count = (u64)slots->areas * slots->per_area;

	return index < count ? &slots->slot[index] : NULL;
}

int av_slots_find(const struct av_slots *slots, u64 offset, struct av_found *found)
{
	const struct av_slot *slot = slot_at(slots, offset), *first;
	u32 before, within, bytes;

	if (!slot || READ_ONCE(slot->free))
		return -ENOENT;
	before = READ_ONCE(slot->before);
	first = slot - before;
	within = before * AV_SLOT_BYTES + (offset & (AV_SLOT_BYTES - 1));
	bytes = READ_ONCE(first->bytes);
	if (within >= bytes)
		return -ENOENT;
	*found = (struct av_found){
		.orig = first->orig == AV_NO_ORIG ? AV_NO_ORIG : first->orig + within,
		.begin = offset - within,
		.left = bytes - within,
		.owner = first->owner,
		.access = first->access,
	};
	return 0;
}

/* Free slots, merging them with adjacent free ones of the segment. Returns the first of the run. */
static u32 give(struct av_slot *slot, u32 first, u32 count)
{
	u32 end = first + count, run = 0, i;

	if (end % AV_SEGMENT_SLOTS)
		run = slot[end].free;
	for (i = end; i > first; i--)
		slot[i - 1].free = ++run;
	for (; i % AV_SEGMENT_SLOTS && slot[i - 1].free; i--)
		slot[i - 1].free = ++run;
	return i;
}

/* Free the buffer that begins at first. The area's lock is held. */
static void give_buffer(struct av_slots *slots, struct av_area *area, u32 first)
{
	u32 count = slots_of(slots->slot[first].bytes);

	/* From here on, a call without a mapping finds nothing. */
	WRITE_ONCE(slots->slot[first].bytes, 0);
	first = give(slots->slot, first, count);
	area->used -= count;
	area->buffers--;
	/* At the start of the run: taking from there leaves no free slots before it to renumber. */
	if (slots->reuse)
		area->next = first % slots->per_area;
}

int av_slots_put(struct av_slots *slots, u64 offset)
{
	const struct av_slot *slot = slot_at(slots, offset);
	struct av_area *area;
	unsigned long flags;
	int ret = 0;

	if (!slot || offset & (AV_SLOT_BYTES - 1))
		return -EINVAL;
	area = &slots->area[(offset >> AV_SLOT_SHIFT) / slots->per_area];
	flags = av_lock(&area->lock);
	if (slot->free)
		ret = -ENOENT;
	else if (slot->before)
		ret = -EINVAL;
	else
		give_buffer(slots, area, slot - slots->slot);
	av_unlock(&area->lock, flags);
	return ret;
}

u64 av_slots_owned(struct av_slots *slots, u16 owner)
{
	u32 at, i;
	u64 owned = 0;

	for (at = 0; at < slots->areas * slots->per_area; at += AV_SEGMENT_SLOTS) {
		struct av_area *area = &slots->area[at / slots->per_area];
		unsigned long flags = av_lock(&area->lock);

		for (i = at; i < at + AV_SEGMENT_SLOTS; i++) {
			const struct av_slot *slot = &slots->slot[i];

			owned += !slot->free && !slot->before && slot->owner == owner;
		}
		av_unlock(&area->lock, flags);
	}
	return owned;
}

u64 av_slots_reclaim(struct av_slots *slots, u16 owner)
{
	u32 at, i;
	u64 reclaimed = 0;

	for (at = 0; at < slots->areas * slots->per_area; at += AV_SEGMENT_SLOTS) {
		struct av_area *area = &slots->area[at / slots->per_area];
		unsigned long flags = av_lock(&area->lock);

		for (i = at; i < at + AV_SEGMENT_SLOTS; i++) {
			const struct av_slot *slot = &slots->slot[i];

			if (slot->free || slot->before || slot->owner != owner ||
			    slot->orig == AV_NO_ORIG)
				continue;
			give_buffer(slots, area, i);
			reclaimed++;
		}
		av_unlock(&area->lock, flags);
	}
	return reclaimed;
}
