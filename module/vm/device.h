/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In-kernel devices: KVM_CREATE_DEVICE and the attribute ioctls.
 *
 * A device kind is one struct av_device_ops, listed in api/device.c. All
 * calls come from an ioctl, with the VM's mm checked. create, and only it, is
 * called with vm->lock held; the attribute calls take what they need
 * (av_vm_try_stop_vcpus() for state a running vCPU uses: -EBUSY as KVM).
 * The device lives as long as the VM, its file only keeps the VM alive;
 * destroy is called when the VM goes, after the vCPUs have stopped and before
 * they are freed.
 */
#ifndef AV_VM_DEVICE_H
#define AV_VM_DEVICE_H

#include <linux/kvm.h>
#include <linux/list.h>

struct av_device;
struct av_vm;

struct av_device_ops {
	const char *name;	/* of the file, in /proc/PID/fd */
	u32 type;		/* KVM_DEV_TYPE_* */
	int (*create)(struct av_device *dev);
	void (*destroy)(struct av_device *dev);
	/* attr->addr is a user address. -ENXIO: no such attribute. */
	int (*set_attr)(struct av_device *dev, const struct kvm_device_attr *attr);
	int (*get_attr)(struct av_device *dev, const struct kvm_device_attr *attr);
	int (*has_attr)(struct av_device *dev, const struct kvm_device_attr *attr);
};

struct av_device {
	const struct av_device_ops *ops;
	struct av_vm *vm;
	struct list_head node;
	void *priv;		/* the kind's own */
};

#endif /* AV_VM_DEVICE_H */
