/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fields of struct kvm_run that differ between kernels. Since 6.10 the name of a field says that
 * the VMM may write it while the vCPU runs.
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

/* KVM_EXIT_HYPERCALL: since 6.4, 64 bits of flags replace longmode. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
#define av_run_set_hypercall_flags(run, val)	((run)->hypercall.flags = (val))
#else
#define av_run_set_hypercall_flags(run, val)	((run)->hypercall.longmode = (val))
#endif

#endif /* AV_COMPAT_KVM_RUN_H */
