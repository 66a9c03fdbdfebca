/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest's PMU on the host's perf events: interface for the rest of cpu/ and the API.
 *
 * A running counter has a perf event of the vCPU's thread, for user mode only, where both virtual
 * EL1 and EL0 run. Events are enabled at most from the start of KVM_RUN to its end, so the VMM's
 * own user mode is not counted. Counters that do not count in the mode to be entered, or all of
 * them if PMCR_EL0.E is off, are stopped at the PMU itself before a stay (av_pmu_enter()), without
 * calling perf.
 *
 * All under vcpu->mutex, except the host's PMU interrupt. It comes for an event of the running
 * thread, on the same CPU; outside KVM_RUN no event is enabled.
 */
#ifndef AV_CPU_PMU_HOST_H
#define AV_CPU_PMU_HOST_H

#include <linux/cpumask.h>

#include "cpu/types.h"
#include "vm/vcpu.h"

struct kvm_device_attr;

/* At module load: find the host's PMUs. If it has none, no guest has one. Always returns 0. */
int av_pmu_host_init(void);
/* KVM_CAP_ARM_PMU_V3 */
bool av_pmu_host_has(void);
/* The PMUVer that a guest may have; 0 without a PMU. */
unsigned int av_pmu_host_version(void);

/* A PMU of the host. big.LITTLE machines have several. */
struct av_host_pmu {
	u32 type;		/* perf_event_attr.type */
	unsigned int counters;
	cpumask_t cpus;
};

/* As in KVM, the PMU of the current CPU; any is better than none. */
const struct av_host_pmu *av_host_pmu_here(void);
/* By perf_event_attr.type; or NULL. */
const struct av_host_pmu *av_host_pmu_of_type(u32 type);
/* PMCEID0_EL0 and PMCEID1_EL0. */
const u64 *av_host_pmu_ceid(void);

/* The VM's vCPUs get a PMU (KVM_ARM_VCPU_INIT); config_lock held. */
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

/* Register accesses. guest: false if UNDEFINED. */
bool av_pmu_guest(struct av_vcpu *vcpu, u16 enc, bool write, u64 *val);
u64 av_pmu_vmm_get(struct av_vcpu *vcpu, u16 enc);
void av_pmu_vmm_set(struct av_vcpu *vcpu, u16 enc, u64 val);

/* KVM_ARM_VCPU_PMU_V3_CTRL; set takes config_lock. */
int av_pmu_set_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr);
int av_pmu_get_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr);
int av_pmu_has_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr);

/* May the vCPU run? Returns 0 or -EINVAL. */
int av_pmu_check(struct av_vcpu *vcpu);
/* Before the vCPU's first run. */
void av_pmu_first_run(struct av_vcpu *vcpu);

/* Around KVM_RUN of a vCPU with a PMU. May sleep. */
void av_pmu_begin(struct av_vcpu *vcpu);
void av_pmu_end(struct av_vcpu *vcpu);
/* Before a stay with AV_STAY_COUNTS; interrupts off. */
void av_pmu_enter(struct av_vcpu *vcpu);
/* Tell the vGIC the interrupt line's current level. */
void av_pmu_update_line(struct av_vcpu *vcpu);

/* pmu_attr.c: the model of the VM's PMU. Any context. */
struct av_pmu_model av_pmu_model(const struct av_vm *vm);

#endif /* AV_CPU_PMU_HOST_H */
