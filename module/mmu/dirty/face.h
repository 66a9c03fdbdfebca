/* SPDX-License-Identifier: GPL-2.0 */
/* Dirty logs and rings, for the rest of the module. */
#ifndef AV_MMU_DIRTY_FACE_H
#define AV_MMU_DIRTY_FACE_H

#include <linux/kvm.h>
#include <linux/types.h>

struct av_vcpu;
struct av_vm;

int av_mmu_get_dirty_log(struct av_vm *vm, const struct kvm_dirty_log *log);
int av_mmu_clear_dirty_log(struct av_vm *vm, const struct kvm_clear_dirty_log *log);
/* KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2. -EINVAL: unknown flags. */
int av_mmu_enable_manual_protect(struct av_vm *vm, u64 flags);

/*
 * Dirty rings. KVM_CAP_DIRTY_LOG_RING_ACQ_REL with the ring's size per vCPU;
 * KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP; KVM_RESET_DIRTY_RINGS: number of entries reset, or an
 * errno.
 */
int av_mmu_enable_ring(struct av_vm *vm, u32 bytes);
int av_mmu_enable_ring_bitmap(struct av_vm *vm);
int av_mmu_reset_rings(struct av_vm *vm);
/* Does this page offset of a vCPU's file belong to its ring? Which page is it? */
bool av_mmu_is_ring_page(const struct av_vm *vm, unsigned long pgoff);
struct page *av_mmu_ring_page(struct av_vcpu *vcpu, unsigned long pgoff);
/* AV_REQ_RING: must the vCPU stay out of the guest until its ring has room? Its own thread. */
bool av_mmu_ring_full(struct av_vcpu *vcpu);

#endif /* AV_MMU_DIRTY_FACE_H */
