/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The virtual CPU: its run loop, what traps mean, exceptions into the guest.
 *
 * Everything here runs in the vCPU's own thread with vcpu->mutex held, unless
 * said otherwise. Handlers of exits return
 *	> 0	go on in the guest
 *	  0	go to user space, vcpu->run is filled
 *	< 0	go to user space with this errno
 *
 * Injecting an exception changes the virtual CPU at once: its PC is the
 * vector, ELR and SPSR hold what they must. Inject at most one exception an
 * exit, and do not skip an instruction that did.
 */
#ifndef AV_CPU_CPU_H
#define AV_CPU_CPU_H

#include "api/vcpu.h"
#include "cpu/regs.h"

struct kvm_vcpu_events;

/* An exit as its handlers see it; what the switcher stored, made stable. */
struct av_exit {
	enum av_left code;
	u32 ec;
	u64 esr;
	u64 far;
	bool el1;		/* the virtual CPU was at EL1 */
};

int av_vcpu_run(struct av_vcpu *vcpu);

/* Get the vCPU out of the guest, and out of WFI, soon. Any context. */
void av_vcpu_kick(struct av_vcpu *vcpu);

/* Exceptions into the guest. */
void av_inject_sync(struct av_vcpu *vcpu, u64 esr);	/* ESR as vEL1 is to see it; EC's low/current form is chosen here */
void av_inject_abort(struct av_vcpu *vcpu, bool insn, u64 far, u64 iss);
void av_inject_undef(struct av_vcpu *vcpu);
void av_inject_serror(struct av_vcpu *vcpu, u64 iss);	/* pending until PSTATE.A allows it */

/* After an instruction was emulated: on to the next one. */
void av_vcpu_skip_insn(struct av_vcpu *vcpu);

#endif /* AV_CPU_CPU_H */
