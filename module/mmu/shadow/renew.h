/* SPDX-License-Identifier: GPL-2.0 */
/* Kept tables that are compared at once: kept.c has the rules. Pure, under mmu_lock. */
#ifndef AV_MMU_RENEW_H
#define AV_MMU_RENEW_H

#include "mmu/shadow/shadow.h"

/* Where the guest has a level-3 table: found; nowhere; not to be found without waiting. */
enum av_found_table { AV_TABLE_FOUND, AV_TABLE_NONE, AV_TABLE_LATER };

/*
 * How to compare tables at once: of which tree, and where the guest has its table for va. find()
 * fills in table and desc, which need only be valid and have the limits. Its walk must be of the
 * same mmu_lock section.
 */
struct av_renew {
	struct av_tree *tree;
	bool kept;		/* kept tables, too */
	enum av_found_table (*find)(const struct av_renew *how, u64 va, struct av_fill *f);
	void *arg;
};

/* Has the tree tables of a process that has exited, and was not used since it got its key? */
static inline bool av_tree_inherits(const struct av_tree *tree)
{
	return tree->root->live && !tree->filled;
}

/*
 * Compare a few of the tree's tables with the guest's, and link them; unlink others, or leave that to
 * the caller. Bounded: about 15,000 instructions, added to *work. The caller publishes. True if
 * anything was changed: if walkers may be in the tree, it must be flushed before mmu_lock is
 * released.
 */
bool av_tree_renew(struct av_shadow *sh, struct av_tree *tree, const struct av_renew *how,
		   u32 *work);

#endif /* AV_MMU_RENEW_H */
