// SPDX-License-Identifier: GPL-2.0
/* A VM's creation and destruction. vm/vm.h has the rules of references and locks. */
#include <linux/err.h>
#include <linux/kvm.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <asm/cpufeature.h>
#include <asm/sysreg.h>

#include "api/api.h"
#include "api/seal.h"
#include "cpu/cpu.h"
#include "irq/irq.h"
#include "mmio/mmio.h"
#include "mmu/mmu.h"
#include "stats/stats.h"
#include "switch/image.h"
#include "switch/switch.h"
#include "vm/device.h"

unsigned int av_api_ipa_limit(void)
{
	unsigned int parange = read_sanitised_ftr_reg(SYS_ID_AA64MMFR0_EL1) & 0xf;

	return min_t(unsigned int, av_parange_bits(parange), AV_IPA_BITS_MAX);
}

/* KVM_CREATE_VM's type: IPA size in the low byte, 0 for 40 bits; bit 31: protected. */
static int av_vm_ipa_bits(unsigned long type)
{
	unsigned int bits = type & KVM_VM_TYPE_ARM_IPA_SIZE_MASK;

	if (type & ~(KVM_VM_TYPE_ARM_IPA_SIZE_MASK | KVM_VM_TYPE_ARM_PROTECTED))
		return -EINVAL;
	if (!bits)
		bits = AV_IPA_BITS_DEFAULT;
	if (bits < AV_IPA_BITS_MIN || bits > av_api_ipa_limit())
		return -EINVAL;
	return bits;
}

/* A VM with every folder's state: the only place that knows all of them. */
struct av_vm_whole {
	struct av_vm vm;
	struct av_vm_switch sw;
	struct av_vm_mmu mmu;
	struct av_vm_irq irq;
	struct av_vm_mmio mmio;
	struct av_vm_cpu cpu;
};

static void av_vm_destroy(struct av_vm *vm);

/* The folders' parts of a VM, in order of creation. */
static const struct {
	int (*init)(struct av_vm *vm);
	void (*destroy)(struct av_vm *vm);
} av_vm_parts[] = {
	{ av_cpu_vm_init,	av_cpu_vm_destroy },
	{ av_mmu_vm_init,	av_mmu_vm_destroy },
	{ av_mmio_vm_init,	av_mmio_vm_destroy },
	{ av_irq_vm_init,	av_irq_vm_destroy },
};

static void av_vm_undo_parts(struct av_vm *vm, unsigned int n)
{
	while (n--)
		av_vm_parts[n].destroy(vm);
}

static int av_vm_init_parts(struct av_vm *vm)
{
	unsigned int i;
	int r;

	for (i = 0; i < ARRAY_SIZE(av_vm_parts); i++) {
		r = av_vm_parts[i].init(vm);
		if (r) {
			av_vm_undo_parts(vm, i);
			return r;
		}
	}
	return 0;
}

static struct av_vm *av_vm_alloc(void)
{
	static atomic_t serial;
	struct av_vm_whole *whole = av_image_kvzalloc(sizeof(*whole), GFP_KERNEL_ACCOUNT);
	struct av_vm *vm;

	if (!whole)
		return NULL;
	vm = &whole->vm;
	vm->sw = &whole->sw;
	vm->mmu = &whole->mmu;
	vm->irq = &whole->irq;
	vm->mmio = &whole->mmio;
	vm->cpu = &whole->cpu;
	vm->destroy = av_vm_destroy;
	if (init_srcu_struct(&vm->srcu))
		goto free;
	if (init_srcu_struct(&vm->irq_srcu))
		goto cleanup;
	kref_init(&vm->users);
	mutex_init(&vm->lock);
	mutex_init(&vm->slots_lock);
	mutex_init(&vm->config_lock);
	mutex_init(&vm->irq_lock);
	init_rwsem(&vm->seal);
	init_rwsem(&vm->vcpus_sem);
	spin_lock_init(&vm->mmu_lock);
	INIT_LIST_HEAD(&vm->devices);
	vm->serial = atomic_inc_return(&serial);
	return vm;

cleanup:
	cleanup_srcu_struct(&vm->srcu);
free:
	av_image_kvfree(whole);
	return NULL;
}

static void av_vm_free(struct av_vm *vm)
{
	av_seal_vm_destroy(vm);
	av_stats_vm_destroy(&vm->stats);
	av_image_forget_percpu(vm->srcu.sda, sizeof(*vm->srcu.sda));
	cleanup_srcu_struct(&vm->irq_srcu);
	cleanup_srcu_struct(&vm->srcu);
	mmdrop(vm->mm);
	av_image_kvfree(container_of(vm, struct av_vm_whole, vm));
}

struct av_vm *av_vm_create(unsigned long type)
{
	int ipa_bits = av_vm_ipa_bits(type);
	struct av_vm *vm;
	int r;

	if (ipa_bits < 0)
		return ERR_PTR(ipa_bits);
	vm = av_vm_alloc();
	if (!vm)
		return ERR_PTR(-ENOMEM);
	vm->ipa_bits = ipa_bits;
	vm->protected = type & KVM_VM_TYPE_ARM_PROTECTED;
	vm->mm = current->mm;
	mmgrab(vm->mm);
	av_stats_vm_init(&vm->stats);

	r = av_seal_vm_init(vm) ?: av_vm_init_parts(vm);
	if (r) {
		av_vm_free(vm);
		return ERR_PTR(r);
	}
	return vm;
}

/* Free the last vCPU first: the flush for a vCPU being freed visits those that remain. */
static void av_vm_free_vcpus(struct av_vm *vm)
{
	while (vm->nr_vcpus)
		av_vcpu_free(vm->vcpus[--vm->nr_vcpus]);
}

/*
 * No file of this VM is open, so no ioctl runs or will run. The notifier, the
 * shrinker, irqfds and timers can still call in: each part ends its own before
 * it frees what they use. Devices, then vCPUs, go first, as they use the parts.
 */
static void av_vm_destroy(struct av_vm *vm)
{
	unsigned int i;

	av_mmu_vm_stop(vm);
	av_devices_destroy(vm);
	for (i = 0; i < vm->nr_vcpus; i++)
		av_irq_vcpu_destroy(vm->vcpus[i]);
	av_irq_vm_destroy(vm);
	av_mmio_vm_destroy(vm);
	av_switch_vm_end(vm);
	av_vm_free_vcpus(vm);
	av_mmu_vm_destroy(vm);
	av_cpu_vm_destroy(vm);
	av_vm_free(vm);
}
