/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A plain VM's memory as a file (KVM_CREATE_GUEST_MEMFD), as KVM on arm64 has it since 6.18: pages
 * in a page cache that is neither swapped nor read and written by system calls. The VMM may map it
 * if it was made so; pages are punched out by fallocate().
 *
 * A slot of it is the guest's memory whatever its userspace_addr is. The module maps the slot's
 * part of the file into the VMM's address space, and the slot is like any other from then on: its
 * pages are found, dropped and found anew by that mapping (mmu/memory/memory.h), and what takes
 * pages from the file (fallocate(), the last close) tells the module by the MMU notifier, as
 * with all memory of the VMM's. The mapping is not inherited by fork(). A VMM that unmaps it
 * harms its own guest: it has no memory there any more, which is EFAULT.
 *
 * Two files have the inode: the VMM's, and one that only slots and their mappings hold. So the
 * end of the VMM's descriptors and mappings is seen, which is the end of the memory, as in KVM.
 *
 * Locks: slots_lock for bindings; a page's lock, inside mmap_lock.
 */
#ifndef AV_MMU_GMEM_PLAIN_H
#define AV_MMU_GMEM_PLAIN_H

#include <linux/errno.h>

#include "compat/kvm_level.h"
#include "mmu/gmem/private.h"

struct av_vm;

#if AV_KVM_GUEST_MEMFD

/* KVM_CREATE_GUEST_MEMFD of a plain VM: a file descriptor, or KVM's errno. */
int av_gmem_plain_create(struct av_vm *vm, u64 size, u64 flags);

/*
 * Is this a file that a slot of so many pages may have? Returns it, held, or KVM's -EBADF or
 * -EINVAL as ERR_PTR().
 */
struct file *av_gmem_plain_get(struct av_vm *vm, const struct av_private *from, u64 npages);

/*
 * Give a new slot its pages of such a file: sets its hva. 0; -EINVAL: the file may not be
 * mapped; -EEXIST: some pages are in a slot already; -ENOMEM. Under slots_lock, in the VMM's
 * context. av_gmem_plain_unbind() is for all slots, also those without a file.
 */
int av_gmem_plain_bind(struct av_slot *slot, struct file *file, u64 offset);
void av_gmem_plain_unbind(struct av_slot *slot);

#else

static inline int av_gmem_plain_create(struct av_vm *vm, u64 size, u64 flags)
{
	return -EINVAL;
}

static inline struct file *av_gmem_plain_get(struct av_vm *vm, const struct av_private *from,
					     u64 npages)
{
	return ERR_PTR(-EINVAL);
}

static inline int av_gmem_plain_bind(struct av_slot *slot, struct file *file, u64 offset)
{
	return -EINVAL;
}

static inline void av_gmem_plain_unbind(struct av_slot *slot)
{
}

#endif

#endif /* AV_MMU_GMEM_PLAIN_H */
