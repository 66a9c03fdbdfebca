/* SPDX-License-Identifier: GPL-2.0 */
/* The debug registers during a stay in the guest. */
#ifndef AV_CPU_DEBUG_LOAD_H
#define AV_CPU_DEBUG_LOAD_H

#include "cpu/types.h"

struct av_srf;

/* Around av_switch_run(), interrupts off. vmm: the VMM's registers, or NULL to load the guest's. */
void av_debug_enter(const struct av_srf *srf, const struct kvm_guest_debug_arch *vmm,
		    struct av_host_debug *host);
void av_debug_leave(const struct av_host_debug *host);

#endif /* AV_CPU_DEBUG_LOAD_H */
