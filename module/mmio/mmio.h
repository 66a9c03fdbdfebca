/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mmio/ for the rest of the module: accesses to what is no memory.
 *
 * An access goes to the vGIC, to an ioeventfd, or to the VMM, one register at
 * a time: a pair of registers is two accesses, the lower address first, and
 * may be two exits. As in KVM, the instruction is over (registers written, PC
 * moved on) only when the VMM comes back: the next KVM_RUN completes it
 * before anything else, before immediate_exit too.
 */
#ifndef AV_MMIO_MMIO_H
#define AV_MMIO_MMIO_H

#include "mmio/types.h"
#include "vm/vcpu.h"

struct kvm_ioeventfd;

int av_mmio_vm_init(struct av_vm *vm);
void av_mmio_vm_destroy(struct av_vm *vm);

/*
 * The instruction at the vCPU's PC accessed gpa, which is no memory (or
 * read-only memory, for a write). @far is its virtual address and @iss that
 * of the external abort that a bus without a device there gives. Returns
 * > 0 resume, 0 to user space, < 0 errno.
 */
int av_mmio_access(struct av_vcpu *vcpu, u64 gpa, u32 insn, u64 iss, u64 far);

/*
 * At the start of KVM_RUN: take what the VMM answered. As av_mmio_access();
 * 1 also if there is nothing to complete.
 */
int av_mmio_complete(struct av_vcpu *vcpu);

/* A vCPU reset (KVM_ARM_VCPU_INIT): what was on its way is dropped. */
static inline void av_mmio_reset(struct av_vcpu *vcpu)
{
	vcpu->mmio->pending = false;
}

/* KVM_IOEVENTFD; KVM_CAP_ARM_NISV_TO_USER. */
int av_ioeventfd(struct av_vm *vm, const struct kvm_ioeventfd *args);
int av_mmio_enable_nisv(struct av_vm *vm);

/* bus.c: does an ioeventfd take this write? */
bool av_ioeventfd_write(struct av_vm *vm, u64 gpa, unsigned int len, u64 val);

#endif /* AV_MMIO_MMIO_H */
