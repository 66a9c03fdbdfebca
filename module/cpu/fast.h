/* SPDX-License-Identifier: GPL-2.0 */
/* Traps that end in the window: cpu/fast.c. Pure. */
#ifndef AV_CPU_FAST_H
#define AV_CPU_FAST_H

#include "cpu/hwdebug.h"
#include "vm/regfile.h"

/*
 * Must every trap leave the window? Stored in srf->slow before each entry, as nothing in the window
 * changes it: not MDSCR_EL1, and not the level of a guest that debugs itself (srf->modes). Single
 * step must see each instruction.
 */
static inline bool av_fast_not_now(const struct av_srf *srf)
{
	return srf->vmode & AV_PSR_SS ||
	       (av_srf_el1(srf) ? av_srf_debugging_el1(srf) : av_srf_debugging(srf));
}

/* switch/vectors.S uses these values. */
enum {
	AV_FAST_NO,		/* nothing changed: take the slow path */
	AV_FAST_DONE,		/* done */
	AV_FAST_DONE_LOW,	/* done; SP and x18 to x30 are unchanged */
	AV_FAST_TO_EL0 = 4,	/* done, now in virtual EL0 */
	AV_FAST_TO_EL1 = 8,	/* done, now in virtual EL1 */
	AV_FAST_ROOTS = 16,	/* done, with other roots in both halves */
};

/*
 * Complete the trap in the register file as cpu/trap.c would. Called by switch/vectors.S only.
 * av_fast_timed() also notes in srf->log whether it is to be timed.
 */
int av_fast(struct av_srf *srf);
int av_fast_timed(struct av_srf *srf);

#endif /* AV_CPU_FAST_H */
