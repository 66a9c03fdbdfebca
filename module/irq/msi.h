/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ITSs of a VM: interface of msi.c for irqchip.c and the device attributes.
 *
 * vm->irq->msi_lock is the MSI lock of lpi.h: a mutex inside vm->config_lock
 * and outside vm->srcu, because its holder reads and writes the guest's memory
 * in the VMM's context. Delivering a message takes only the vGIC's spinlock.
 */
#ifndef AV_IRQ_MSI_H
#define AV_IRQ_MSI_H

#include "irq/its.h"
#include "irq/layout.h"

struct av_vm;
struct av_vcpu;

/* The maximum number of ITSs with an address in the guest's memory. */
#define AV_MAX_PLACED_ITS	16

struct av_its_chip {
	struct av_its its;	/* under msi_lock, and the vGIC's lock for messages */
	u64 base;		/* AV_ADDR_UNDEF, or in vm->irq->its; set once */
};

/* For the vGIC's ops. */
extern const struct av_allocator av_msi_allocator;
int av_msi_read(struct av_vgic *vgic, u64 gpa, void *buf, unsigned int len);
int av_msi_write(struct av_vgic *vgic, u64 gpa, const void *buf, unsigned int len);
bool av_msi_is_ram(struct av_vgic *vgic, u64 gpa);

/* KVM_VGIC_ITS_ADDR_TYPE: -EEXIST, -EINVAL, -E2BIG, -ENOSPC. */
int av_its_place(struct av_vm *vm, struct av_its_chip *chip, u64 base);
/* Unplace an ITS and drop all its mappings. */
void av_its_remove(struct av_vm *vm, struct av_its_chip *chip);

/* An access to an ITS's frames. Returns false if gpa is in none. */
bool av_its_mmio(struct av_vm *vm, u64 gpa, unsigned int len, bool write, u64 *val);

/* A write to a redistributor. Returns true if an LPI register took it; *ret: result. */
bool av_lpi_mmio_write(struct av_vm *vm, const struct av_vgic_io *io, u64 val, int *ret);

#endif /* AV_IRQ_MSI_H */
