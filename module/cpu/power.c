// SPDX-License-Identifier: GPL-2.0
/*
 * A vCPU's power state: KVM_MP_STATE_RUNNABLE, STOPPED or SUSPENDED.
 *
 * mp_state is written under power_lock: by the vCPU itself (PSCI CPU_OFF), by another vCPU
 * (CPU_ON), or by the VMM. CPU_ON does not touch the target's register file: it leaves a start
 * address and raises AV_REQ_RESET, and the target loads them itself (av_vcpu_load_start()).
 */
#include <linux/kvm.h>

#include "cpu/cpu.h"
#include "cpu/power.h"

void av_power_init(struct av_vcpu *vcpu)
{
	spin_lock_init(&vcpu->cpu->power_lock);
	vcpu->cpu->mp_state = KVM_MP_STATE_RUNNABLE;
}

bool av_vcpu_stopped(const struct av_vcpu *vcpu)
{
	return READ_ONCE(vcpu->cpu->mp_state) == KVM_MP_STATE_STOPPED;
}

bool av_vcpu_suspended(const struct av_vcpu *vcpu)
{
	return READ_ONCE(vcpu->cpu->mp_state) == KVM_MP_STATE_SUSPENDED;
}

static void set_state(struct av_vcpu *vcpu, u32 state)
{
	spin_lock(&vcpu->cpu->power_lock);
	WRITE_ONCE(vcpu->cpu->mp_state, state);
	spin_unlock(&vcpu->cpu->power_lock);
}

void av_power_off(struct av_vcpu *vcpu)
{
	set_state(vcpu, KVM_MP_STATE_STOPPED);
}

bool av_power_on(struct av_vcpu *vcpu, struct av_start start)
{
	bool stopped;

	spin_lock(&vcpu->cpu->power_lock);
	stopped = av_vcpu_stopped(vcpu);
	if (stopped) {
		vcpu->cpu->start = start;
		av_vcpu_request(vcpu, AV_REQ_RESET);
		/* Whoever sees the vCPU runnable must also see the request. */
		smp_store_release(&vcpu->cpu->mp_state, KVM_MP_STATE_RUNNABLE);
	}
	spin_unlock(&vcpu->cpu->power_lock);
	if (stopped)
		av_vcpu_kick(vcpu);
	return stopped;
}

struct av_start av_power_start(struct av_vcpu *vcpu)
{
	struct av_start start;

	spin_lock(&vcpu->cpu->power_lock);
	start = vcpu->cpu->start;
	spin_unlock(&vcpu->cpu->power_lock);
	return start;
}

int av_vcpu_get_mp_state(struct av_vcpu *vcpu)
{
	return READ_ONCE(vcpu->cpu->mp_state);
}

int av_vcpu_set_mp_state(struct av_vcpu *vcpu, u32 state)
{
	if (state != KVM_MP_STATE_RUNNABLE && state != KVM_MP_STATE_STOPPED &&
	    state != KVM_MP_STATE_SUSPENDED)
		return -EINVAL;
	set_state(vcpu, state);
	return 0;
}
