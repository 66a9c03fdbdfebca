// SPDX-License-Identifier: GPL-2.0
/*
 * From GSIs, the numbers of irqfds, to interrupts.
 *
 * A GSI goes to one pin of the vGIC (pin n is SPI 32 + n) or to a message,
 * which needs an ITS and so goes nowhere. The table is replaced as a whole:
 * read inside vm->srcu, written under vm->irq_lock.
 */
#include <linux/kvm.h>
#include <linux/slab.h>
#include <linux/srcu.h>

#include "api/calls.h"
#include "irq/irq.h"

#define ROUTE_NONE	(-1)
#define ROUTE_MSI	(-2)

/* Pins that the ABI knows, whether or not the vGIC has so many SPIs. */
#define NR_PINS		(1020 - AV_VGIC_PRIVATE)

struct av_irq_routes {
	u32 nr;
	s16 pin[];		/* by GSI */
};

int av_route_intid(struct av_vm *vm, u32 gsi)
{
	const struct av_irq_routes *routes = srcu_dereference(vm->irq.routes, &vm->srcu);

	if (!routes || gsi >= routes->nr || routes->pin[gsi] < 0)
		return -1;
	return routes->pin[gsi] + AV_VGIC_PRIVATE;
}

static struct av_irq_routes *alloc_routes(u32 nr)
{
	struct av_irq_routes *routes;
	u32 i;

	routes = kvzalloc(struct_size(routes, pin, nr), GFP_KERNEL_ACCOUNT);
	if (!routes)
		return NULL;
	routes->nr = nr;
	for (i = 0; i < nr; i++)
		routes->pin[i] = ROUTE_NONE;
	return routes;
}

static void replace(struct av_vm *vm, struct av_irq_routes *routes)
{
	struct av_irq_routes *old;

	mutex_lock(&vm->irq_lock);
	old = rcu_dereference_protected(vm->irq.routes, lockdep_is_held(&vm->irq_lock));
	rcu_assign_pointer(vm->irq.routes, routes);
	av_irqfd_mark(vm);
	synchronize_srcu_expedited(&vm->srcu);
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
		routes->pin[i] = i;
	replace(vm, routes);
	return 0;
}

/* One entry of the ABI: the pin, ROUTE_MSI, or an errno. */
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
	}
	routes = alloc_routes(gsis);
	if (!routes)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		s16 *pin = &routes->pin[entries[i].gsi];

		/* One way for a GSI: there is one chip. */
		if (*pin != ROUTE_NONE) {
			kvfree(routes);
			return -EINVAL;
		}
		*pin = entries[i].type == KVM_IRQ_ROUTING_MSI ? ROUTE_MSI :
								 (s16)entries[i].u.irqchip.pin;
	}
	replace(vm, routes);
	return 0;
}

/* Nobody reads any more. */
void av_route_destroy(struct av_vm *vm)
{
	kvfree(rcu_dereference_protected(vm->irq.routes, 1));
	RCU_INIT_POINTER(vm->irq.routes, NULL);
}
