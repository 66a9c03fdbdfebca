// SPDX-License-Identifier: GPL-2.0
/*
 * KVM_CHECK_EXTENSION. Capabilities that are not in the table are 0. One is
 * added only when all of it works.
 */
#include <linux/cpumask.h>
#include <linux/kvm.h>
#include <linux/sched/stat.h>

#include "api/api.h"
#include "api/seal.h"
#include "compat/kvm_level.h"
#include "cpu/cheap.h"
#include "cpu/cpu.h"
#include "cpu/pmu_host.h"
#include "irq/irq.h"
#include "mmio/mmio.h"
#include "mmu/mmu.h"
#include "mmu/slots/slots.h"
#include "stats/stats.h"

struct av_extension {
	unsigned int cap;
	int value;
};

static const struct av_extension av_extensions[] = {
	{ KVM_CAP_USER_MEMORY,			1 },
	{ KVM_CAP_USER_MEMORY2,			1 },
	{ KVM_CAP_DESTROY_MEMORY_REGION_WORKS,	1 },
	{ KVM_CAP_JOIN_MEMORY_REGIONS_WORKS,	1 },
	{ KVM_CAP_NR_MEMSLOTS,			AV_SLOTS_MAX },
	{ KVM_CAP_READONLY_MEM,			1 },
	{ KVM_CAP_SYNC_MMU,			1 },
	{ KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2,	KVM_DIRTY_LOG_MANUAL_PROTECT_ENABLE |
						KVM_DIRTY_LOG_INITIALLY_SET },
	{ KVM_CAP_DIRTY_LOG_RING_ACQ_REL,	AV_RING_MAX_BYTES },
	{ KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP,	1 },
	{ KVM_CAP_ONE_REG,			1 },
	{ KVM_CAP_MP_STATE,			1 },
	{ KVM_CAP_IMMEDIATE_EXIT,		1 },
	{ KVM_CAP_VCPU_EVENTS,			1 },
	{ KVM_CAP_VCPU_ATTRIBUTES,		1 },
	{ KVM_CAP_ARM_PSCI,			1 },
	{ KVM_CAP_ARM_PSCI_0_2,			1 },
	{ KVM_CAP_ARM_INJECT_EXT_DABT,		1 },
	{ KVM_CAP_ARM_NISV_TO_USER,		1 },
	{ KVM_CAP_ARM_IRQ_LINE_LAYOUT_2,	1 },
	{ KVM_CAP_ARM_SET_DEVICE_ADDR,		1 },
	{ KVM_CAP_PTP_KVM,			1 },
	{ KVM_CAP_SET_GUEST_DEBUG,		1 },
	{ KVM_CAP_ARM_SYSTEM_SUSPEND,		1 },
	{ KVM_CAP_COUNTER_OFFSET,		1 },
	{ KVM_CAP_ARM_SUPPORTED_REG_MASK_RANGES, BIT(KVM_ARM_FEATURE_ID_RANGE) },
	{ KVM_CAP_ARM_WRITABLE_IMP_ID_REGS,	AV_KVM_IMP_IDS },
	{ KVM_CAP_IRQCHIP,			1 },
	{ KVM_CAP_IRQFD,			1 },
	{ KVM_CAP_IRQFD_RESAMPLE,		1 },
	{ KVM_CAP_IRQ_ROUTING,			AV_MAX_IRQ_ROUTES },
	{ KVM_CAP_SIGNAL_MSI,			1 },
	{ KVM_CAP_IOEVENTFD,			1 },
	{ KVM_CAP_IOEVENTFD_ANY_LENGTH,		1 },
	{ KVM_CAP_COALESCED_MMIO,		KVM_COALESCED_MMIO_PAGE_OFFSET },
	{ KVM_CAP_COALESCED_PIO,		1 },
	{ KVM_CAP_DEVICE_CTRL,			1 },
	{ KVM_CAP_INTERNAL_ERROR_DATA,		1 },
	{ KVM_CAP_SYSTEM_EVENT_DATA,		1 },
	{ KVM_CAP_ENABLE_CAP_VM,		1 },
	{ KVM_CAP_CHECK_EXTENSION_VM,		1 },
	{ KVM_CAP_BINARY_STATS_FD,		1 },
	{ KVM_CAP_HALT_POLL,			1 },
	{ KVM_CAP_MAX_VCPUS,			AV_MAX_VCPUS },
	{ KVM_CAP_MAX_VCPU_ID,			AV_MAX_VCPU_ID },
	{ AV_CAP_CHEAP_TRAPS,			AV_CHEAP_ALL },
	{ AV_CAP_ACCOUNTING,			1 },
};

int av_check_extension(struct av_vm *vm, unsigned long ext)
{
	unsigned int i;

	if (AV_KVM_GUEST_MEMFD || (vm && vm->protected)) {
		if (ext == KVM_CAP_GUEST_MEMFD)
			return 1;
		if (ext == KVM_CAP_GUEST_MEMFD_FLAGS)
			return GUEST_MEMFD_FLAG_MMAP | GUEST_MEMFD_FLAG_INIT_SHARED;
	}
	if (vm && vm->protected && !av_seal_has_cap(ext))
		return 0;
	/* Capabilities that depend on the machine or on the VM. */
	if (ext == KVM_CAP_NR_VCPUS)
		return min_t(unsigned int, num_online_cpus(), AV_MAX_VCPUS);
	if (ext == KVM_CAP_ARM_VM_IPA_SIZE)
		return av_api_ipa_limit();
	if (ext == KVM_CAP_SET_GUEST_DEBUG2)
		return av_guest_debug_controls();
	if (ext == KVM_CAP_GUEST_DEBUG_HW_BPS)
		return av_nr_breakpoints();
	if (ext == KVM_CAP_GUEST_DEBUG_HW_WPS)
		return av_nr_watchpoints();
	if (ext == KVM_CAP_ARM_PMU_V3)
		return av_pmu_host_has();
	if (ext == KVM_CAP_STEAL_TIME)
		return sched_info_on();
	if (ext == KVM_CAP_MSI_DEVID)
		return vm ? av_irq_needs_devid(vm) : -EINVAL;

	for (i = 0; i < ARRAY_SIZE(av_extensions); i++)
		if (av_extensions[i].cap == ext)
			return av_extensions[i].value;
	return 0;
}
