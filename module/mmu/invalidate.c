// SPDX-License-Identifier: GPL-2.0
/*
 * The guest's TLBI, carried out on the shadow tables, a part a call.
 *
 * A walk goes through the lists of trees in a fixed order, each list from the
 * oldest tree to the newest, and remembers by serial number where it is: lists
 * may change while the lock is let go, but only at their ends or by losing
 * trees. Trees made since the walk began hold nothing older than it.
 */
#include "mmu/shadow.h"

#define LISTS		(AV_TREE_BUCKETS + 1)
#define PLACES		(2 * LISTS)

/*
 * The first place from here on that may have trees that this means. Most often
 * one ASID's list will do, or none; global entries may be in any.
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

/* Trees that serve every ASID hold global entries only, which stay when an ASID goes. */
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

/*
 * Faults that have walked the guest's tables start over: of the addresses that it
 * names, if only leaves changed; else all, for tables that they came through may be
 * gone.
 */
static void note(u64 *seq, struct av_recent *recent, const struct av_tlbi *op)
{
	struct av_recent *r = &recent[(*seq + 1) % AV_RECENT];

	r->start = op->leaf ? op->start : 0;
	r->last = op->leaf ? op->last : ~0ULL;
	WRITE_ONCE(*seq, *seq + 1);
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

static bool invalidate_tree(struct av_shadow *sh, struct av_tlbi_walk *w, struct av_tree *tree,
			    struct av_gather *g)
{
	u64 from = w->begun == tree->serial ? w->va : 0;
	bool more;

	note(&tree->seq, tree->recent, &w->op);
	if (w->op.scope == AV_TLBI_ASID && w->keep && av_tree_keepable(tree)) {
		more = av_tree_keep(tree, g, w->kept != tree->serial, &w->va);
		w->kept = tree->serial;
	} else if (w->op.scope == AV_TLBI_ALL || w->op.scope == AV_TLBI_ASID) {
		w->va = from;
		more = av_tree_drop(sh, tree, g, &w->va);
	} else if (w->op.last - w->op.start < AV_PAGE_SIZE &&
		   av_shadow_zap_page(tree, w->op.start, g)) {
		more = false;
	} else {
		more = av_shadow_zap_range(tree, max(w->op.start, from), w->op.last, g, &w->va);
	}
	return more;
}

/* Trees passed over that count as much as one that is looked into. */
#define PASSED	8

static bool invalidate_list(struct av_shadow *sh, struct av_tlbi_walk *w, struct av_list *list,
			    struct av_gather *g)
{
	struct av_tree *tree, *tmp;
	unsigned int passed = 0;

	av_list_for_each(tree, tmp, list, hash) {
		u64 serial = tree->serial;

		if (serial >= w->newest)
			break;
		if (serial <= w->done)
			continue;
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
		/* The tree may be dead now. */
		w->done = serial;
		g->work++;
	}
	return false;
}

/* At the beginning of an op: what it is to walks of any tree. */
static void begin(struct av_shadow *sh, const struct av_tlbi *op)
{
	if (!op->leaf)
		WRITE_ONCE(sh->seq_tables, sh->seq_tables + 1);
	/* Global entries go whatever the ASID; one may be about to be filled. */
	if (op->scope == AV_TLBI_VA || op->scope == AV_TLBI_VAA)
		note(&sh->seq_va[op->high], sh->recent_va[op->high], op);
}

/* Trees that an op of one page looks at, at most. */
#define FEW_TREES	64

static bool page_of_list(struct av_list *list, const struct av_tlbi *op, unsigned int *left,
			 struct av_gather *g)
{
	struct av_tree *tree, *tmp;

	av_list_for_each(tree, tmp, list, hash) {
		if (!(*left)--)
			return false;
		/* VAA has trees of all ASIDs only to look at. */
		if (tree->key.asid != op->asid && tree->key.asid != AV_ASID_ANY)
			continue;
		note(&tree->seq, tree->recent, op);
		if (!av_shadow_zap_page(tree, op->start, g))
			return false;
	}
	return true;
}

bool av_shadow_tlbi_page(struct av_shadow *sh, const struct av_tlbi *op, struct av_gather *g)
{
	struct av_list *lists = sh->trees[op->high];
	unsigned int left = FEW_TREES;

	if (op->last - op->start >= AV_PAGE_SIZE ||
	    (op->scope == AV_TLBI_VA ? sh->nr_tagged_global[op->high] :
	     op->scope != AV_TLBI_VAA || sh->nr_tagged[op->high]))
		return false;
	begin(sh, op);
	return page_of_list(&lists[AV_TREE_BUCKETS], op, &left, g) &&
	       (!sh->nr_tagged[op->high] ||
		page_of_list(&lists[op->asid % AV_TREE_BUCKETS], op, &left, g));
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
