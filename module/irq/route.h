/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Routes from GSIs to interrupts, for the rest of irq/.
 *
 * A GSI is routed to one pin of the vGIC (pin n is SPI n, INTID 32 + n), or to a
 * message. Writers replace the whole table under vm->irq_lock; readers are
 * inside vm->irq_srcu.
 */
#ifndef AV_IRQ_ROUTE_H
#define AV_IRQ_ROUTE_H

#include <linux/kvm.h>
#include <linux/types.h>

struct av_vm;

struct route {
	enum { ROUTE_NONE, ROUTE_PIN, ROUTE_MSI } kind;
	union {
		u32 pin;
		struct kvm_irq_routing_msi msi;
	};
	u32 flags;		/* of the message */
};

struct av_irq_routes {
	u32 nr;
	struct route at[];	/* by GSI */
};

/* The INTID that a GSI is routed to, or -1. Inside vm->irq_srcu. */
int av_route_intid(struct av_vm *vm, u32 gsi);
/*
 * Drive a GSI: set its pin to @level, or send its message if @level is true.
 * Inside vm->irq_srcu, any context.
 */
void av_route_set(struct av_vm *vm, u32 gsi, bool level);
/* The initial routes: GSI n to SPI n. May sleep. 0 or -ENOMEM. */
int av_route_default(struct av_vm *vm, u32 nr_spis);
/* There are no readers any more. */
void av_route_destroy(struct av_vm *vm);

#endif /* AV_IRQ_ROUTE_H */
