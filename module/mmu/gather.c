// SPDX-License-Identifier: GPL-2.0
/*
 * Entries that were cleared and not yet flushed. A flush names pages of trees;
 * for a page too many the page's tree, for a tree too many the VM.
 */
#include "mmu/shadow.h"

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

void av_gather_flush_tree(struct av_flush *f, u64 serial)
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
	av_gather_flush_tree(&g->flush, tree->serial);
}
