/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hypercalls by which a protected VM shares its pages with the VMM (KVM's vendor
 * hypervisor service). A call is for one page, and is allowed in any context.
 */
#ifndef AV_KERNEL_HYP_H
#define AV_KERNEL_HYP_H

#include <linux/types.h>

/* Does the hypervisor have them? *why: else a sentence's end that says what is missing. */
bool av_hyp_present(const char **why);

/* 0 or an errno. A page that the hypervisor does not know as RAM must not come here. */
int av_hyp_share(phys_addr_t page);
int av_hyp_unshare(phys_addr_t page);

#endif /* AV_KERNEL_HYP_H */
