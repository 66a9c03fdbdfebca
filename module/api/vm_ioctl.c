// SPDX-License-Identifier: GPL-2.0
/*
 * A VM's file. Handlers copy their argument, check the rules of the ABI (reserved fields, sizes),
 * and pass it to the folder that implements the ioctl.
 */
#include <linux/fs.h>
#include <linux/kvm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "api/api.h"
#include "api/seal.h"
#include "compat/kvm_level.h"
#include "cpu/cheap.h"
#include "cpu/cpu.h"
#include "irq/irq.h"
#include "mmio/mmio.h"
#include "mmu/mmu.h"
#include "vm/device.h"
#include "stats/stats.h"

static int av_vm_set_memory(void *object, void __user *argp)
{
	struct kvm_userspace_memory_region2 mem = {};

	/* The older structure is the beginning of the newer one. */
	if (copy_from_user(&mem, argp, sizeof(struct kvm_userspace_memory_region)))
		return -EFAULT;
	/* The older structure has no field for the file. */
	if (mem.flags & KVM_MEM_GUEST_MEMFD)
		return -EINVAL;
	return av_mmu_set_slot(object, &mem);
}

static int av_vm_set_memory2(void *object, void __user *argp)
{
	struct kvm_userspace_memory_region2 mem;

	if (copy_from_user(&mem, argp, sizeof(mem)))
		return -EFAULT;
	return av_mmu_set_slot(object, &mem);
}

static int av_vm_create_gmem(void *object, void __user *argp)
{
	struct kvm_create_guest_memfd args;
	struct av_vm *vm = object;

	/* On older hosts only protected VMs have it. */
	if (!vm->protected && !AV_KVM_GUEST_MEMFD)
		return -EINVAL;
	if (copy_from_user(&args, argp, sizeof(args)))
		return -EFAULT;
	return av_mmu_create_gmem(vm, args.size, args.flags);
}

static int av_vm_get_dirty_log(void *object, void __user *argp)
{
	struct kvm_dirty_log log;

	if (copy_from_user(&log, argp, sizeof(log)))
		return -EFAULT;
	return av_mmu_get_dirty_log(object, &log);
}

static int av_vm_clear_dirty_log(void *object, void __user *argp)
{
	struct kvm_clear_dirty_log log;

	if (copy_from_user(&log, argp, sizeof(log)))
		return -EFAULT;
	return av_mmu_clear_dirty_log(object, &log);
}

static int av_vm_reset_dirty_rings(void *object, void __user *argp)
{
	return av_mmu_reset_rings(object);
}

static int av_vm_create_device(void *object, void __user *argp)
{
	return av_device_ioctl_create(object, argp);
}

/* Would create a vGICv2. As in KVM on a host with a GICv3, there is none. */
static int av_vm_create_irqchip(void *object, void __user *argp)
{
	return -ENODEV;
}

/* The old way to place a vGICv2: as in KVM on a host with a GICv3, no such device. */
static int av_vm_set_device_addr(void *object, void __user *argp)
{
	struct kvm_arm_device_addr addr;

	if (copy_from_user(&addr, argp, sizeof(addr)))
		return -EFAULT;
	return -ENODEV;
}

static int av_vm_preferred_target(void *object, void __user *argp)
{
	struct kvm_vcpu_init init = { .target = KVM_ARM_TARGET_GENERIC_V8 };

	return copy_to_user(argp, &init, sizeof(init)) ? -EFAULT : 0;
}

static int av_vm_irq_line(void *object, void __user *argp)
{
	struct kvm_irq_level level;

	if (copy_from_user(&level, argp, sizeof(level)))
		return -EFAULT;
	return av_irq_line(object, &level);
}

/* The same, with a status that KVM/arm64 returns unchanged. */
static int av_vm_irq_line_status(void *object, void __user *argp)
{
	struct kvm_irq_level level;
	int r;

	if (copy_from_user(&level, argp, sizeof(level)))
		return -EFAULT;
	r = av_irq_line(object, &level);
	if (r)
		return r;
	return copy_to_user(argp, &level, sizeof(level)) ? -EFAULT : 0;
}

static int av_vm_irqfd(void *object, void __user *argp)
{
	struct kvm_irqfd args;

	if (copy_from_user(&args, argp, sizeof(args)))
		return -EFAULT;
	return av_irqfd(object, &args);
}

static int av_vm_signal_msi(void *object, void __user *argp)
{
	struct kvm_msi msi;

	if (copy_from_user(&msi, argp, sizeof(msi)))
		return -EFAULT;
	return av_signal_msi(object, &msi);
}

static int av_vm_ioeventfd(void *object, void __user *argp)
{
	struct kvm_ioeventfd args;

	if (copy_from_user(&args, argp, sizeof(args)))
		return -EFAULT;
	return av_ioeventfd(object, &args);
}

static int av_vm_coalesced(struct av_vm *vm, void __user *argp, bool add)
{
	struct kvm_coalesced_mmio_zone zone;

	if (copy_from_user(&zone, argp, sizeof(zone)))
		return -EFAULT;
	return av_coalesced_mmio(vm, &zone, add);
}

static int av_vm_register_coalesced(void *object, void __user *argp)
{
	return av_vm_coalesced(object, argp, true);
}

static int av_vm_unregister_coalesced(void *object, void __user *argp)
{
	return av_vm_coalesced(object, argp, false);
}

static int av_vm_set_routing(void *object, void __user *argp)
{
	struct kvm_irq_routing_entry *entries = NULL;
	struct kvm_irq_routing head;
	int r;

	if (copy_from_user(&head, argp, sizeof(head)))
		return -EFAULT;
	if (head.nr > AV_MAX_IRQ_ROUTES || head.flags)
		return -EINVAL;
	if (head.nr) {
		entries = vmemdup_user(argp + sizeof(head),
				       array_size(head.nr, sizeof(*entries)));
		if (IS_ERR(entries))
			return PTR_ERR(entries);
	}
	r = av_irq_set_routing(object, entries, head.nr);
	kvfree(entries);
	return r;
}

static int av_vm_set_counter_offset(void *object, void __user *argp)
{
	struct kvm_arm_counter_offset offset;

	if (copy_from_user(&offset, argp, sizeof(offset)))
		return -EFAULT;
	if (offset.reserved)
		return -EINVAL;
	return av_timer_set_offset(object, offset.counter_offset);
}

/* Which bits of the ID registers are writable, by index in the feature ID space. */
static int av_vm_get_reg_masks(void *object, void __user *argp)
{
	struct reg_mask_range range;
	u64 __user *masks;
	unsigned int i;

	if (copy_from_user(&range, argp, sizeof(range)))
		return -EFAULT;
	if (range.range || memchr_inv(range.reserved, 0, sizeof(range.reserved)))
		return -EINVAL;
	masks = u64_to_user_ptr(range.addr);
	for (i = 0; i < KVM_ARM_FEATURE_ID_RANGE_SIZE; i++)
		if (put_user(av_id_mask(i), masks + i))
			return -EFAULT;
	return 0;
}

static int av_vm_enable_cap(void *object, void __user *argp)
{
	struct kvm_enable_cap cap;

	if (copy_from_user(&cap, argp, sizeof(cap)))
		return -EFAULT;
	if (((struct av_vm *)object)->protected && !av_seal_takes_cap(cap.cap))
		return -EPERM;
	/* The only capability whose flags KVM ignores; it uses 32 bits of the size. */
	if (cap.cap == KVM_CAP_DIRTY_LOG_RING_ACQ_REL)
		return av_mmu_enable_ring(object, cap.args[0]);
	if (cap.flags)
		return -EINVAL;
	switch (cap.cap) {
	case KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP:
		return av_mmu_enable_ring_bitmap(object);
	case KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2:
		return av_mmu_enable_manual_protect(object, cap.args[0]);
	case KVM_CAP_ARM_SYSTEM_SUSPEND:
		av_psci_enable_suspend(object);
		return 0;
	case KVM_CAP_ARM_NISV_TO_USER:
		return av_mmio_enable_nisv(object);
	case KVM_CAP_ARM_WRITABLE_IMP_ID_REGS:
		return av_cpu_enable_imp_ids(object);
	case KVM_CAP_HALT_POLL:
		return av_cpu_enable_halt_poll(object, cap.args[0]);
	case AV_CAP_CHEAP_TRAPS:
		return av_cpu_enable_cheap(object, cap.args[0]);
	case AV_CAP_ACCOUNTING:
		return av_cpu_enable_accounting(object, cap.args[0]);
	default:
		return -EINVAL;
	}
}

/* The only attribute of a VM: the filter for firmware calls. */
static bool av_vm_has_attr(const struct kvm_device_attr *attr)
{
	return attr->group == KVM_ARM_VM_SMCCC_CTRL && attr->attr == KVM_ARM_VM_SMCCC_FILTER;
}

static int av_vm_has_attr_ioctl(void *object, void __user *argp)
{
	struct kvm_device_attr attr;

	if (copy_from_user(&attr, argp, sizeof(attr)))
		return -EFAULT;
	return av_vm_has_attr(&attr) ? 0 : -ENXIO;
}

static int av_vm_set_attr(void *object, void __user *argp)
{
	struct kvm_smccc_filter filter;
	struct kvm_device_attr attr;

	if (copy_from_user(&attr, argp, sizeof(attr)))
		return -EFAULT;
	if (!av_vm_has_attr(&attr))
		return -ENXIO;
	if (copy_from_user(&filter, u64_to_user_ptr(attr.addr), sizeof(filter)))
		return -EFAULT;
	if (memchr_inv(filter.pad, 0, sizeof(filter.pad)))
		return -EINVAL;
	return av_smccc_set_filter(object, filter.base, filter.nr_functions, filter.action);
}

static const struct av_ioctl av_vm_ioctls[] = {
	{ KVM_IRQ_LINE,			av_vm_irq_line },
	{ KVM_IRQ_LINE_STATUS,		av_vm_irq_line_status },
	{ KVM_SET_USER_MEMORY_REGION,	av_vm_set_memory },
	{ KVM_SET_USER_MEMORY_REGION2,	av_vm_set_memory2 },
	{ KVM_CREATE_GUEST_MEMFD,	av_vm_create_gmem },
	{ KVM_GET_DIRTY_LOG,		av_vm_get_dirty_log },
	{ KVM_CLEAR_DIRTY_LOG,		av_vm_clear_dirty_log },
	{ KVM_RESET_DIRTY_RINGS,	av_vm_reset_dirty_rings },
	{ KVM_IRQFD,			av_vm_irqfd },
	{ KVM_SIGNAL_MSI,		av_vm_signal_msi },
	{ KVM_IOEVENTFD,		av_vm_ioeventfd },
	{ KVM_REGISTER_COALESCED_MMIO,	av_vm_register_coalesced },
	{ KVM_UNREGISTER_COALESCED_MMIO, av_vm_unregister_coalesced },
	{ KVM_SET_GSI_ROUTING,		av_vm_set_routing },
	{ KVM_CREATE_DEVICE,		av_vm_create_device },
	{ KVM_CREATE_IRQCHIP,		av_vm_create_irqchip },
	{ KVM_ARM_SET_DEVICE_ADDR,	av_vm_set_device_addr },
	{ KVM_ARM_SET_COUNTER_OFFSET,	av_vm_set_counter_offset },
	{ KVM_ARM_GET_REG_WRITABLE_MASKS, av_vm_get_reg_masks },
	{ KVM_ARM_PREFERRED_TARGET,	av_vm_preferred_target },
	{ KVM_ENABLE_CAP,		av_vm_enable_cap },
	{ KVM_HAS_DEVICE_ATTR,		av_vm_has_attr_ioctl },
	{ KVM_SET_DEVICE_ATTR,		av_vm_set_attr },
};

static long av_vm_ioctl_entered(struct av_vm *vm, unsigned int cmd, unsigned long arg)
{
	const struct av_ioctl *row;

	/* Ioctls whose argument is not a pointer. */
	switch (cmd) {
	case KVM_CREATE_VCPU:
		return av_vm_create_vcpu(vm, arg);
	case KVM_CHECK_EXTENSION:
		return av_check_extension(vm, arg);
	case KVM_GET_STATS_FD:
		return av_stats_vm_fd(vm);
	}

	row = av_ioctl_find(av_vm_ioctls, ARRAY_SIZE(av_vm_ioctls), cmd);
	return row ? row->call(vm, (void __user *)arg) : -EINVAL;
}

static long av_vm_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct av_vm *vm = file->private_data;
	int entered;
	long r;

	r = av_vm_check_caller(vm);
	if (r)
		return r;
	entered = av_seal_enter(vm, AV_SEAL_VM, cmd);
	if (entered < 0)
		return entered;
	r = av_vm_ioctl_entered(vm, cmd, arg);
	av_seal_leave(vm, entered);
	return r;
}

static int av_vm_release(struct inode *inode, struct file *file)
{
	av_vm_put(file->private_data);
	return 0;
}

const struct file_operations av_vm_fops = {
	.owner		= THIS_MODULE,
	.release	= av_vm_release,
	.unlocked_ioctl	= av_vm_ioctl,
	AV_COMPAT_IOCTL
	.llseek		= noop_llseek,
};
