/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kvm_run: fields that the VMM writes while the vCPU runs, which kernel headers
 * from 6.10 on mark by name, and other fields that changed.
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
