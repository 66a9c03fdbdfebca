/* SPDX-License-Identifier: GPL-2.0 */
/* The VMM as the guest's debugger: calls for the run loop and the exits. */
#ifndef AV_CPU_GUEST_DEBUG_H
#define AV_CPU_GUEST_DEBUG_H

#include "vm/vcpu.h"

struct kvm_guest_debug_arch;

/* Around a KVM_RUN of a vCPU that is debugged. */
void av_guest_debug_begin(struct av_vcpu *vcpu);
void av_guest_debug_end(struct av_vcpu *vcpu);

/* Within such a KVM_RUN, after a reset: ss was the virtual CPU's PSTATE.SS. */
void av_guest_debug_resume(struct av_vcpu *vcpu, bool ss);

/* AV_STAY_* that debugging sets for a stay, and the VMM's debug registers if it has some. */
unsigned int av_guest_debug_stay(const struct av_vcpu *vcpu);
const struct kvm_guest_debug_arch *av_guest_debug_regs(const struct av_vcpu *vcpu);

/* A debug exception: fill vcpu->run. */
int av_guest_debug_exit(struct av_vcpu *vcpu);

#endif /* AV_CPU_GUEST_DEBUG_H */
