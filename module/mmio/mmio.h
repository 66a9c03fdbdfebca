/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mmio/ for the rest of the module: accesses to what is no memory.
 *
 * An access goes to the vGIC, to an ioeventfd, to the ring of stores that the VMM
 * wants together, or to the VMM, one register at a time: a pair of registers is two accesses, the lower address first, and
 * may be two exits. As in KVM, the instruction is over (registers written, PC
 * moved on) only when the VMM comes back: the next KVM_RUN completes it
 * before anything else, before immediate_exit too.
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
 * The instruction at the vCPU's PC accessed what is no memory (or read-only
 * memory, for a write). The answer is AV_ANSWER_DEVICE, with the syndrome of the
 * external abort that a bus without a device there gives; it becomes what to do.
 */
void av_mmio_access(struct av_vcpu *vcpu, u32 insn, struct av_answer *answer);

/* Is an access with the VMM? */
static inline bool av_mmio_pending(const struct av_vcpu *vcpu)
{
	return vcpu->mmio->pending;
}

/* At the start of KVM_RUN, with one pending: take what the VMM answered. */
enum av_answer_kind av_mmio_complete(struct av_vcpu *vcpu);

/* A vCPU reset (KVM_ARM_VCPU_INIT): what was on its way is dropped. */
static inline void av_mmio_reset(struct av_vcpu *vcpu)
{
	vcpu->mmio->pending = false;
}

/* KVM_IOEVENTFD; KVM_CAP_ARM_NISV_TO_USER. */
int av_ioeventfd(struct av_vm *vm, const struct kvm_ioeventfd *args);
int av_mmio_enable_nisv(struct av_vm *vm);

/* KVM_REGISTER_COALESCED_MMIO, or UNREGISTER; the ring's page, for the VMM to map. */
int av_coalesced_mmio(struct av_vm *vm, const struct kvm_coalesced_mmio_zone *zone, bool add);
struct page *av_coalesced_page(struct av_vm *vm);

/* coalesced.c: is this write in the ring now? */
bool av_coalesced_write(struct av_vm *vm, u64 gpa, unsigned int len, u64 val);
int av_coalesced_init(struct av_vm *vm);
void av_coalesced_destroy(struct av_vm *vm);

/* ioeventfd.c: does an ioeventfd take this write? */
bool av_ioeventfd_write(struct av_vm *vm, u64 gpa, unsigned int len, u64 val);

#endif /* AV_MMIO_MMIO_H */
