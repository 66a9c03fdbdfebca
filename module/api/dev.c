// SPDX-License-Identifier: GPL-2.0
/*
 * The device node: /dev/kvm, or /dev/armvisor beside the host's own KVM.
 *
 * It has no state. All its ioctls take a number or nothing; only KVM_CREATE_VM
 * creates something.
 */
#include <linux/anon_inodes.h>
#include <linux/compat.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched.h>

#include "api/api.h"

const struct av_ioctl *av_ioctl_find(const struct av_ioctl *rows, unsigned int n,
				     unsigned int cmd)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (rows[i].cmd == cmd)
			return &rows[i];
	return NULL;
}

#ifdef CONFIG_COMPAT
long av_no_compat_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return -EINVAL;
}
#endif

static int av_dev_open(struct inode *inode, struct file *file)
{
	return in_compat_syscall() ? -ENODEV : 0;
}

static int av_dev_create_vm(unsigned long type)
{
	struct file *file;
	struct av_vm *vm;
	int fd;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;

	vm = av_vm_create(type);
	if (IS_ERR(vm)) {
		put_unused_fd(fd);
		return PTR_ERR(vm);
	}

	/* The file takes over the reference that creation returned. */
	file = anon_inode_getfile("kvm-vm", &av_vm_fops, vm, O_RDWR);
	if (IS_ERR(file)) {
		av_vm_put(vm);
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	fd_install(fd, file);
	return fd;
}

static long av_dev_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case KVM_GET_API_VERSION:
		return arg ? -EINVAL : KVM_API_VERSION;
	case KVM_CREATE_VM:
		return av_dev_create_vm(arg);
	case KVM_CHECK_EXTENSION:
		return av_check_extension(NULL, arg);
	case KVM_GET_VCPU_MMAP_SIZE:
		/* struct kvm_run and, behind it, the VM's ring of coalesced MMIO. */
		return arg ? -EINVAL : 2 * PAGE_SIZE;
	default:
		return -EINVAL;
	}
}

static const struct file_operations av_dev_fops = {
	.owner		= THIS_MODULE,
	.open		= av_dev_open,
	.unlocked_ioctl	= av_dev_ioctl,
	AV_COMPAT_IOCTL
	.llseek		= noop_llseek,
};

static struct miscdevice av_dev = {
	.fops		= &av_dev_fops,
	.mode		= 0660,
};

int av_api_init(bool host_has_kvm)
{
	av_dev.minor = host_has_kvm ? MISC_DYNAMIC_MINOR : KVM_MINOR;
	av_dev.name = host_has_kvm ? "armvisor" : "kvm";
	return misc_register(&av_dev);
}

void av_api_exit(void)
{
	misc_deregister(&av_dev);
}

const char *av_api_node(void)
{
	return av_dev.name;
}
