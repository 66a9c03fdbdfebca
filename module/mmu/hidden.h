/* SPDX-License-Identifier: GPL-2.0 */
/* A hidden fault under way: shared by fault.c and light.c, and their neighbours' files. */
#ifndef AV_MMU_HIDDEN_H
#define AV_MMU_HIDDEN_H

#include "mmu/memory.h"

struct av_hidden {
	struct av_vcpu *vcpu;
	struct av_seq seq;
	const struct av_resolved *r;

	/* The page at fault first, then its neighbours; the vCPU's. */
	struct av_candidate *at;
	unsigned int nr;
};

/* Under mmu_lock: has the guest invalidated the candidate's leaf since f->seq? */
bool av_hidden_voided(const struct av_hidden *f, const struct av_candidate *c);

/* Under mmu_lock: fill an entry, as av_shadow_fill(). */
int av_hidden_install(struct av_hidden *f, const struct av_fill *fill);

/*
 * av_fill.desc of a leaf: of 4 KiB pages, in the lower half, which alone has tables that
 * are kept, and no copies and no annex.
 */
static inline u64 av_hidden_desc(const struct av_hidden *f, const struct av_walk *walk)
{
	const struct av_tree_key *key = &f->r->tree->key;

	/* TG0 is 0 for 4 KiB. */
	if (walk->level < 3 || key->high || key->tcr & AV_TCR_TG0)
		return 0;
	return av_walk_key(walk->desc, walk->limits);
}

/* The same, and makes room for the next time where there was none: 0, -EAGAIN to look once more. */
int av_hidden_fill(struct av_hidden *f, const struct av_fill *fill);

/* What the guest's tables say of the page at fault, in f->at[0]. */
void av_hidden_candidate(struct av_hidden *f);

/*
 * Fill the block that the page at fault is in. 0 or an errno as for a page; AV_BLOCK_NONE
 * where it is to be a page, which is in f->at[0]. May sleep.
 */
#define AV_BLOCK_NONE	1
int av_block_fill(struct av_hidden *f);

/* Does one leaf of the guest's cover 2 MiB? With the MMU off (level 0) all is one. */
static inline bool av_block_leaf(const struct av_walk *walk)
{
	return walk->level < 3;
}

/* Under mmu_lock: may the fault be filled with a block, if the host has one there? */
bool av_block_wanted(const struct av_hidden *f);

/* The group of pages that va is in. */
static inline u64 av_around(u64 va)
{
	return va & ~(AV_AROUND * PAGE_SIZE - 1);
}

/*
 * Add the neighbours of the page at fault that the guest maps in the same slot
 * and the host has present: no faults are taken for them.
 */
void av_fault_around(struct av_hidden *f);

/*
 * Under mmu_lock, nothing may sleep, and the page at fault has been filled: fill its
 * neighbours whose pages are known.
 */
void av_light_around(struct av_hidden *f);

/*
 * The same of a page of one of the vCPU's tables (near.c), by this descriptor of the table's,
 * with the shadow's table, in which it has been filled.
 */
void av_near_around(struct av_vcpu *vcpu, const struct av_near *near, const struct av_tree *tree,
		    struct av_pt *pt, u64 va, u64 desc);

/*
 * Under mmu_lock: of rights for a frame of a slot, those that its known page is filled with
 * for an access; 0 where that is to be done the long way.
 */
static __always_inline u8 av_known_rights(const struct av_slot *slot, const struct av_piece *piece,
					  unsigned int n, u8 rights, u8 access)
{
	rights = av_frame_rights(piece, n, rights);
	/* A page that is logged may make the vCPU leave. */
	if (access & ~rights || (rights & AV_W && av_slot_logged(slot)))
		return 0;
	return rights;
}

/* Under mmu_lock: did the guest invalidate this very page a moment ago, to map another there? */
static inline bool av_light_remapped(const struct av_shadow *sh, const struct av_tree *tree, u64 va)
{
	const struct av_recent *r = &sh->recent_va[1][sh->seq_va[1] % AV_RECENT];

	return tree->key.high && r->start == va && r->last == (va | ~PAGE_MASK);
}

/* Has nothing that a walk since seq has read been invalidated by now? */
static inline bool av_light_current(struct av_vcpu *vcpu, bool high, struct av_seq seq)
{
	/* They were read before. */
	smp_rmb();
	return seq.tables == av_mmu_seq_tables(vcpu, high) && av_mmu_seq_current(vcpu, high, seq);
}

/* light.c: av_mmu_fault_light() for what is not near.c's. */
bool av_light_abort(struct av_vcpu *vcpu, u64 esr, u64 far, bool may_inject,
		    struct av_answer *answer);

/*
 * ops.c: av_mmu_tlbi_light() of an ASID or a range. False: it is to be done the long way, of
 * which a part may have been done.
 */
bool av_light_tlbi(struct av_vcpu *vcpu, u32 sys, u64 xt);

/* The inputs of av_resolve() for an abort; reader is one of this srcu section. */
void av_hidden_view(struct av_vcpu *vcpu, u64 esr, u64 far, struct av_mem_reader *reader,
		    struct av_view *view);

#endif /* AV_MMU_HIDDEN_H */
