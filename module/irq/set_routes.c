// SPDX-License-Identifier: GPL-2.0
/* KVM_SET_GSI_ROUTING, and a vGIC's initial routes: writers of the table (route.h). */
#include <linux/kvm.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/srcu.h>

#include "irq/irq.h"
#include "irq/route.h"

/* Pins in the ABI; the vGIC may have fewer SPIs. */
#define NR_PINS		(AV_VGIC_SPECIAL - AV_VGIC_PRIVATE)

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
