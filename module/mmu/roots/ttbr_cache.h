/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The trees of a vCPU: the root cache (root_cache.c), whose places have a tree and a copy of its
 * root each; and the TTBR cache (ttbr_cache.c), whose pairs of TTBRs have the places and the
 * context that their modes last ran with. Used only by the vCPU's own thread, outside the guest.
 */
#ifndef AV_MMU_TTBR_CACHE_H
#define AV_MMU_TTBR_CACHE_H

#include "mmu/base/base.h"

/* The key of the tree that a vCPU needs for a half, without an owner. */
static inline void av_vcpu_tree_key(const struct av_vcpu *vcpu, bool high, int el,
				    struct av_tree_key *key)
{
	av_tree_key(&vcpu->vm->mmu->shadow, &vcpu->mmu->regime, high, el, key);
	if (high)
		key->window = vcpu->sw->position;
}

/* The place of a tree, or -1. */
int av_root_cache_find(const struct av_vcpu_mmu *mmu, const struct av_tree_key *key);
/* The same, but makes a place for a tree that has none. -ENOMEM. May sleep. */
int av_root_cache_choose(struct av_vcpu *vcpu, const struct av_tree_key *key);
/* The same with interrupts off, if it takes little work; otherwise -EAGAIN. */
int av_root_cache_choose_now(struct av_vcpu *vcpu, const struct av_tree_key *key);

/* The vCPU's window has moved: its trees of the high half are the first to lose their places. */
void av_root_cache_behind(struct av_vcpu *vcpu);

/* Set up a vCPU's list of contexts: it has one. */
void av_ttbr_cache_init(struct av_vcpu_mmu *mmu);
/* A context's tree has lost its place: recycle the context before others. */
void av_ttbr_cache_leave_context(struct av_vcpu_mmu *mmu, unsigned int c);
/*
 * Load the context of the loaded trees. May sleep, unless now is set. Errors as for
 * av_tlb_load(), and with now -EAGAIN if a context should be made.
 */
int av_ttbr_cache_context(struct av_vcpu *vcpu, bool now);

/* The index in pairs[] of the current TTBRs: an existing pair, or a new one without trees. */
unsigned int av_ttbr_cache_find(struct av_vcpu *vcpu, const struct av_regime *regime);
/* Use a pair, and count its neighbour (with) as used: see new_pair(). */
void av_ttbr_cache_use(struct av_vcpu_mmu *mmu, unsigned int i);

/* Would a mode of a pair get the same trees and context as when it last ran? */
bool av_ttbr_cache_at_hand(const struct av_vcpu *vcpu, const struct av_ttbr_pair *pair, int el);
/* TTBR1_EL1 for a mode of a pair that is ready (av_ttbr_cache_at_hand()). */
u64 av_ttbr_cache_ttbr1(const struct av_vcpu *vcpu, const struct av_ttbr_pair *pair, int el);
/* The same for the other mode, if it is ready and has the same TTBR0_EL1; else 0. */
u64 av_ttbr_cache_ttbr1_of_other(const struct av_vcpu *vcpu, const struct av_ttbr_pair *pair,
				 int el);

/* Load the trees and context that a mode of the current pair last ran with. */
void av_ttbr_cache_take(struct av_vcpu *vcpu, int el);
/* Record the trees and context that were just loaded. */
void av_ttbr_cache_note(struct av_vcpu *vcpu);
/* Virtual EL1 has its trees, and gets its context next: prepare EL0's context for later. */
void av_ttbr_cache_foresee_el0(struct av_vcpu *vcpu, bool now);

/* The window may have outdated roots of this pair. */
static inline void av_ttbr_cache_changed(struct av_vcpu_mmu *mmu, unsigned int i)
{
	mmu->to_show |= BIT(i);
}

/* End of a load: update the window's pairs that virtual EL1 may use. */
void av_ttbr_cache_show(struct av_vcpu *vcpu);

#endif /* AV_MMU_TTBR_CACHE_H */
