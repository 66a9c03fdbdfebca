/* SPDX-License-Identifier: GPL-2.0 */
/*
 * State of irq/ for a VM and for a vCPU: vm->irq and vcpu->irq point to it.
 */
#ifndef AV_IRQ_TYPES_H
#define AV_IRQ_TYPES_H

#include <linux/hashtable.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include "irq/layout.h"
#include "irq/msi.h"
#include "irq/timer.h"
#include "irq/vgic.h"

/* KVM's limit: GSIs are below it. */
#define AV_MAX_IRQ_ROUTES	4096
#define AV_IRQFD_HASH_BITS	8

enum av_timer_id { AV_TIMER_VIRT, AV_TIMER_PHYS, AV_NR_TIMERS };

/* The vGIC of a VM and the addresses of its frames. */
struct av_irqchip {
	struct av_vm *vm;
	struct av_vgic vgic;		/* under vm->irq->lock */
	struct av_vgic_layout layout;	/* under vm->config_lock until ready */
};

static inline struct av_vm *av_vgic_vm(const struct av_vgic *vgic)
{
	return container_of(vgic, struct av_irqchip, vgic)->vm;
}

struct av_irq_routes;

struct av_vm_irq {
	spinlock_t lock;		/* the vGIC; interrupts off */

	/*
	 * Allocated by KVM_CREATE_DEVICE of the vGIC or an ITS, freed with the VM. created changes
	 * under vm->lock and config_lock. The first run sets ready, which never changes back.
	 */
	struct av_irqchip *chip;
	bool created;
	bool ready;

	struct mutex msi_lock;		/* LPIs and ITSs: msi.h */
	unsigned int its_created;	/* config_lock */
	unsigned int nr_its;		/* those with an address; under lock, except its_at() */
	struct av_its_chip *its[AV_MAX_PLACED_ITS];

	u8 ppi[AV_NR_TIMERS];		/* the timers' interrupts; config_lock */
	u64 cnt_offset[AV_NR_TIMERS];	/* guest's counter = host's − this; config_lock */
	bool cnt_fixed;			/* KVM_ARM_SET_COUNTER_OFFSET: writes are ignored */
	u64 cnt_created;		/* the host's counter at the VM's creation */

	struct av_irq_routes __rcu *routes;	/* irq_srcu; written under irq_lock */
	spinlock_t irqfd_lock;		/* irqfds; taken by wake-ups, interrupts off */
	DECLARE_HASHTABLE(irqfds, AV_IRQFD_HASH_BITS);	/* by eventfd */
	unsigned int nr_irqfds;		/* not yet ended, under irqfd_lock */
	struct list_head resamplers;	/* irq_srcu; written under irq_lock */
};

struct av_vcpu;

struct av_vcpu_irq {
	struct av_vcpu *vcpu;

	struct av_vgic_cpu gic;		/* under vm->irq->lock, except gic.out */
	/* Without a vGIC: AV_VGIC_IRQ and _FIQ as set by KVM_IRQ_LINE. Atomic bits. */
	unsigned long lines;

	/* The vCPU's own thread owns the timers; expired() only sets recheck. */
	struct av_timer timer[AV_NR_TIMERS];
	bool line[AV_NR_TIMERS];	/* level last passed to the vGIC */
	bool recheck;			/* a timer expired or was written: av_timer_sync() */
	bool armed;
	u64 deadline;			/* of the hrtimer, in ticks of the host's counter */
	struct hrtimer hrtimer;		/* for the earlier of the two */
};

#endif /* AV_IRQ_TYPES_H */
