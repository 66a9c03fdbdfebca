// SPDX-License-Identifier: GPL-2.0
/*
 * Entries that were cleared and are not flushed yet. A flush names pages; when there are too
 * many, it names the page's tree; when there are too many trees, the whole VM.
 */
#include "mmu/shadow/shadow.h"

static bool names_tree(const struct av_flush *f, u64 serial)
{
	unsigned int i;

	for (i = 0; i < f->nr_trees; i++)
		if (f->tree[i] == serial)
			return true;
	return false;
}

/* Remove pages whose whole tree is flushed. */
static void forget_pages(struct av_flush *f)
{
	unsigned int i, n = 0;

	for (i = 0; i < f->nr_pages; i++)
		if (!names_tree(f, f->page[i].serial))
			f->page[n++] = f->page[i];
	f->nr_pages = n;
}

unsigned int av_gather_finish(struct av_gather *g)
{
	struct av_shadow *sh = g->sh;
	struct av_flush *f = &g->flush;
	unsigned int issued = 0;

	if (unlikely(f->nr_trees) && f->nr_pages)
		forget_pages(f);
	if (f->nr_pages || f->nr_trees || f->all)
		issued = sh->ops->flush(sh->ctx, f);
	/* From now on no walker can reach the unlinked tables. */
	av_list_splice_tail(&g->unlinked, &sh->doomed);
	return issued;
}

void av_gather_flush_tree(struct av_flush *f, u64 serial)
{
	if (names_tree(f, serial))
		return;
	if (f->nr_trees == AV_FLUSH_TREES)
		f->all = true;
	else
		f->tree[f->nr_trees++] = serial;
}

void av_gather_tree(struct av_gather *g, const struct av_tree *tree)
{
	av_gather_flush_tree(&g->flush, tree->serial);
}
