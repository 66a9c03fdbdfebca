// SPDX-License-Identifier: GPL-2.0
/*
 * Entries that were cleared and not yet flushed. A flush names pages of trees;
 * for a page too many the page's tree, for a tree too many the VM.
 */
#include "mmu/shadow.h"

void av_gather_init(struct av_gather *g, struct av_shadow *sh)
{
	g->sh = sh;
	g->work = 0;
	g->flush.nr_pages = 0;
	g->flush.nr_trees = 0;
	g->flush.all = false;
	g->flush.tables = false;
	av_list_init(&g->unlinked);
}

unsigned int av_gather_finish(struct av_gather *g)
{
	struct av_shadow *sh = g->sh;
	const struct av_flush *f = &g->flush;
	unsigned int issued = 0;

	if (f->nr_pages || f->nr_trees || f->all)
		issued = sh->ops->flush(sh->ctx, f);
	/* No walker reaches the unlinked tables any more. */
	av_list_splice_tail(&g->unlinked, &sh->doomed);
	return issued;
}

static void flush_tree(struct av_flush *f, u64 serial)
{
	unsigned int i;

	for (i = 0; i < f->nr_trees; i++)
		if (f->tree[i] == serial)
			return;
	if (f->nr_trees == AV_FLUSH_TREES)
		f->all = true;
	else
		f->tree[f->nr_trees++] = serial;
}

void av_gather_tree(struct av_gather *g, const struct av_tree *tree)
{
	g->flush.tables = true;
	flush_tree(&g->flush, tree->serial);
}

/* One address is enough to flush a block. */
void av_gather_entry(struct av_gather *g, const struct av_pt *pt, u32 idx)
{
	struct av_flush *f = &g->flush;

	if (f->nr_pages == AV_FLUSH_PAGES) {
		flush_tree(f, pt->tree->serial);
		return;
	}
	f->page[f->nr_pages].serial = pt->tree->serial;
	f->page[f->nr_pages++].va = pt->va + ((u64)idx << av_level_shift(pt->level));
}
