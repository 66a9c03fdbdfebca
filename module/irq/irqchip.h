/* SPDX-License-Identifier: GPL-2.0 */
/* The life of the vGIC of a VM (irqchip.c), for the device attributes. */
#ifndef AV_IRQ_IRQCHIP_H
#define AV_IRQ_IRQCHIP_H

struct av_vm;

int av_irqchip_create(struct av_vm *vm);
void av_irqchip_undo(struct av_vm *vm);
int av_irqchip_init(struct av_vm *vm);
/* An ITS comes, or did not come to be; config_lock held for the first. */
int av_irqchip_add_its(struct av_vm *vm);
void av_irqchip_del_its(struct av_vm *vm);

#endif /* AV_IRQ_IRQCHIP_H */
