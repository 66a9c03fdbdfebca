// SPDX-License-Identifier: GPL-2.0
/* Shadow tables: filling entries, and dropping them by address. */
#include "mmu/shadow/entry.h"
#include "mmu/shadow/moved.h"
#include "mmu/shadow/resync.h"
#include "mmu/shadow/position.h"

void av_pt_set(struct av_pt *pt, u32 idx, u64 val)
{
	struct av_root *copy, *tmp;

	WRITE_ONCE(pt->pte[idx], val);
	av_pt_note_used(pt, idx, val);
	if (pt->level != AV_ROOT_LEVEL)
		return;
	av_list_for_each(copy, tmp, &pt->tree->copies, node)
		WRITE_ONCE(copy->pte[idx], val);
}

void av_shadow_clear(struct av_pt *pt, u32 idx, struct av_gather *g)
{
	av_shadow_take(g->sh, pt, idx);
	g->work++;
	av_gather_entry(g, pt, idx);
}

/* Unlink a table, with all below it, so that no walker can reach it. */
void av_shadow_unlink(struct av_pt *pt, u32 idx, struct av_gather *g)
{
	struct av_pt *child = pt->aux[idx].child;
	bool linked = pt->pte[idx] & AV_PTE_VALID;

	av_pt_set(pt, idx, 0);
	pt->aux[idx].child = NULL;
	pt->live--;
	g->sh->shape++;
	g->work += pt->level == AV_ROOT_LEVEL ? 1 + pt->tree->users : 1;
	av_list_add_tail(&child->node, &g->unlinked);
	/* If it was only kept, it has been flushed already. */
	if (linked)
		av_gather_tree(g, pt->tree);
}

u64 av_shadow_lookup(const struct av_tree *tree, u64 va, int *level)
{
	const struct av_pt *pt = tree->root;

	for (;;) {
		u32 idx = av_pt_index(va, pt->level);

		if (level)
			*level = pt->level;
		if (av_pte_is_leaf(pt, idx))
			return pt->pte[idx];
		pt = av_pt_child(pt, idx);
		if (!pt)
			return 0;
	}
}

u32 av_shadow_present(const struct av_tree *tree, u64 va, unsigned int n)
{
	const struct av_pt *pt = tree->root;

	while (pt && pt->level < 3) {
		u32 idx = av_pt_index(va, pt->level);

		if (av_pte_is_leaf(pt, idx))
			return GENMASK(n - 1, 0);
		pt = av_pt_child(pt, idx);
	}
	return pt ? av_pt_present(pt, va, n) : 0;
}

struct av_pt *av_shadow_table(const struct av_tree *tree, u64 va)
{
	struct av_pt *pt = tree->root;

	while (pt && pt->level < 3)
		pt = av_pt_child(pt, av_pt_index(va, pt->level));
	return pt;
}

bool av_shadow_takes_block(const struct av_tree *tree, u64 va)
{
	const struct av_pt *pt = tree->root;

	while (pt && pt->level < 2)
		pt = av_pt_child(pt, av_pt_index(va, pt->level));
	if (pt && pt->fixed)
		return false;
	pt = pt ? av_pt_child(pt, av_pt_index(va, 2)) : NULL;
	return !pt || !pt->live;
}

/*
 * Drop the leaves of a level-3 table that todo names, within one word of used, up to left of
 * them. Sleeping entries stay.
 */
static __always_inline void zap_word(struct av_pt *pt, u32 first, u64 todo, u32 left,
				    struct av_gather *g)
{
	bool named = true;
	u64 taken = 0;
	u32 n = 0;

	for (; todo && n < left; todo &= todo - 1) {
		u32 idx = first + __builtin_ctzll(todo);

		if (unlikely(!(pt->pte[idx] & AV_PTE_VALID)))
			continue;
		WRITE_ONCE(pt->pte[idx], 0);
		av_rmap_del(g->sh, pt, idx);
		taken |= todo & -todo;
		n++;
		/* Once the flush has no room for pages, it names the whole tree. */
		if (named) {
			named = g->flush.nr_pages < AV_FLUSH_PAGES;
			av_gather_entry(g, pt, idx);
		}
	}
	pt->used[first / 64] &= ~taken;
	pt->live -= n;
	g->work += n;
}

/* Drop leaves of a level-3 table. True if the gather is spent; *next is where to continue. */
static bool zap_pages(struct av_pt *pt, u64 start, u64 last, struct av_gather *g, u64 *next)
{
	u32 idx = av_pt_index(start, 3), end = av_pt_index(last, 3);

	*next = start;
	for (idx = av_pt_next(pt, idx); idx <= end; idx = av_pt_next(pt, (idx | 63) + 1)) {
		u64 todo = pt->used[idx / 64] & GENMASK_ULL(63, idx % 64);

		if (idx / 64 == end / 64)
			todo &= GENMASK_ULL(end % 64, 0);
		if (av_gather_spent(g))
			return true;
		zap_word(pt, idx & ~63U, todo, AV_WORK - g->work, g);
	}
	return av_gather_spent(g);
}

static bool zap_table(struct av_pt *pt, u64 start, u64 last, struct av_gather *g, u64 *next);

/*
 * Every entry of a table goes. The table stays if the guest seems to move its own; but not where
 * each part begins at the first entry, because of a larger leaf.
 */
static void zap_whole(struct av_pt *pt, u32 idx, struct av_gather *g)
{
	if (g->keep && pt->gspan <= av_level_shift(pt->level) &&
	    av_moved_expected(g->sh, av_pt_below(pt, idx)))
		av_resync_keep(pt, idx, g);
	else
		av_shadow_unlink(pt, idx, g);
}

/* The same for a table of a higher level, and the tables below it. */
static bool zap_below(struct av_pt *pt, u64 start, u64 last, struct av_gather *g, u64 *next)
{
	int shift = av_level_shift(pt->level);
	u32 end = av_pt_index(last, pt->level), idx = av_pt_index(start, pt->level);

	for (idx = av_pt_next(pt, idx); idx <= end; idx = av_pt_next(pt, idx + 1)) {
		u64 va = pt->va + ((u64)idx << shift), top = va + BIT_ULL(shift) - 1;
		struct av_pt *child = av_pt_below(pt, idx);

		if (av_gather_spent(g)) {
			*next = max(start, va);
			return true;
		}
		if (av_pte_is_leaf(pt, idx))
			av_shadow_clear(pt, idx, g);
		else if (child && !child->fixed && start <= va && last >= top)
			zap_whole(pt, idx, g);
		else if (av_pt_child(pt, idx) && zap_table(child, max(start, va), min(last, top), g, next))
			return true;
	}
	return false;
}

/*
 * Drop [start, last], which lies within the table. A kept table is dropped only if all of it is in
 * the range and the guest has it no more: others are compared before they are linked again. If a
 * guest leaf larger than an entry was split here, drop everything that it filled.
 */
static bool zap_table(struct av_pt *pt, u64 start, u64 last, struct av_gather *g, u64 *next)
{
	int shift = av_level_shift(pt->level);
	bool more;

	if (!pt->live && !pt->fixed)
		return false;
	if (pt->gspan > shift) {
		u64 leaf = GENMASK_ULL(min_t(int, pt->gspan, shift + 9) - 1, 0);

		start &= ~leaf;
		last |= leaf;
	}
	/* Finding nothing counts as work too. */
	g->work++;
	if (pt->level == 3)
		more = zap_pages(pt, start, last, g, next);
	else
		more = zap_below(pt, start, last, g, next);
	if (!more && !pt->live && !pt->asleep)
		pt->gspan = 0;
	return more;
}

bool av_shadow_zap_range(struct av_tree *tree, u64 start, u64 last, struct av_gather *g, u64 *next)
{
	struct av_pt *root = tree->root;
	u64 top = root->va + GENMASK_ULL(47, 0);

	/* Shadow tables cover 48 bits: nothing beyond was ever filled. */
	if (last < root->va || start > top || av_tree_empty(tree))
		return false;
	return zap_table(root, max(start, root->va), min(last, top), g, next);
}

static void flush_entry(struct av_shadow *sh, struct av_pt *pt, u32 idx)
{
	struct av_gather g;

	av_gather_init(&g, sh);
	av_gather_entry(&g, pt, idx);
	av_gather_finish(&g);
}

/* Clear and flush one leaf, to replace it. */
static void drop_leaf(struct av_shadow *sh, struct av_pt *pt, u32 idx)
{
	struct av_gather g;

	av_gather_init(&g, sh);
	av_shadow_clear(pt, idx, &g);
	av_gather_finish(&g);
}

/*
 * A TLBI of the ASID in parts has not reached pt yet, and will keep it. So whatever is below pt must
 * be compared when pt is linked again, even if it is new.
 */
static void note_older(const struct av_pt *pt, struct av_pt *child)
{
	if (pt->level != AV_ROOT_LEVEL && pt->gen != pt->tree->gen)
		child->gen = pt->gen;
}

/* The table below idx on the way to an entry; made if it is missing and none comes from elsewhere. */
static struct av_pt *descend(struct av_shadow *sh, struct av_pt *pt, const struct av_fill *f,
			     struct av_memcache *pool, u32 *work)
{
	u32 idx = av_pt_index(f->va, pt->level);
	struct av_pt *child = av_pt_below(pt, idx);
	u64 va = pt->va + ((u64)idx << av_level_shift(pt->level));

	if (child) {
		if (unlikely(!(pt->pte[idx] & AV_PTE_VALID))) {
			*work += av_resync_refresh(sh, child, f);
			note_older(pt, child);
			sh->ops->publish(sh->ctx);
			av_pt_set(pt, idx, pt->pte[idx] | AV_PTE_VALID);
		}
		return child;
	}
	child = pt->level == 2 ? av_moved_take(sh, pt->tree, f) : NULL;
	if (child) {
		child->va = va;
		*work += av_resync_refresh(sh, child, f);
	} else {
		if (!pool->nr || av_shadow_full(sh))
			return NULL;
		child = av_pt_new(sh, pt->tree, pt->level + 1, va, pool);
		if (f->desc && pt->level == 2)
			av_moved_note(sh, child, f);
	}
	note_older(pt, child);
	av_barren_anew(sh);
	if (av_pte_is_leaf(pt, idx))
		drop_leaf(sh, pt, idx);	/* its pages will fault again */
	pt->aux[idx].child = child;
	sh->ops->publish(sh->ctx);	/* the zeroed table before the entry that leads to it */
	av_pt_set(pt, idx, av_table_desc(child->pa));
	pt->live++;
	return child;
}

/* Unlink a table of pages to make room for a block. */
static void drop_child(struct av_shadow *sh, struct av_pt *pt, u32 idx)
{
	struct av_gather g;

	if (!av_pt_below(pt, idx))
		return;
	av_gather_init(&g, sh);
	av_shadow_unlink(pt, idx, &g);
	av_gather_finish(&g);
}

/* More rights, or AF, for the same page: may be done in place. */
static bool only_adds(u64 old, u64 new)
{
	return !((old ^ new) & AV_PTE_ADDR) && !(~old & new & (AV_PTE_RDONLY | AV_PTE_UXN)) &&
	       !(old & ~new & AV_PTE_USER);
}

/* Without desc, the table cannot be compared after it was kept. */
static void take_desc(struct av_shadow *sh, struct av_pt *pt, struct av_memcache *pool)
{
	if (!pool->nr_descs)
		return;
	pt->desc = pool->descs;
	pool->descs = (u64 *)(uintptr_t)pt->desc[0];
	pool->nr_descs--;
	if (pt->live)
		memset(pt->desc, 0, AV_PAGE_SIZE);
	sh->nr_descs++;
	sh->ops->used(sh->ctx, 1, 0);
}

static void set_leaf(struct av_shadow *sh, struct av_pt *pt, u32 idx, const struct av_fill *f)
{
	u64 old = pt->pte[idx], new = av_leaf_desc(sh, f->level, f->rights) | (f->pa & AV_PTE_ADDR);

	if (unlikely(av_pte_is_asleep(pt, idx))) {
		av_resync_forget(sh, pt, idx);
		old = 0;
	}
	if (old && f->only_new)
		return;
	if (old && !only_adds(old, new)) {
		drop_leaf(sh, pt, idx);
		old = 0;
	}
	/* Another guest frame may now have the same host page. */
	if (old)
		av_rmap_del(sh, pt, idx);
	else
		pt->live++;
	av_pt_note_used(pt, idx, true);
	av_rmap_add(sh, pt, idx, f->gfn, f->head ?: av_rmap_head(sh, f->gfn, pt->level));
	av_pt_note_desc(pt, idx, f->desc);
	WRITE_ONCE(pt->pte[idx], new);
	/*
	 * A TLB may hold an entry with fewer rights and use it in spite of the fault; even one
	 * whose AF was clear a moment ago, if hardware sets it.
	 */
	if (old && old != new)
		flush_entry(sh, pt, idx);
}

/* A guest leaf of 2^span bytes is about to fill an entry in this table or below. */
static void note_span(struct av_shadow *sh, struct av_pt *pt, u8 span)
{
	if (likely(span <= pt->gspan))
		return;
	pt->gspan = span;
	/* From now on a TLBI of one page must drop more than that page. */
	if (span > av_level_shift(pt->level))
		sh->shape++;
}

/* Does the tree have the window at va, in the last GiB? If not, the window is to keep away. */
static noinline bool is_window(struct av_shadow *sh, const struct av_tree *tree, u64 va)
{
	if (av_window_holds(tree->key.window, va))
		return true;
	av_window_touched(sh, av_window_position(va));
	return false;
}

int av_shadow_fill(struct av_shadow *sh, struct av_tree *tree, const struct av_fill *f,
		   struct av_memcache *pool)
{
	struct av_pt *pt = tree->root;
	u32 work = 0;

	if (unlikely(f->va >= AV_WINDOW_GIB) && is_window(sh, tree, f->va))
		return -EINVAL;
	/* Also needed if a kept table is only linked again. */
	av_tree_fills(sh, tree);
	tree->filled = true;
	tree->abandoned = false;
	if (f->va < pt->va || f->va - pt->va > GENMASK_ULL(47, 0))
		return -EINVAL;
	if (tree->key.asid == AV_ASID_ANY && !f->global) {
		av_tree_needs_asid(sh, tree);
		return -ESTALE;
	}
	if (f->global && !tree->has_global)
		av_tree_set_global(sh, tree, true);
	while (pt->level < f->level) {
		struct av_pt *child = descend(sh, pt, f, pool, &work);

		if (!child)
			return av_shadow_full(sh) ? -ENOSPC : -ENOMEM;
		note_span(sh, pt, f->gspan);
		pt = child;
		/* A kept table lost its blocks: link the table of pages below it the next time. */
		if (unlikely(work >= AV_WORK / 4) && pt->level < f->level)
			return -EAGAIN;
	}
	note_span(sh, pt, f->gspan);
	if (f->desc && unlikely(!pt->desc))
		take_desc(sh, pt, pool);
	if (f->level == 2) {
		av_barren_anew(sh);
		drop_child(sh, pt, av_pt_index(f->va, 2));
	}
	set_leaf(sh, pt, av_pt_index(f->va, f->level), f);
	return 0;
}
