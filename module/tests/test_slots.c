// SPDX-License-Identifier: GPL-2.0
/* Memory slots: KVM's answers, and lookups against a plain scan. */
#include <stdlib.h>

#include "check.h"
#include "mmu/slots.h"

#define IPA_BITS	40

static struct av_slots *slots;

static struct av_slots *empty(u32 room)
{
	struct av_slots *set = calloc(1, sizeof(*slots) + 2 * room * sizeof(struct av_slot *));

	set->room = room;
	return set;
}

static void replace(struct av_slot *drop, struct av_slot *add)
{
	struct av_slots *next = empty(slots->nr + 1);

	av_slots_replace(slots, drop, add, next);
	free(slots);
	free(drop);
	slots = next;
}

static struct av_slot *add(u32 id, u64 gpa, u64 size, u64 hva, u32 flags)
{
	struct av_slot *slot = calloc(1, sizeof(*slot));

	slot->id = id;
	slot->base_gfn = gpa >> 12;
	slot->npages = size >> 12;
	slot->hva = hva;
	slot->flags = flags;
	replace(NULL, slot);
	return slot;
}

static void move(struct av_slot *slot, u64 gpa)
{
	struct av_slot *moved = calloc(1, sizeof(*moved));

	*moved = *slot;
	moved->base_gfn = gpa >> 12;
	replace(slot, moved);
}

static void clear(void)
{
	u32 i;

	for (i = 0; slots && i < slots->nr; i++)
		free(slots->slot[i]);
	free(slots);
	slots = empty(0);
}

static enum av_slot_change change;
static struct av_slot *old;

static int check(u32 id, u32 flags, u64 gpa, u64 size, u64 hva)
{
	struct av_region req = { .slot = id, .flags = flags, .gpa = gpa, .size = size,
				 .hva = hva };

	return av_slot_check(slots, &req, IPA_BITS, &change, &old);
}

static void test_numbers(void)
{
	clear();
	CHECK_EQ(check(0, 0, 0, 0x1000, 0x10000), 0);
	CHECK_EQ(change, AV_SLOT_CREATE);
	CHECK_EQ(check(0, 1, 0, 0x1000, 0x10000), 0);
	CHECK_EQ(check(0, 3, 0, 0x1000, 0x10000), 0);
	CHECK_EQ(check(0, 4, 0, 0x1000, 0x10000), -EINVAL);
	CHECK_EQ(check(0, ~0U, 0, 0x1000, 0x10000), -EINVAL);
	CHECK_EQ(check(0, 0, 0x800, 0x1000, 0x10000), -EINVAL);
	CHECK_EQ(check(0, 0, 0, 0x1001, 0x10000), -EINVAL);
	CHECK_EQ(check(0, 0, 0, 0x1000, 0x10008), -EINVAL);
	CHECK_EQ(check(AV_SLOTS_MAX - 1, 0, 0, 0x1000, 0x10000), 0);
	CHECK_EQ(check(AV_SLOTS_MAX, 0, 0, 0x1000, 0x10000), -EINVAL);
	CHECK_EQ(check(0x10000, 0, 0, 0x1000, 0x10000), -EINVAL);
	CHECK_EQ(check(0, 0, ~0xfffULL, 0x2000, 0x10000), -EINVAL);
	CHECK_EQ(check(0, 0, 0, (AV_SLOT_PAGES_MAX + 1) << 12, 0), -EINVAL);
	/* Deleting nothing. */
	CHECK_EQ(check(0, 0, 0, 0, 0), -EINVAL);
	/* The end of the guest's physical addresses. */
	CHECK_EQ(check(0, 0, (1ULL << IPA_BITS) - 0x1000, 0x1000, 0), 0);
	CHECK_EQ(check(0, 0, (1ULL << IPA_BITS) - 0x1000, 0x2000, 0), -EFAULT);
	CHECK_EQ(check(0, 0, 1ULL << IPA_BITS, 0x1000, 0), -EFAULT);
	clear();
}

static void test_modify(void)
{
	struct av_slot *slot;

	clear();
	slot = add(5, 0x40000000, 0x10000, 0x700000, 0);
	add(6, 0x50000000, 0x10000, 0x800000, AV_SLOT_READONLY);
	/* The same again. */
	CHECK_EQ(check(5, 0, 0x40000000, 0x10000, 0x700000), 0);
	CHECK_EQ(change, AV_SLOT_NOTHING);
	CHECK_EQ(check(5, 1, 0x40000000, 0x10000, 0x700000), 0);
	CHECK_EQ(change, AV_SLOT_FLAGS);
	CHECK(old == slot);
	/* Size, place in the VMM and read-only are for life. */
	CHECK_EQ(check(5, 0, 0x40000000, 0x11000, 0x700000), -EINVAL);
	CHECK_EQ(check(5, 0, 0x40000000, 0x10000, 0x701000), -EINVAL);
	CHECK_EQ(check(5, 2, 0x40000000, 0x10000, 0x700000), -EINVAL);
	CHECK_EQ(check(6, 0, 0x50000000, 0x10000, 0x800000), -EINVAL);
	/* Moving, onto itself too, not onto another. */
	CHECK_EQ(check(5, 0, 0x60000000, 0x10000, 0x700000), 0);
	CHECK_EQ(change, AV_SLOT_MOVE);
	CHECK_EQ(check(5, 0, 0x40001000, 0x10000, 0x700000), 0);
	CHECK_EQ(change, AV_SLOT_MOVE);
	CHECK_EQ(check(5, 0, 0x4fff8000, 0x10000, 0x700000), -EEXIST);
	CHECK_EQ(check(5, 0, 1ULL << IPA_BITS, 0x10000, 0x700000), -EFAULT);
	/* Creating over another: by a page at either end, inside, around. */
	CHECK_EQ(check(7, 0, 0x3fff1000, 0x10000, 0), -EEXIST);
	CHECK_EQ(check(7, 0, 0x3fff0000, 0x10000, 0), 0);
	CHECK_EQ(check(7, 0, 0x4000f000, 0x10000, 0), -EEXIST);
	CHECK_EQ(check(7, 0, 0x40010000, 0x10000, 0), 0);
	CHECK_EQ(check(7, 0, 0x40004000, 0x1000, 0), -EEXIST);
	CHECK_EQ(check(7, 0, 0, 0x80000000, 0), -EEXIST);
	/* Deleting: only the id and the alignment count. */
	CHECK_EQ(check(5, 0, 0x12345000, 0, 0), 0);
	CHECK_EQ(change, AV_SLOT_DELETE);
	CHECK(old == slot);
	CHECK_EQ(check(5, 0, 0x12345001, 0, 0), -EINVAL);
	replace(slot, NULL);
	CHECK_EQ(check(5, 0, 0, 0, 0), -EINVAL);
	CHECK_EQ(check(7, 0, 0x40004000, 0x1000, 0), 0);
	clear();
}

static struct av_slot *scan(u64 gfn)
{
	u32 i;

	for (i = 0; i < slots->nr; i++)
		if (gfn - slots->slot[i]->base_gfn < slots->slot[i]->npages)
			return slots->slot[i];
	return NULL;
}

static struct av_slot *scan_ids(u32 id)
{
	u32 i;

	for (i = 0; i < slots->nr; i++)
		if (slots->slot[i]->id == id)
			return slots->slot[i];
	return NULL;
}

static void test_lookup(void)
{
	u32 round, i, gfn;
	u64 pages;

	clear();
	srand(1);
	for (round = 0; round < 400; round++) {
		u32 id = rand() % 40;
		u64 gpa = (u64)(rand() % 512) << 12, size = (u64)(rand() % 20 + 1) << 12;

		if (rand() % 3 == 0)
			size = 0;
		if (!check(id, 0, gpa, size, 0)) {
			if (change == AV_SLOT_CREATE)
				add(id, gpa, size, 0, 0);
			else if (change == AV_SLOT_MOVE)
				move(old, gpa);
			else if (change == AV_SLOT_DELETE)
				replace(old, NULL);
		}
		pages = 0;
		for (i = 0; i < slots->nr; i++) {
			struct av_slot *slot = slots->slot[i];

			pages += slot->npages;
			CHECK(av_slot_by_id(slots, slot->id) == slot);
			CHECK(!i || slots->slot[slots->room + i - 1]->id <
			      slots->slot[slots->room + i]->id);
			CHECK(!i || slots->slot[i - 1]->base_gfn +
			      slots->slot[i - 1]->npages <= slot->base_gfn);
		}
		CHECK_EQ(slots->npages, pages);
		for (id = 0; id < 42; id++)
			CHECK(av_slot_by_id(slots, id) == scan_ids(id));
		for (gfn = 0; gfn < 540; gfn++)
			CHECK(av_slot_find(slots, gfn) == scan(gfn));
	}
	clear();
	free(slots);
}

int main(void)
{
	RUN(test_numbers);
	RUN(test_modify);
	RUN(test_lookup);
	return TESTS_DONE();
}
