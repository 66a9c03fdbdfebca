// SPDX-License-Identifier: GPL-2.0
/*
 * Input lines of a VM's vGIC, for everything in the kernel that drives one: routes, irqfds,
 * messages, timers. Any context; takes vm->irq->lock with interrupts off.
 */
#include "irq/inject.h"
#include "irq/irq.h"

struct av_irqchip *av_irqchip_of(struct av_vm *vm)
{
	/* Pairs with the release in av_irqchip_create(). */
	return smp_load_acquire(&vm->irq->created) ? vm->irq->chip : NULL;
}

bool av_irqchip_created(struct av_vm *vm)
{
	return av_irqchip_of(vm);
}

bool av_irqchip_ready(struct av_vm *vm)
{
	struct av_irqchip *chip = av_irqchip_of(vm);

	return chip && READ_ONCE(chip->vgic.initialized);
}

bool av_irq_has_its(struct av_vm *vm)
{
	struct av_irqchip *chip = av_irqchip_of(vm);

	return chip && READ_ONCE(chip->vgic.has_its);
}

int av_irq_inject(struct av_vm *vm, struct av_vcpu *vcpu, u32 intid, bool level, bool owner)
{
	struct av_irqchip *chip = av_irqchip_of(vm);
	unsigned long flags;
	int r;

	if (!chip || !READ_ONCE(chip->vgic.initialized))
		return -EBUSY;
	spin_lock_irqsave(&vm->irq->lock, flags);
	r = av_vgic_inject(&chip->vgic, vcpu ? &vcpu->irq->gic : NULL, intid, level, owner);
	spin_unlock_irqrestore(&vm->irq->lock, flags);
	return r;
}

int av_irq_claim(struct av_vcpu *vcpu, u32 intid)
{
	struct av_vm *vm = vcpu->vm;
	struct av_virq *irq;
	int r = 0;

	spin_lock_irq(&vm->irq->lock);
	irq = av_vgic_irq(&vm->irq->chip->vgic, &vcpu->irq->gic, intid);
	if (!irq)
		r = -EINVAL;
	else if (irq->owned)
		r = -EEXIST;
	else
		irq->owned = true;
	spin_unlock_irq(&vm->irq->lock);
	return r;
}
