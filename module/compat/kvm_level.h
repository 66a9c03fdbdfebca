/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Changes to KVM's answers since 6.12 (stable). The module follows the KVM of its host's kernel, as
 * VMMs written for that kernel expect. The host's own headers tell which changes it has.
 */
#ifndef AV_COMPAT_KVM_LEVEL_H
#define AV_COMPAT_KVM_LEVEL_H

#include <linux/kvm.h>
#include <linux/version.h>
#include <linux/wait.h>
#include <uapi/linux/psci.h>

/* 6.13: PSCI 1.3, whose SYSTEM_OFF2 hibernates. */
#ifdef PSCI_1_3_FN_SYSTEM_OFF2
#define AV_PSCI_LATEST	PSCI_VERSION(1, 3)
#else
#define AV_PSCI_LATEST	PSCI_VERSION(1, 1)
#define PSCI_1_3_FN_SYSTEM_OFF2			PSCI_0_2_FN(21)
#define PSCI_1_3_OFF_TYPE_HIBERNATE_OFF		BIT(0)
#define KVM_SYSTEM_EVENT_SHUTDOWN_FLAG_PSCI_OFF2	(1ULL << 0)
#endif

/* 6.15: a bitmap of vendor hypercalls 64 to 127, which the VMM answers itself. */
#ifdef KVM_REG_ARM_VENDOR_HYP_BMAP_2
#define AV_KVM_VENDOR_HYP_BMAP_2	true
#define AV_VENDOR_HYP_BITS_2	(BIT(KVM_REG_ARM_VENDOR_HYP_BIT_DISCOVER_IMPL_VER) | \
				 BIT(KVM_REG_ARM_VENDOR_HYP_BIT_DISCOVER_IMPL_CPUS))
#else
#define AV_KVM_VENDOR_HYP_BMAP_2	false
#define KVM_REG_ARM_VENDOR_HYP_BMAP_2	KVM_REG_ARM_FW_FEAT_BMAP_REG(3)
#define AV_VENDOR_HYP_BITS_2	0
#endif

/* 6.15: a VMM may set the CPU's identity for its guest (MIDR_EL1, REVIDR_EL1, AIDR_EL1). */
#ifdef KVM_CAP_ARM_WRITABLE_IMP_ID_REGS
#define AV_KVM_IMP_IDS	true
#else
#define AV_KVM_IMP_IDS	false
#define KVM_CAP_ARM_WRITABLE_IMP_ID_REGS	239
#endif

/* 6.17: an attribute sets the number of event counters of the guest's PMU. */
#ifdef KVM_ARM_VCPU_PMU_V3_SET_NR_COUNTERS
#define AV_KVM_PMU_NR_COUNTERS	true
#else
#define AV_KVM_PMU_NR_COUNTERS	false
#define KVM_ARM_VCPU_PMU_V3_SET_NR_COUNTERS	4
#endif

/* 7.3: the VMM sees PMMIR_EL1 of vCPUs with a PMU; before, all vCPUs read it as zero. */
#ifdef KVM_ARM_VCPU_PMU_V3_STRICT
#define AV_KVM_PMMIR	true
#else
#define AV_KVM_PMMIR	false
#endif

/* 6.18: plain VMs may have guest_memfd. */
#define AV_KVM_GUEST_MEMFD	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0))

/* 7.3: a VMM may lower more fields of the ID registers, but no longer ID_AA64PFR0_EL1.GIC. */
#define AV_KVM_ID_FIELDS	(LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0))

/* 6.17: a VMM may access GICD_IIDR and GICD_TYPER2 before the vGIC is initialized. */
#define AV_KVM_VGIC_EARLY_IDS	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0))

/*
 * 6.17: an eventfd has at most one irqfd, of any VM. Earlier KVMs have no limit; this one bounds
 * what the eventfd's last close does with interrupts off. Returns -EBUSY at the limit.
 */
#define AV_EVENTFD_IRQFDS	128

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
static inline int av_add_irqfd_waiter(struct wait_queue_head *head, struct wait_queue_entry *wait)
{
	return add_wait_queue_priority_exclusive(head, wait);
}
#else
static inline int av_add_irqfd_waiter(struct wait_queue_head *head, struct wait_queue_entry *wait)
{
	struct wait_queue_entry *other;
	unsigned int n = 0;
	int ret = 0;

	wait->flags |= WQ_FLAG_EXCLUSIVE | WQ_FLAG_PRIORITY;
	spin_lock_irq(&head->lock);
	/* Irqfds come first. */
	list_for_each_entry(other, &head->head, entry) {
		if (!(other->flags & WQ_FLAG_PRIORITY) || n == AV_EVENTFD_IRQFDS)
			break;
		n++;
	}
	if (n == AV_EVENTFD_IRQFDS)
		ret = -EBUSY;
	else
		__add_wait_queue(head, wait);
	spin_unlock_irq(&head->lock);
	return ret;
}
#endif

#endif /* AV_COMPAT_KVM_LEVEL_H */
