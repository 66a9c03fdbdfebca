// SPDX-License-Identifier: GPL-2.0
/*
 * Neighbours of a page that fast.c has filled: those that the guest's table maps and whose host
 * pages are known. light_around.c does the same for fast_walk.c. Under mmu_lock, held since the
 * table was found to be the guest's.
 */
#include <linux/uaccess.h>

#include "mmu/code/annex.h"
#include "mmu/fault/fill.h"
#include "mmu/shadow/entry.h"
#include "mmu/shadow/kept.h"
#include "stats/stats.h"

struct around {
	const struct av_near *near;
	const struct av_tree *tree;
	struct av_shadow *sh;
	struct av_pt *pt;
	u64 desc;			/* of the faulting page */
	struct av_frames_part part;	/* of the last frame */
	u8 last;			/* rights of the last entry, 0: none … */
	u64 pte;			/* … and its descriptor without the address */
};

/* Bits in which a neighbour must agree with the faulting page. */
#define ALIKE	(AV_DESC_NG | AV_DESC_CONT)

/* Rights for a page by its descriptor; 0: do not fill it. */
static __always_inline u8 rights_of(const struct around *a, u64 desc)
{
	const struct av_near *near = a->near;

	if ((desc ^ a->desc) & ALIKE || desc & near->at.beyond || !(desc & AV_DESC_AF))
		return 0;
	/* Code is rarely read. */
	if (a->tree->key.mode == AV_MODE_EL1_COPIES &&
	    av_walk_leaf_rights(near->at.rights[1], desc) & AV_X)
		return 0;
	return av_slot_rights(near->slot, av_walk_leaf_rights(near->rights, desc), false);
}

/* Find the part of another frame. False: not in the slot, or unknown. */
static noinline bool find_part(struct around *a, u64 gfn)
{
	const struct av_slot *slot = a->near->slot;

	av_frames_find_part(&slot->frames, slot->base_gfn, gfn, &a->part);
	return a->part.nr;
}

/* Put an entry if its host page is known. The caller counts it. */
static __always_inline bool add(struct around *a, unsigned int idx, u64 desc)
{
	u64 gfn = (desc & GENMASK_ULL(47, 12)) >> PAGE_SHIFT;
	struct av_piece *piece;
	unsigned int n;
	u8 rights;

	if (unlikely(gfn - a->part.gfn >= a->part.nr) && !find_part(a, gfn))
		return false;
	n = array_index_nospec(gfn - a->part.gfn, a->part.nr);
	piece = a->part.piece;
	rights = av_frame_rights(piece, n, rights_of(a, desc));
	if (!rights)
		return false;
	if (unlikely(rights != a->last)) {
		a->last = rights;
		a->pte = av_leaf_desc(a->sh, 3, rights);
	}
	av_shadow_put(a->sh, a->pt, idx, gfn, &piece->head[n],
		      a->pte | (piece->page[n] & AV_FRAME_PAGE),
		      av_walk_key(desc, a->near->at.limits));
	piece->state[n] |= AV_FRAME_YOUNG;
	return true;
}

/* Pages to be filled: those of the group without an entry, except the annex's register page. */
static __always_inline u32 wanted_of(const struct av_vcpu *vcpu, const struct av_pt *pt, u64 first)
{
	u32 wanted = GENMASK(AV_AROUND - 1, 0) & ~av_pt_group(pt, first, AV_AROUND);
	u64 annex = READ_ONCE(vcpu->vm->mmu->annex.at.va), n = (annex - first) >> PAGE_SHIFT;

	return annex && unlikely(n < AV_AROUND) ? wanted & ~BIT(n) : wanted;
}

static unsigned int fill_group(struct av_vcpu *vcpu, struct around *a, u64 first, const u64 *words)
{
	unsigned int idx = av_pt_index(first, 3), n = 0;
	u32 wanted = wanted_of(vcpu, a->pt, first), filled = 0;

	for (; wanted; wanted &= wanted - 1) {
		unsigned int i = __ffs(wanted);
		u64 desc = READ_ONCE(words[i]);

		if ((desc & AV_DESC_PAGE) == AV_DESC_PAGE && add(a, idx + i, desc)) {
			filled |= BIT(i);
			n++;
		}
	}
	av_pt_count(a->sh, a->pt, idx, filled, n);
	return n;
}

void av_near_around(struct av_vcpu *vcpu, const struct av_near *near, const struct av_tree *tree,
		    struct av_pt *pt, u64 va, u64 desc)
{
	struct av_shadow *sh = &vcpu->vm->mmu->shadow;
	struct around a = {
		.near = near, .tree = tree, .sh = sh, .pt = pt, .desc = desc, .part = near->part,
	};
	u64 first = av_around(va);
	const u64 *words;
	unsigned int n;

	pagefault_disable();
	words = av_mem_look(near->words, av_walk_desc_ipa(&near->at, first) & ~PAGE_MASK,
			    vcpu->mmu->words, AV_AROUND);
	pagefault_enable();
	if (!words)
		return;
	if (unlikely(pt->asleep))
		av_kept_wake(sh, pt, first, AV_AROUND, words, near->at.limits);
	n = fill_group(vcpu, &a, first, words);
	av_stat_add(&vcpu->stats, AV_EVENT_SHADOW_FILL, n);
}
