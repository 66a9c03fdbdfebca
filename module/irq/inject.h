/* SPDX-License-Identifier: GPL-2.0 */
/* A VM's vGIC, for the rest of irq/ (inject.c). */
#ifndef AV_IRQ_INJECT_H
#define AV_IRQ_INJECT_H

#include "irq/types.h"

struct av_vm;

/* The VM's vGIC once it is created, or NULL. */
struct av_irqchip *av_irqchip_of(struct av_vm *vm);
bool av_irq_has_its(struct av_vm *vm);

#endif /* AV_IRQ_INJECT_H */
