/* SPDX-License-Identifier: GPL-2.0 */
/* guest_memfd and protected VMs' memory, for the rest of the module. */
#ifndef AV_MMU_GMEM_FACE_H
#define AV_MMU_GMEM_FACE_H

#include <linux/types.h>

struct av_vm;

/* KVM_CREATE_GUEST_MEMFD: returns a file descriptor, -EINVAL, -EMFILE or -ENOMEM. */
int av_mmu_create_gmem(struct av_vm *vm, u64 size, u64 flags);

/*
 * Seal a VM before its first run, with none of its ioctls under way: take its memory from
 * everybody else. Calls fn for each slot without a page, then for each page of the slot that is
 * not all zeroes, by address. 0; fn's errno; -EBUSY: somebody holds a page; -EHWPOISON; -EINTR.
 * On an error nothing has changed.
 */
typedef int av_measure_fn(void *ctx, u64 gpa, u64 size, const void *page);
int av_mmu_seal(struct av_vm *vm, av_measure_fn *fn, void *ctx);

/* Most pages that one call shares or takes back. */
#define AV_SHARE_MOST	64

/*
 * The guest of a sealed VM shares nr pages from gpa on, or takes them back, in constant time per
 * page. Returns the number of pages done, from the first on: at least one, and perhaps fewer than
 * nr. Errors concern the first page. -EINVAL: not a page, or already in that state; -ENXIO (share):
 * no memory there; -ENOMEM; -EAGAIN: somebody holds the page, as a device's transfer does for a
 * moment; or, without may_sleep, only the full exit path can tell.
 */
s64 av_mmu_share(struct av_vm *vm, u64 gpa, u64 nr, bool may_sleep);
s64 av_mmu_unshare(struct av_vm *vm, u64 gpa, u64 nr, bool may_sleep);

#endif /* AV_MMU_GMEM_FACE_H */
