/* SPDX-License-Identifier: GPL-2.0 */
/* Filling hidden faults: slow.c, fast_walk.c, fast.c, and the files that fill neighbours. */
#ifndef AV_MMU_FILL_H
#define AV_MMU_FILL_H

#include "mmu/base/hidden.h"
#include "mmu/memory/memory.h"

/* Under mmu_lock: fill an entry, as av_shadow_fill() does. */
int av_hidden_install(struct av_hidden *f, const struct av_fill *fill);

/*
 * av_fill.desc for a leaf. Only for 4 KiB pages of the low half: only there are tables kept,
 * and there are no copies and no annex.
 */
static inline u64 av_hidden_desc(const struct av_hidden *f, const struct av_walk *walk)
{
	const struct av_tree_key *key = &f->r->tree->key;

	/* TG0 is 0 for 4 KiB. */
	if (walk->level < 3 || key->high || key->tcr & AV_TCR_TG0)
		return 0;
	return av_walk_key(walk->desc, walk->limits);
}

/* The same, and makes room if there was none. 0; -EAGAIN: the guest should fault again. */
int av_hidden_fill(struct av_hidden *f, const struct av_fill *fill);

/* Set f->at[0] to the faulting page, by the guest's tables. */
void av_hidden_candidate(struct av_hidden *f);

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

/* The first page of the group that contains va. */
static inline u64 av_around(u64 va)
{
	return va & ~(AV_AROUND * PAGE_SIZE - 1);
}

/*
 * Add those neighbours of the faulting page that the guest maps in the same slot and the host
 * has present, without taking faults for them.
 */
void av_fault_around(struct av_hidden *f);

/*
 * Under mmu_lock, must not sleep: fill the neighbours of the page just filled whose host pages
 * are known.
 */
void av_light_around(struct av_hidden *f);

/*
 * The same for a page of one of the vCPU's remembered tables: desc is the page's
 * descriptor, pt the shadow table in which it was filled.
 */
void av_near_around(struct av_vcpu *vcpu, const struct av_near *near, const struct av_tree *tree,
		    struct av_pt *pt, u64 va, u64 desc);

/*
 * Under mmu_lock: reduce rights to those that a frame's known page is filled with for an
 * access. 0: use the full exit path.
 */
static __always_inline u8 av_known_rights(const struct av_slot *slot, const struct av_piece *piece,
					  unsigned int n, u8 rights, u8 access)
{
	rights = av_frame_rights(piece, n, rights);
	/* Logging the page may make the vCPU exit to the VMM. */
	if (access & ~rights || (rights & AV_W && av_slot_logged(slot)))
		return 0;
	return rights;
}

/* Under mmu_lock: was this page the last that the guest invalidated, to map another one there? */
static inline bool av_light_remapped(const struct av_shadow *sh, const struct av_tree *tree, u64 va)
{
	const struct av_recent *r = &sh->recent_va[1][sh->seq_va[1] % AV_RECENT];

	return tree->key.high && r->start == va && r->last == (va | ~PAGE_MASK);
}

/* Is everything that a walk since seq has read still valid? */
static inline bool av_light_current(struct av_vcpu *vcpu, bool high, struct av_seq seq)
{
	/* Read the sequence numbers after the tables. */
	smp_rmb();
	return seq.tables == av_mmu_seq_tables(vcpu, high) && av_mmu_seq_current(vcpu, high, seq);
}

/* fast_walk.c: av_mmu_fault_light() for aborts that fast.c cannot handle. */
bool av_light_abort(struct av_vcpu *vcpu, u64 esr, u64 far, bool may_inject,
		    struct av_answer *answer);

/* Fill in the input of av_resolve() for an abort. Use reader in one srcu section. */
void av_hidden_view(struct av_vcpu *vcpu, u64 esr, u64 far, struct av_mem_reader *reader,
		    struct av_view *view);

#endif /* AV_MMU_FILL_H */
