// SPDX-License-Identifier: GPL-2.0
/* Settings of interrupts and time that the VMM chose and the guest can see: av_irq_measure(). */
#include "irq/irq.h"

static int measure_vgic(const struct av_irqchip *chip, av_word_fn *fn, void *ctx)
{
	const struct av_vgic_layout *lay = &chip->layout;
	/* If not set, the number that the initialization will choose. */
	u32 irqs = chip->vgic.nr_spis ? av_vgic_nr_irqs(&chip->vgic) : AV_VGIC_NR_DEFAULT;
	int ret = fn(ctx, lay->dist) ?: fn(ctx, irqs) ?: fn(ctx, lay->nr_regions);
	u32 i;

	for (i = 0; i < lay->nr_regions && !ret; i++)
		ret = fn(ctx, lay->regions[i].base) ?: fn(ctx, lay->regions[i].count);
	return ret;
}

static int measure_its(const struct av_vm_irq *irq, av_word_fn *fn, void *ctx)
{
	int ret = fn(ctx, irq->its_created) ?: fn(ctx, irq->nr_its);
	unsigned int i;

	for (i = 0; i < irq->nr_its && !ret; i++)
		ret = fn(ctx, irq->its[i]->base);
	return ret;
}

int av_irq_measure(struct av_vm *vm, av_word_fn *fn, void *ctx)
{
	const struct av_vm_irq *irq = vm->irq;
	int ret;

	mutex_lock(&vm->config_lock);
	ret = fn(ctx, irq->cnt_offset[AV_TIMER_VIRT]) ?: fn(ctx, irq->ppi[AV_TIMER_VIRT]) ?:
	      fn(ctx, irq->ppi[AV_TIMER_PHYS]) ?: fn(ctx, irq->created) ?:
	      (irq->created ? measure_vgic(irq->chip, fn, ctx) : 0) ?: measure_its(irq, fn, ctx);
	mutex_unlock(&vm->config_lock);
	return ret;
}
