/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What irq/ keeps for a VM and a vCPU: what vm->irq and vcpu->irq point to.
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

/* As KVM's limit; routes, and so numbers of irqfds (GSIs). */
#define AV_MAX_IRQ_ROUTES	4096
#define AV_IRQFD_HASH_BITS	8

enum av_timer_id { AV_TIMER_VIRT, AV_TIMER_PHYS, AV_NR_TIMERS };

/* The vGIC of a VM and where it is. */
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
	 * Made by KVM_CREATE_DEVICE of it or of an ITS, freed with the VM. created under vm->lock
	 * and config_lock; ready, once the first vCPU runs, never changes back.
	 */
	struct av_irqchip *chip;
	bool created;
	bool started;			/* a vCPU has run: no device can come any more */
	bool ready;

	struct mutex msi_lock;		/* LPIs and ITSs: msi.h */
	unsigned int its_created;	/* config_lock */
	unsigned int nr_its;		/* those with a place: under lock, but for its_at() */
	struct av_its_chip *its[AV_MAX_PLACED_ITS];

	u8 ppi[AV_NR_TIMERS];		/* the timers' interrupts; config_lock */
	u64 cnt_offset;			/* counter of the guest = host's − this; config_lock */
	u64 cnt_created;		/* the host's counter when the VM was made */

	struct av_irq_routes __rcu *routes;	/* irq_srcu; written under irq_lock */
	spinlock_t irqfd_lock;		/* the table: taken by wake-ups, interrupts off */
	DECLARE_HASHTABLE(irqfds, AV_IRQFD_HASH_BITS);	/* by eventfd */
	unsigned int nr_irqfds;		/* not yet ended, under irqfd_lock */
	struct list_head resamplers;	/* irq_srcu; written under irq_lock */
};

struct av_vcpu;

struct av_vcpu_irq {
	struct av_vcpu *vcpu;

	struct av_vgic_cpu gic;		/* under vm->irq->lock, but for gic.out */
	/* Without a vGIC: lines that KVM_IRQ_LINE sets, AV_VGIC_IRQ and _FIQ. Atomic bits. */
	unsigned long lines;

	/* The timers are the vCPU's own thread's, but for what expired() does. */
	struct av_timer timer[AV_NR_TIMERS];
	bool line[AV_NR_TIMERS];	/* as the vGIC knows it */
	bool recheck;			/* a timer expired or was written: av_timer_sync() */
	bool armed;
	u64 deadline;			/* of the hrtimer, in the counter of the host */
	struct hrtimer hrtimer;		/* for the earlier one */
};

#endif /* AV_IRQ_TYPES_H */
