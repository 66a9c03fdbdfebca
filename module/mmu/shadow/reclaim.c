// SPDX-License-Identifier: GPL-2.0
/*
 * Freeing tables: doomed ones are taken apart; trees are dropped to make room, least recently
 * used first. Some work per call.
 */
#include "mmu/shadow/entry.h"
#include "mmu/shadow/position.h"

/* A table's cost besides its entries, in units of AV_WORK: mostly freeing its pages. */
static u32 table_work(const struct av_pt *pt)
{
	return pt->desc ? 16 : 8;
}

/* Remove an entry that leads to a table: doom that table. */
static void doom_child(struct av_shadow *sh, struct av_pt *pt, u32 idx)
{
	struct av_pt *child = av_pt_below(pt, idx);

	if (!child)
		return;
	pt->aux[idx].child = NULL;
	av_list_add_tail(&child->node, &sh->doomed);
}

/* Clear the entries of a doomed table. The tables below become doomed. */
static u32 take_apart(struct av_shadow *sh, struct av_pt *pt)
{
	u32 i, n = 0;
	u64 used;

	for (i = 0; i < AV_ENTRIES; i += 64) {
		for (used = pt->used[i / 64]; used; used &= used - 1) {
			u32 idx = i + __builtin_ctzll(used);

			if (likely(pt->level == 3) || av_pte_is_leaf(pt, idx))
				av_rmap_del(sh, pt, idx);
			else
				doom_child(sh, pt, idx);
			pt->pte[idx] = 0;
			n++;
		}
		pt->used[i / 64] = 0;
	}
	pt->live = 0;
	pt->asleep = 0;
	return n;
}

static void free_doomed(struct av_shadow *sh, struct av_pt *pt, struct av_memcache *pool)
{
	struct av_tree *tree = pt->tree;

	av_pt_free_id(sh, pt);
	sh->ops->free_pt(sh->ctx, pt, pool);
	if (tree->dead && !tree->nr_pts)
		sh->ops->free_tree(sh->ctx, tree, pool);
}

static bool reap(struct av_shadow *sh, struct av_memcache *pool, u32 most)
{
	u32 work = 0;

	while (!av_list_empty(&sh->doomed)) {
		struct av_pt *pt = av_list_entry(sh->doomed.next, struct av_pt, node);

		/* Check before a table, not after: a full table is as much as a call may do. */
		if (work && work + table_work(pt) + pt->live + pt->asleep > most)
			return true;
		av_list_del(&pt->node);
		work += table_work(pt) + take_apart(sh, pt);
		free_doomed(sh, pt, pool);
	}
	return false;
}

/* Half a part: the page allocator adds as much when it returns the pages that were freed. */
bool av_shadow_reap(struct av_shadow *sh, struct av_memcache *pool)
{
	return reap(sh, pool, AV_WORK / 2);
}

void av_shadow_reap_few(struct av_shadow *sh, struct av_memcache *pool)
{
	reap(sh, pool, AV_WORK / 4);
}

/* Most loaded trees that a call looks at. */
#define LOOKS	256

/*
 * A loaded tree that is not empty: they take turns. NULL: there is none, or none was found yet
 * (*more). vCPUs load trees and let them go between two calls, so each tree records the round that
 * found it empty.
 */
static struct av_tree *loaded_tree(struct av_shadow *sh, bool *more)
{
	unsigned int n;

	for (n = 0; n < LOOKS && sh->barren < sh->nr_loaded; n++) {
		struct av_tree *tree = av_list_entry(sh->loaded.next, struct av_tree, lru);

		av_list_del(&tree->lru);
		av_list_add_tail(&tree->lru, &sh->loaded);
		if (!av_tree_empty(tree)) {
			av_barren_anew(sh);
			return tree;
		}
		sh->barren += tree->barren_round != sh->barren_round;
		tree->barren_round = sh->barren_round;
	}
	*more = sh->barren < sh->nr_loaded;
	if (!*more)
		av_barren_anew(sh);
	return NULL;
}

/* The least recently used tree that is not loaded; with hard, else one that is. */
static struct av_tree *coldest(struct av_shadow *sh, bool hard, bool *more)
{
	if (!av_list_empty(&sh->lru))
		return av_list_entry(sh->lru.next, struct av_tree, lru);
	if (hard)
		return loaded_tree(sh, more);
	*more = false;
	return NULL;
}

u32 av_shadow_reclaim(struct av_shadow *sh, bool hard, struct av_memcache *pool, bool *more)
{
	u32 before = sh->nr_pts;
	struct av_tree *tree;
	struct av_gather g;
	u64 next = 0;

	*more = true;
	if (av_list_empty(&sh->doomed)) {
		tree = coldest(sh, hard, more);
		if (!tree)
			return 0;
		av_gather_init(&g, sh);
		av_tree_drop(sh, tree, &g, &next);
		av_gather_finish(&g);
		if (g.work >= AV_WORK / 2)
			return 0;
	}
	av_shadow_reap(sh, pool);
	return before - sh->nr_pts;
}

bool av_shadow_drop_behind(struct av_shadow *sh, struct av_memcache *pool)
{
	const struct av_tree *tree = av_list_entry(sh->lru.next, struct av_tree, lru);
	bool more;

	if (av_list_empty(&sh->lru) || tree->users || !av_window_behind(sh, tree))
		return false;
	av_shadow_reclaim(sh, false, pool, &more);
	return true;
}
