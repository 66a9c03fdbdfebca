// SPDX-License-Identifier: GPL-2.0
/*
 * KVM_DEV_TYPE_ARM_VGIC_V3: device attributes of the vGIC, with KVM's errnos and
 * order of checks. layout.c implements the addresses, dist.c, redist.c and
 * cpuif.c the registers.
 */
#include <linux/irqchip/arm-gic-v3.h>
#include <linux/uaccess.h>

#include "compat/kvm_level.h"
#include "vm/device.h"
#include "irq/irqchip.h"
#include "irq/irq.h"

/* KVM_VGIC_V3_ADDR_TYPE_REDIST_REGION; KVM uses eight bits of the index. */
#define REGION_INDEX	GENMASK_ULL(7, 0)
#define REGION_FLAGS	GENMASK_ULL(15, 12)
#define REGION_BASE	GENMASK_ULL(51, 16)
#define REGION_COUNT	GENMASK_ULL(63, 52)

/* KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS: an encoding as AV_SYS() makes it. */
#define SYSREG		GENMASK_ULL(15, 0)

static struct av_irqchip *chip_of(struct av_device *dev)
{
	return dev->vm->irq->chip;
}

static int vgic_create(struct av_device *dev)
{
	return av_irqchip_create(dev->vm);
}

/* The vGIC's state stays until the VM is freed. */
static void vgic_destroy(struct av_device *dev)
{
	av_irqchip_undo(dev->vm);
}

/* ---- addresses --------------------------------------------------------------- */

/*
 * A region added once the vGIC is ready stays empty, as no more vCPUs are
 * created. So a vCPU that looks up a frame meanwhile does not find it.
 */
static int set_addr(struct av_device *dev, u64 type, u64 addr)
{
	struct av_irqchip *chip = chip_of(dev);
	struct av_vgic_layout *lay = &chip->layout;

	switch (type) {
	case KVM_VGIC_V3_ADDR_TYPE_DIST:
		return av_layout_set_dist(lay, addr);
	case KVM_VGIC_V3_ADDR_TYPE_REDIST:
		return av_layout_add_region(lay, 0, addr, 0, chip->vgic.nr_cpus);
	case KVM_VGIC_V3_ADDR_TYPE_REDIST_REGION:
		if (!FIELD_GET(REGION_COUNT, addr) ||
		    FIELD_GET(REGION_FLAGS, addr))
			return -EINVAL;
		return av_layout_add_region(lay, addr & REGION_INDEX,
					    addr & REGION_BASE,
					    FIELD_GET(REGION_COUNT, addr),
					    chip->vgic.nr_cpus);
	}
	return -ENXIO;
}

static int get_addr(struct av_device *dev, u64 type, u64 *addr)
{
	const struct av_vgic_layout *lay = &chip_of(dev)->layout;
	u32 index = *addr & REGION_INDEX;

	switch (type) {
	case KVM_VGIC_V3_ADDR_TYPE_DIST:
		*addr = lay->dist;
		return 0;
	case KVM_VGIC_V3_ADDR_TYPE_REDIST:
		*addr = lay->nr_regions ? lay->regions[0].base : AV_ADDR_UNDEF;
		return 0;
	case KVM_VGIC_V3_ADDR_TYPE_REDIST_REGION:
		if (index >= lay->nr_regions)
			return -ENOENT;
		index = array_index_nospec(index, lay->nr_regions);
		*addr = index | lay->regions[index].base |
			FIELD_PREP(REGION_COUNT, (u64)lay->regions[index].count);
		return 0;
	}
	return -ENXIO;
}

static int addr_attr(struct av_device *dev, const struct kvm_device_attr *attr, bool write)
{
	u64 __user *uaddr = u64_to_user_ptr(attr->addr);
	u64 addr = 0;
	int r;

	/* When reading a region, the value passed in names it. */
	if ((write || attr->attr == KVM_VGIC_V3_ADDR_TYPE_REDIST_REGION) && get_user(addr, uaddr))
		return -EFAULT;
	mutex_lock(&dev->vm->config_lock);
	r = write ? set_addr(dev, attr->attr, addr) : get_addr(dev, attr->attr, &addr);
	mutex_unlock(&dev->vm->config_lock);
	if (!r && !write)
		r = put_user(addr, uaddr);
	return r;
}

/* ---- number of interrupts, control ----------------------------------------------- */

static int set_nr_irqs(struct av_device *dev, const struct kvm_device_attr *attr)
{
	u32 __user *uaddr = u64_to_user_ptr(attr->addr);
	struct av_vgic *vgic = &chip_of(dev)->vgic;
	int r = 0;
	u32 val;

	if (get_user(val, uaddr))
		return -EFAULT;
	/* A multiple of 32, with 32 SPIs at least, and below the special INTIDs. */
	if (val < AV_VGIC_PRIVATE + 32 || val >= AV_VGIC_MAX_IRQS || val % 32)
		return -EINVAL;
	mutex_lock(&dev->vm->config_lock);
	if (dev->vm->irq->ready || vgic->nr_spis)
		r = -EBUSY;
	else
		vgic->nr_spis = val - AV_VGIC_PRIVATE;
	mutex_unlock(&dev->vm->config_lock);
	return r;
}

static int get_nr_irqs(struct av_device *dev, const struct kvm_device_attr *attr)
{
	u32 __user *uaddr = u64_to_user_ptr(attr->addr);

	return put_user(av_vgic_nr_irqs(&chip_of(dev)->vgic), uaddr);
}

/* vm->lock keeps vCPUs from being created meanwhile. */
static int control_init(struct av_device *dev)
{
	int r;

	if (mutex_lock_killable(&dev->vm->lock))
		return -EINTR;
	mutex_lock(&dev->vm->config_lock);
	r = av_irqchip_init(dev->vm);
	mutex_unlock(&dev->vm->config_lock);
	mutex_unlock(&dev->vm->lock);
	return r;
}

/* Write pending LPIs to the guest's tables. */
static int control_save_pending(struct av_device *dev)
{
	struct av_vgic *vgic = &chip_of(dev)->vgic;
	struct av_vm *vm = dev->vm;
	int r = -ENXIO;

	if (!av_vm_try_stop_vcpus(vm))
		return -EBUSY;
	mutex_lock(&vm->irq->msi_lock);
	if (vgic->initialized)
		r = av_lpi_save_pending(vgic);
	mutex_unlock(&vm->irq->msi_lock);
	av_vm_release_vcpus(vm);
	return r;
}

static int control(struct av_device *dev, const struct kvm_device_attr *attr)
{
	switch (attr->attr) {
	case KVM_DEV_ARM_VGIC_CTRL_INIT:
		return control_init(dev);
	case KVM_DEV_ARM_VGIC_SAVE_PENDING_TABLES:
		return control_save_pending(dev);
	}
	return -ENXIO;
}

/* ---- registers ---------------------------------------------------------------------- */

/* The vCPU that an attribute names by affinity. Attributes of the distributor name none. */
static struct av_vgic_cpu *attr_cpu(struct av_device *dev, const struct kvm_device_attr *attr)
{
	struct av_vgic *vgic = &chip_of(dev)->vgic;
	struct av_vgic_cpu *cpu;

	/* vm->lock: without it, the vCPU's creation could still fail. */
	if (mutex_lock_killable(&dev->vm->lock))
		return NULL;
	if (attr->group == KVM_DEV_ARM_VGIC_GRP_DIST_REGS)
		cpu = vgic->nr_cpus ? vgic->cpus[0] : NULL;
	else
		cpu = av_vgic_cpu_by_mpidr(vgic, attr->attr >> KVM_DEV_ARM_VGIC_V3_MPIDR_SHIFT);
	mutex_unlock(&dev->vm->lock);
	return cpu;
}

static struct av_vgic_io attr_io(struct av_device *dev, const struct kvm_device_attr *attr,
				 struct av_vgic_cpu *cpu)
{
	return (struct av_vgic_io) {
		.vgic = &chip_of(dev)->vgic,
		.cpu = cpu,
		.offset = attr->attr & KVM_DEV_ARM_VGIC_OFFSET_MASK,
		.len = sizeof(u32),
		.user = true,
	};
}

static int level_info(struct av_vgic *vgic, struct av_vgic_cpu *cpu, u64 attr, bool write,
		      u64 *val)
{
	u32 intid = attr & KVM_DEV_ARM_VGIC_LINE_LEVEL_INTID_MASK;

	if (FIELD_GET(KVM_DEV_ARM_VGIC_LINE_LEVEL_INFO_MASK, attr) != VGIC_LEVEL_INFO_LINE_LEVEL ||
	    intid % 32)
		return -EINVAL;
	if (write)
		av_vgic_lines_write(vgic, cpu, intid, (u32)*val);
	else
		*val = av_vgic_lines_read(vgic, cpu, intid);
	return 0;
}

/* As in KVM, a VMM reads zero where there is no register, and its writes are ignored. */
static int access_frame(const struct av_vgic_io *io, bool dist, bool write, u64 *val)
{
	int r;

	/* No vCPU is in the guest: nobody is waited for. */
	if (dist)
		av_irq_observe(av_vgic_vm(io->vgic), io, write);
	if (dist)
		r = write ? av_vgic_dist_write(io, *val) : av_vgic_dist_read(io, val);
	else
		r = write ? av_vgic_redist_write(io, *val) : av_vgic_redist_read(io, val);
	return r == -ENXIO ? 0 : r;
}

/* Called under vm->irq->lock, which a write of GICD_CTLR releases between vCPUs. */
static int access_reg(struct av_device *dev, const struct kvm_device_attr *attr,
		      struct av_vgic_cpu *cpu, bool write, u64 *val)
{
	struct av_vgic_io io = attr_io(dev, attr, cpu);

	switch (attr->group) {
	case KVM_DEV_ARM_VGIC_GRP_DIST_REGS:
	case KVM_DEV_ARM_VGIC_GRP_REDIST_REGS:
		return access_frame(&io, attr->group == KVM_DEV_ARM_VGIC_GRP_DIST_REGS, write,
				    val);
	case KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS:
		return av_vgic_icc_user(io.vgic, cpu, attr->attr & SYSREG,
					write, val);
	case KVM_DEV_ARM_VGIC_GRP_LEVEL_INFO:
		return level_info(io.vgic, cpu, attr->attr, write, val);
	}
	return -EINVAL;
}

/* Registers that a VMM may access before the vGIC is initialized: they describe it. */
static bool is_early(const struct kvm_device_attr *attr)
{
	u64 offset = attr->attr & KVM_DEV_ARM_VGIC_OFFSET_MASK;

	return AV_KVM_VGIC_EARLY_IDS && attr->group == KVM_DEV_ARM_VGIC_GRP_DIST_REGS &&
	       (offset == GICD_IIDR || offset == GICD_TYPER2);
}

/* config_lock held; the vGIC is initialized, or the register does not need that. */
static int access_locked(struct av_device *dev, const struct kvm_device_attr *attr,
			 struct av_vgic_cpu *cpu, bool write, u64 *val)
{
	struct av_vgic_io io = attr_io(dev, attr, cpu);
	struct av_vm *vm = dev->vm;
	int r;

	if (write && attr->group == KVM_DEV_ARM_VGIC_GRP_REDIST_REGS &&
	    av_lpi_mmio_write(vm, &io, *val, &r))
		return r;
	spin_lock_irq(&vm->irq->lock);
	r = access_reg(dev, attr, cpu, write, val);
	spin_unlock_irq(&vm->irq->lock);
	return r;
}

/* Access a register while no vCPU runs. */
static int access_stopped(struct av_device *dev, const struct kvm_device_attr *attr,
			  struct av_vgic_cpu *cpu, bool write, u64 *val)
{
	struct av_vm *vm = dev->vm;
	int r = -EBUSY;

	if (!av_vm_try_stop_vcpus(vm))
		return r;
	mutex_lock(&vm->config_lock);
	if (vm->irq->chip->vgic.initialized || is_early(attr))
		r = access_locked(dev, attr, cpu, write, val);
	/* GICD_TYPER2 is fixed by then, whatever its value. */
	if (r == -EINVAL && vm->irq->chip->vgic.initialized && is_early(attr) &&
	    (attr->attr & KVM_DEV_ARM_VGIC_OFFSET_MASK) == GICD_TYPER2)
		r = -EBUSY;
	mutex_unlock(&vm->config_lock);
	av_vm_release_vcpus(vm);
	return r;
}

/* System registers are 64 bits wide, all others 32. */
static bool is_wide(const struct kvm_device_attr *attr)
{
	return attr->group == KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS;
}

static int get_val(const struct kvm_device_attr *attr, u64 *val)
{
	u64 __user *wide = u64_to_user_ptr(attr->addr);
	u32 __user *narrow = u64_to_user_ptr(attr->addr);
	u32 low;
	int r;

	if (is_wide(attr))
		return get_user(*val, wide);
	r = get_user(low, narrow);
	*val = low;
	return r;
}

static int put_val(const struct kvm_device_attr *attr, u64 val)
{
	u64 __user *wide = u64_to_user_ptr(attr->addr);
	u32 __user *narrow = u64_to_user_ptr(attr->addr);

	return is_wide(attr) ? put_user(val, wide) : put_user((u32)val, narrow);
}

static int reg_attr(struct av_device *dev, const struct kvm_device_attr *attr, bool write)
{
	struct av_vgic_cpu *cpu = attr_cpu(dev, attr);
	u64 val = 0;
	int r;

	if (!cpu)
		return -EINVAL;
	if (write && get_val(attr, &val))
		return -EFAULT;
	r = access_stopped(dev, attr, cpu, write, &val);
	return r || write ? r : put_val(attr, val);
}

/* ---- dispatch ------------------------------------------------------------------------ */

static int vgic_set_attr(struct av_device *dev, const struct kvm_device_attr *attr)
{
	switch (attr->group) {
	case KVM_DEV_ARM_VGIC_GRP_ADDR:
		return addr_attr(dev, attr, true);
	case KVM_DEV_ARM_VGIC_GRP_NR_IRQS:
		return set_nr_irqs(dev, attr);
	case KVM_DEV_ARM_VGIC_GRP_CTRL:
		return control(dev, attr);
	case KVM_DEV_ARM_VGIC_GRP_DIST_REGS:
	case KVM_DEV_ARM_VGIC_GRP_REDIST_REGS:
	case KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS:
	case KVM_DEV_ARM_VGIC_GRP_LEVEL_INFO:
		return reg_attr(dev, attr, true);
	}
	return -ENXIO;
}

static int vgic_get_attr(struct av_device *dev, const struct kvm_device_attr *attr)
{
	switch (attr->group) {
	case KVM_DEV_ARM_VGIC_GRP_ADDR:
		return addr_attr(dev, attr, false);
	case KVM_DEV_ARM_VGIC_GRP_NR_IRQS:
		return get_nr_irqs(dev, attr);
	case KVM_DEV_ARM_VGIC_GRP_DIST_REGS:
	case KVM_DEV_ARM_VGIC_GRP_REDIST_REGS:
	case KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS:
	case KVM_DEV_ARM_VGIC_GRP_LEVEL_INFO:
		return reg_attr(dev, attr, false);
	}
	return -ENXIO;
}

static int has_reg(struct av_device *dev, const struct kvm_device_attr *attr)
{
	struct av_vgic_cpu *cpu = attr_cpu(dev, attr);
	struct av_vgic_io io = attr_io(dev, attr, cpu);
	bool has;

	if (!cpu)
		return -EINVAL;
	if (attr->group == KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS)
		has = av_vgic_icc_user_has(attr->attr & SYSREG);
	else if (attr->group == KVM_DEV_ARM_VGIC_GRP_DIST_REGS)
		has = av_vgic_dist_has(&io);
	else
		has = av_vgic_redist_has(&io);
	return has ? 0 : -ENXIO;
}

static int vgic_has_attr(struct av_device *dev, const struct kvm_device_attr *attr)
{
	bool has = false;

	switch (attr->group) {
	case KVM_DEV_ARM_VGIC_GRP_ADDR:
		has = attr->attr == KVM_VGIC_V3_ADDR_TYPE_DIST ||
		      attr->attr == KVM_VGIC_V3_ADDR_TYPE_REDIST ||
		      attr->attr == KVM_VGIC_V3_ADDR_TYPE_REDIST_REGION;
		break;
	case KVM_DEV_ARM_VGIC_GRP_NR_IRQS:
		has = true;
		break;
	case KVM_DEV_ARM_VGIC_GRP_CTRL:
		has = attr->attr == KVM_DEV_ARM_VGIC_CTRL_INIT ||
		      attr->attr == KVM_DEV_ARM_VGIC_SAVE_PENDING_TABLES;
		break;
	case KVM_DEV_ARM_VGIC_GRP_LEVEL_INFO:
		has = FIELD_GET(KVM_DEV_ARM_VGIC_LINE_LEVEL_INFO_MASK, attr->attr) ==
		      VGIC_LEVEL_INFO_LINE_LEVEL;
		break;
	case KVM_DEV_ARM_VGIC_GRP_DIST_REGS:
	case KVM_DEV_ARM_VGIC_GRP_REDIST_REGS:
	case KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS:
		return has_reg(dev, attr);
	}
	return has ? 0 : -ENXIO;
}

const struct av_device_ops av_vgic_v3_device_ops = {
	.name = "kvm-arm-vgic-v3",
	.type = KVM_DEV_TYPE_ARM_VGIC_V3,
	.create = vgic_create,
	.destroy = vgic_destroy,
	.set_attr = vgic_set_attr,
	.get_attr = vgic_get_attr,
	.has_attr = vgic_has_attr,
};
