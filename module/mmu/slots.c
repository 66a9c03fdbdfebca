// SPDX-License-Identifier: GPL-2.0
/* Memory slots: KVM's rules in KVM's order, so that errnos agree. */
#include "mmu/slots.h"

#define PAGE_MASK_LOW	0xfffULL

struct av_slot *av_slot_by_id(const struct av_slots *slots, u32 id)
{
	u32 i;

	for (i = 0; i < slots->nr; i++)
		if (slots->slot[i]->id == id)
			return slots->slot[i];
	return NULL;
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

void av_slots_replace(const struct av_slots *old, const struct av_slot *drop,
		      struct av_slot *add, struct av_slots *next)
{
	u32 i;

	next->nr = 0;
	next->npages = 0;
	for (i = 0; i < old->nr; i++) {
		struct av_slot *slot = old->slot[i];

		if (slot == drop)
			continue;
		if (add && add->base_gfn < slot->base_gfn) {
			next->slot[next->nr++] = add;
			next->npages += add->npages;
			add = NULL;
		}
		next->slot[next->nr++] = slot;
		next->npages += slot->npages;
	}
	if (add) {
		next->slot[next->nr++] = add;
		next->npages += add->npages;
	}
}
