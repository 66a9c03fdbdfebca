/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest's PMU on the host's perf events: what the rest of cpu/ and the API call.
 *
 * A counter that runs has an event of perf's, of the vCPU's thread and of user mode
 * alone, which is where the guest runs, virtual EL1 and EL0. The VMM's own user mode
 * is kept out: events are on from the beginning of a KVM_RUN to its end at most. A
 * counter that counts in the other mode, and all of them when PMCR_EL0.E is off, are
 * stopped at the PMU itself before a stay in the guest (av_pmu_enter()), which costs no
 * call of perf.
 *
 * All under vcpu->mutex, but for the host's PMU interrupt. That comes for an event of
 * the running thread, on its CPU; outside of KVM_RUN no event is on.
 */
#ifndef AV_CPU_PMU_HOST_H
#define AV_CPU_PMU_HOST_H

#include "cpu/types.h"
#include "vm/vcpu.h"

struct kvm_device_attr;

/* At load: which PMUs the host has. Without one no guest has one. Always 0. */
int av_pmu_host_init(void);
/* KVM_CAP_ARM_PMU_V3 */
bool av_pmu_host_has(void);
/* PMUVer that a guest may have: 0 without a PMU. */
unsigned int av_pmu_host_version(void);

/* The VM's vCPUs have a PMU (KVM_ARM_VCPU_INIT); config_lock held. */
void av_pmu_vm_init(struct av_vm *vm);
void av_pmu_vm_destroy(struct av_vm *vm);

void av_pmu_vcpu_init(struct av_vcpu *vcpu);
void av_pmu_vcpu_destroy(struct av_vcpu *vcpu);
void av_pmu_vcpu_reset(struct av_vcpu *vcpu);

static inline bool av_pmu_has(const struct av_vcpu *vcpu)
{
	return av_vcpu_has_feature(vcpu, KVM_ARM_VCPU_PMU_V3);
}

static inline bool av_pmu_vm_has(const struct av_vm *vm)
{
	return READ_ONCE(vm->features) & BIT(KVM_ARM_VCPU_PMU_V3);
}

/* Registers. guest: false: UNDEFINED. */
bool av_pmu_guest(struct av_vcpu *vcpu, u16 enc, bool write, u64 *val);
u64 av_pmu_vmm_get(struct av_vcpu *vcpu, u16 enc);
void av_pmu_vmm_set(struct av_vcpu *vcpu, u16 enc, u64 val);

/* KVM_ARM_VCPU_PMU_V3_CTRL. set: config_lock is taken. */
int av_pmu_set_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr);
int av_pmu_get_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr);
int av_pmu_has_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr);

/* May the vCPU run? 0 or -EINVAL. */
int av_pmu_check(struct av_vcpu *vcpu);
/* Its first run is about to begin. */
void av_pmu_first_run(struct av_vcpu *vcpu);

/* Around a KVM_RUN of a vCPU that has a PMU. May sleep. */
void av_pmu_begin(struct av_vcpu *vcpu);
void av_pmu_end(struct av_vcpu *vcpu);
/* Before a stay with AV_STAY_COUNTS; interrupts off. */
void av_pmu_enter(struct av_vcpu *vcpu);
/* The interrupt line as it is now. */
void av_pmu_update_line(struct av_vcpu *vcpu);

/* pmu_attr.c: what the vCPU's PMU is, from the VM's state. Any context. */
struct av_pmu_model av_pmu_model(const struct av_vm *vm);

#endif /* AV_CPU_PMU_HOST_H */
