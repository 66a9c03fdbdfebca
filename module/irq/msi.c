// SPDX-License-Identifier: GPL-2.0
/*
 * Messages and ITSs of a VM. Rules in msi.h.
 */
#include <linux/kvm.h>
#include <linux/slab.h>

#include "irq/inject.h"
#include "irq/irq.h"
#include "irq/msi.h"
#include "mmu/mmu.h"

/* ---- ops for lpi.c and its*.c ---------------------------------------------- */

/* Charge a guest's mappings to its VMM. */
static void *msi_zalloc(size_t size)
{
	return kzalloc(size, GFP_KERNEL_ACCOUNT);
}

static void msi_free(const void *p)
{
	kfree(p);
}

const struct av_allocator av_msi_allocator = {
	.zalloc = msi_zalloc,
	.free = msi_free,
};

int av_msi_read(struct av_vgic *vgic, u64 gpa, void *buf, unsigned int len)
{
	lockdep_assert_held(&av_vgic_vm(vgic)->irq->msi_lock);
	return av_gpa_read(av_vgic_vm(vgic), gpa, buf, len);
}

int av_msi_write(struct av_vgic *vgic, u64 gpa, const void *buf, unsigned int len)
{
	lockdep_assert_held(&av_vgic_vm(vgic)->irq->msi_lock);
	return av_gpa_write(av_vgic_vm(vgic), gpa, buf, len);
}

bool av_msi_is_ram(struct av_vgic *vgic, u64 gpa)
{
	lockdep_assert_held(&av_vgic_vm(vgic)->irq->msi_lock);
	return av_gpa_is_ram(av_vgic_vm(vgic), gpa, false);
}

/* ---- an ITS's place --------------------------------------------------------- */

int av_its_place(struct av_vm *vm, struct av_its_chip *chip, u64 base)
{
	int r;

	mutex_lock(&vm->irq->msi_lock);
	if (chip->base != AV_ADDR_UNDEF) {
		r = -EEXIST;
		goto unlock;
	}
	r = av_layout_check_range(vm->ipa_bits, base, AV_ITS_SIZE);
	if (r)
		goto unlock;
	if (vm->irq->nr_its == AV_MAX_PLACED_ITS) {
		r = -ENOSPC;
		goto unlock;
	}
	chip->base = base;
	spin_lock_irq(&vm->irq->lock);
	vm->irq->its[vm->irq->nr_its] = chip;
	/* Pairs with the acquire in its_at(). */
	smp_store_release(&vm->irq->nr_its, vm->irq->nr_its + 1);
	spin_unlock_irq(&vm->irq->lock);
unlock:
	mutex_unlock(&vm->irq->msi_lock);
	return r;
}

/* The last file is closed and no vCPU runs: only irqfds can still use the ITS. */
void av_its_remove(struct av_vm *vm, struct av_its_chip *chip)
{
	unsigned int i;

	mutex_lock(&vm->irq->msi_lock);
	spin_lock_irq(&vm->irq->lock);
	for (i = 0; i < vm->irq->nr_its; i++) {
		if (vm->irq->its[i] != chip)
			continue;
		vm->irq->its[i] = vm->irq->its[vm->irq->nr_its - 1];
		WRITE_ONCE(vm->irq->nr_its, vm->irq->nr_its - 1);
		break;
	}
	spin_unlock_irq(&vm->irq->lock);
	av_its_reset(&chip->its);
	mutex_unlock(&vm->irq->msi_lock);
}

/*
 * The ITS at gpa. Call under the vGIC's lock, or in a vCPU's thread: the vCPU's
 * file keeps the VM and its ITSs alive.
 */
static struct av_its_chip *its_at(struct av_vm *vm, u64 gpa)
{
	/* Pairs with the release in av_its_place(). */
	unsigned int i, nr = smp_load_acquire(&vm->irq->nr_its);

	for (i = 0; i < nr; i++)
		if (gpa - vm->irq->its[i]->base < AV_ITS_SIZE)
			return vm->irq->its[i];
	return NULL;
}

bool av_its_mmio(struct av_vm *vm, u64 gpa, unsigned int len, bool write, u64 *val)
{
	struct av_its_chip *chip = its_at(vm, gpa);
	struct av_its_io io = { .len = len };

	if (!chip)
		return false;
	io.its = &chip->its;
	io.offset = (u32)(gpa - chip->base);
	/* Killable: the holder of the lock may be waiting for the guest's memory. */
	if (mutex_lock_killable(&vm->irq->msi_lock)) {
		*val = 0;
		return true;
	}
	if (write)
		av_its_write(&io, *val);
	else
		av_its_read(&io, val);
	mutex_unlock(&vm->irq->msi_lock);
	return true;
}

bool av_lpi_mmio_write(struct av_vm *vm, const struct av_vgic_io *io, u64 val, int *ret)
{
	if (!av_vgic_redist_is_lpis(io))
		return false;
	*ret = mutex_lock_killable(&vm->irq->msi_lock);
	if (*ret)
		return true;
	*ret = av_vgic_redist_write_lpis(io, val);
	mutex_unlock(&vm->irq->msi_lock);
	return true;
}

/* ---- messages ----------------------------------------------------------------- */

int av_irq_msi(struct av_vm *vm, const struct kvm_msi *msi)
{
	u64 doorbell = (u64)msi->address_hi << 32 | msi->address_lo;
	struct av_its_chip *chip;
	unsigned long flags;
	int r = -EINVAL;

	/* An ITS needs a DeviceID. */
	if (!(msi->flags & KVM_MSI_VALID_DEVID))
		return r;
	spin_lock_irqsave(&vm->irq->lock, flags);
	chip = its_at(vm, doorbell);
	if (chip)
		r = av_its_msi(&chip->its, msi->devid, msi->data);
	spin_unlock_irqrestore(&vm->irq->lock, flags);
	return r;
}

bool av_irq_needs_devid(struct av_vm *vm)
{
	return READ_ONCE(vm->irq->its_created);
}

int av_signal_msi(struct av_vm *vm, const struct kvm_msi *msi)
{
	if (!av_irqchip_created(vm) || msi->flags & ~KVM_MSI_VALID_DEVID)
		return -EINVAL;
	if (!av_irq_has_its(vm))
		return -ENODEV;
	return av_irq_msi(vm, msi);
}
