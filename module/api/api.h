/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KVM's ABI as files: functions for main.c and the files of this folder.
 *
 *   dev.c        the device node: system ioctls, KVM_CREATE_VM
 *   extension.c  KVM_CHECK_EXTENSION: capabilities as a table
 *   vm.c         a VM's life, its locks
 *   vm_ioctl.c   a VM's file
 *   vcpu.c       a vCPU's life, its file, the page shared with the VMM
 *   vcpu_ioctl.c a vCPU's ioctls
 *   one_reg.c    KVM_GET/SET_ONE_REG, KVM_GET_REG_LIST
 *   device.c     in-kernel devices
 *   seal.c       permitted ioctls of a protected VM's VMM (seal.h)
 *   stats_fd.c   the files of KVM_GET_STATS_FD
 */
#ifndef AV_API_API_H
#define AV_API_API_H

#include <linux/fs.h>

#include "vm/vcpu.h"

/*
 * Create the device node: /dev/kvm, or /dev/armvisor if the host has KVM. Last
 * at load: from then on VMs can be created. 0 or a negative errno.
 */
int av_api_init(bool host_has_kvm);
/* Remove the device node. No file is open, or the module could not be unloaded. */
void av_api_exit(void);
/* The name of the node: "kvm" or "armvisor". */
const char *av_api_node(void);

/* The largest IPA size of a VM here, in bits. */
unsigned int av_api_ipa_limit(void);

/* KVM_CHECK_EXTENSION; vm is NULL on the device node. */
int av_check_extension(struct av_vm *vm, unsigned long ext);

/* vm.c */
struct av_vm *av_vm_create(unsigned long type);
extern const struct file_operations av_vm_fops;

/* vcpu.c */
int av_vm_create_vcpu(struct av_vm *vm, unsigned long id);
void av_vcpu_free(struct av_vcpu *vcpu);
long av_vcpu_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
/* The same for the files of a protected VM's vCPUs. */
long av_vcpu_ioctl_protected(struct file *file, unsigned int cmd, unsigned long arg);

/* stats_fd.c: KVM_GET_STATS_FD */
int av_stats_vm_fd(struct av_vm *vm);
int av_stats_vcpu_fd(struct av_vcpu *vcpu);

/* one_reg.c */
int av_vcpu_get_one_reg(struct av_vcpu *vcpu, void __user *argp);
int av_vcpu_set_one_reg(struct av_vcpu *vcpu, void __user *argp);
int av_vcpu_get_reg_list(struct av_vcpu *vcpu, void __user *argp);

/*
 * An ioctl as a row. The handler copies its argument itself; its return value
 * is the ioctl's. Unknown ioctls get the errno that KVM gives on that file.
 */
struct av_ioctl {
	unsigned int cmd;
	int (*call)(void *object, void __user *argp);
};

/* Returns the row of cmd, or NULL. */
const struct av_ioctl *av_ioctl_find(const struct av_ioctl *rows, unsigned int n,
				     unsigned int cmd);

/*
 * 32-bit programs: as in KVM/arm64, they cannot open the node, and ioctls on
 * files passed to them fail.
 */
#ifdef CONFIG_COMPAT
long av_no_compat_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
#define AV_COMPAT_IOCTL .compat_ioctl = av_no_compat_ioctl,
#else
#define AV_COMPAT_IOCTL
#endif

/* device.c: KVM_CREATE_DEVICE */
int av_device_ioctl_create(struct av_vm *vm, void __user *argp);
void av_devices_destroy(struct av_vm *vm);

/* The first check of every ioctl: -EIO if the caller's address space is not the VM's. */
static inline int av_vm_check_caller(const struct av_vm *vm)
{
	return current->mm == vm->mm && !READ_ONCE(vm->refused) ? 0 : -EIO;
}

#endif /* AV_API_API_H */
