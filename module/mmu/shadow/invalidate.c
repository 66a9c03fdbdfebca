// SPDX-License-Identifier: GPL-2.0
/*
 * The guest's TLBI, applied to the shadow tables, some work per call.
 *
 * A TLBI visits the lists of trees in a fixed order, each list from the oldest tree to the newest.
 * Its position is a serial number, because lists may change while the lock is not held: they gain
 * trees at their ends and lose trees anywhere. Trees made since the TLBI began need no visit: they
 * hold nothing older. Nor do trees that were passed on since (resync.c); the host's invalidations
 * forbid passing on meanwhile (av_shadow_forbid_heirs()).
 */
#include "mmu/shadow/again.h"
#include "mmu/shadow/resync.h"
#include "mmu/shadow/shadow.h"

#define LISTS		(AV_TREE_BUCKETS + 1)
#define PLACES		(2 * LISTS)

/*
 * The first list from place on that may have trees that op reaches. Most often that is one
 * ASID's list, or none; but global entries may be in any list.
 */
static unsigned int place_from(const struct av_shadow *sh, const struct av_tlbi *op,
			       unsigned int place)
{
	unsigned int tagged = op->asid % AV_TREE_BUCKETS, half = op->high ? LISTS : 0;

	switch (op->scope) {
	case AV_TLBI_ALL:
		return place;
	case AV_TLBI_ASID:
		if (place <= tagged)
			return tagged;
		return place <= LISTS + tagged ? LISTS + tagged : PLACES;
	default:
		if (place > half + AV_TREE_BUCKETS)
			return PLACES;
		if (!sh->nr_tagged[op->high])
			return half + AV_TREE_BUCKETS;
		if (op->scope == AV_TLBI_VAA || sh->nr_tagged_global[op->high])
			return max(place, half);
		return place <= half + tagged ? half + tagged : half + AV_TREE_BUCKETS;
	}
}

/*
 * A TLBI by ASID does not reach trees that serve every ASID: they have global entries only,
 * which stay. The guest's tables that led to these may be gone: av_tree_seq_tables().
 */
static bool reaches(const struct av_tlbi *op, const struct av_tree *tree)
{
	switch (op->scope) {
	case AV_TLBI_ALL:
	case AV_TLBI_VAA:
		return true;
	case AV_TLBI_ASID:
		return tree->key.asid == op->asid;
	default:
		return tree->key.asid == op->asid || tree->key.asid == AV_ASID_ANY ||
		       tree->has_global;
	}
}

/* Only leaves: walks of these addresses are stale. Otherwise all are: tables may be gone. */
static void note_op(u64 *seq, struct av_recent *recent, const struct av_tlbi *op)
{
	av_recent_note(seq, recent, op->leaf ? op->start : 0, op->leaf ? op->last : ~0ULL);
}

/* Not only leaves change: guest tables that this tree's walks used may be gone. */
static __always_inline void note_tables(struct av_shadow *sh, struct av_tree *tree)
{
	WRITE_ONCE(tree->seq_tables, tree->seq_tables + 1);
	sh->ops->tables_gone(sh->ctx);
}

bool av_tlbi_voids(u64 seq, const struct av_recent *recent, u64 since, u64 va, u8 span)
{
	u64 inside = span < 64 ? BIT_ULL(span) - 1 : ~0ULL;
	u64 first = va & ~inside, last = va | inside;

	if (seq - since > AV_RECENT)
		return true;
	for (; since != seq; since++) {
		const struct av_recent *r = &recent[(since + 1) % AV_RECENT];

		if (r->start <= last && r->last >= first)
			return true;
	}
	return false;
}

/* Most entries that zap_page() checks for a larger leaf. */
#define FEW_ENTRIES	16

/* May a guest leaf that is larger than entry idx, and contains it, have filled anything? */
static bool larger_leaf(const struct av_pt *pt, u32 idx, int shift)
{
	u32 n = BIT(min(pt->gspan - shift, 9)), i;

	if (n > FEW_ENTRIES)
		return true;
	for (i = idx & ~(n - 1); n; n--, i++) {
		const struct av_pt *child = av_pt_child(pt, i);

		if (child ? child->gspan > shift : av_pte_is_leaf(pt, i))
			return true;
	}
	return false;
}

/*
 * Find a tree's entry for one page. 1: in *at and *index; 0: there is none; -1: a larger guest
 * leaf was split on the way, use av_shadow_zap_range().
 */
static __always_inline int find_page(const struct av_tree *tree, u64 va, struct av_pt **at,
				     u32 *index)
{
	int shift = av_level_shift(AV_ROOT_LEVEL);
	struct av_pt *pt = tree->root;

	if (va - pt->va > GENMASK_ULL(47, 0))
		return 0;
	for (; pt; shift -= 9) {
		u32 idx = (va >> shift) & (AV_ENTRIES - 1);
		u64 pte = pt->pte[idx];

		/* A kernel that is mapped in units of 32 MiB has other pages next to va. */
		if (unlikely(pt->gspan > shift) && larger_leaf(pt, idx, shift))
			return -1;
		if (!(pte & AV_PTE_VALID))
			return 0;
		if (shift == AV_PAGE_SHIFT || !(pte & AV_PTE_TABLE)) {
			*at = pt;
			*index = idx;
			return 1;
		}
		pt = pt->aux[idx].child;
	}
	/* The window has no table of ours. */
	return 0;
}

/* False: a larger guest leaf was split on the way. */
static bool zap_page(const struct av_tree *tree, u64 va, struct av_gather *g)
{
	struct av_pt *pt;
	u32 idx;
	int found = find_page(tree, va, &pt, &idx);

	if (found > 0)
		av_shadow_clear(pt, idx, g);
	return found >= 0;
}

static bool invalidate_tree(struct av_shadow *sh, struct av_tlbi_walk *w, struct av_tree *tree,
			    struct av_gather *g)
{
	u64 from = w->begun == tree->serial ? w->va : 0;
	bool more;

	if (!w->op.leaf)
		note_tables(sh, tree);
	note_op(&tree->seq, tree->recent, &w->op);
	if (w->op.scope == AV_TLBI_ASID && w->keep && av_tree_keepable(tree)) {
		more = av_tree_keep(tree, g, w->renew, w->kept != tree->serial, &w->va);
		w->kept = tree->serial;
	} else if (w->op.scope == AV_TLBI_ALL || w->op.scope == AV_TLBI_ASID) {
		w->va = from;
		more = av_tree_drop(sh, tree, g, &w->va);
	} else if (w->op.last - w->op.start < AV_PAGE_SIZE &&
		   zap_page(tree, w->op.start, g)) {
		more = false;
	} else {
		g->keep = w->keep && av_tree_keepable(tree);
		more = av_shadow_zap_range(tree, max(w->op.start, from), w->op.last, g, &w->va);
		g->keep = false;
	}
	return more;
}

/* So many trees passed over, or done by parts before, count as much work as one tree searched. */
#define PASSED	8
#define DONE	64

static bool invalidate_list(struct av_shadow *sh, struct av_tlbi_walk *w, struct av_list *list,
			    struct av_gather *g)
{
	struct av_tree *tree, *tmp;
	unsigned int passed = 0, done = 0;

	av_list_for_each(tree, tmp, list, hash) {
		u64 serial = tree->serial;

		if (serial >= w->newest)
			break;
		if (serial <= w->done) {
			g->work += ++done % DONE == 0;
			continue;
		}
		if (av_gather_spent(g))
			return true;
		if (!reaches(&w->op, tree)) {
			w->done = serial;
			g->work += ++passed % PASSED == 0;
			continue;
		}
		if (invalidate_tree(sh, w, tree, g)) {
			w->begun = serial;
			return true;
		}
		/* The tree may have died. */
		w->done = serial;
		g->work++;
	}
	return false;
}

/* When an op begins: record it for walks of all trees. */
static void begin(struct av_shadow *sh, const struct av_tlbi *op)
{
	if (op->scope == AV_TLBI_ASID) {
		WRITE_ONCE(sh->seq_asids, sh->seq_asids + 1);
		sh->ops->tables_gone(sh->ctx);
	}
	/* By address, global entries of all ASIDs are dropped: fills under way must see it. */
	if (op->scope == AV_TLBI_VA || op->scope == AV_TLBI_VAA)
		note_op(&sh->seq_va[op->high], sh->recent_va[op->high], op);
}

/* Most trees that an op of one page looks at. */
#define FEW_TREES	64

static __always_inline bool page_of_tree(struct av_shadow *sh, struct av_tree *tree,
					 struct av_tlbi_page op, u64 start, u64 last,
					 struct av_zapped *z)
{
	struct av_pt *pt;
	int found;
	u32 idx;

	/* Trees of every ASID have only global leaves, and VAA reaches no others: seq_va counts. */
	if (tree->key.asid == op.asid)
		av_recent_note(&tree->seq, tree->recent, start, last);
	else if (tree->key.asid != AV_ASID_ANY)
		return true;
	if (!op.leaf)
		note_tables(sh, tree);
	/* Kernels change a few addresses again and again, in one of the trees. */
	if (tree->clean == op.va)
		return true;
	found = find_page(tree, op.va, &pt, &idx);
	if (found) {
		if (unlikely(found < 0 || z->nr == AV_ZAPPED_TREES))
			return false;
		av_shadow_take(sh, pt, idx);
		z->serial[z->nr++] = tree->serial;
	}
	tree->clean = op.va;
	return true;
}

/*
 * Note that all trees that op reaches were searched: none has an entry now. In the low half, only
 * if the op before named the same page: most processes have a page invalidated only once.
 */
static __always_inline void note_swept(struct av_swept *swept, struct av_tlbi_page op, bool every,
				       struct av_tree *own)
{
	if (!every && swept->named != op.va) {
		swept->named = op.va;
		return;
	}
	if (swept->va != op.va)
		swept->pt = NULL;
	swept->va = op.va;
	swept->every = every;
	swept->asid = op.asid;
	swept->own = own;
	swept->filled = NULL;
	swept->several = false;
}

struct av_pt *av_swept_table(struct av_shadow *sh, struct av_swept *swept)
{
	struct av_pt *pt = swept->filled->root;

	swept->pt = NULL;
	if (swept->va - pt->va > GENMASK_ULL(47, 0))
		return NULL;
	while (pt && pt->gspan <= av_level_shift(pt->level)) {
		if (pt->level == 3) {
			swept->shape = sh->shape;
			swept->pt = pt;
			break;
		}
		pt = av_pt_child(pt, av_pt_index(swept->va, pt->level));
	}
	return swept->pt;
}

bool av_shadow_tlbi_page(struct av_shadow *sh, struct av_tlbi_page op, struct av_zapped *z)
{
	u64 start = op.leaf ? op.va : 0, last = op.leaf ? op.va | ~AV_PAGE_MASK : ~0ULL;
	bool high = op.va & BIT_ULL(55), tagged = sh->nr_tagged[high], every = !tagged;
	struct av_list *list = &sh->trees[high][AV_TREE_BUCKETS], *at = list;
	struct av_tree *tree, *own = NULL;
	unsigned int left = FEW_TREES;
	bool several = false;

	z->nr = 0;
	if (op.any_asid ? tagged : sh->nr_tagged_global[high])
		return false;
	av_recent_note(&sh->seq_va[high], sh->recent_va[high], start, last);
	for (;;) {
		at = at->next;
		if (at != list) {
			tree = av_list_entry(at, struct av_tree, hash);
			if (!left-- || !page_of_tree(sh, tree, op, start, last, z))
				return false;
			if (tree->key.asid == op.asid) {
				several = own;
				own = tree;
			}
		} else if (tagged) {
			/* First the trees of every ASID, then those of op's ASID. */
			tagged = false;
			at = list = &sh->trees[high][op.asid % AV_TREE_BUCKETS];
		} else {
			if (!several)
				note_swept(&sh->swept[high], op, every, own);
			return true;
		}
	}
}

bool av_shadow_tlbi(struct av_shadow *sh, struct av_tlbi_walk *w, struct av_gather *g)
{
	unsigned int place;

	if (!w->newest) {
		w->newest = sh->next_serial;
		begin(sh, &w->op);
	}
	for (place = place_from(sh, &w->op, w->place); place < PLACES;
	     place = place_from(sh, &w->op, place + 1)) {
		if (place != w->place) {
			w->place = place;
			w->done = 0;
		}
		if (invalidate_list(sh, w, &sh->trees[place / LISTS][place % LISTS], g))
			return true;
	}
	return false;
}
