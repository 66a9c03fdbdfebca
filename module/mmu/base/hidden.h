/* SPDX-License-Identifier: GPL-2.0 */
/* The state of a hidden fault, while it is filled. */
#ifndef AV_MMU_HIDDEN_H
#define AV_MMU_HIDDEN_H

#include "mmu/base/base.h"

struct av_hidden {
	struct av_vcpu *vcpu;
	struct av_seq seq;
	const struct av_classified *r;

	/* The faulting page first, then its neighbours. An array of the vCPU. */
	struct av_candidate *at;
	unsigned int nr;
};

/*
 * Under mmu_lock: has the guest invalidated a leaf of 2^span bytes at va since f->seq? Like the
 * faulting page's, it is global or not.
 */
bool av_hidden_voided(const struct av_hidden *f, u64 va, u8 span);

#endif /* AV_MMU_HIDDEN_H */
