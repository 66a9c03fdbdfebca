/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A plain VM's memory as a file (KVM_CREATE_GUEST_MEMFD), as in KVM on arm64 since 6.18. Its pages
 * are in a page cache. They are not swapped, and system calls neither read nor write them. The VMM
 * may map the file if it was created for that; fallocate() punches pages out.
 *
 * A slot with such a file ignores its userspace_addr. The module maps the slot's part of the file
 * into the VMM's address space. From then on the slot is like any other: its pages are looked up
 * through that mapping (mmu/memory/memory.h). If fallocate() or the last close takes pages from the
 * file, the MMU notifier tells the module. fork() does not inherit the mapping. A VMM that unmaps
 * it harms only its own guest, which has no memory there any more (EFAULT).
 *
 * The inode has two files: the VMM's, and one that only slots and their mappings hold. So the
 * module sees when the VMM's last descriptor and mapping go. That is the end of the memory, as in
 * KVM.
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
 * Get the file for a slot of npages pages, if a slot may have it. Returns it, held, or KVM's -EBADF
 * or -EINVAL as ERR_PTR().
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
