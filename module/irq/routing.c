// SPDX-License-Identifier: GPL-2.0
/*
 * Routes from GSIs, which irqfds name, to interrupts.
 *
 * A GSI is routed to one pin of the vGIC (pin n is SPI n, INTID 32 + n), or to a
 * message. Writers replace the whole table under vm->irq_lock; readers are
 * inside vm->irq_srcu.
 */
#include <linux/kvm.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/srcu.h>

#include "irq/irq.h"

/* Pins in the ABI; the vGIC may have fewer SPIs. */
#define NR_PINS		(AV_VGIC_SPECIAL - AV_VGIC_PRIVATE)

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

static const struct route *route_of(struct av_vm *vm, u32 gsi)
{
	const struct av_irq_routes *routes = srcu_dereference(vm->irq->routes, &vm->irq_srcu);

	if (!routes || gsi >= routes->nr)
		return NULL;
	return &routes->at[array_index_nospec(gsi, routes->nr)];
}

int av_route_intid(struct av_vm *vm, u32 gsi)
{
	const struct route *route = route_of(vm, gsi);

	return route && route->kind == ROUTE_PIN ? (int)route->pin + AV_VGIC_PRIVATE : -1;
}

static void send(struct av_vm *vm, const struct route *route)
{
	const struct kvm_msi msi = {
		.address_lo = route->msi.address_lo,
		.address_hi = route->msi.address_hi,
		.data = route->msi.data,
		.flags = route->flags,
		.devid = route->msi.devid,
	};

	if (av_irq_has_its(vm))
		av_irq_msi(vm, &msi);
}

void av_route_set(struct av_vm *vm, u32 gsi, bool level)
{
	const struct route *route = route_of(vm, gsi);

	if (!route)
		return;
	if (route->kind == ROUTE_PIN)
		av_irq_inject(vm, NULL, route->pin + AV_VGIC_PRIVATE, level, false);
	else if (route->kind == ROUTE_MSI && level)
		send(vm, route);
}

static struct av_irq_routes *alloc_routes(u32 nr)
{
	struct av_irq_routes *routes;

	routes = kvzalloc(struct_size(routes, at, nr), GFP_KERNEL_ACCOUNT);
	if (routes)
		routes->nr = nr;
	return routes;
}

static void replace(struct av_vm *vm, struct av_irq_routes *routes)
{
	struct av_irq_routes *old;

	mutex_lock(&vm->irq_lock);
	old = rcu_dereference_protected(vm->irq->routes, lockdep_is_held(&vm->irq_lock));
	rcu_assign_pointer(vm->irq->routes, routes);
	av_irqfd_mark(vm);
	synchronize_srcu_expedited(&vm->irq_srcu);
	mutex_unlock(&vm->irq_lock);
	kvfree(old);
}

int av_route_default(struct av_vm *vm, u32 nr_spis)
{
	struct av_irq_routes *routes = alloc_routes(nr_spis);
	u32 i;

	if (!routes)
		return -ENOMEM;
	for (i = 0; i < nr_spis; i++)
		routes->at[i] = (struct route) { .kind = ROUTE_PIN, .pin = i };
	replace(vm, routes);
	return 0;
}

/* Check one entry of KVM_SET_GSI_ROUTING. */
static int check_entry(const struct kvm_irq_routing_entry *entry)
{
	if (entry->gsi >= AV_MAX_IRQ_ROUTES)
		return -EINVAL;
	switch (entry->type) {
	case KVM_IRQ_ROUTING_IRQCHIP:
		return entry->flags || entry->u.irqchip.irqchip ||
		       entry->u.irqchip.pin >= NR_PINS ? -EINVAL : 0;
	case KVM_IRQ_ROUTING_MSI:
		return entry->flags & ~KVM_MSI_VALID_DEVID ? -EINVAL : 0;
	}
	return -EINVAL;
}

static struct route make_route(const struct kvm_irq_routing_entry *entry)
{
	struct route route = { .kind = ROUTE_PIN };

	if (entry->type == KVM_IRQ_ROUTING_MSI) {
		route.kind = ROUTE_MSI;
		route.msi = entry->u.msi;
		route.flags = entry->flags;
	} else {
		route.pin = entry->u.irqchip.pin;
	}
	return route;
}

int av_irq_set_routing(struct av_vm *vm, const struct kvm_irq_routing_entry *entries,
		       unsigned int nr)
{
	struct av_irq_routes *routes;
	u32 i, gsis = 0;
	int r;

	for (i = 0; i < nr; i++) {
		r = check_entry(&entries[i]);
		if (r)
			return r;
		gsis = max(gsis, entries[i].gsi + 1);
		cond_resched();
	}
	routes = alloc_routes(gsis);
	if (!routes)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		struct route *route = &routes->at[array_index_nospec(entries[i].gsi, gsis)];

		/* A GSI has one route: there is one irqchip. */
		if (route->kind != ROUTE_NONE) {
			kvfree(routes);
			return -EINVAL;
		}
		*route = make_route(&entries[i]);
		cond_resched();
	}
	replace(vm, routes);
	return 0;
}

/* There are no readers any more. */
void av_route_destroy(struct av_vm *vm)
{
	kvfree(rcu_dereference_protected(vm->irq->routes, 1));
	RCU_INIT_POINTER(vm->irq->routes, NULL);
}
