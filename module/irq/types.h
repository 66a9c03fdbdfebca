/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What irq/ keeps in struct av_vm and struct av_vcpu.
 * Includes neither api/vm.h nor api/vcpu.h: they include this.
 */
#ifndef AV_IRQ_TYPES_H
#define AV_IRQ_TYPES_H

struct av_vm_irq {
};

struct av_vcpu_irq {
};

#endif /* AV_IRQ_TYPES_H */
