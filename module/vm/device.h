/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In-kernel devices: KVM_CREATE_DEVICE and the attribute ioctls.
 *
 * Each kind of device has one struct av_device_ops, listed in api/device.c. All calls but
 * destroy come from an ioctl that has checked the VM's mm. Only create is called with vm->lock
 * held. The attribute calls take the locks that they need: av_vm_try_stop_vcpus() for state
 * that a running vCPU uses, with -EBUSY on failure, as KVM does.
 *
 * A device lives as long as its VM. The device's file only holds a reference on the VM. destroy
 * is called when the VM is destroyed: after the vCPUs have stopped, before they are freed.
 */
#ifndef AV_VM_DEVICE_H
#define AV_VM_DEVICE_H

#include <linux/kvm.h>
#include <linux/list.h>

struct av_device;
struct av_vm;

struct av_device_ops {
	const char *name;	/* name of the device's file in /proc/PID/fd */
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
	void *priv;		/* private data of this kind of device */
};

#endif /* AV_VM_DEVICE_H */
