/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Everything that api/ calls in the other folders, in one place: the seam
 * between KVM's ABI and the machine behind it. Declarations only; the rules of
 * each call stand in its owner's header. All run in the caller's context with
 * sleeping allowed, and return 0 or a negative errno (KVM's) unless said.
 */
#ifndef AV_API_CALLS_H
#define AV_API_CALLS_H

#include <linux/kvm.h>
#include <linux/types.h>

struct av_vm;
struct av_vcpu;
struct user_fpsimd_state;

/*
 * VM life: called in this order at creation, undone in reverse. vm is zeroed
 * but for the locks, ids, mm and ipa_bits. destroy is only called after a
 * successful init.
 */
int av_cpu_vm_init(struct av_vm *vm);
void av_cpu_vm_destroy(struct av_vm *vm);
int av_mmu_vm_init(struct av_vm *vm);
void av_mmu_vm_destroy(struct av_vm *vm);
void av_mmu_vm_stop(struct av_vm *vm);		/* before vCPUs go: see mmu/mmu.h */
int av_mmio_vm_init(struct av_vm *vm);
void av_mmio_vm_destroy(struct av_vm *vm);
int av_irq_vm_init(struct av_vm *vm);
void av_irq_vm_destroy(struct av_vm *vm);

/*
 * vCPU life, vm->lock held; the vCPU is in vm->vcpus only after all succeeded.
 * At destruction nobody can reach the vCPU any more but through the VM's own
 * timers, which av_irq_vcpu_destroy() stops.
 */
int av_mmu_vcpu_init(struct av_vcpu *vcpu);
void av_mmu_vcpu_destroy(struct av_vcpu *vcpu);
int av_cpu_vcpu_init(struct av_vcpu *vcpu);
void av_cpu_vcpu_destroy(struct av_vcpu *vcpu);
int av_irq_vcpu_init(struct av_vcpu *vcpu);
void av_irq_vcpu_destroy(struct av_vcpu *vcpu);

/* cpu/: running, reset, registers, power state, pending exceptions. */
/*
 * av_vcpu_run(): KVM_RUN from here on: complete the MMIO access that the VMM
 * answered, look at run->immediate_exit, run. The vCPU is initialised, the
 * vGIC ready, the signal mask set.
 */
int av_vcpu_run(struct av_vcpu *vcpu);
void av_vcpu_kick(struct av_vcpu *vcpu);
void av_vcpu_set_pstate(struct av_vcpu *vcpu, u64 pstate);	/* mode is checked */
struct user_fpsimd_state *av_vcpu_fp(struct av_vcpu *vcpu);	/* outside KVM_RUN */
void av_vcpu_load_start(struct av_vcpu *vcpu);	/* if PSCI CPU_ON left AV_REQ_RESET */
int av_vcpu_reset(struct av_vcpu *vcpu);	/* target, features are set */
int av_sysreg_get(struct av_vcpu *vcpu, u64 id, u64 *val);	/* -ENOENT */
int av_sysreg_set(struct av_vcpu *vcpu, u64 id, u64 val);	/* -ENOENT, -EINVAL, -EBUSY */
/* The n'th id a VMM sees, in KVM's order (ascending); -ENOENT past the last. */
int av_sysreg_index(struct av_vcpu *vcpu, unsigned int n, u64 *id);
/* KVM_REG_ARM_FW (PSCI version, workarounds) and FW_FEAT_BMAP. */
int av_fw_reg_get(struct av_vcpu *vcpu, u64 id, u64 *val);
int av_fw_reg_set(struct av_vcpu *vcpu, u64 id, u64 val);
int av_fw_reg_index(struct av_vcpu *vcpu, unsigned int n, u64 *id);
int av_vcpu_get_mp_state(struct av_vcpu *vcpu);			/* KVM_MP_STATE_* */
int av_vcpu_set_mp_state(struct av_vcpu *vcpu, u32 state);	/* -EINVAL */
int av_vcpu_get_events(struct av_vcpu *vcpu, struct kvm_vcpu_events *events);
int av_vcpu_set_events(struct av_vcpu *vcpu, const struct kvm_vcpu_events *events);

/* mmu/: memory slots. */
int av_mmu_set_slot(struct av_vm *vm, const struct kvm_userspace_memory_region *mem);
int av_mmu_get_dirty_log(struct av_vm *vm, const struct kvm_dirty_log *log);
int av_mmu_clear_dirty_log(struct av_vm *vm, const struct kvm_clear_dirty_log *log);
int av_mmu_enable_manual_protect(struct av_vm *vm, u64 flags);	/* -EINVAL */

/* mmio/ */
int av_ioeventfd(struct av_vm *vm, const struct kvm_ioeventfd *args);
int av_mmio_enable_nisv(struct av_vm *vm);	/* KVM_CAP_ARM_NISV_TO_USER */

/* irq/: lines, routes, irqfds; the first run checks and maps the vGIC. */
bool av_irqchip_created(struct av_vm *vm);
bool av_irqchip_ready(struct av_vm *vm);	/* initialised: no more vCPUs */
int av_irq_first_run(struct av_vcpu *vcpu);
int av_irq_line(struct av_vm *vm, const struct kvm_irq_level *level);
/* KVM_SIGNAL_MSI: 1, or 0 where the guest has it blocked. */
int av_signal_msi(struct av_vm *vm, const struct kvm_msi *msi);
/* KVM_CAP_MSI_DEVID: is there an ITS? */
bool av_irq_needs_devid(struct av_vm *vm);
int av_irqfd(struct av_vm *vm, const struct kvm_irqfd *args);
int av_irq_set_routing(struct av_vm *vm, const struct kvm_irq_routing_entry *entries,
		       unsigned int nr);
/* KVM_REG_ARM_TIMER_{CTL,CNT,CVAL} and their PTIMER twins: ids as the VMM gives. */
int av_timer_reg_get(struct av_vcpu *vcpu, u64 id, u64 *val);
int av_timer_reg_set(struct av_vcpu *vcpu, u64 id, u64 val);
/* KVM_ARM_VCPU_TIMER_CTRL, and the legacy KVM_ARM_SET_DEVICE_ADDR (a vGICv2: -ENODEV). */
int av_timer_set_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr);
int av_timer_get_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr);
int av_timer_has_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr);

#endif /* AV_API_CALLS_H */
