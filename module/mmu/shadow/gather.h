/* SPDX-License-Identifier: GPL-2.0 */
/* Work done by an operation on the shadow tables, and its pending flushes. Pure. */
#ifndef AV_MMU_GATHER_H
#define AV_MMU_GATHER_H

#include "lib/av_types.h"
#include "lib/list.h"

struct av_shadow;
struct av_tree;

/* A flush: pages of trees; whole trees, also after tables were unlinked; everything of the VM. */
#define AV_FLUSH_PAGES		16
#define AV_FLUSH_TREES		4
struct av_flush {
	struct { u64 serial, va; } page[AV_FLUSH_PAGES];
	u64 tree[AV_FLUSH_TREES];
	u8 nr_pages, nr_trees;
	bool all;
};

/*
 * Limit of work per call, in entries cleared or tables unlinked, give or take a table: about
 * 100,000 instructions. At the limit, the caller must call again.
 */
#define AV_WORK			512

/* Cleared entries and unlinked tables that are not flushed yet, and the work so far. */
struct av_gather {
	struct av_shadow *sh;
	struct av_list unlinked;
	struct av_flush flush;
	u32 work;
	bool keep;		/* tables of pages that the guest still has (moved.c) */
};

static inline bool av_gather_spent(const struct av_gather *g)
{
	return g->work >= AV_WORK;
}

static inline void av_gather_init(struct av_gather *g, struct av_shadow *sh)
{
	g->sh = sh;
	g->work = 0;
	g->keep = false;
	g->flush.nr_pages = 0;
	g->flush.nr_trees = 0;
	g->flush.all = false;
	av_list_init(&g->unlinked);
}

/* Flush. Every gather ends with this. Returns the number of TLBIs. */
unsigned int av_gather_finish(struct av_gather *g);

/* Internal to the pure part. */
void av_gather_flush_tree(struct av_flush *f, u64 serial);
void av_gather_tree(struct av_gather *g, const struct av_tree *tree);

#endif /* AV_MMU_GATHER_H */
