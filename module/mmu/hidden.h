/* SPDX-License-Identifier: GPL-2.0 */
/* A hidden fault under way: shared by fault.c and fault_around.c. */
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

/*
 * Add the neighbours of the page at fault that the guest maps in the same slot
 * and the host has present: no faults are taken for them.
 */
void av_fault_around(struct av_hidden *f);

#endif /* AV_MMU_HIDDEN_H */
