// SPDX-License-Identifier: GPL-2.0
/* Memory slots: KVM's answers, and lookups against a plain scan. */
#include <stdlib.h>

#include "check.h"
#include "mmu/slots/slots.h"

#define IPA_BITS	40

static struct av_slots *slots;

static unsigned long nodes;		/* that there are */

static void free_node(struct av_slot_node *node)
{
	/* A reader of it would read this. */
	memset(node, 0x5a, sizeof(*node));
	free(node);
	nodes--;
}

/* As the kernel's side does it, but that the old set is still read until the end. */
static void replace(struct av_slot *drop, struct av_slot *add)
{
	static struct av_slot_edit edit;
	struct av_slots *next = calloc(1, sizeof(*next)), was = *slots;
	unsigned int need = av_slots_need(slots, drop, add);
	struct av_slot *gone;

	CHECK(need <= AV_SLOT_EDIT_MAX);
	for (edit.spares = 0; edit.spares < need; edit.spares++, nodes++)
		edit.spare[edit.spares] = malloc(sizeof(struct av_slot_node));
	av_slots_replace(slots, drop, add, next, &edit);
	CHECK(edit.spares <= need && edit.gone <= AV_SLOT_EDIT_MAX);
	/* The old set is as it was. */
	CHECK(!memcmp(&was, slots, sizeof(was)));
	if (drop)
		CHECK(av_slot_by_id(slots, drop->id) == drop &&
		      av_slot_find(slots, drop->base_gfn) == drop);
	gone = add ? av_slot_by_id(slots, add->id) : NULL;
	CHECK(!gone || gone == drop);
	while (edit.spares)
		free_node(edit.spare[--edit.spares]);
	while (edit.gone)
		free_node(edit.old[--edit.gone]);
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
	struct av_slot_node *node;
	unsigned int order;

	for (order = 0; slots && order < AV_NR_ORDERS; order++) {
		while ((node = av_slots_take_apart(slots, order))) {
			if (order == AV_BY_ID)
				free(node->slot);
			free_node(node);
		}
	}
	CHECK_EQ(nodes, 0);
	free(slots);
	slots = calloc(1, sizeof(*slots));
}

static u64 end_of(const struct av_slot *slot)
{
	return slot->hva + (slot->npages << 12);
}

static u64 key_of(const struct av_slot *slot, unsigned int order)
{
	switch (order) {
	case AV_BY_GFN:
		return slot->base_gfn;
	case AV_BY_ID:
		return slot->id;
	default:
		return slot->hva << 4 | slot->id;
	}
}

/* Balanced, in order, and each slot once: how many there are. */
static u32 look(const struct av_slot_node *n, unsigned int order, u64 low, u64 high, u8 *height)
{
	u64 key, top;
	u8 h[2];
	u32 nr;

	*height = 0;
	if (!n)
		return 0;
	key = key_of(n->slot, order);
	CHECK(key >= low && key <= high);
	CHECK_EQ(n->key, key);
	top = max(end_of(n->slot) - 1, n->kid[0] ? n->kid[0]->top : 0);
	CHECK_EQ(n->top, max(top, n->kid[1] ? n->kid[1]->top : 0));
	nr = 1 + (key ? look(n->kid[0], order, low, key - 1, &h[0]) : (h[0] = 0)) +
	     look(n->kid[1], order, key + 1, high, &h[1]);
	*height = 1 + max(h[0], h[1]);
	CHECK_EQ(n->height, *height);
	CHECK(max(h[0], h[1]) - min(h[0], h[1]) <= 1);
	CHECK(n->stamp <= slots->stamp);
	return nr;
}

static u32 with_hva(void)
{
	struct av_slot *slot;
	u32 n = 0;

	av_for_each_slot(slot, slots)
		n += !slot->gmem;
	return n;
}

static void look_all(void)
{
	u8 height;

	CHECK_EQ(look(slots->root[AV_BY_GFN], AV_BY_GFN, 0, ~0ULL, &height),
		 slots->nr);
	CHECK(height <= AV_SLOT_HEIGHT);
	CHECK_EQ(look(slots->root[AV_BY_ID], AV_BY_ID, 0, ~0ULL, &height),
		 slots->nr);
	CHECK_EQ(look(slots->root[AV_BY_HVA], AV_BY_HVA, 0, ~0ULL, &height),
		 with_hva());
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
	/* guest_memfd: neither logged nor read-only; its memory's address is anything. */
	CHECK_EQ(check(0, AV_SLOT_GMEM, 0, 0x1000, 0), 0);
	CHECK_EQ(check(0, AV_SLOT_GMEM | AV_SLOT_LOG_DIRTY, 0, 0x1000, 0), -EINVAL);
	CHECK_EQ(check(0, AV_SLOT_GMEM | AV_SLOT_READONLY, 0, 0x1000, 0), -EINVAL);
	CHECK_EQ(check(0, 8, 0, 0x1000, 0x10000), -EINVAL);
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
	/* One of a guest_memfd only goes, and none becomes one. */
	add(8, 0x20000000, 0x10000, 0x700000, AV_SLOT_GMEM);
	CHECK_EQ(check(8, AV_SLOT_GMEM, 0x20000000, 0x10000, 0x700000), -EINVAL);
	CHECK_EQ(check(8, AV_SLOT_GMEM, 0x20010000, 0x10000, 0x700000), -EINVAL);
	CHECK_EQ(check(8, 0, 0x20000000, 0x10000, 0x700000), -EINVAL);
	CHECK_EQ(check(8, 1, 0x20000000, 0x10000, 0x700000), -EINVAL);
	CHECK_EQ(check(5, AV_SLOT_GMEM, 0x40000000, 0x10000, 0x700000), -EINVAL);
	CHECK_EQ(check(8, 0, 0x20000000, 0, 0), 0);
	CHECK_EQ(change, AV_SLOT_DELETE);
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
	struct av_slot *slot;

	av_for_each_slot(slot, slots)
		if (gfn - slot->base_gfn < slot->npages)
			return slot;
	return NULL;
}

static struct av_slot *scan_ids(u32 id)
{
	struct av_slot *slot;

	av_for_each_slot(slot, slots)
		if (slot->id == id)
			return slot;
	return NULL;
}

static void test_lookup(void)
{
	struct av_slot *slot;
	u32 round, gfn, nr;
	u64 pages, last;

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
		nr = 0;
		last = 0;
		av_for_each_slot(slot, slots) {
			pages += slot->npages;
			nr++;
			CHECK(av_slot_by_id(slots, slot->id) == slot);
			CHECK(slot->base_gfn >= last);
			last = slot->base_gfn + slot->npages;
		}
		CHECK_EQ(nr, slots->nr);
		look_all();
		CHECK_EQ(slots->npages, pages);
		for (id = 0; id < 42; id++)
			CHECK(av_slot_by_id(slots, id) == scan_ids(id));
		for (gfn = 0; gfn < 540; gfn++)
			CHECK(av_slot_find(slots, gfn) == scan(gfn));
	}
	clear();
}

/* A walk of a range of the VMM's addresses: each slot there once, in order, and no other. */
static void walk_hva(u64 start, u64 end)
{
	struct av_hva_walk w;
	struct av_slot *slot;
	bool behind = false;
	u32 nr = 0, visited = 0;
	u64 last = 0;

	av_hva_begin(&w, slots, start, end);
	while ((slot = av_hva_next(&w))) {
		CHECK(w.visited <= 2U * slots->root[AV_BY_HVA]->height);
		visited += w.visited;
		w.visited = 0;
		CHECK(!slot->gmem && slot->hva < end && end_of(slot) > start);
		CHECK(!nr || key_of(slot, AV_BY_HVA) > last);
		last = key_of(slot, AV_BY_HVA);
		nr++;
	}
	CHECK(!av_hva_next(&w));
	CHECK(visited >= nr);
	av_for_each_slot(slot, slots)
		if (!slot->gmem && end_of(slot) > start) {
			behind = true;
			nr -= slot->hva < end;
		}
	CHECK_EQ(nr, 0);
	CHECK_EQ(av_hva_may_have(slots, start), behind);
}

static void walk_all(void)
{
	u64 page;

	for (page = 0; page < 70; page++) {
		walk_hva(page << 12, (page + 1) << 12);
		walk_hva((page << 12) + 0xfff, (page << 12) + 0x1000);
		walk_hva(page << 12, (page + 1 + rand() % 8) << 12);
	}
	walk_hva(0, 1);
	walk_hva(0, ~0ULL);
	walk_hva(0x5000, 1ULL << 60);
	walk_hva(~0xfffULL, ~0ULL);
}

/* Slots lie on each other in the VMM as they like; those of a protected VM are nowhere there. */
static void test_hva(void)
{
	u32 round, id;

	clear();
	srand(2);
	walk_all();
	for (round = 0; round < 600; round++) {
		struct av_slot *slot = av_slot_by_id(slots, id = rand() % 48);

		if (slot && rand() % 4 == 0) {
			move(slot, (id + 64ULL * (1 + rand() % 8)) << 20);
		} else if (slot) {
			replace(slot, NULL);
		} else {
			u64 size = rand() % 5 ? 1 : 1 + rand() % 40;

			slot = calloc(1, sizeof(*slot));
			*slot = (struct av_slot) {
				.id = id, .base_gfn = (id + 1) << 8, .npages = size,
				.hva = (u64)(rand() % 3 ? rand() % 64 : 7) << 12,
				.gmem = rand() % 8 ? NULL : (struct av_gmem *)slots,
			};
			replace(NULL, slot);
		}
		look_all();
		walk_all();
	}
	clear();
}

/* The VMM's highest addresses, and a caller's "end of everything". */
static void test_hva_ends(void)
{
	const u64 top = 1ULL << 52;
	struct av_hva_walk w;
	struct av_slot *first, *last;

	clear();
	first = add(1, 0x1000, 0x1000, 0, 0);
	last = add(AV_SLOTS_MAX - 1, 0x100000, 0x2000, top - 0x2000, 0);
	av_hva_begin(&w, slots, 0, 0x1000);
	CHECK(av_hva_next(&w) == first && !av_hva_next(&w));
	av_hva_begin(&w, slots, top - 1, top);
	CHECK(av_hva_next(&w) == last && !av_hva_next(&w));
	av_hva_begin(&w, slots, 0x1000, top - 0x2000);
	CHECK(!av_hva_next(&w));
	av_hva_begin(&w, slots, top, ~0ULL);
	CHECK(!av_hva_next(&w));
	av_hva_begin(&w, slots, 0, ~0ULL);
	CHECK(av_hva_next(&w) == first && av_hva_next(&w) == last && !av_hva_next(&w));
	clear();
}

/* As many as there may be, in order, against it and at random, and away again. */
static void test_full(void)
{
	u32 way, i, nr = AV_SLOTS_MAX, step = 7919;

	for (way = 0; way < 3; way++) {
		clear();
		for (i = 0; i < nr; i++) {
			u64 at = way == 0 ? i : way == 1 ? nr - 1 - i : (u64)i * step % nr;

			/* The last way: all at one address. */
			add(i, at << 13, 0x1000, way < 2 ? at << 13 : 0x7000, 0);
		}
		look_all();
		CHECK_EQ(slots->nr, nr);
		CHECK_EQ(slots->npages, nr);
		/* What a change may take does not grow as they do. */
		CHECK(av_slots_need(slots, false, true) <= 3 * (AV_SLOT_HEIGHT + 1));
		for (i = 0; i < nr; i += 1 + way)
			replace(av_slot_by_id(slots, (u64)i * step % nr), NULL);
		look_all();
	}
	clear();
	free(slots);
}

int main(void)
{
	RUN(test_numbers);
	RUN(test_modify);
	RUN(test_lookup);
	RUN(test_hva);
	RUN(test_hva_ends);
	RUN(test_full);
	return TESTS_DONE();
}
