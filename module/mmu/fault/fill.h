/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the ways to fill a hidden fault: fast.c, slow.c, block.c, around.c. */
#ifndef AV_MMU_FILL_H
#define AV_MMU_FILL_H

#include "mmu/base/hidden.h"
#include "mmu/memory/memory.h"

/*
 * av_fill.desc for a leaf: only for 4 KiB pages of the low half. Tables of the high half are never
 * kept, and it has copies and the annex.
 */
static inline u64 av_hidden_desc(const struct av_tree *tree, const struct av_walk *walk)
{
	/* TG0 is 0 for 4 KiB. */
	if (walk->level < 3 || tree->key.high || tree->key.tcr & AV_TCR_TG0)
		return 0;
	return av_walk_key(walk->desc, walk->limits);
}

/*
 * slow.c. Under mmu_lock: fill an entry, as av_shadow_fill() does, and make room if there is
 * none. 0; -EAGAIN: the guest should fault again.
 */
int av_hidden_fill(struct av_hidden *f, const struct av_fill *fill);

/* Set f->at[0] to the faulting page, by the guest's tables. */
static inline void av_hidden_candidate(struct av_hidden *f)
{
	const struct av_walk *walk = &f->r->walk;

	f->at[0].va = walk->va & PAGE_MASK;
	f->at[0].gfn = walk->ipa >> PAGE_SHIFT;
	f->at[0].rights = f->r->rights;
	f->at[0].desc = av_hidden_desc(f->r->tree, walk);
	f->nr = 1;
}

/*
 * Fill the block that contains the faulting page. 0 or an errno, as for a page; AV_BLOCK_NONE:
 * fill the page in f->at[0] instead. May sleep.
 */
#define AV_BLOCK_NONE	1
int av_block_fill(struct av_hidden *f);

/* Is the guest's leaf at least 2 MiB? With the MMU off (level 0), everything is one leaf. */
static inline bool av_block_leaf(const struct av_walk *walk)
{
	return walk->level < 3;
}

/* Under mmu_lock: may the fault be filled with a block, if the host has one? */
bool av_block_wanted(const struct av_hidden *f);

/*
 * around.c. Add those neighbours of the faulting page that the guest maps in the same slot and the
 * host has present, without taking faults for them.
 */
void av_slow_around(struct av_hidden *f);

/*
 * Under mmu_lock, must not sleep: after a page was filled, fill those of its neighbours whose host
 * pages are known. near has the page's table, desc is its descriptor, pt the shadow table in which
 * it was filled.
 */
void av_fast_around(struct av_vcpu *vcpu, const struct av_walk_cache *near,
		    const struct av_tree *tree, struct av_pt *pt, u64 va, u64 desc);

#endif /* AV_MMU_FILL_H */
