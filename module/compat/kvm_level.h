/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Changes to KVM's answers since 6.12 (stable). The module follows the KVM of its host's kernel, as
 * VMMs written for that kernel expect. The host's own headers tell which changes it has
 * (feature_tests.h); the numbers are those of uapi/linux/kvm.h.
 */
#ifndef AV_COMPAT_KVM_LEVEL_H
#define AV_COMPAT_KVM_LEVEL_H

#include <linux/kvm.h>
#include <linux/wait.h>
#include <uapi/linux/psci.h>

/* 6.13: PSCI 1.3, whose SYSTEM_OFF2 hibernates. */
#ifdef PSCI_1_3_FN_SYSTEM_OFF2
#define AV_PSCI_LATEST	PSCI_VERSION(1, 3)
#else
#define AV_PSCI_LATEST	PSCI_VERSION(1, 1)
#define PSCI_1_3_FN_SYSTEM_OFF2			PSCI_0_2_FN(21)
#define PSCI_1_3_OFF_TYPE_HIBERNATE_OFF		BIT(0)
#endif

/* 5.19 names the types of SYSTEM_RESET2. */
#ifndef PSCI_1_1_RESET_TYPE_SYSTEM_WARM_RESET
#define PSCI_1_1_RESET_TYPE_SYSTEM_WARM_RESET	0
#define PSCI_1_1_RESET_TYPE_VENDOR_START	0x80000000U
#endif

/* 6.15: a bitmap of vendor hypercalls 64 to 127, which the VMM answers itself. */
#define AV_KVM_VENDOR_HYP_BMAP_2	AV_HAS_KVM_VENDOR_HYP_BMAP_2
#define AV_VENDOR_HYP_BITS_2 \
	(AV_KVM_VENDOR_HYP_BMAP_2 ? BIT(KVM_REG_ARM_VENDOR_HYP_BIT_DISCOVER_IMPL_VER) | \
				    BIT(KVM_REG_ARM_VENDOR_HYP_BIT_DISCOVER_IMPL_CPUS) : 0)

/* 6.15: a VMM may set the CPU's identity for its guest (MIDR_EL1, REVIDR_EL1, AIDR_EL1). */
#define AV_KVM_IMP_IDS		AV_HAS_KVM_IMP_IDS

/* 6.17: an attribute sets the number of event counters of the guest's PMU. */
#define AV_KVM_PMU_NR_COUNTERS	AV_HAS_KVM_PMU_NR_COUNTERS

/* 7.3: the VMM sees PMMIR_EL1 of vCPUs with a PMU; before, all vCPUs read it as zero. */
#define AV_KVM_PMMIR		AV_HAS_KVM_PMU_STRICT

/* 6.18: plain VMs may have guest_memfd. */
#define AV_KVM_GUEST_MEMFD	AV_HAS_KVM_GUEST_MEMFD_MMAP

/*
 * Two changes that no header shows. What the same release added tells them.
 *
 * 7.3: a VMM may lower more fields of the ID registers, but no longer ID_AA64PFR0_EL1.GIC.
 * 6.17: a VMM may access GICD_IIDR and GICD_TYPER2 before the vGIC is initialized.
 */
#define AV_KVM_ID_FIELDS	AV_HAS_KVM_PMU_STRICT
#define AV_KVM_VGIC_EARLY_IDS	AV_HAS_KVM_PMU_NR_COUNTERS

/*
 * 6.17: an eventfd has at most one irqfd, of any VM. Earlier KVMs have no limit; this one bounds
 * what the eventfd's last close does with interrupts off. Returns -EBUSY at the limit.
 */
#define AV_EVENTFD_IRQFDS	128

#if AV_HAS_WAIT_PRIORITY_EXCLUSIVE
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
