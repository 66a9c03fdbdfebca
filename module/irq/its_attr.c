// SPDX-License-Identifier: GPL-2.0
/*
 * KVM_DEV_TYPE_ARM_VGIC_ITS: device attributes of an ITS, with KVM's errnos and
 * order of checks. its_regs.c and its_table.c implement registers and tables.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "vm/device.h"
#include "irq/irqchip.h"
#include "irq/irq.h"
#include "irq/msi.h"

static int its_create(struct av_device *dev)
{
	struct av_vm *vm = dev->vm;
	struct av_its_chip *chip = kzalloc(sizeof(*chip), GFP_KERNEL_ACCOUNT);
	int r;

	if (!chip)
		return -ENOMEM;
	mutex_lock(&vm->config_lock);
	r = av_irqchip_add_its(vm);
	mutex_unlock(&vm->config_lock);
	if (r) {
		kfree(chip);
		return r;
	}
	av_its_init(&chip->its, &vm->irq->chip->vgic);
	chip->base = AV_ADDR_UNDEF;
	dev->priv = chip;
	return 0;
}

static void its_destroy(struct av_device *dev)
{
	av_its_remove(dev->vm, dev->priv);
	av_irqchip_del_its(dev->vm);
	kfree(dev->priv);
}

/* ---- registers ------------------------------------------------------------------- */

/* All registers are 64 bits wide, except the first two and the ID registers. */
static bool misaligned(u64 offset)
{
	return offset & (offset < 0x8 || offset >= 0xffd0 ? 3 : 7);
}

/* KVM ignores the upper half of the offset. */
static int its_reg(struct av_its_chip *chip, u32 offset, bool write, u64 *val)
{
	struct av_its_io io = { .its = &chip->its, .offset = offset, .user = true };

	if (chip->base == AV_ADDR_UNDEF)
		return -ENXIO;
	io.len = av_its_user_width(offset);
	if (!io.len)
		return -ENXIO;
	return write ? av_its_write(&io, *val) : av_its_read(&io, val);
}

static int reg_attr(struct av_device *dev, const struct kvm_device_attr *attr, bool write)
{
	u64 __user *uaddr = u64_to_user_ptr(attr->addr);
	struct av_vm *vm = dev->vm;
	u64 val = 0;
	int r;

	if (write && get_user(val, uaddr))
		return -EFAULT;
	if (misaligned(attr->attr))
		return -EINVAL;
	if (!av_vm_try_stop_vcpus(vm))
		return -EBUSY;
	mutex_lock(&vm->irq->msi_lock);
	r = its_reg(dev->priv, (u32)attr->attr, write, &val);
	mutex_unlock(&vm->irq->msi_lock);
	av_vm_release_vcpus(vm);
	return r || write ? r : put_user(val, uaddr);
}

/* ---- control ----------------------------------------------------------------------- */

/* Tables name vCPUs, so they can be used only once all vCPUs exist. */
static int its_tables(struct av_its *its, bool save)
{
	if (!its->vgic->initialized &&
	    (its->baser[AV_ITS_DEVICES] | its->baser[AV_ITS_COLLECTIONS]) & AV_ITS_VALID)
		return -EBUSY;
	return save ? av_its_save(its) : av_its_restore(its);
}

/* KVM accepts any other number and does nothing. */
static int control(struct av_device *dev, u64 what)
{
	struct av_its_chip *chip = dev->priv;
	struct av_vm *vm = dev->vm;
	int r = 0;

	if (what == KVM_DEV_ARM_VGIC_CTRL_INIT)
		return 0;
	if (!av_vm_try_stop_vcpus(vm))
		return -EBUSY;
	mutex_lock(&vm->irq->msi_lock);
	switch (what) {
	case KVM_DEV_ARM_ITS_CTRL_RESET:
		av_its_reset(&chip->its);
		break;
	case KVM_DEV_ARM_ITS_SAVE_TABLES:
		r = its_tables(&chip->its, true);
		break;
	case KVM_DEV_ARM_ITS_RESTORE_TABLES:
		r = its_tables(&chip->its, false);
		break;
	}
	mutex_unlock(&vm->irq->msi_lock);
	av_vm_release_vcpus(vm);
	return r;
}

/* ---- dispatch ------------------------------------------------------------------------ */

static int its_set_attr(struct av_device *dev, const struct kvm_device_attr *attr)
{
	u64 __user *uaddr = u64_to_user_ptr(attr->addr);
	u64 base;

	switch (attr->group) {
	case KVM_DEV_ARM_VGIC_GRP_ADDR:
		if (attr->attr != KVM_VGIC_ITS_ADDR_TYPE)
			return -ENODEV;
		if (get_user(base, uaddr))
			return -EFAULT;
		return av_its_place(dev->vm, dev->priv, base);
	case KVM_DEV_ARM_VGIC_GRP_CTRL:
		return control(dev, attr->attr);
	case KVM_DEV_ARM_VGIC_GRP_ITS_REGS:
		return reg_attr(dev, attr, true);
	}
	return -ENXIO;
}

static int its_get_attr(struct av_device *dev, const struct kvm_device_attr *attr)
{
	const struct av_its_chip *chip = dev->priv;
	u64 __user *uaddr = u64_to_user_ptr(attr->addr);

	switch (attr->group) {
	case KVM_DEV_ARM_VGIC_GRP_ADDR:
		if (attr->attr != KVM_VGIC_ITS_ADDR_TYPE)
			return -ENODEV;
		return put_user(READ_ONCE(chip->base), uaddr);
	case KVM_DEV_ARM_VGIC_GRP_ITS_REGS:
		return reg_attr(dev, attr, false);
	}
	return -ENXIO;
}

static int its_has_attr(struct av_device *dev, const struct kvm_device_attr *attr)
{
	bool has = false;

	switch (attr->group) {
	case KVM_DEV_ARM_VGIC_GRP_ADDR:
		has = attr->attr == KVM_VGIC_ITS_ADDR_TYPE;
		break;
	case KVM_DEV_ARM_VGIC_GRP_CTRL:
		has = attr->attr == KVM_DEV_ARM_VGIC_CTRL_INIT ||
		      attr->attr == KVM_DEV_ARM_ITS_CTRL_RESET ||
		      attr->attr == KVM_DEV_ARM_ITS_SAVE_TABLES ||
		      attr->attr == KVM_DEV_ARM_ITS_RESTORE_TABLES;
		break;
	case KVM_DEV_ARM_VGIC_GRP_ITS_REGS:
		if (misaligned(attr->attr))
			return -EINVAL;
		has = av_its_user_width((u32)attr->attr);
		break;
	}
	return has ? 0 : -ENXIO;
}

const struct av_device_ops av_vgic_its_device_ops = {
	.name = "kvm-arm-vgic-its",
	.type = KVM_DEV_TYPE_ARM_VGIC_ITS,
	.create = its_create,
	.destroy = its_destroy,
	.set_attr = its_set_attr,
	.get_attr = its_get_attr,
	.has_attr = its_has_attr,
};
