/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interrupts and time: the interface of irq/.
 *
 * Before each entry the run loop calls, in the vCPU's own thread,
 *
 *	out = av_irq_pending(vcpu);
 *	if (out & AV_VGIC_IRQ && !(DAIF & I))
 *		inject it;
 *
 * with interrupts off and the vCPU already marked as in the guest: a later
 * change kicks it out again. WFI ends on the same condition without the mask.
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

/* Module load and unload. */
int av_irq_init(void);
void av_irq_exit(void);

/*
 * Life of VMs and, with vm->lock held, of vCPUs. av_irq_vcpu_destroy() stops the
 * vCPU's hrtimer, its last user.
 */
int av_irq_vm_init(struct av_vm *vm);
void av_irq_vm_destroy(struct av_vm *vm);
int av_irq_vcpu_init(struct av_vcpu *vcpu);
void av_irq_vcpu_destroy(struct av_vcpu *vcpu);

/* The in-kernel devices that KVM_CREATE_DEVICE makes. */
extern const struct av_device_ops av_vgic_v3_device_ops;
extern const struct av_device_ops av_vgic_its_device_ops;

/* Lines, routes, irqfds; the first run checks and maps the vGIC. KVM's errnos. */
bool av_irqchip_created(struct av_vm *vm);
bool av_irqchip_ready(struct av_vm *vm);	/* initialised: no vCPU can be added */
/* @other: 0, or why a run fails when all is well with the vGIC. */
int av_irq_first_run(struct av_vcpu *vcpu, int other);
/* A PPI or an SPI is the caller's to drive: -EINVAL, -EEXIST. The vGIC is ready. */
int av_irq_claim(struct av_vcpu *vcpu, u32 intid);
int av_irq_line(struct av_vm *vm, const struct kvm_irq_level *level);
/* KVM_SIGNAL_MSI: 1, or 0 if the guest has not mapped it. */
int av_signal_msi(struct av_vm *vm, const struct kvm_msi *msi);
/* KVM_CAP_MSI_DEVID: is there an ITS? */
bool av_irq_needs_devid(struct av_vm *vm);
int av_irqfd(struct av_vm *vm, const struct kvm_irqfd *args);
int av_irq_set_routing(struct av_vm *vm, const struct kvm_irq_routing_entry *entries,
		       unsigned int nr);
/* KVM_REG_ARM_TIMER_{CTL,CNT,CVAL} and KVM_REG_ARM_PTIMER_*, with the VMM's ids. */
int av_timer_reg_get(struct av_vcpu *vcpu, u64 id, u64 *val);
int av_timer_reg_set(struct av_vcpu *vcpu, u64 id, u64 val);
/* KVM_ARM_SET_COUNTER_OFFSET, of both counters for good: 0, or -EBUSY while a vCPU runs. */
int av_timer_set_offset(struct av_vm *vm, u64 offset);
/* KVM_ARM_VCPU_TIMER_CTRL, and the legacy KVM_ARM_SET_DEVICE_ADDR (a vGICv2: -ENODEV). */
int av_timer_set_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr);
int av_timer_get_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr);
int av_timer_has_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr);

/*
 * What the guest finds that its VMM chose before the first run, word by word, with no ioctl
 * of the VM under way: fn's errno, or 0.
 */
typedef int av_word_fn(void *ctx, u64 word);
int av_irq_measure(struct av_vm *vm, av_word_fn *fn, void *ctx);

void av_timer_sync(struct av_vcpu *vcpu);

/*
 * The outputs of the vCPU's CPU interface, AV_VGIC_IRQ and AV_VGIC_FIQ. Called by
 * the vCPU's own thread.
 */
static inline unsigned int av_irq_pending(struct av_vcpu *vcpu)
{
	if (unlikely(READ_ONCE(vcpu->irq->recheck)))
		av_timer_sync(vcpu);
	return (READ_ONCE(vcpu->irq->gic.out) & AV_VGIC_LINES) |
	       (unsigned int)READ_ONCE(vcpu->irq->lines);
}

/*
 * The CPU interface in the window (cpu/fast.c), which leaves in srf->icc what it has
 * done. All are the vCPU's own thread's. An interrupt has just been injected as IRQ:
 * the guest may acknowledge it there. Only before an entry; its exit settles it.
 */
void av_irq_offer(struct av_vcpu *vcpu);

/* After a stay, and before a run ends: the vGIC is as the guest has left it. */
void av_irq_settle(struct av_vcpu *vcpu);

static inline bool av_irq_unsettled(const struct av_vcpu *vcpu)
{
	return vcpu->srf->icc & AV_ICC_UNSETTLED;
}

/* Before an entry, with the vCPU marked as in the guest: whatever comes later kicks it. */
static inline void av_irq_show(struct av_vcpu *vcpu)
{
	const struct av_vcpu_irq *irq = vcpu->irq;
	struct av_srf *srf = vcpu->srf;

	srf->icc_waits = READ_ONCE(irq->gic.out) & AV_VGIC_WAITS;
	srf->icc_pmr = vcpu->vm->irq->ready ? AV_ICC_PMR_KNOWN | irq->gic.pmr : 0;
	srf->cntvoff = READ_ONCE(vcpu->vm->irq->cnt_offset[AV_TIMER_VIRT]);
}

/*
 * A trapped ICC_*_EL1; @reg is AV_SYS(). False: inject UNDEF (no such
 * register, no access in this direction, or no vGIC). May sleep.
 */
bool av_icc_access(struct av_vcpu *vcpu, u32 reg, bool write, u64 *val);
/*
 * Does the VM have the GIC's system registers (ID_AA64PFR0_EL1.GIC)? Until the
 * first run it may still get a vGIC, and a VMM writes back what it read before.
 */
bool av_irq_has_icc(struct av_vm *vm);

/*
 * A trapped access to a timer or a counter: CNT{P,V}_{CTL,CVAL,TVAL}_EL0,
 * CNT{P,V}CT(SS)_EL0, CNTFRQ_EL0. False: inject UNDEF. The caller has checked
 * EL0's rights (CNTKCTL_EL1).
 */
bool av_timer_access(struct av_vcpu *vcpu, u32 reg, bool write, u64 *val);

/* MPIDR_EL1 is @mpidr now: the vGIC's registers and SGIs go by it. */
void av_irq_set_mpidr(struct av_vcpu *vcpu, u64 mpidr);

/* Stop the timers of a vCPU at its reset (KVM_ARM_VCPU_INIT, PSCI). */
void av_timer_reset(struct av_vcpu *vcpu);

/* An access to a frame of the vGIC or an ITS; false: there is none at gpa. May sleep. */
bool av_vgic_mmio(struct av_vcpu *vcpu, u64 gpa, unsigned int len, bool write, u64 *val);

/* ---- inside irq/ -------------------------------------------------------- */

/* Drive an input line. KVM's errnos. Any context. */
int av_irq_inject(struct av_vm *vm, struct av_vcpu *vcpu, u32 intid, bool level, bool owner);

/* Deliver a message: 1, 0 if the guest has not mapped it, or KVM's errno. Any context. */
int av_irq_msi(struct av_vm *vm, const struct kvm_msi *msi);
/* Is there a vGIC with an ITS? */
bool av_irq_has_its(struct av_vm *vm);

/* The guest deactivated an SPI that has a resampler (irqfd.c). May sleep. */
void av_irqfd_deactivated(struct av_vm *vm, u32 intid);
void av_irqfd_vm_init(struct av_vm *vm);
void av_irqfd_vm_destroy(struct av_vm *vm);

/* The INTID that a GSI is routed to, or -1. Inside vm->irq_srcu. */
int av_route_intid(struct av_vm *vm, u32 gsi);
/*
 * Drive a GSI: set its pin to @level, or send its message if @level is true.
 * Inside vm->irq_srcu, any context.
 */
void av_route_set(struct av_vm *vm, u32 gsi, bool level);
/* The initial routes: GSI n to SPI n. */
int av_route_default(struct av_vm *vm, u32 nr_spis);
void av_route_destroy(struct av_vm *vm);
/* Tell the vGIC which SPIs have a resampler; vm->irq_lock held (irqfd.c). */
void av_irqfd_mark(struct av_vm *vm);

void av_timer_vm_init(struct av_vm *vm);
void av_timer_vcpu_init(struct av_vcpu *vcpu);
void av_timer_vcpu_destroy(struct av_vcpu *vcpu);
/* Claim the timers' PPIs; config_lock held. -EINVAL: one of them has an owner. */
int av_timer_first_run(struct av_vm *vm);

#endif /* AV_IRQ_IRQ_H */
