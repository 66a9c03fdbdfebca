// SPDX-License-Identifier: GPL-2.0
/*
 * Tables that move: rules in moved.h.
 *
 * Nothing in a table of pages depends on its own address: entries are compared by the guest's
 * descriptors, and the reverse map names them by table and index. So a kept table may be linked
 * anywhere, once it agrees with the guest's table there. The TLBI that kept it has flushed it from
 * its old place, and no walker has reached it since.
 */
#include "mmu/shadow/moved.h"

/* The last table of pages for a guest's table, or for another with the same hash. */
static struct av_pt **place(struct av_shadow *sh, const struct av_tree *tree, u64 table)
{
	return &sh->by_table[((table >> AV_PAGE_SHIFT) + tree->serial) % AV_BY_TABLE];
}

void av_moved_note(struct av_shadow *sh, struct av_pt *pt, const struct av_fill *f)
{
	/* The tree may have got another serial number since. */
	av_moved_forget(sh, pt);
	pt->place = 1 + (u16)(place(sh, pt->tree, f->table) - sh->by_table);
	pt->table = f->table;
	sh->by_table[pt->place - 1] = pt;
}

void av_moved_forget(struct av_shadow *sh, const struct av_pt *pt)
{
	if (pt->place && sh->by_table[pt->place - 1] == pt)
		sh->by_table[pt->place - 1] = NULL;
}

bool av_moved_expected(struct av_shadow *sh, const struct av_pt *pt)
{
	u32 idx = av_pt_next(pt, 0);
	const u64 *word;
	u64 copy;

	if (pt->level < 3 || !pt->place || !pt->desc || idx == AV_ENTRIES)
		return false;
	word = sh->ops->look(sh->ctx, pt->table + idx * sizeof(*word), &copy, 1);
	if (!word)
		return false;
	copy = READ_ONCE(*word);
	return copy & AV_PTE_VALID && !((copy ^ pt->desc[idx]) & AV_PTE_ADDR);
}

/* The table above a table of pages that no walker can reach. NULL: one may. */
static struct av_pt *above_kept(const struct av_pt *pt)
{
	struct av_pt *at = pt->tree->root;
	bool linked = true;

	if (pt->gen == pt->tree->gen)
		return NULL;
	for (;;) {
		u32 idx = av_pt_index(pt->va, at->level);
		struct av_pt *child = av_pt_below(at, idx);

		linked &= !!(at->pte[idx] & AV_PTE_VALID);
		if (child == pt)
			return linked ? NULL : at;
		if (!child)
			return NULL;
		at = child;
	}
}

struct av_pt *av_moved_take(struct av_shadow *sh, struct av_tree *tree, const struct av_fill *f)
{
	struct av_pt *pt = *place(sh, tree, f->table), *above;
	u32 idx;

	/* Where the host drops everything, some places were visited: host pages are not compared. */
	if (sh->no_heirs)
		return NULL;
	if (!f->desc || !pt || pt->tree != tree || pt->table != f->table || !pt->desc)
		return NULL;
	above = above_kept(pt);
	if (!above)
		return NULL;
	idx = av_pt_index(pt->va, above->level);
	av_pt_set(above, idx, 0);
	above->aux[idx].child = NULL;
	above->live--;
	sh->shape++;
	return pt;
}
