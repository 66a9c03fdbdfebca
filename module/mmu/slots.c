// SPDX-License-Identifier: GPL-2.0
/* Memory slots: KVM's rules in KVM's order, so that errnos agree. */
#include "mmu/slots.h"

#define PAGE_MASK_LOW	0xfffULL

/* The slots in the order of their ids. */
static struct av_slot *const *by_id(const struct av_slots *slots)
{
	return slots->slot + slots->room;
}

/* How many have a lower id. */
static u32 lower_ids(const struct av_slots *slots, u32 id)
{
	u32 lo = 0, hi = slots->nr;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (by_id(slots)[mid]->id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct av_slot *av_slot_by_id(const struct av_slots *slots, u32 id)
{
	u32 i = lower_ids(slots, id);

	return i < slots->nr && by_id(slots)[i]->id == id ? by_id(slots)[i] : NULL;
}

/* The first slot that ends after gfn. */
static u32 first_after(const struct av_slots *slots, u64 gfn)
{
	u32 lo = 0, hi = slots->nr;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		const struct av_slot *slot = slots->slot[mid];

		if (slot->base_gfn + slot->npages > gfn)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

struct av_slot *av_slot_find(const struct av_slots *slots, u64 gfn)
{
	u32 i = first_after(slots, gfn);

	if (i < slots->nr && slots->slot[i]->base_gfn <= gfn)
		return slots->slot[i];
	return NULL;
}

static bool overlaps(const struct av_slots *slots, const struct av_slot *but, u64 gfn, u64 npages)
{
	u32 i;

	for (i = first_after(slots, gfn); i < slots->nr; i++) {
		if (slots->slot[i]->base_gfn >= gfn + npages)
			return false;
		if (slots->slot[i] != but)
			return true;
	}
	return false;
}

static int check_numbers(const struct av_region *req)
{
	if (req->flags & ~(AV_SLOT_LOG_DIRTY | AV_SLOT_READONLY))
		return -EINVAL;
	if ((req->size | req->gpa | req->hva) & PAGE_MASK_LOW)
		return -EINVAL;
	/* One address space; its number is in the upper half of the id. */
	if (req->slot >= AV_SLOTS_MAX)
		return -EINVAL;
	if (req->gpa + req->size < req->gpa)
		return -EINVAL;
	if (req->size >> 12 > AV_SLOT_PAGES_MAX)
		return -EINVAL;
	return 0;
}

static int check_modify(const struct av_region *req, const struct av_slot *old,
			enum av_slot_change *change)
{
	if (req->hva != old->hva || req->size >> 12 != old->npages ||
	    (req->flags ^ old->flags) & AV_SLOT_READONLY)
		return -EINVAL;
	if (req->gpa >> 12 != old->base_gfn)
		*change = AV_SLOT_MOVE;
	else if (req->flags != old->flags)
		*change = AV_SLOT_FLAGS;
	else
		*change = AV_SLOT_NOTHING;
	return 0;
}

int av_slot_check(const struct av_slots *slots, const struct av_region *req, u8 ipa_bits,
		  enum av_slot_change *change, struct av_slot **old)
{
	int ret = check_numbers(req);

	if (ret)
		return ret;
	*old = av_slot_by_id(slots, req->slot);
	if (!req->size) {
		*change = AV_SLOT_DELETE;
		return *old ? 0 : -EINVAL;
	}
	*change = AV_SLOT_CREATE;
	if (*old)
		ret = check_modify(req, *old, change);
	if (ret || *change == AV_SLOT_NOTHING)
		return ret;
	if (*change != AV_SLOT_FLAGS &&
	    overlaps(slots, *old, req->gpa >> 12, req->size >> 12))
		return -EEXIST;
	if ((req->gpa + req->size - 1) >> ipa_bits)
		return -EFAULT;
	return 0;
}

static struct av_slot **append(struct av_slot **to, struct av_slot *const *from, u32 first,
			       u32 end)
{
	memcpy(to, from + first, (end - first) * sizeof(*to));
	return to + (end - first);
}

/* Copy one order: without the out'th, with add before the in'th; nr if there is none. */
static void copy_order(struct av_slot **to, struct av_slot *const *from, u32 nr, u32 out, u32 in,
		       struct av_slot *add)
{
	if (in > out) {
		to = append(to, from, 0, out);
		to = append(to, from, out + 1, in);
	} else {
		to = append(to, from, 0, in);
	}
	if (add)
		*to++ = add;
	if (in <= out)
		to = append(to, from, in, out);
	append(to, from, max(in, min(out + 1, nr)), nr);
}

void av_slots_replace(const struct av_slots *old, const struct av_slot *drop,
		      struct av_slot *add, struct av_slots *next)
{
	u32 out = drop ? first_after(old, drop->base_gfn) : old->nr;
	u32 in = add ? first_after(old, add->base_gfn) : old->nr;

	next->nr = old->nr - !!drop + !!add;
	next->npages = old->npages - (drop ? drop->npages : 0) + (add ? add->npages : 0);
	copy_order(next->slot, old->slot, old->nr, out, in, add);
	out = drop ? lower_ids(old, drop->id) : old->nr;
	in = add ? lower_ids(old, add->id) : old->nr;
	copy_order(next->slot + next->room, by_id(old), old->nr, out, in, add);
}
