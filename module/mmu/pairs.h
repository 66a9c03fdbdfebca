/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a vCPU runs on: its places (places.c), each with a tree and a copy of its root;
 * and its pairs of TTBRs (pairs.c), each with the places and the context that its modes
 * last ran with. All of the vCPU's own thread, outside the guest.
 */
#ifndef AV_MMU_PAIRS_H
#define AV_MMU_PAIRS_H

#include "mmu/internal.h"

/* The place of a tree, or -1. */
int av_place_find(const struct av_vcpu_mmu *mmu, const struct av_tree_key *key);
/* The same; of a tree that has none, a place is made: -ENOMEM. May sleep. */
int av_place_choose(struct av_vcpu *vcpu, const struct av_tree_key *key);
/* The same with interrupts off, where it takes little: -EAGAIN where it does not. */
int av_place_choose_now(struct av_vcpu *vcpu, const struct av_tree_key *key);

/* The context of these trees, by serial, for the next entries: 0, or as av_tlb_load(). */
int av_pair_context(struct av_vcpu *vcpu, u64 low, u64 high);

/* The place in pairs[] of the registers' TTBRs: a new one if need be, which has nothing yet. */
unsigned int av_pair_find(struct av_vcpu_mmu *mmu, const struct av_regime *regime);
/* It is in use from here on, and so is the one by which the guest comes there: new_pair(). */
void av_pair_use(struct av_vcpu_mmu *mmu, unsigned int i);

/* Would a mode of a pair be given the trees and the context now that it last ran with? */
bool av_pair_at_hand(const struct av_vcpu *vcpu, const struct av_ttbr_pair *pair, int el);
/* TTBR1_EL1 for a mode of a pair that is at hand. */
u64 av_pair_ttbr1(const struct av_vcpu *vcpu, const struct av_ttbr_pair *pair, int el);
/* The same for the other mode if that is at hand and has the same TTBR0_EL1; else 0. */
u64 av_pair_ttbr1_of_other(const struct av_vcpu *vcpu, const struct av_ttbr_pair *pair, int el);

/* Load the trees and the context that a mode of the pair in use last ran with. */
void av_pair_take(struct av_vcpu *vcpu, int el);
/* Record the trees and the context that were just loaded. */
void av_pair_note(struct av_vcpu *vcpu);
/* Virtual EL1 has trees, and is about to get its context: that of EL0, which may follow. */
void av_pair_foresee_el0(struct av_vcpu *vcpu);

/* The window may have something of the pair that is not right any more. */
static inline void av_pair_changed(struct av_vcpu_mmu *mmu, unsigned int i)
{
	mmu->to_show |= BIT(i);
}

/* A load ends with this: tell the window what has changed of the pairs that virtual EL1 may change to. */
void av_pairs_show(struct av_vcpu *vcpu);

#endif /* AV_MMU_PAIRS_H */
