/* SPDX-License-Identifier: GPL-2.0 */
/* A VM's vGIC: interface of irqchip.c for the device attributes. */
#ifndef AV_IRQ_IRQCHIP_H
#define AV_IRQ_IRQCHIP_H

struct av_vm;

int av_irqchip_create(struct av_vm *vm);
void av_irqchip_undo(struct av_vm *vm);
int av_irqchip_init(struct av_vm *vm);
/* Add an ITS (config_lock held), or remove one. */
int av_irqchip_add_its(struct av_vm *vm);
void av_irqchip_del_its(struct av_vm *vm);

#endif /* AV_IRQ_IRQCHIP_H */
