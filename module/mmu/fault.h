/* SPDX-License-Identifier: GPL-2.0 */
/* A hidden fault under way: shared by fault.c and around.c. */
#ifndef AV_MMU_FAULT_H
#define AV_MMU_FAULT_H

#include "mmu/internal.h"

struct av_fault {
	struct av_vcpu *vcpu;
	u64 esr, far;
	struct av_seq seq;
	u8 access;
	bool insn;
	struct av_walk walk;
	struct av_slot *slot;
	struct av_tree *tree;

	/* The page at fault first, then its neighbours; the vCPU's. */
	struct av_candidate *at;
	unsigned int nr;
};

/* What a tree may grant of a walk's rights. */
static inline u8 av_tree_rights(const struct av_tree *tree, const struct av_walk *walk)
{
	return tree->key.mode == AV_MODE_EL1 ? walk->el1 : walk->el0;
}

/*
 * Add the neighbours of the page at fault that the guest maps in the same slot
 * and the host has present: no faults are taken for them.
 */
void av_fault_around(struct av_fault *f);

/* Instructions in this page that the VMM wrote reach where they are fetched from. */
void av_clean_for_execution(struct av_slot *slot, u64 gfn, struct page *page);

#endif /* AV_MMU_FAULT_H */
