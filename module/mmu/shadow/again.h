/* SPDX-License-Identifier: GPL-2.0 */
/* A repeated TLBI of one page (struct av_swept), in few instructions. Pure. */
#ifndef AV_MMU_AGAIN_H
#define AV_MMU_AGAIN_H

#include "mmu/shadow/entry.h"

/* Record a range: fills under way that walked one of its addresses must start over. */
static __always_inline void av_recent_note(u64 *seq, struct av_recent *recent, u64 start, u64 last)
{
	u64 now = *seq + 1;
	struct av_recent *r = &recent[now % AV_RECENT];

	r->start = start;
	r->last = last;
	WRITE_ONCE(*seq, now);
}

/* Would the TLBI reach the same trees as the one that was noted? */
static __always_inline bool av_swept_same(const struct av_shadow *sh, const struct av_swept *swept,
					  struct av_tlbi_page op, bool high)
{
	/* If tables go too, every tree must be told. */
	if (swept->va != op.va || !op.leaf || swept->several)
		return false;
	if (!sh->nr_tagged[high])
		return swept->every;
	return !swept->every && swept->asid == op.asid && !op.any_asid &&
	       !sh->nr_tagged_global[high];
}

/*
 * av_shadow_tlbi_page() for the page that was noted, if at most one tree was filled since. Returns
 * the serial of the tree that lost the page, which the caller flushes before it releases mmu_lock;
 * 0: no tree had it; AV_NOT_SWEPT: not done.
 */
#define AV_NOT_SWEPT	(~0ULL)
static __always_inline u64 av_shadow_tlbi_again(struct av_shadow *sh, struct av_tlbi_page op)
{
	bool high = op.va & BIT_ULL(55);
	struct av_swept *swept = &sh->swept[high];
	struct av_tree *tree = swept->filled, *own = swept->own;
	u64 last = op.va | ~AV_PAGE_MASK;
	struct av_pt *pt = swept->pt;
	u32 idx = av_pt_index(op.va, 3);

	if (!av_swept_same(sh, swept, op, high))
		return AV_NOT_SWEPT;
	if (tree) {
		if (!swept->every && tree != own && tree->key.asid != AV_ASID_ANY)
			return AV_NOT_SWEPT;
		if (unlikely(!pt || swept->shape != sh->shape || pt->tree != tree)) {
			pt = av_swept_table(sh, swept);
			if (!pt)
				return AV_NOT_SWEPT;
		}
	}
	av_recent_note(&sh->seq_va[high], sh->recent_va[high], op.va, last);
	if (own)
		av_recent_note(&own->seq, own->recent, op.va, last);
	if (!tree)
		return 0;
	swept->filled = NULL;
	tree->clean = op.va;
	/* Sleeping: no walker can use it. */
	if (unlikely(!av_pt_has(pt, idx) || !(pt->pte[idx] & AV_PTE_VALID)))
		return 0;
	av_shadow_take(sh, pt, idx);
	return tree->serial;
}

#endif /* AV_MMU_AGAIN_H */
