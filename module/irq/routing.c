// SPDX-License-Identifier: GPL-2.0
/*
 * Readers of the routes from GSIs, which irqfds name, to interrupts. set_routes.c has the writers.
 */
#include <linux/kvm.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/srcu.h>

#include "irq/inject.h"
#include "irq/irq.h"
#include "irq/route.h"

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

/* There are no readers any more. */
void av_route_destroy(struct av_vm *vm)
{
	kvfree(rcu_dereference_protected(vm->irq->routes, 1));
	RCU_INIT_POINTER(vm->irq->routes, NULL);
}
