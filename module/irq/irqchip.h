/* SPDX-License-Identifier: GPL-2.0 */
/* Life of the vGIC of a VM: irqchip.c for the device attributes. */
#ifndef AV_IRQ_IRQCHIP_H
#define AV_IRQ_IRQCHIP_H

struct av_vm;

int av_irqchip_create(struct av_vm *vm);
void av_irqchip_undo(struct av_vm *vm);
int av_irqchip_init(struct av_vm *vm);
/* An ITS is added (config_lock held), or goes. */
int av_irqchip_add_its(struct av_vm *vm);
void av_irqchip_del_its(struct av_vm *vm);

#endif /* AV_IRQ_IRQCHIP_H */
