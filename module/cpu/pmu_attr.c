// SPDX-License-Identifier: GPL-2.0
/* The host PMU that a VM uses, and the VMM's settings (KVM_ARM_VCPU_PMU_V3_CTRL). */
#include <linux/cpumask.h>
#include <linux/kvm.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <asm/cpufeature.h>
#include <asm/sysreg.h>

#include "compat/kvm_level.h"
#include "compat/pmu.h"
#include "cpu/cpu.h"
#include "cpu/pmu_host.h"
#include "cpu/sysreg.h"
#include "irq/irq.h"

/* ---- the VM's ------------------------------------------------------------------ */

static void use_pmu(struct av_vm *vm, const struct av_host_pmu *pmu)
{
	WRITE_ONCE(vm->cpu->pmu_type, pmu->type);
	vm->cpu->pmu_most = pmu->counters;
	WRITE_ONCE(vm->cpu->pmu_counters, pmu->counters);
}

void av_pmu_vm_init(struct av_vm *vm)
{
	av_idregs_set_pmu(vm);
	use_pmu(vm, av_host_pmu_here());
}

void av_pmu_vm_destroy(struct av_vm *vm)
{
	kvfree(vm->cpu->pmu_filter);
}

struct av_pmu_model av_pmu_model(const struct av_vm *vm)
{
	u64 dfr0 = READ_ONCE(vm->cpu->idregs[AV_ID_DFR0]);
	const u64 *ceid = av_host_pmu_ceid();

	return (struct av_pmu_model) {
		.counters = READ_ONCE(vm->cpu->pmu_counters),
		.version = FIELD_GET(AV_ID_DFR0_PMUVER, dfr0),
		.ceid = { ceid[0], ceid[1] },
		.filter = READ_ONCE(vm->cpu->pmu_filter),
	};
}

/* ---- attributes ----------------------------------------------------------------- */

static bool is_ppi(int irq)
{
	return irq >= AV_VGIC_SGIS && irq < AV_VGIC_PRIVATE;
}

/* A PPI must be the same for all vCPUs, an SPI different for each. */
static bool irq_fits(struct av_vm *vm, int irq)
{
	struct av_vcpu *vcpu;
	unsigned int i;
	int other;

	av_for_each_vcpu(i, vcpu, vm) {
		other = READ_ONCE(vcpu->cpu->pmu.irq);
		if (other && (other == irq) != is_ppi(irq))
			return false;
	}
	return true;
}

static int set_irq(struct av_vcpu *vcpu, u64 addr)
{
	int irq;

	if (!av_irqchip_created(vcpu->vm))
		return -EINVAL;
	if (get_user(irq, (int __user *)u64_to_user_ptr(addr)))
		return -EFAULT;
	if (irq < AV_VGIC_SGIS || irq >= AV_VGIC_SPECIAL || !irq_fits(vcpu->vm, irq))
		return -EINVAL;
	if (vcpu->cpu->pmu.irq)
		return -EBUSY;
	WRITE_ONCE(vcpu->cpu->pmu.irq, irq);
	return 0;
}

static int set_filter(struct av_vm *vm, u64 addr)
{
	struct kvm_pmu_event_filter range;
	bool first = !vm->cpu->pmu_filter;
	u64 *filter = vm->cpu->pmu_filter;

	if (copy_from_user(&range, u64_to_user_ptr(addr), sizeof(range)))
		return -EFAULT;
	if ((u32)range.base_event + range.nevents > av_pmu_events(av_pmu_host_version()) ||
	    (range.action != KVM_PMU_EVENT_ALLOW && range.action != KVM_PMU_EVENT_DENY))
		return -EINVAL;
	if (vm->has_run)
		return -EBUSY;
	if (first)
		filter = kvzalloc(AV_PMU_EVENTS / 8, GFP_KERNEL_ACCOUNT);
	if (!filter)
		return -ENOMEM;
	av_pmu_filter(filter, first, range.base_event, range.nevents,
		      range.action == KVM_PMU_EVENT_ALLOW);
	/* Ioctls of other vCPUs may read it without the lock. */
	smp_store_release(&vm->cpu->pmu_filter, filter);
	return 0;
}

static int set_pmu(struct av_vm *vm, u64 addr)
{
	const struct av_host_pmu *pmu;
	int type;

	if (get_user(type, (int __user *)u64_to_user_ptr(addr)))
		return -EFAULT;
	pmu = av_host_pmu_of_type(type);
	if (!pmu)
		return -ENXIO;
	if (vm->has_run || (vm->cpu->pmu_filter && vm->cpu->pmu_type != pmu->type))
		return -EBUSY;
	use_pmu(vm, pmu);
	return 0;
}

static int set_counters(struct av_vm *vm, u64 addr)
{
	unsigned int n;

	if (!AV_KVM_PMU_NR_COUNTERS)
		return -ENXIO;
	if (get_user(n, (unsigned int __user *)u64_to_user_ptr(addr)))
		return -EFAULT;
	if (n > vm->cpu->pmu_most)
		return -EINVAL;
	/* KVM lets one vCPU change the counters of others that run. */
	if (vm->has_run)
		return -EBUSY;
	WRITE_ONCE(vm->cpu->pmu_counters, n);
	return 0;
}

static int init_pmu(struct av_vcpu *vcpu)
{
	struct av_vcpu_pmu *pmu = &vcpu->cpu->pmu;
	int r;

	if (av_irqchip_created(vcpu->vm)) {
		if (!av_irqchip_ready(vcpu->vm))
			return -ENODEV;
		if (!pmu->irq)
			return -ENXIO;
		r = av_irq_claim(vcpu, pmu->irq);
		if (r)
			return r;
	}
	pmu->created = true;
	return 0;
}

static int set_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr)
{
	if (!av_pmu_vm_has(vcpu->vm))
		return -ENODEV;
	if (vcpu->cpu->pmu.created)
		return -EBUSY;
	switch (attr->attr) {
	case KVM_ARM_VCPU_PMU_V3_IRQ:
		return set_irq(vcpu, attr->addr);
	case KVM_ARM_VCPU_PMU_V3_FILTER:
		return set_filter(vcpu->vm, attr->addr);
	case KVM_ARM_VCPU_PMU_V3_SET_PMU:
		return set_pmu(vcpu->vm, attr->addr);
	case KVM_ARM_VCPU_PMU_V3_SET_NR_COUNTERS:
		return set_counters(vcpu->vm, attr->addr);
	case KVM_ARM_VCPU_PMU_V3_INIT:
		return init_pmu(vcpu);
	}
	return -ENXIO;
}

int av_pmu_set_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr)
{
	int r;

	mutex_lock(&vcpu->vm->config_lock);
	r = set_attr(vcpu, attr);
	mutex_unlock(&vcpu->vm->config_lock);
	return r;
}

int av_pmu_get_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr)
{
	if (attr->attr != KVM_ARM_VCPU_PMU_V3_IRQ)
		return -ENXIO;
	if (!av_irqchip_created(vcpu->vm))
		return -EINVAL;
	if (!av_pmu_vm_has(vcpu->vm))
		return -ENODEV;
	if (!vcpu->cpu->pmu.irq)
		return -ENXIO;
	return put_user(vcpu->cpu->pmu.irq, (int __user *)u64_to_user_ptr(attr->addr));
}

int av_pmu_has_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr)
{
	switch (attr->attr) {
	case KVM_ARM_VCPU_PMU_V3_IRQ:
	case KVM_ARM_VCPU_PMU_V3_INIT:
	case KVM_ARM_VCPU_PMU_V3_FILTER:
	case KVM_ARM_VCPU_PMU_V3_SET_PMU:
		return av_pmu_vm_has(vcpu->vm) ? 0 : -ENXIO;
	case KVM_ARM_VCPU_PMU_V3_SET_NR_COUNTERS:
		return av_pmu_vm_has(vcpu->vm) && AV_KVM_PMU_NR_COUNTERS ? 0 : -ENXIO;
	}
	return -ENXIO;
}

/* The PMU has an interrupt if, and only if, there is a vGIC. */
int av_pmu_check(struct av_vcpu *vcpu)
{
	const struct av_vcpu_pmu *pmu = &vcpu->cpu->pmu;

	if (!av_pmu_has(vcpu))
		return 0;
	if (!pmu->created || !av_irqchip_created(vcpu->vm) != !pmu->irq)
		return -EINVAL;
	return 0;
}
