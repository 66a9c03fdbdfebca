/* SPDX-License-Identifier: GPL-2.0 */
/* Logging of pages that are written, for the rest of mmu/. */
#ifndef AV_MMU_DIRTY_H
#define AV_MMU_DIRTY_H

#include "mmu/base/base.h"

/*
 * dirty.c: log a page that is or may be written from now on: by vcpu, which runs in this
 * thread, or by no vCPU (NULL). The caller holds the slot by srcu or a lock.
 */
void av_slot_log(struct av_vm *vm, struct av_vcpu *vcpu, struct av_slot *slot, u64 gfn);

static inline void av_slot_mark_dirty(struct av_vm *vm, struct av_vcpu *vcpu,
				      struct av_slot *slot, u64 gfn)
{
	if (unlikely(av_slot_logged(slot)))
		av_slot_log(vm, vcpu, slot, gfn);
}

/* dirty_ring.c */
int av_ring_create(struct av_vcpu *vcpu);
void av_ring_destroy(struct av_vcpu *vcpu);
/* Put a page of a slot into the vCPU's ring, unless it is in one. False: there is no room. */
bool av_slot_put_in_ring(struct av_vcpu *vcpu, struct av_slot *slot, u64 page);

#endif /* AV_MMU_DIRTY_H */
