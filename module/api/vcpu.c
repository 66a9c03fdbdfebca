// SPDX-License-Identifier: GPL-2.0
/* A vCPU's creation and release, its file, and the page shared with the VMM. */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "api/api.h"
#include "cpu/cpu.h"
#include "irq/irq.h"
#include "mmio/mmio.h"
#include "mmu/mmu.h"
#include "switch/image.h"

static int av_vcpu_release(struct inode *inode, struct file *file)
{
	struct av_vcpu *vcpu = file->private_data;

	av_vm_put(vcpu->vm);
	return 0;
}

/*
 * Page 0 of the mapping is kvm_run, page 1 the VM's ring of coalesced MMIO; the vCPU's dirty ring,
 * if any, starts at KVM_DIRTY_LOG_PAGE_OFFSET. The mapping holds the file and so the VM. Each page
 * has its own reference, as it may outlive both in a pipe.
 */
static vm_fault_t av_vcpu_fault(struct vm_fault *vmf)
{
	struct av_vcpu *vcpu = vmf->vma->vm_file->private_data;

	switch (vmf->pgoff) {
	case 0:
		vmf->page = virt_to_page(vcpu->run);
		break;
	case KVM_COALESCED_MMIO_PAGE_OFFSET:
		vmf->page = av_coalesced_page(vcpu->vm);
		break;
	default:
		if (!av_mmu_is_ring_page(vcpu->vm, vmf->pgoff))
			return VM_FAULT_SIGBUS;
		vmf->page = av_mmu_ring_page(vcpu, vmf->pgoff);
	}
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct av_vcpu_vm_ops = {
	.fault = av_vcpu_fault,
};

static int av_vcpu_mmap(struct file *file, struct vm_area_struct *vma)
{
	const struct av_vcpu *vcpu = file->private_data;
	unsigned long first = vma->vm_pgoff, last = first + vma_pages(vma) - 1;

	/* KVM's rule for the dirty ring, which checks only the first and last page. */
	if ((av_mmu_is_ring_page(vcpu->vm, first) || av_mmu_is_ring_page(vcpu->vm, last)) &&
	    (vma->vm_flags & VM_EXEC || !(vma->vm_flags & VM_SHARED)))
		return -EINVAL;
	vma->vm_ops = &av_vcpu_vm_ops;
	return 0;
}

static const struct file_operations av_vcpu_fops = {
	.owner		= THIS_MODULE,
	.release	= av_vcpu_release,
	.unlocked_ioctl	= av_vcpu_ioctl,
	AV_COMPAT_IOCTL
	.mmap		= av_vcpu_mmap,
	.llseek		= noop_llseek,
};

/* These first check the VMM's permission (api/seal.h). Separate, so that other VMs pay nothing. */
static const struct file_operations av_vcpu_protected_fops = {
	.owner		= THIS_MODULE,
	.release	= av_vcpu_release,
	.unlocked_ioctl	= av_vcpu_ioctl_protected,
	AV_COMPAT_IOCTL
	.mmap		= av_vcpu_mmap,
	.llseek		= noop_llseek,
};

/* A vCPU with every folder's state: the only place that knows all of them. */
struct av_vcpu_whole {
	struct av_vcpu vcpu;
	struct av_vcpu_switch sw;
	struct av_vcpu_mmu mmu;
	struct av_vcpu_irq irq;
	struct av_vcpu_mmio mmio;
	struct av_vcpu_cpu cpu;
};

static void av_vcpu_free_pages(struct av_vcpu *vcpu)
{
	free_page((unsigned long)vcpu->run);
	av_srf_free(vcpu->srf);
	av_image_kvfree(container_of(vcpu, struct av_vcpu_whole, vcpu));
}

/* The vCPU's interrupts are already destroyed; nobody can reach it. */
void av_vcpu_free(struct av_vcpu *vcpu)
{
	av_cpu_vcpu_destroy(vcpu);
	av_mmu_vcpu_destroy(vcpu);
	av_vcpu_free_pages(vcpu);
}

static struct av_vcpu *av_vcpu_alloc(struct av_vm *vm, int id)
{
	struct av_vcpu_whole *whole = av_image_kvzalloc(sizeof(*whole), GFP_KERNEL_ACCOUNT);
	struct av_vcpu *vcpu;

	if (!whole)
		return NULL;
	vcpu = &whole->vcpu;
	vcpu->sw = &whole->sw;
	vcpu->mmu = &whole->mmu;
	vcpu->irq = &whole->irq;
	vcpu->mmio = &whole->mmio;
	vcpu->cpu = &whole->cpu;
	vcpu->vm = vm;
	vcpu->id = id;
	vcpu->idx = vm->nr_vcpus;
	mutex_init(&vcpu->mutex);
	init_waitqueue_head(&vcpu->wq);
	vcpu->run = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	vcpu->srf = av_srf_alloc();
	if (!vcpu->run || !vcpu->srf) {
		av_vcpu_free_pages(vcpu);
		return NULL;
	}
	vcpu->stats.fast = vcpu->srf->fast;
	vcpu->stats.log = &vcpu->srf->log;
	av_account_init(&vcpu->stats.account, read_sysreg(cntfrq_el0));
	return vcpu;
}

static struct av_vcpu *av_vcpu_create(struct av_vm *vm, int id)
{
	struct av_vcpu *vcpu = av_vcpu_alloc(vm, id);
	int r;

	if (!vcpu)
		return ERR_PTR(-ENOMEM);
	r = av_mmu_vcpu_init(vcpu);
	if (r)
		goto free_pages;
	r = av_cpu_vcpu_init(vcpu);
	if (r)
		goto undo_mmu;
	r = av_irq_vcpu_init(vcpu);
	if (r)
		goto undo_cpu;
	return vcpu;

undo_cpu:
	av_cpu_vcpu_destroy(vcpu);
undo_mmu:
	av_mmu_vcpu_destroy(vcpu);
free_pages:
	av_vcpu_free_pages(vcpu);
	return ERR_PTR(r);
}

/* Create the file and add the vCPU to the VM: from here on others see it. */
static int av_vcpu_publish(struct av_vcpu *vcpu)
{
	struct av_vm *vm = vcpu->vm;
	struct file *file;
	char name[32];
	int fd;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	snprintf(name, sizeof(name), "kvm-vcpu:%d", vcpu->id);
	file = anon_inode_getfile(name, vm->protected ? &av_vcpu_protected_fops : &av_vcpu_fops,
				  vcpu, O_RDWR);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	av_vm_get(vm);
	vm->vcpus[vcpu->idx] = vcpu;
	/* Pairs with the acquire in av_vm_vcpu(). */
	smp_store_release(&vm->nr_vcpus, vcpu->idx + 1);
	fd_install(fd, file);
	return fd;
}

static int av_vm_create_vcpu_locked(struct av_vm *vm, int id)
{
	struct av_vcpu *vcpu;
	int r;

	if (vm->nr_vcpus >= AV_MAX_VCPUS)
		return -EINVAL;
	if (av_irqchip_ready(vm))
		return -EBUSY;
	if (av_vm_vcpu_by_id(vm, id))
		return -EEXIST;

	vcpu = av_vcpu_create(vm, id);
	if (IS_ERR(vcpu))
		return PTR_ERR(vcpu);
	r = av_vcpu_publish(vcpu);
	if (r < 0) {
		av_irq_vcpu_destroy(vcpu);
		av_vcpu_free(vcpu);
	}
	return r;
}

int av_vm_create_vcpu(struct av_vm *vm, unsigned long id)
{
	int r;

	if (id >= AV_MAX_VCPU_ID)
		return -EINVAL;
	if (mutex_lock_killable(&vm->lock))
		return -EINTR;
	r = av_vm_create_vcpu_locked(vm, id);
	mutex_unlock(&vm->lock);
	return r;
}
