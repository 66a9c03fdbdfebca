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

static bool invalidate_tree(struct av_shadow *sh, struct av_tlbi_walk *w, struct av_tree *tree,
			    struct av_gather *g)
{
	u64 from = w->begun == tree->serial ? w->va : 0;
	bool more;

	/* Faults that have walked the guest's tables start over. */
	WRITE_ONCE(tree->seq, tree->seq + 1);
	if (w->op.scope == AV_TLBI_ALL || w->op.scope == AV_TLBI_ASID) {
		w->va = from;
		more = av_tree_drop(sh, tree, g, &w->va);
	} else {
		more = av_shadow_zap_range(tree, max(w->op.start, from), w->op.last, g, &w->va);
	}
	return more;
}

static bool invalidate_list(struct av_shadow *sh, struct av_tlbi_walk *w, struct av_list *list,
			    struct av_gather *g)
{
	struct av_tree *tree, *tmp;

	av_list_for_each(tree, tmp, list, hash) {
		u64 serial = tree->serial;

		if (serial >= w->newest)
			break;
		if (serial <= w->done || !reaches(&w->op, tree))
			continue;
		if (av_gather_spent(g))
			return true;
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

bool av_shadow_tlbi(struct av_shadow *sh, struct av_tlbi_walk *w, struct av_gather *g)
{
	unsigned int place;

	if (!w->newest) {
		w->newest = sh->next_serial;
		/* Global entries go whatever the ASID; one may be about to be filled. */
		if (w->op.scope == AV_TLBI_VA || w->op.scope == AV_TLBI_VAA)
			WRITE_ONCE(sh->seq_va[w->op.high], sh->seq_va[w->op.high] + 1);
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
