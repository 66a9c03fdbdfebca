/* SPDX-License-Identifier: GPL-2.0 */
/* What the shadow tables' operations gather: work, and entries and tables to be flushed. Pure. */
#ifndef AV_MMU_GATHER_H
#define AV_MMU_GATHER_H

#include "lib/av_types.h"
#include "lib/list.h"

struct av_shadow;
struct av_tree;

/*
 * A flush: pages of trees, trees with all that their tables ever led to,
 * everything of the VM. tables: tables were unlinked, so walk-cache entries
 * that lead to them go too, also under the hop ASID of the switch.
 */
#define AV_FLUSH_PAGES		16
#define AV_FLUSH_TREES		4
struct av_flush {
	struct { u64 serial, va; } page[AV_FLUSH_PAGES];
	u64 tree[AV_FLUSH_TREES];
	u8 nr_pages, nr_trees;
	bool all, tables;
};

/*
 * The most work of one call before it asks to be called again, in entries
 * cleared or unlinked, give or take one table: some 100,000 instructions.
 */
#define AV_WORK			512

/* Entries and tables that an operation has cleared and not yet flushed, and its work so far. */
struct av_gather {
	struct av_shadow *sh;
	struct av_list unlinked;
	struct av_flush flush;
	u32 work;
};

static inline bool av_gather_spent(const struct av_gather *g)
{
	return g->work >= AV_WORK;
}

static inline void av_gather_init(struct av_gather *g, struct av_shadow *sh)
{
	g->sh = sh;
	g->work = 0;
	g->flush.nr_pages = 0;
	g->flush.nr_trees = 0;
	g->flush.all = false;
	g->flush.tables = false;
	av_list_init(&g->unlinked);
}

/* Flush. Every gather ends with this. Returns the number of TLBI. */
unsigned int av_gather_finish(struct av_gather *g);

/* The same where nothing was unlinked, as for av_shadow_tlbi_page(): most often nothing was cleared. */
static inline unsigned int av_gather_finish_page(struct av_gather *g)
{
	return g->flush.nr_pages ? av_gather_finish(g) : 0;
}

/* Internal to the pure part. */
void av_gather_flush_tree(struct av_flush *f, u64 serial);
void av_gather_tree(struct av_gather *g, const struct av_tree *tree);

#endif /* AV_MMU_GATHER_H */
