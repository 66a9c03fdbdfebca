/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ITSs in a VM: between irqchip.c, msi.c and the attributes.
 *
 * vm->irq->msi_lock is the MSI lock of lpi.h: a mutex, inside vm->config_lock
 * and outside vm->srcu, since the guest's memory is read and written under it,
 * in the VMM's own context. A message takes only the vGIC's spinlock.
 */
#ifndef AV_IRQ_MSI_H
#define AV_IRQ_MSI_H

#include "irq/its.h"
#include "irq/layout.h"

struct av_vm;
struct av_vcpu;

/* An ITS with a place in the guest's memory can be reached; so many. */
#define AV_MAX_PLACED_ITS	16

struct av_its_chip {
	struct av_its its;	/* under msi_lock, and the vGIC's lock for messages */
	u64 base;		/* AV_ADDR_UNDEF, or in vm->irq->its; set once */
};

/* What the vGIC's ops need of a VM. */
extern const struct av_allocator av_msi_allocator;
int av_msi_read(struct av_vgic *vgic, u64 gpa, void *buf, unsigned int len);
int av_msi_write(struct av_vgic *vgic, u64 gpa, const void *buf, unsigned int len);
bool av_msi_is_ram(struct av_vgic *vgic, u64 gpa);

/* KVM_VGIC_ITS_ADDR_TYPE: -EEXIST, -EINVAL, -E2BIG, -ENOSPC. */
int av_its_place(struct av_vm *vm, struct av_its_chip *chip, u64 base);
/* It goes: no message finds it any more, nothing of it stays. */
void av_its_remove(struct av_vm *vm, struct av_its_chip *chip);

/* An access to an ITS's frames: false if there is none at gpa. */
bool av_its_mmio(struct av_vm *vm, u64 gpa, unsigned int len, bool write, u64 *val);

/* A write to a redistributor: true if it was to the LPIs' registers, and is done. */
bool av_lpi_mmio_write(struct av_vm *vm, const struct av_vgic_io *io, u64 val, int *ret);

#endif /* AV_IRQ_MSI_H */
