/* SPDX-License-Identifier: GPL-2.0 */
/* Kept tables: resync.c has the rules. Pure, under mmu_lock. */
#ifndef AV_MMU_RESYNC_H
#define AV_MMU_RESYNC_H

#include "mmu/shadow/shadow.h"

/* Where the guest has a level-3 table: found; nowhere; not to be found without waiting. */
enum av_found_table { AV_TABLE_FOUND, AV_TABLE_NONE, AV_TABLE_LATER };

/*
 * How to compare tables at once: a tree, and find(), which looks up the guest's table for va. It
 * fills in table and desc; desc need only be valid and have the limits. Its walk must be in the
 * same mmu_lock section.
 */
struct av_resync {
	struct av_tree *tree;
	bool kept;		/* kept tables, too */
	enum av_found_table (*find)(const struct av_resync *how, u64 va, struct av_fill *f);
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
bool av_tree_resync(struct av_shadow *sh, struct av_tree *tree, const struct av_resync *how,
		    u32 *work);

/*
 * Validate the sleeping entries of a group in a linked table for which the guest has the same
 * leaf again. words: the guest's descriptors from va on; limits: of the tables above. Entries for
 * which the guest has nothing stay asleep; those for which it has another page are dropped. The
 * caller publishes. Returns how many entries were added.
 */
unsigned int av_resync_wake(struct av_shadow *sh, struct av_pt *pt, u64 va, unsigned int n,
			    const u64 *words, u8 limits);

/*
 * Around an invalidation of everything by the host, in parts. A guest's invalidation may skip a tree
 * that a new process has taken over meanwhile: its kept tables are compared with that process's
 * descriptors. The host's must not, because host pages are not compared. So until the last such
 * invalidation has ended no tree is passed on.
 */
static inline void av_shadow_forbid_heirs(struct av_shadow *sh)
{
	sh->no_heirs++;
	sh->spare = NULL;
}

static inline void av_shadow_permit_heirs(struct av_shadow *sh)
{
	sh->no_heirs--;
}

/* ---- internal to the pure part ---- */

/* May a tree's tables be kept? */
static inline bool av_tree_keepable(const struct av_tree *tree)
{
	return tree->users && !tree->key.high;
}

/* Keep some of a tree's tables, as av_tree_drop() drops them. */
bool av_tree_keep(struct av_tree *tree, struct av_gather *g, const struct av_resync *renew,
		  bool begin, u64 *next);
/* Keep the table of pages below an entry: as if a TLBI of the ASID had. */
void av_resync_keep(struct av_pt *pt, u32 idx, struct av_gather *g);
/* Compare a kept table with the guest's. Returns how many entries it lost, less sleepers. */
u32 av_resync_refresh(struct av_shadow *sh, struct av_pt *pt, const struct av_fill *f);
/* Doom an all-kept tree's tables that were not used since it got its key. False: too many entries. */
bool av_resync_prune(struct av_shadow *sh, struct av_tree *tree);
/* Drop a sleeping entry. */
void av_resync_forget(struct av_shadow *sh, struct av_pt *pt, u32 idx);

#endif /* AV_MMU_RESYNC_H */
