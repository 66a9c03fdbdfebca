// SPDX-License-Identifier: GPL-2.0
/*
 * Stolen time (Arm DEN 0057): how long the vCPU's thread waited for a CPU, in a structure in guest
 * memory at an address that the VMM chose. Once the guest has asked for it, the module updates it
 * before each entry that follows a wait. Guest and VMM can corrupt the structure, so the code only
 * adds to it.
 *
 * Called by the vCPU's own thread, or under vcpu->mutex.
 */
#include <linux/align.h>
#include <linux/uaccess.h>
#include <asm/pvclock-abi.h>

#include "compat/sched.h"
#include "cpu/cpu.h"
#include "cpu/steal.h"
#include "mmu/mmu.h"

#define AT_TIME		offsetof(struct pvclock_vcpu_stolen_time, stolen_time)

void av_steal_init(struct av_vcpu *vcpu)
{
	vcpu->cpu->steal_base = AV_STEAL_NOWHERE;
}

u64 av_steal_start(struct av_vcpu *vcpu)
{
	const struct pvclock_vcpu_stolen_time none = {};

	vcpu->cpu->steal_last = av_run_delay();
	av_gpa_write(vcpu->vm, vcpu->cpu->steal_base, &none, sizeof(none));
	return vcpu->cpu->steal_base;
}

void av_steal_update(struct av_vcpu *vcpu)
{
	u64 gpa = vcpu->cpu->steal_base + AT_TIME, now = av_run_delay(), steal;
	__le64 kept;

	if (now == vcpu->cpu->steal_last || av_gpa_read(vcpu->vm, gpa, &kept, sizeof(kept)))
		return;
	steal = le64_to_cpu(kept) + now - vcpu->cpu->steal_last;
	vcpu->cpu->steal_last = now;
	kept = cpu_to_le64(steal);
	av_gpa_write(vcpu->vm, gpa, &kept, sizeof(kept));
}

int av_steal_has_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr)
{
	return attr->attr == KVM_ARM_VCPU_PVTIME_IPA && sched_info_on() ? 0 : -ENXIO;
}

int av_steal_set_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr)
{
	u64 base;

	if (av_steal_has_attr(vcpu, attr))
		return -ENXIO;
	if (get_user(base, (u64 __user *)u64_to_user_ptr(attr->addr)))
		return -EFAULT;
	if (!IS_ALIGNED(base, sizeof(struct pvclock_vcpu_stolen_time)))
		return -EINVAL;
	if (av_steal_has(vcpu))
		return -EEXIST;
	if (!av_gpa_is_ram(vcpu->vm, base, true))
		return -EINVAL;
	vcpu->cpu->steal_base = base;
	vcpu->cpu->has_steal = true;
	return 0;
}

int av_steal_get_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr)
{
	if (av_steal_has_attr(vcpu, attr))
		return -ENXIO;
	return put_user(vcpu->cpu->steal_base, (u64 __user *)u64_to_user_ptr(attr->addr));
}
