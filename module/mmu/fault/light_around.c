// SPDX-License-Identifier: GPL-2.0
/*
 * Neighbours of a page that fast_walk.c has filled: those that the guest maps alike and whose host
 * pages are known, because they were used before. Others are left to their own faults. Under
 * mmu_lock, with interrupts off and page faults disabled.
 */
#include "mmu/code/annex.h"
#include "mmu/code/copies.h"
#include "mmu/fault/fill.h"
#include "mmu/shadow/entry.h"
#include "mmu/shadow/kept.h"
#include "stats/stats.h"

#define DESC_VALID	1

struct around {
	struct av_hidden *f;
	struct av_pt *pt;		/* the group's shadow table */
	u64 first;			/* address of the group */
	const u64 *desc;		/* its descriptors, to be read once each */
	struct av_frames_part part;	/* of the last frame */
	u64 alike;			/* av_walk_alike_bits() */
	u8 rights;			/* for pages mapped like the faulting one; 0: do not fill */
	u8 last;			/* rights of the last entry, 0: none … */
	u64 pte;			/* … and its descriptor without the address */
};

/*
 * The group's descriptors, in place or copied. Nothing was invalidated since the walk, and
 * mmu_lock prevents it until it is released.
 */
static const u64 *descriptors(const struct av_hidden *f, u64 ipa)
{
	const struct av_slot *slot = av_vm_slot(f->vcpu->vm, ipa >> PAGE_SHIFT);

	if (!slot)
		return NULL;
	return av_mem_look(av_mem_words(slot, ipa), ipa & ~PAGE_MASK, f->vcpu->mmu->words,
			   AV_AROUND);
}

/* Does the group have readable descriptors and a shadow table? */
static bool begin(struct around *a)
{
	const struct av_walk *walk = &a->f->r->walk;

	if (walk->level < 3 || av_regime_granule(&a->f->vcpu->mmu->regime, walk->high) != 12)
		return false;
	a->desc = descriptors(a->f, walk->desc_ipa & ~(AV_AROUND * sizeof(*a->desc) - 1));
	if (!a->desc)
		return false;
	a->alike = av_walk_alike_bits(&a->f->vcpu->mmu->regime);
	a->rights = av_neighbour_rights(a->f->r, walk, 0);
	a->pt = av_shadow_table(a->f->r->tree, a->first);
	return a->pt;
}

/* Rights for the i'th page, which is mapped differently from the faulting one. */
static noinline u8 other_rights(const struct around *a, unsigned int i, u64 desc)
{
	const struct av_regime *regime = &a->f->vcpu->mmu->regime;
	const struct av_walk *at = &a->f->r->walk;
	struct av_walk walk;

	if (av_walk_sibling(regime, at, a->first + i * PAGE_SIZE, desc, &walk) ||
	    walk.global != at->global || walk.span != at->span)
		return 0;
	return av_neighbour_rights(a->f->r, &walk, 0);
}

/* Find the part of another frame. False: not in the slot, or unknown. */
static noinline bool find_part(struct around *a, u64 gfn)
{
	const struct av_slot *slot = a->f->r->slot;

	av_frames_find_part(&slot->frames, slot->base_gfn, gfn, &a->part);
	return a->part.nr;
}

/* Put the i'th page's entry if its host page is known. The caller counts it. */
static __always_inline bool add(struct around *a, unsigned int i, u64 desc)
{
	const struct av_walk *at = &a->f->r->walk;
	u64 gfn = (desc & GENMASK_ULL(47, 12)) >> PAGE_SHIFT;
	struct av_shadow *sh = &a->f->vcpu->vm->mmu->shadow;
	struct av_piece *piece;
	unsigned int n;
	u8 rights;

	if (unlikely(gfn - a->part.gfn >= a->part.nr) && !find_part(a, gfn))
		return false;
	n = array_index_nospec(gfn - a->part.gfn, a->part.nr);
	piece = a->part.piece;
	/* Most pages are mapped alike. */
	rights = likely(!((desc ^ at->desc) & a->alike)) ? a->rights : other_rights(a, i, desc);
	rights = av_frame_rights(piece, n, rights);
	if (!rights)
		return false;
	if (unlikely(rights != a->last)) {
		a->last = rights;
		a->pte = av_leaf_desc(sh, 3, rights);
	}
	av_shadow_put(sh, a->pt, av_pt_index(a->first, 3) + i, gfn, &piece->head[n],
		      a->pte | (piece->page[n] & AV_FRAME_PAGE), av_walk_key(desc, at->limits));
	piece->state[n] |= AV_FRAME_YOUNG;
	return true;
}

/* Did guest or host invalidate any page of the group since the walk? */
static bool changed(const struct around *a)
{
	const struct av_vm_mmu *mmu = a->f->vcpu->vm->mmu;
	const struct av_candidate group = {
		.va = a->first,
		.span = PAGE_SHIFT + ilog2(AV_AROUND),
		.global = true,
	};

	return mmu->in_progress || mmu->seq != a->f->seq.host || av_hidden_voided(a->f, &group);
}

/* Pages to be filled: those of the group without an entry, except the annex's register page. */
static u32 wanted_of(const struct around *a)
{
	u64 annex = READ_ONCE(a->f->vcpu->vm->mmu->annex.at.va), n = (annex - a->first) >> PAGE_SHIFT;
	u32 wanted = GENMASK(AV_AROUND - 1, 0) & ~av_pt_group(a->pt, a->first, AV_AROUND);

	return annex && unlikely(n < AV_AROUND) ? wanted & ~BIT(n) : wanted;
}

void av_light_around(struct av_hidden *f)
{
	struct around a = {
		.f = f,
		.first = av_around(f->r->walk.va),
	};
	unsigned int i, n = 0;
	u32 wanted, filled = 0;
	u64 desc;

	if (changed(&a) || !begin(&a))
		return;
	if (unlikely(a.pt->asleep))
		av_kept_wake(&f->vcpu->vm->mmu->shadow, a.pt, a.first, AV_AROUND, a.desc,
			     f->r->walk.limits);
	for (wanted = wanted_of(&a); wanted; wanted &= wanted - 1) {
		i = __ffs(wanted);
		desc = READ_ONCE(a.desc[i]);
		if (desc & DESC_VALID && add(&a, i, desc)) {
			filled |= BIT(i);
			n++;
		}
	}
	av_pt_count(&f->vcpu->vm->mmu->shadow, a.pt, av_pt_index(a.first, 3), filled, n);
	av_stat_add(&f->vcpu->stats, AV_EVENT_SHADOW_FILL, n);
}
