/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KVM's ABI, as files: functions for main.c and the files of this folder.
 *
 *   dev.c        the device node: system ioctls, KVM_CREATE_VM
 *   extension.c  KVM_CHECK_EXTENSION: what there is, as a table
 *   vm.c         a VM's life, its locks
 *   vm_ioctl.c   a VM's file
 *   vcpu.c       a vCPU's life, its file, the page shared with the VMM
 *   vcpu_ioctl.c a vCPU's ioctls
 *   one_reg.c    KVM_GET/SET_ONE_REG, KVM_GET_REG_LIST
 *   device.c     in-kernel devices
 *   seal.c       what a protected VM's VMM may do (seal.h)
 *   stats_fd.c   the files of KVM_GET_STATS_FD
 */
#ifndef AV_API_API_H
#define AV_API_API_H

#include <linux/fs.h>

#include "vm/vcpu.h"

/*
 * Make the device node, as the last step of loading: after this, VMs come.
 * With KVM on the host it is /dev/armvisor, else /dev/kvm with its number.
 */
int av_api_init(bool host_has_kvm);
/* Remove the device node. No file of ours is open, or the module could not be unloaded. */
void av_api_exit(void);
/* The node's name: "kvm" or "armvisor". */
const char *av_api_node(void);

/* The largest IPA size a VM can have here. */
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
/* The same of a protected VM's, whose files have it in the other's place. */
long av_vcpu_ioctl_protected(struct file *file, unsigned int cmd, unsigned long arg);

/* stats_fd.c: KVM_GET_STATS_FD */
int av_stats_vm_fd(struct av_vm *vm);
int av_stats_vcpu_fd(struct av_vcpu *vcpu);

/* one_reg.c */
int av_vcpu_get_one_reg(struct av_vcpu *vcpu, void __user *argp);
int av_vcpu_set_one_reg(struct av_vcpu *vcpu, void __user *argp);
int av_vcpu_get_reg_list(struct av_vcpu *vcpu, void __user *argp);

/*
 * An ioctl as a row. The handler copies its argument itself and returns what
 * the ioctl returns. Unknown numbers get KVM's answer on that file.
 */
struct av_ioctl {
	unsigned int cmd;
	int (*call)(void *object, void __user *argp);
};

/* The row of cmd, or NULL. */
const struct av_ioctl *av_ioctl_find(const struct av_ioctl *rows, unsigned int n,
				     unsigned int cmd);

/*
 * 32-bit programs: as on KVM/arm64, they may not open the node, and an ioctl
 * on a file that they were given fails.
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

/* The first check of every ioctl: -EIO unless the caller's memory is the VM's. */
static inline int av_vm_check_caller(const struct av_vm *vm)
{
	return current->mm == vm->mm && !READ_ONCE(vm->refused) ? 0 : -EIO;
}

#endif /* AV_API_API_H */
