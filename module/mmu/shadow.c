// SPDX-License-Identifier: GPL-2.0
/* Shadow tables: filling them, and dropping what they hold by address. */
#include "mmu/shadow.h"

void av_gather_init(struct av_gather *g, struct av_shadow *sh)
{
	g->sh = sh;
	g->nr = 0;
	g->all = false;
	av_list_init(&g->dead);
}

void av_gather_finish(struct av_gather *g)
{
	struct av_shadow *sh = g->sh;
	struct av_pt *pt, *tmp;
	int i;

	if (g->all || !av_list_empty(&g->dead)) {
		sh->ops->flush_all(sh->ctx);
	} else {
		for (i = 0; i < g->nr; i++)
			sh->ops->flush_page(sh->ctx, g->va[i]);
	}
	/* Nothing walks these any more. */
	av_list_for_each(pt, tmp, &g->dead, node) {
		av_list_del(&pt->node);
		sh->ops->free_pt(sh->ctx, pt);
	}
	g->nr = 0;
	g->all = false;
}

/* One address is enough to flush a block. */
void av_gather_entry(struct av_gather *g, const struct av_pt *pt, u32 idx)
{
	if (g->nr == AV_GATHER_PAGES)
		g->all = true;
	else
		g->va[g->nr++] = pt->va + ((u64)idx << av_level_shift(pt->level));
}

/* Take a leaf away; the flush is the gather's. */
void av_shadow_clear(struct av_pt *pt, u32 idx, struct av_gather *g)
{
	WRITE_ONCE(pt->pte[idx], 0);
	av_rmap_del(g->sh, pt, idx);
	pt->live--;
	av_gather_entry(g, pt, idx);
}

static u32 index_of(u64 va, int level)
{
	return (va >> av_level_shift(level)) & (AV_ENTRIES - 1);
}

/* The table below entry idx, or NULL for a leaf, nothing, or the window. */
static struct av_pt *child_of(const struct av_pt *pt, u32 idx)
{
	u64 pte = pt->pte[idx];

	if (pt->level == 3 || !(pte & AV_PTE_VALID) || !(pte & AV_PTE_TABLE))
		return NULL;
	return pt->aux[idx].child;
}

u64 av_shadow_lookup(const struct av_tree *tree, u64 va, int *level)
{
	const struct av_pt *pt = tree->root;

	for (;;) {
		u32 idx = index_of(va, pt->level);

		if (level)
			*level = pt->level;
		if (av_pte_is_leaf(pt, idx))
			return pt->pte[idx];
		pt = child_of(pt, idx);
		if (!pt)
			return 0;
	}
}

u32 av_shadow_present(const struct av_tree *tree, u64 va, unsigned int n)
{
	const struct av_pt *pt = tree->root;
	u32 bits = 0, idx, i;

	while (pt && pt->level < 3) {
		idx = index_of(va, pt->level);
		if (av_pte_is_leaf(pt, idx))
			return GENMASK(n - 1, 0);
		pt = child_of(pt, idx);
	}
	for (i = 0, idx = index_of(va, 3); pt && i < n; i++)
		bits |= pt->pte[idx + i] ? BIT(i) : 0;
	return bits;
}

static void zap_table(struct av_pt *pt, u64 start, u64 last, struct av_gather *g);

static void zap_entry(struct av_pt *pt, u32 idx, u64 start, u64 last, struct av_gather *g)
{
	u64 va = pt->va + ((u64)idx << av_level_shift(pt->level));
	u64 end = va + GENMASK_ULL(av_level_shift(pt->level) - 1, 0);
	struct av_pt *child;

	if (av_pte_is_leaf(pt, idx)) {
		av_shadow_clear(pt, idx, g);
		return;
	}
	child = child_of(pt, idx);
	if (child)
		zap_table(child, max(start, va), min(last, end), g);
}

/*
 * Drop [start, last] of one table, both inside it. Where a guest leaf larger
 * than an entry was broken up here, all that came from such a leaf goes.
 */
static void zap_table(struct av_pt *pt, u64 start, u64 last, struct av_gather *g)
{
	int shift = av_level_shift(pt->level);
	u32 idx, end;

	if (pt->level == 3 && !pt->live)
		return;
	if (pt->gspan > shift) {
		u64 leaf = GENMASK_ULL(min_t(int, pt->gspan, shift + 9) - 1, 0);

		start &= ~leaf;
		last |= leaf;
	}
	end = index_of(last, pt->level);
	for (idx = index_of(start, pt->level); idx <= end; idx++)
		if (pt->pte[idx])
			zap_entry(pt, idx, pt->gspan > shift ? 0 : start,
				  pt->gspan > shift ? ~0ULL : last, g);
	if (pt->level == 3 && !pt->live)
		pt->gspan = 0;
}

void av_shadow_zap_range(struct av_tree *tree, u64 start, u64 last, struct av_gather *g)
{
	struct av_pt *root = tree->root;
	u64 size = GENMASK_ULL(47, 0);

	/* Hardware's tables end at 48 bits: what is beyond was never filled. */
	if (last < root->va || start > root->va + size)
		return;
	zap_table(root, max(start, root->va), min(last, root->va + size), g);
}

static u64 leaf_pte(const struct av_shadow *sh, const struct av_fill *f)
{
	u64 pte = AV_PTE_VALID | AV_PTE_AF | AV_PTE_NG | AV_PTE_PXN | AV_PTE_SH_INNER;

	pte |= FIELD_PREP(AV_PTE_ATTR, sh->attr_normal) | (f->pa & AV_PTE_ADDR);
	pte |= f->level == 3 ? AV_PTE_TABLE : 0;
	pte |= f->rights & AV_R ? AV_PTE_USER : 0;
	pte |= f->rights & AV_W ? AV_PTE_DBM : AV_PTE_RDONLY;
	pte |= f->rights & AV_X ? 0 : AV_PTE_UXN;
	return pte;
}

/* Clear and flush one leaf, to put something else there. */
static void drop_leaf(struct av_shadow *sh, struct av_pt *pt, u32 idx)
{
	struct av_gather g;

	av_gather_init(&g, sh);
	av_shadow_clear(pt, idx, &g);
	av_gather_finish(&g);
}

/* The table below idx, made if it is missing. */
static struct av_pt *descend(struct av_shadow *sh, struct av_pt *pt, u32 idx)
{
	struct av_pt *child = child_of(pt, idx);
	u64 va = pt->va + ((u64)idx << av_level_shift(pt->level));

	if (child)
		return child;
	child = av_pt_new(sh, pt->tree, pt->level + 1, va);
	if (!child)
		return NULL;
	if (av_pte_is_leaf(pt, idx))
		drop_leaf(sh, pt, idx);	/* its pages fault back in */
	pt->aux[idx].child = child;
	sh->ops->publish(sh->ctx);	/* the zeroed table before what leads to it */
	WRITE_ONCE(pt->pte[idx], child->pa | AV_PTE_VALID | AV_PTE_TABLE);
	return child;
}

/* Make room for a block where a table of pages is. */
static void drop_child(struct av_shadow *sh, struct av_pt *pt, u32 idx)
{
	struct av_pt *child = child_of(pt, idx);
	struct av_gather g;

	if (!child)
		return;
	av_gather_init(&g, sh);
	zap_table(child, child->va, child->va + GENMASK_ULL(AV_BLOCK_SHIFT - 1, 0), &g);
	WRITE_ONCE(pt->pte[idx], 0);
	pt->aux[idx].child = NULL;
	av_pt_dead(sh, child, &g);
	av_gather_finish(&g);
}

/* More rights, or AF, for the same page: may be changed in place. */
static bool only_adds(u64 old, u64 new)
{
	return !((old ^ new) & AV_PTE_ADDR) && !(~old & new & (AV_PTE_RDONLY | AV_PTE_UXN)) &&
	       !(old & ~new & AV_PTE_USER);
}

static void set_leaf(struct av_shadow *sh, struct av_pt *pt, u32 idx, const struct av_fill *f)
{
	u64 old = pt->pte[idx], new = leaf_pte(sh, f);

	if (old && f->only_new)
		return;
	if (old && !only_adds(old, new)) {
		drop_leaf(sh, pt, idx);
		old = 0;
	}
	/* The same host page may now be reached by another guest frame. */
	if (old)
		av_rmap_del(sh, pt, idx);
	else
		pt->live++;
	av_rmap_add(sh, f->gfn, pt, idx);
	WRITE_ONCE(pt->pte[idx], new);
	/*
	 * A TLB may hold an entry that only permits less, and keep it over the fault:
	 * also one whose AF was clear a moment ago, where hardware sets it.
	 */
	if (old && old != new)
		sh->ops->flush_page(sh->ctx, f->va);
}

int av_shadow_fill(struct av_shadow *sh, struct av_tree *tree, const struct av_fill *f)
{
	struct av_pt *pt = tree->root;

	if (f->va >= AV_WINDOW_BASE)
		return -EINVAL;
	if (f->va < pt->va || f->va - pt->va > GENMASK_ULL(47, 0))
		return -EINVAL;
	if (tree->key.asid == AV_ASID_ANY && !f->global) {
		sh->high_tagged = true;
		return -ESTALE;
	}
	if (f->global && !tree->has_global)
		av_tree_set_global(sh, tree, true);
	while (pt->level < f->level) {
		struct av_pt *child = descend(sh, pt, index_of(f->va, pt->level));

		if (!child)
			return sh->free_id ? -ENOMEM : -ENOSPC;
		pt->gspan = max(pt->gspan, f->gspan);
		pt = child;
	}
	pt->gspan = max(pt->gspan, f->gspan);
	if (f->level == 2)
		drop_child(sh, pt, index_of(f->va, 2));
	set_leaf(sh, pt, index_of(f->va, f->level), f);
	sh->ops->publish(sh->ctx);
	return 0;
}
