// SPDX-License-Identifier: GPL-2.0
/* In-kernel devices: the file that KVM_CREATE_DEVICE creates, and its three attribute ioctls. */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "api/api.h"
#include "api/seal.h"
#include "cpu/cpu.h"
#include "irq/irq.h"
#include "vm/device.h"

static const struct av_device_ops *const av_device_kinds[] = {
	&av_vgic_v3_device_ops,
	&av_vgic_its_device_ops,
};

static const struct av_device_ops *av_device_kind(u32 type)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(av_device_kinds); i++)
		if (av_device_kinds[i]->type == type)
			return av_device_kinds[i];
	return NULL;
}

static long av_device_ioctl_entered(struct av_device *dev, unsigned int cmd, unsigned long arg)
{
	int (*call)(struct av_device *dev, const struct kvm_device_attr *attr);
	struct kvm_device_attr attr;

	switch (cmd) {
	case KVM_SET_DEVICE_ATTR:
		call = dev->ops->set_attr;
		break;
	case KVM_GET_DEVICE_ATTR:
		call = dev->ops->get_attr;
		break;
	case KVM_HAS_DEVICE_ATTR:
		call = dev->ops->has_attr;
		break;
	default:
		return -ENOTTY;
	}
	if (copy_from_user(&attr, (void __user *)arg, sizeof(attr)))
		return -EFAULT;
	if (dev->vm->protected && !av_seal_has_group(&attr))
		return -ENXIO;
	return call(dev, &attr);
}

static long av_device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct av_device *dev = file->private_data;
	int entered;
	long r;

	r = av_vm_check_caller(dev->vm);
	if (r)
		return r;
	entered = av_seal_enter(dev->vm, AV_SEAL_DEVICE, cmd);
	if (entered < 0)
		return entered;
	r = av_device_ioctl_entered(dev, cmd, arg);
	av_seal_leave(dev->vm, entered);
	return r;
}

static int av_device_release(struct inode *inode, struct file *file)
{
	struct av_device *dev = file->private_data;

	av_vm_put(dev->vm);
	return 0;
}

static const struct file_operations av_device_fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= av_device_ioctl,
	AV_COMPAT_IOCTL
	.release	= av_device_release,
	.llseek		= noop_llseek,
};

/*
 * Create a device, add it to the VM, and create its file. Returns the fd. If
 * that fails, the device is destroyed again.
 */
static int av_device_create(struct av_vm *vm, const struct av_device_ops *ops)
{
	struct av_device *dev = kzalloc(sizeof(*dev), GFP_KERNEL_ACCOUNT);
	int r;

	if (!dev)
		return -ENOMEM;
	dev->ops = ops;
	dev->vm = vm;

	if (mutex_lock_killable(&vm->lock)) {
		kfree(dev);
		return -EINTR;
	}
	r = ops->create(dev);
	if (r) {
		mutex_unlock(&vm->lock);
		kfree(dev);
		return r;
	}
	list_add(&dev->node, &vm->devices);
	if (ops == &av_vgic_v3_device_ops)
		av_cpu_vgic_created(vm);
	mutex_unlock(&vm->lock);

	av_vm_get(vm);
	r = anon_inode_getfd(ops->name, &av_device_fops, dev, O_RDWR | O_CLOEXEC);
	if (r < 0) {
		mutex_lock(&vm->lock);
		list_del(&dev->node);
		ops->destroy(dev);
		mutex_unlock(&vm->lock);
		av_vm_put(vm);
		kfree(dev);
	}
	return r;
}

int av_device_ioctl_create(struct av_vm *vm, void __user *argp)
{
	const struct av_device_ops *ops;
	struct kvm_create_device args;
	int r;

	if (copy_from_user(&args, argp, sizeof(args)))
		return -EFAULT;
	ops = av_device_kind(args.type);
	if (!ops)
		return -ENODEV;
	/* KVM ignores other flags. */
	if (args.flags & KVM_CREATE_DEVICE_TEST)
		return 0;

	r = av_device_create(vm, ops);
	if (r < 0)
		return r;
	args.fd = r;
	/* As in KVM, the file stays open even if the fd cannot be copied out. */
	return copy_to_user(argp, &args, sizeof(args)) ? -EFAULT : 0;
}

void av_devices_destroy(struct av_vm *vm)
{
	struct av_device *dev, *next;

	list_for_each_entry_safe(dev, next, &vm->devices, node) {
		list_del(&dev->node);
		dev->ops->destroy(dev);
		kfree(dev);
	}
}
