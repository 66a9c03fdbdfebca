// SPDX-License-Identifier: GPL-2.0
/* Memory slots: KVM's rules in KVM's order, so that errnos agree. */
#include "mmu/slots/slots.h"

#define PAGE_MASK_LOW	0xfffULL

static struct av_slot_node *root_of(const struct av_slots *slots, unsigned int order)
{
	return slots->root[order];
}

/* In a key; the VMM's addresses have fewer bits. */
#define HVA_MAX		GENMASK_ULL(59, 0)

/* Slots at the same address are in order of ids. */
static u64 hva_key(u64 hva, u32 id)
{
	return min_t(u64, hva, HVA_MAX) >> 12 << 16 | id;
}

static u64 key_of(const struct av_slot *slot, unsigned int order)
{
	switch (order) {
	case AV_BY_GFN:
		return slot->base_gfn;
	case AV_BY_ID:
		return slot->id;
	default:
		return hva_key(slot->hva, slot->id);
	}
}

static u64 last_hva(const struct av_slot *slot)
{
	return slot->hva + (slot->npages << 12) - 1;
}

/* Is the slot in this order? A protected VM's memory is at no address of the VMM's. */
static bool is_in(const struct av_slot *slot, unsigned int order)
{
	return slot && (order != AV_BY_HVA || !slot->gmem);
}

struct av_slot *av_slot_by_id(const struct av_slots *slots, u32 id)
{
	const struct av_slot_node *n = root_of(slots, AV_BY_ID);

	while (n && n->slot->id != id)
		n = n->kid[id > n->slot->id];
	return n ? n->slot : NULL;
}

struct av_slot *av_slot_from(const struct av_slots *slots, u64 gfn)
{
	const struct av_slot_node *n = root_of(slots, AV_BY_GFN);
	struct av_slot *found = NULL;

	while (n) {
		bool ends_before = n->slot->base_gfn + n->slot->npages <= gfn;

		if (!ends_before)
			found = n->slot;
		n = n->kid[ends_before];
	}
	return found;
}

struct av_slot *av_slot_find(const struct av_slots *slots, u64 gfn)
{
	struct av_slot *slot = av_slot_from(slots, gfn);

	return slot && slot->base_gfn <= gfn ? slot : NULL;
}

/* Visit the slots below n, the first one next. */
static void visit(struct av_hva_walk *w, const struct av_slot_node *n)
{
	for (; n && n->top >= w->start; n = n->kid[0]) {
		w->visited++;
		if (n->key <= w->last_key)
			w->node[w->depth++] = n;
	}
}

void av_hva_begin(struct av_hva_walk *w, const struct av_slots *slots, u64 start, u64 end)
{
	w->visited = 0;
	w->start = start;
	w->last_key = hva_key(end - 1, AV_SLOTS_MAX);
	w->depth = 0;
	visit(w, slots->root[AV_BY_HVA]);
}

struct av_slot *av_hva_next(struct av_hva_walk *w)
{
	while (w->depth) {
		const struct av_slot_node *n = w->node[--w->depth];

		visit(w, n->kid[1]);
		if (last_hva(n->slot) >= w->start)
			return n->slot;
	}
	return NULL;
}

static bool overlaps(const struct av_slots *slots, const struct av_slot *but, u64 gfn, u64 npages)
{
	struct av_slot *slot = av_slot_from(slots, gfn);

	if (slot && slot == but)
		slot = av_slot_from(slots, slot->base_gfn + slot->npages);
	return slot && slot->base_gfn < gfn + npages;
}

static int check_numbers(const struct av_region *req)
{
	if (req->flags & ~(AV_SLOT_LOG_DIRTY | AV_SLOT_READONLY | AV_SLOT_GMEM))
		return -EINVAL;
	/* Neither read-only nor logged. */
	if (req->flags & AV_SLOT_GMEM && req->flags != AV_SLOT_GMEM)
		return -EINVAL;
	if ((req->size | req->gpa | req->hva) & PAGE_MASK_LOW)
		return -EINVAL;
	/* One address space: its number is in the upper half of the id, and must be 0. */
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
	if ((req->flags | old->flags) & AV_SLOT_GMEM)
		return -EINVAL;
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

/* ---- changes ------------------------------------------------------------------ */

/* A path from the root, to be rebuilt from its end. */
struct path {
	struct av_slot_node *node[AV_SLOT_HEIGHT + 1];
	u8 side[AV_SLOT_HEIGHT + 1];
	unsigned int depth;
};

static u8 height_of(const struct av_slot_node *n)
{
	return n ? n->height : 0;
}

static u64 top_of(const struct av_slot_node *n)
{
	return n ? n->top : 0;
}

/* Compute the fields of a node that depend on its children. */
static void sum_up(struct av_slot_node *n)
{
	n->height = 1 + max(height_of(n->kid[0]), height_of(n->kid[1]));
	n->top = max(last_hva(n->slot), max(top_of(n->kid[0]), top_of(n->kid[1])));
}

static void set_slot(struct av_slot_node *n, struct av_slot *slot, u64 key)
{
	n->slot = slot;
	n->key = key;
}

static struct av_slot_node *fresh(struct av_slot_edit *edit, u64 stamp)
{
	struct av_slot_node *n = edit->spare[--edit->spares];

	n->stamp = stamp;
	return n;
}

/* The node that this change may write: n, or a copy of it. */
static struct av_slot_node *own(struct av_slot_edit *edit, u64 stamp, struct av_slot_node *n)
{
	struct av_slot_node *copy;

	if (n->stamp == stamp)
		return n;
	copy = fresh(edit, stamp);
	*copy = *n;
	copy->stamp = stamp;
	edit->old[edit->gone++] = n;
	return copy;
}

/* n belongs to the change; the heights of its children differ by at most two. */
static struct av_slot_node *balance(struct av_slot_edit *edit, u64 stamp, struct av_slot_node *n)
{
	bool side = height_of(n->kid[1]) > height_of(n->kid[0]);
	struct av_slot_node *kid, *inner;

	if (height_of(n->kid[side]) <= height_of(n->kid[!side]) + 1) {
		sum_up(n);
		return n;
	}
	kid = own(edit, stamp, n->kid[side]);
	if (height_of(kid->kid[!side]) > height_of(kid->kid[side])) {
		inner = own(edit, stamp, kid->kid[!side]);
		kid->kid[!side] = inner->kid[side];
		inner->kid[side] = kid;
		sum_up(kid);
		kid = inner;
	}
	n->kid[side] = kid->kid[!side];
	kid->kid[!side] = n;
	sum_up(n);
	sum_up(kid);
	return kid;
}

/* Rebuild a path from its end, where sub is put. */
static struct av_slot_node *rebuild(struct av_slot_edit *edit, u64 stamp, struct path *path,
				    struct av_slot_node *sub)
{
	while (path->depth--) {
		struct av_slot_node *n = own(edit, stamp, path->node[path->depth]);

		n->kid[path->side[path->depth]] = sub;
		sub = balance(edit, stamp, n);
	}
	return sub;
}

static void go(struct path *path, struct av_slot_node *n, bool side)
{
	path->node[path->depth] = n;
	path->side[path->depth++] = side;
}

static void insert(struct av_slots *next, unsigned int order, struct av_slot *slot,
		   struct av_slot_edit *edit)
{
	struct av_slot_node *n = next->root[order], *leaf = fresh(edit, next->stamp);
	struct path path = { .depth = 0 };
	u64 key = key_of(slot, order);

	set_slot(leaf, slot, key);
	leaf->kid[0] = NULL;
	leaf->kid[1] = NULL;
	sum_up(leaf);
	while (n) {
		bool side = key > n->key;

		go(&path, n, side);
		n = n->kid[side];
	}
	next->root[order] = rebuild(edit, next->stamp, &path, leaf);
}

static void drop_node(struct av_slots *next, struct av_slot_edit *edit, struct av_slot_node *n)
{
	/* This change made the node, so nobody else has seen it. */
	if (n->stamp == next->stamp)
		edit->spare[edit->spares++] = n;
	else
		edit->old[edit->gone++] = n;
}

static void remove(struct av_slots *next, unsigned int order, const struct av_slot *slot,
		   struct av_slot_edit *edit)
{
	struct av_slot_node *n = next->root[order], *found;
	struct path path = { .depth = 0 };
	u64 key = key_of(slot, order);
	unsigned int at;

	while (n->slot != slot) {
		bool side = key > n->key;

		go(&path, n, side);
		n = n->kid[side];
	}
	if (n->kid[0] && n->kid[1]) {
		/* The next slot in order takes this node's place, and its own node is removed. */
		found = n;
		at = path.depth;
		go(&path, n, true);
		for (n = n->kid[1]; n->kid[0]; n = n->kid[0])
			go(&path, n, false);
		found = own(edit, next->stamp, found);
		set_slot(found, n->slot, n->key);
		path.node[at] = found;
	}
	found = n->kid[0] ? n->kid[0] : n->kid[1];
	drop_node(next, edit, n);
	next->root[order] = rebuild(edit, next->stamp, &path, found);
}

unsigned int av_slots_need(const struct av_slots *old, bool drop, bool add)
{
	unsigned int order, need = 0;

	for (order = 0; order < AV_NR_ORDERS; order++)
		need += (height_of(old->root[order]) + 1) * (3 * drop + add);
	return need;
}

void av_slots_replace(const struct av_slots *old, const struct av_slot *drop,
		      struct av_slot *add, struct av_slots *next, struct av_slot_edit *edit)
{
	unsigned int order;

	*next = *old;
	next->stamp = old->stamp + 1;
	next->nr += !!add - !!drop;
	next->npages += (add ? add->npages : 0) - (drop ? drop->npages : 0);
	edit->gone = 0;
	for (order = 0; order < AV_NR_ORDERS; order++) {
		if (is_in(drop, order))
			remove(next, order, drop, edit);
		if (is_in(add, order))
			insert(next, order, add, edit);
	}
}

struct av_slot_node *av_slots_take_apart(struct av_slots *slots, unsigned int order)
{
	struct av_slot_node *n = slots->root[order], *kid;

	if (!n)
		return NULL;
	/* Rotate the left child up until there is none. */
	while (n->kid[0]) {
		kid = n->kid[0];
		n->kid[0] = kid->kid[1];
		kid->kid[1] = n;
		n = kid;
	}
	slots->root[order] = n->kid[1];
	return n;
}
