/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mmio/ for the rest of the module: accesses to addresses without memory.
 *
 * An access goes to the vGIC, an ioeventfd, the coalesced MMIO ring or the VMM. As in KVM, the
 * instruction completes (register written, PC advanced) only when the VMM calls KVM_RUN again,
 * which does that before anything else, even before it looks at immediate_exit.
 *
 * Only accesses that the hardware would describe to KVM are emulated: one general-purpose register,
 * without write-back.
 */
#ifndef AV_MMIO_MMIO_H
#define AV_MMIO_MMIO_H

#include "mmio/types.h"
#include "vm/answer.h"
#include "vm/vcpu.h"

struct kvm_coalesced_mmio_zone;
struct kvm_ioeventfd;
struct page;

int av_mmio_vm_init(struct av_vm *vm);
void av_mmio_vm_destroy(struct av_vm *vm);

/*
 * The instruction at the vCPU's PC accessed an address without memory, or wrote to read-only
 * memory. answer comes as AV_ANSWER_DEVICE with the syndrome of the external abort that a bus
 * without a device would give, and is replaced by the action to take. May sleep.
 */
void av_mmio_access(struct av_vcpu *vcpu, u32 insn, struct av_answer *answer);

/* Does the VMM have an access to answer? */
static inline bool av_mmio_pending(const struct av_vcpu *vcpu)
{
	return vcpu->mmio->pending;
}

/* At the start of KVM_RUN, if one is pending: take the VMM's answer. */
enum av_answer_kind av_mmio_complete(struct av_vcpu *vcpu);

/* A vCPU reset (KVM_ARM_VCPU_INIT) drops a pending access. */
static inline void av_mmio_reset(struct av_vcpu *vcpu)
{
	vcpu->mmio->pending = false;
}

/* KVM_IOEVENTFD; KVM_CAP_ARM_NISV_TO_USER. */
int av_ioeventfd(struct av_vm *vm, const struct kvm_ioeventfd *args);
int av_mmio_enable_nisv(struct av_vm *vm);

/* KVM_(UN)REGISTER_COALESCED_MMIO; the ring's page, for the VMM to map. */
int av_coalesced_mmio(struct av_vm *vm, const struct kvm_coalesced_mmio_zone *zone, bool add);
struct page *av_coalesced_page(struct av_vm *vm);

/* coalesced.c: put a write in the ring. False: in no zone, or the ring is full. */
bool av_coalesced_write(struct av_vm *vm, u64 gpa, unsigned int len, u64 val);
int av_coalesced_init(struct av_vm *vm);
void av_coalesced_destroy(struct av_vm *vm);

/* ioeventfd.c: signal a write's eventfd. False: there is none. */
bool av_ioeventfd_write(struct av_vm *vm, u64 gpa, unsigned int len, u64 val);

#endif /* AV_MMIO_MMIO_H */
