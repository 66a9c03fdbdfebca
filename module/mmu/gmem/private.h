/* SPDX-License-Identifier: GPL-2.0 */
/* A protected VM's memory slots, for the other rooms of mmu/; face.h has the rest. */
#ifndef AV_MMU_PRIVATE_H
#define AV_MMU_PRIVATE_H

#include "mmu/gmem/gmem.h"
#include "mmu/slots/slots.h"

/* The guest_memfd in KVM_SET_USER_MEMORY_REGION2. */
struct av_private {
	u32 fd;
	u64 offset;
};

/*
 * Give a new slot the pages of a file from an offset on. 0, or KVM's -EBADF, -EINVAL, -EEXIST;
 * -ENOMEM. Under slots_lock, may sleep. av_private_unbind() is for all slots, also those
 * without a file.
 */
int av_private_bind(struct av_vm *vm, struct av_slot *slot, const struct av_private *from);
void av_private_unbind(struct av_slot *slot);

#endif /* AV_MMU_PRIVATE_H */
