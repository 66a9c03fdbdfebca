// SPDX-License-Identifier: GPL-2.0
/*
 * Neighbours of a page that light.c has filled: those that the guest maps alike and
 * whose pages are known, so that they have been used before. What is not just that
 * has its own fault. Under mmu_lock, interrupts off, page faults disabled.
 */
#include "mmu/annex.h"
#include "mmu/copies.h"
#include "mmu/hidden.h"
#include "stats/stats.h"

#define DESC_VALID	1

struct around {
	struct av_hidden *f;
	struct av_pt *pt;		/* that the group is in */
	u64 first;			/* address of the group */
	u64 *desc;			/* its descriptors */
	struct av_piece *piece;		/* of the frame looked at last … */
	u64 start;			/* … whose first frame this is */
	u64 annex;
	u64 alike;			/* av_walk_alike_bits() */
	u8 rights;			/* for pages mapped as that at fault; 0: not to be filled */
	u8 last;			/* rights of the entry made last, 0 for none … */
	u64 pte;			/* … and what it is but for its address */
	u8 filled;
};

/* The group's descriptors, as far as there are any to read. */
static bool begin(struct around *a)
{
	const struct av_walk *walk = &a->f->r->walk;
	u64 ipa = walk->desc_ipa & ~(AV_AROUND * sizeof(*a->desc) - 1);
	const struct av_slot *slot;

	if (walk->level < 3 || av_regime_granule(&a->f->vcpu->mmu->regime, walk->high) != 12)
		return false;
	slot = av_vm_slot(a->f->vcpu->vm, ipa >> PAGE_SHIFT);
	if (!slot || av_mem_load_words(slot, ipa, a->desc, AV_AROUND))
		return false;
	a->alike = av_walk_alike_bits(&a->f->vcpu->mmu->regime);
	a->rights = av_neighbour_rights(a->f->r, walk, 0);
	a->pt = av_shadow_table(a->f->r->tree, a->first);
	return a->pt;
}

/* Rights for the i'th page, by its descriptor: most are mapped as the page at fault is. */
static u8 rights_at(const struct around *a, unsigned int i)
{
	const struct av_regime *regime = &a->f->vcpu->mmu->regime;
	const struct av_walk *at = &a->f->r->walk;
	u64 va = a->first + i * PAGE_SIZE;
	struct av_walk walk;

	if (a->annex && va == a->annex)
		return 0;
	if (!((a->desc[i] ^ at->desc) & a->alike))
		return a->rights;
	if (av_walk_sibling(regime, at, va, a->desc[i], &walk) || walk.global != at->global ||
	    walk.span != at->span)
		return 0;
	return av_neighbour_rights(a->f->r, &walk, 0);
}

/* The piece of a frame, and its place there. */
static struct av_piece *piece_of(struct around *a, u64 frame, unsigned int *n)
{
	if (!a->piece || frame - a->start >= AV_PIECE_FRAMES) {
		a->start = frame / AV_PIECE_FRAMES * AV_PIECE_FRAMES;
		a->piece = av_frames_piece(&a->f->r->slot->frames, frame);
	}
	*n = array_index_nospec(frame - a->start, AV_PIECE_FRAMES);
	return a->piece;
}

static __always_inline void add(struct around *a, unsigned int i)
{
	struct av_hidden *f = a->f;
	struct av_slot *slot = f->r->slot;
	u64 gfn = (a->desc[i] & GENMASK_ULL(47, 12)) >> PAGE_SHIFT;
	u64 frame = gfn - slot->base_gfn;
	struct av_shadow *sh = &f->vcpu->vm->mmu->shadow;
	struct av_piece *piece;
	unsigned int n;
	u8 rights;

	if (frame >= slot->npages)
		return;
	piece = piece_of(a, array_index_nospec(frame, slot->npages), &n);
	rights = piece ? av_frame_rights(piece, n, rights_at(a, i)) : 0;
	if (!rights)
		return;
	if (unlikely(rights != a->last)) {
		a->last = rights;
		a->pte = av_leaf_desc(sh, 3, rights);
	}
	av_shadow_add(sh, a->pt, av_pt_index(a->first, 3) + i, gfn, &piece->head[n],
		      a->pte | (piece->page[n] & AV_FRAME_PAGE),
		      av_walk_key(a->desc[i], f->r->walk.limits));
	piece->state[n] |= AV_FRAME_YOUNG;
	a->filled++;
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

void av_light_around(struct av_hidden *f)
{
	u64 desc[AV_AROUND];
	struct around a = {
		.f = f,
		.first = av_around(f->r->walk.va),
		.desc = desc,
		.annex = READ_ONCE(f->vcpu->vm->mmu->annex.at.va) & PAGE_MASK,
	};
	unsigned int i;
	u32 wanted = 0;

	if (changed(&a) || !begin(&a))
		return;
	for (i = AV_AROUND; i--;)
		wanted = wanted << 1 | (desc[i] & DESC_VALID);
	wanted &= ~av_pt_group(a.pt, a.first, AV_AROUND);
	for (; wanted; wanted &= wanted - 1)
		add(&a, __ffs(wanted));
	av_stat_add(&f->vcpu->stats, AV_EVENT_SHADOW_FILL, a.filled);
}
