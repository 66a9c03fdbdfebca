/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interrupts and timers: the interface of irq/.
 *
 * Before each entry the run loop calls, in the vCPU's own thread,
 *	out = av_irq_pending(vcpu);
 *	if (out & AV_VGIC_IRQ && !(DAIF & I))
 *		inject it;
 * with interrupts off and the vCPU already marked as in the guest: a later change kicks the vCPU
 * out again. WFI ends on the same condition without the mask.
 */
#ifndef AV_IRQ_IRQ_H
#define AV_IRQ_IRQ_H

#include "irq/types.h"
#include "vm/device.h"
#include "vm/regfile.h"
#include "vm/vcpu.h"

struct kvm_irq_level;
struct kvm_irq_routing_entry;
struct kvm_irqfd;
struct kvm_msi;

int av_irq_init(void);
void av_irq_exit(void);

/*
 * Init and teardown of a VM's part and, under vm->lock, a vCPU's. av_irq_vcpu_destroy() also stops
 * the vCPU's hrtimer.
 */
int av_irq_vm_init(struct av_vm *vm);
void av_irq_vm_destroy(struct av_vm *vm);
int av_irq_vcpu_init(struct av_vcpu *vcpu);
void av_irq_vcpu_destroy(struct av_vcpu *vcpu);

/* The in-kernel devices that KVM_CREATE_DEVICE makes. */
extern const struct av_device_ops av_vgic_v3_device_ops;
extern const struct av_device_ops av_vgic_its_device_ops;

/*
 * Lines, routes and irqfds, with KVM's errnos. av_irq_first_run() checks the vGIC's set-up and
 * enables its frames.
 */
bool av_irqchip_created(struct av_vm *vm);
bool av_irqchip_ready(struct av_vm *vm);	/* initialised: no vCPU can be added */
/* @other: the errno to return if the vGIC is all right, or 0. */
int av_irq_first_run(struct av_vcpu *vcpu, int other);
/* Drive an input line. KVM's errnos. Any context. */
int av_irq_inject(struct av_vm *vm, struct av_vcpu *vcpu, u32 intid, bool level, bool owner);
/* Reserve a PPI or SPI: the VMM cannot drive it. The vGIC is ready. -EINVAL, -EEXIST. */
int av_irq_claim(struct av_vcpu *vcpu, u32 intid);
int av_irq_line(struct av_vm *vm, const struct kvm_irq_level *level);
/* KVM_SIGNAL_MSI: returns 1, or 0 if the guest has not mapped the event. */
int av_signal_msi(struct av_vm *vm, const struct kvm_msi *msi);
/* KVM_CAP_MSI_DEVID: does the VM have an ITS? */
bool av_irq_needs_devid(struct av_vm *vm);
int av_irqfd(struct av_vm *vm, const struct kvm_irqfd *args);
int av_irq_set_routing(struct av_vm *vm, const struct kvm_irq_routing_entry *entries,
		       unsigned int nr);
/* KVM_REG_ARM_TIMER_{CTL,CNT,CVAL} and KVM_REG_ARM_PTIMER_*; id as the VMM passes it. */
int av_timer_reg_get(struct av_vcpu *vcpu, u64 id, u64 *val);
int av_timer_reg_set(struct av_vcpu *vcpu, u64 id, u64 val);
/* KVM_ARM_SET_COUNTER_OFFSET: fixes the offset of both counters. 0, or -EBUSY while a vCPU runs. */
int av_timer_set_offset(struct av_vm *vm, u64 offset);
/* KVM_ARM_VCPU_TIMER_CTRL. */
int av_timer_set_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr);
int av_timer_get_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr);
int av_timer_has_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr);

/*
 * For a protected VM's measurement: pass @fn, as 64-bit words, all that the VMM chose before the
 * first run and the guest can see. No ioctl of the VM is under way. Returns @fn's errno, or 0.
 */
typedef int av_word_fn(void *ctx, u64 word);
int av_irq_measure(struct av_vm *vm, av_word_fn *fn, void *ctx);

void av_timer_sync(struct av_vcpu *vcpu);

/* The vCPU's CPU interface outputs, AV_VGIC_IRQ and AV_VGIC_FIQ. For the vCPU's own thread. */
static inline unsigned int av_irq_pending(struct av_vcpu *vcpu)
{
	if (unlikely(READ_ONCE(vcpu->irq->recheck)))
		av_timer_sync(vcpu);
	return (READ_ONCE(vcpu->irq->gic.out) & AV_VGIC_LINES) |
	       (unsigned int)READ_ONCE(vcpu->irq->lines);
}

/*
 * Begin or end a wait that an interrupt of a disabled group ends too. In between, av_irq_wakes()
 * counts such interrupts, and each new one kicks the vCPU. For the vCPU's own thread.
 */
void av_irq_suspend(struct av_vcpu *vcpu, bool suspended);

static inline bool av_irq_group1_off(const struct av_vcpu *vcpu)
{
	return !READ_ONCE(vcpu->irq->gic.grpen1);
}

static inline bool av_irq_wakes(struct av_vcpu *vcpu)
{
	return av_irq_pending(vcpu) || READ_ONCE(vcpu->irq->gic.out) & AV_VGIC_WAKES;
}

/*
 * The CPU interface in the window (cpu/fast.c), which records its actions in srf->icc. For the
 * vCPU's own thread. An IRQ has just been injected, or PSTATE masks it: offer its acknowledgement
 * to the guest in the window. Only before an entry, after which av_irq_settle() must follow.
 */
void av_irq_offer(struct av_vcpu *vcpu);

/* Did the guest acknowledge the last interrupt that PSTATE masked? */
static inline bool av_irq_polls(const struct av_vcpu *vcpu)
{
	return READ_ONCE(vcpu->irq->gic.acknowledges);
}

/* After a stay, and before a run ends: report the guest's actions to the vGIC. */
void av_irq_settle(struct av_vcpu *vcpu);

/* AV_REQ_LEASE: someone wants to see the SPI that the vCPU has a lease of as it is. */
void av_irq_give_back(struct av_vcpu *vcpu);

static inline bool av_irq_unsettled(const struct av_vcpu *vcpu)
{
	return vcpu->srf->icc & AV_ICC_UNSETTLED;
}

/* Before an entry, with the vCPU marked as in the guest: any later change kicks it. */
static inline void av_irq_show(struct av_vcpu *vcpu)
{
	const struct av_vcpu_irq *irq = vcpu->irq;
	struct av_srf *srf = vcpu->srf;

	srf->icc_waits = READ_ONCE(irq->gic.out) & AV_VGIC_WAITS;
	srf->icc_pmr = vcpu->vm->irq->ready ? AV_ICC_PMR_KNOWN | irq->gic.pmr : 0;
	srf->cntvoff = READ_ONCE(vcpu->vm->irq->cnt_offset[AV_TIMER_VIRT]);
}

/*
 * A trapped access to ICC_*_EL1; @reg is AV_SYS(). Returns false to inject UNDEF: no such register,
 * no access in this direction, or no vGIC. May sleep.
 */
bool av_icc_access(struct av_vcpu *vcpu, u32 reg, bool write, u64 *val);
/*
 * Does the VM have the GIC's system registers (ID_AA64PFR0_EL1.GIC)? Before the first run yes: it
 * may still get a vGIC, and a VMM writes back the value that it read.
 */
bool av_irq_has_icc(struct av_vm *vm);

/*
 * A trapped access to a timer or counter: CNT{P,V}_{CTL,CVAL,TVAL}_EL0, CNT{P,V}CT(SS)_EL0,
 * CNTFRQ_EL0. Returns false to inject UNDEF. The caller has checked EL0's rights (CNTKCTL_EL1).
 */
bool av_timer_access(struct av_vcpu *vcpu, u32 reg, bool write, u64 *val);

/* MPIDR_EL1 changed to @mpidr, which the vGIC's registers and SGIs use. */
void av_irq_set_mpidr(struct av_vcpu *vcpu, u64 mpidr);

/* Stop the timers of a vCPU at its reset (KVM_ARM_VCPU_INIT, PSCI). */
void av_timer_reset(struct av_vcpu *vcpu);

/* An access to a frame of the vGIC or an ITS. Returns false if gpa is in none. May sleep. */
bool av_vgic_mmio(struct av_vcpu *vcpu, u64 gpa, unsigned int len, bool write, u64 *val);

/* ---- inside irq/ -------------------------------------------------------- */

static inline struct av_vcpu *av_vgic_vcpu(struct av_vgic_cpu *gic)
{
	return container_of(gic, struct av_vcpu_irq, gic)->vcpu;
}

/*
 * End the leases of those of these interrupts that are SPIs, at most 32: their states are then as
 * if each of the guest's accesses had trapped. vm->irq->lock held, and released while a vCPU is in
 * the guest that has one. Process context; no other spinlock held.
 */
void av_irq_end_leases(struct av_vm *vm, u32 intid, u32 n);
/* Likewise, before this access of the distributor. */
void av_irq_observe_leased(struct av_vm *vm, const struct av_vgic_io *io, bool write);

static inline void av_irq_observe(struct av_vm *vm, const struct av_vgic_io *io, bool write)
{
	if (unlikely(io->vgic->leased))
		av_irq_observe_leased(vm, io, write);
}

/* Deliver a message. Returns 1, 0 if the guest has not mapped it, or KVM's errno. Any context. */
int av_irq_msi(struct av_vm *vm, const struct kvm_msi *msi);

/* The guest deactivated an SPI that has a resampler (irqfd.c). May sleep. */
void av_irqfd_deactivated(struct av_vm *vm, u32 intid);
void av_irqfd_vm_init(struct av_vm *vm);
void av_irqfd_vm_destroy(struct av_vm *vm);

/* Tell the vGIC which SPIs have a resampler; vm->irq_lock held (irqfd.c). */
void av_irqfd_mark(struct av_vm *vm);

void av_timer_vm_init(struct av_vm *vm);
void av_timer_vcpu_init(struct av_vcpu *vcpu);
void av_timer_vcpu_destroy(struct av_vcpu *vcpu);
/* Claim the timers' PPIs; config_lock held. Returns -EINVAL if one is owned already. */
int av_timer_first_run(struct av_vm *vm);

#endif /* AV_IRQ_IRQ_H */
