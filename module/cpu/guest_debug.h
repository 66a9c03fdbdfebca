/* SPDX-License-Identifier: GPL-2.0 */
/* The VMM as the guest's debugger: calls for the run loop and the exit handlers. */
#ifndef AV_CPU_GUEST_DEBUG_H
#define AV_CPU_GUEST_DEBUG_H

#include "vm/vcpu.h"

struct kvm_guest_debug_arch;

/* Around KVM_RUN of a vCPU that the VMM debugs. */
void av_guest_debug_begin(struct av_vcpu *vcpu);
void av_guest_debug_end(struct av_vcpu *vcpu);

/* After a reset during such a KVM_RUN; ss: the virtual CPU's PSTATE.SS before the reset. */
void av_guest_debug_resume(struct av_vcpu *vcpu, bool ss);

/* The AV_STAY_* bits that debugging adds to a stay; the VMM's debug registers, or NULL. */
unsigned int av_guest_debug_stay(const struct av_vcpu *vcpu);
const struct kvm_guest_debug_arch *av_guest_debug_regs(const struct av_vcpu *vcpu);

/* A debug exception: fill vcpu->run. Returns as exit handlers do. */
int av_guest_debug_exit(struct av_vcpu *vcpu);

#endif /* AV_CPU_GUEST_DEBUG_H */
