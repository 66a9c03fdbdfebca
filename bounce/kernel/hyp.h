/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hypercalls of a protected VM to share its pages with the VMM (KVM's vendor hypervisor service).
 * One page per call; any context.
 */
#ifndef AV_KERNEL_HYP_H
#define AV_KERNEL_HYP_H

#include <linux/types.h>

/* Does the hypervisor have them? If not, sets *why to the end of a sentence. */
bool av_hyp_present(const char **why);

/* Return 0 or a negative errno. page must be RAM known to the hypervisor. */
int av_hyp_share(phys_addr_t page);
int av_hyp_unshare(phys_addr_t page);

#endif /* AV_KERNEL_HYP_H */
