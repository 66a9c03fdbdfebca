/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long a vCPU that waits in WFI polls for its interrupt before its thread
 * sleeps, as KVM does: waking a thread costs more than many short waits take. The
 * window grows while waits end soon after it, up to a limit, and shrinks when one
 * lasts beyond the limit. Pure; all times are in one unit, the caller's.
 */
#ifndef AV_CPU_HALT_POLL_H
#define AV_CPU_HALT_POLL_H

#include "lib/av_types.h"

#define AV_HALT_POLL_NS		500000	/* the limit, unless the host or the VMM set another */
#define AV_HALT_POLL_FIRST_NS	10000	/* the least window that is not 0 */

/* The window after a wait that took waited. */
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
