/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long a vCPU in WFI polls for its interrupt before its thread sleeps. As
 * in KVM: waking a thread costs more than many short waits. The window grows,
 * up to a limit, while waits are only slightly longer than it, and shrinks
 * after a wait beyond the limit. Pure; the caller chooses the unit of all
 * times.
 */
#ifndef AV_CPU_HALT_POLL_H
#define AV_CPU_HALT_POLL_H

#include "lib/av_types.h"

#define AV_HALT_POLL_NS		500000	/* the limit, unless host or VMM set another */
#define AV_HALT_POLL_FIRST_NS	10000	/* the smallest window above 0 */

/* The window after a wait of the given length. */
static inline u64 av_halt_poll_next(u64 window, u64 waited, u64 limit, u64 first)
{
	window = min(window, limit);
	if (waited <= window || !limit)
		return window;
	if (waited < limit)
		return min(max(window * 2, first), limit);
	return window / 2 < first ? 0 : window / 2;
}

#endif /* AV_CPU_HALT_POLL_H */
