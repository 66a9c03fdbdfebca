/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kvm_run's fields that the VMM writes while the vCPU runs. From 6.10 on the
 * kernel's headers mark them in their names.
 */
#ifndef AV_COMPAT_KVM_RUN_H
#define AV_COMPAT_KVM_RUN_H

#include <linux/kvm.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define av_run_immediate_exit(run)	READ_ONCE((run)->immediate_exit__unsafe)
#else
#define av_run_immediate_exit(run)	READ_ONCE((run)->immediate_exit)
#endif

#endif /* AV_COMPAT_KVM_RUN_H */
