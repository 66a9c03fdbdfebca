// SPDX-License-Identifier: GPL-2.0
/*
 * Neighbours of a page that light.c has filled: those that the guest maps alike and
 * whose pages are known, so that they have been used before. What is not just that
 * has its own fault. Under mmu_lock, interrupts off, page faults disabled.
 */
#include "mmu/annex.h"
#include "mmu/copies.h"
#include "mmu/entry.h"
#include "mmu/hidden.h"
#include "stats/stats.h"

#define DESC_VALID	1

struct around {
	struct av_hidden *f;
	struct av_pt *pt;		/* that the group is in */
	u64 first;			/* address of the group */
	const u64 *desc;		/* its descriptors, each to be read once */
	struct av_frames_part part;	/* of the frame looked at last */
	u64 alike;			/* av_walk_alike_bits() */
	u8 rights;			/* for pages mapped as that at fault; 0: not to be filled */
	u8 last;			/* rights of the entry made last, 0 for none … */
	u64 pte;			/* … and what it is but for its address */
};

/*
 * The group's descriptors: where they are, or else copied. Nothing has been invalidated
 * since the walk, and is not before the lock is let go.
 */
static const u64 *descriptors(const struct av_hidden *f, u64 ipa)
{
	struct av_mem_page page = f->words;
	const struct av_slot *slot;

	if (!page.hva) {
		slot = av_vm_slot(f->vcpu->vm, ipa >> PAGE_SHIFT);
		if (!slot)
			return NULL;
		page = av_mem_words(slot, ipa);
	}
	return av_mem_look(page, ipa & ~PAGE_MASK, f->vcpu->mmu->words, AV_AROUND);
}

/* Is there a group, with descriptors that can be read and a table of the shadow's? */
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

/* Rights for the i'th page, which is not mapped as the page at fault is. */
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

/* A frame of another part: is it one of the slot's that may be known? */
static noinline bool find_part(struct around *a, u64 gfn)
{
	const struct av_slot *slot = a->f->r->slot;

	av_frames_find_part(&slot->frames, slot->base_gfn, gfn, &a->part);
	return a->part.nr;
}

/* The i'th page, if it is known: all but to count it. */
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
	/* Most are mapped alike. */
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

/* Was any page of the group invalidated since, by guest or host? */
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

/* Pages of the group that may be filled: those that are not, but for the annex's registers. */
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
		.part = f->part,
	};
	unsigned int i, n = 0;
	u32 wanted, filled = 0;
	u64 desc;

	if (changed(&a) || !begin(&a))
		return;
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
