/* SPDX-License-Identifier: GPL-2.0 */
/* Traps that end in the window. Pure. */
#ifndef AV_CPU_FAST_H
#define AV_CPU_FAST_H

#include "cpu/hwdebug.h"
#include "vm/regfile.h"

/*
 * Is every trap to leave? Said in srf->slow before each entry: nothing that the
 * window does changes it. Stepping counts each instruction.
 */
static inline bool av_fast_not_now(const struct av_srf *srf)
{
	return srf->vmode & AV_PSR_SS || av_srf_debugging(srf);
}

/* switch/enter.S knows the numbers. */
enum {
	AV_FAST_NO,		/* nothing was changed: the long way */
	AV_FAST_DONE,		/* finished */
	AV_FAST_DONE_LOW,	/* finished, and neither SP nor a register from x18 on changed */
	AV_FAST_TO_EL0 = 4,	/* finished, in virtual EL0 */
	AV_FAST_TO_EL1 = 8,	/* finished, in virtual EL1 */
	AV_FAST_ROOTS = 16,	/* finished, with other tables in both halves */
};

/*
 * Finish the trap that the register file holds, as cpu/trap.c would. Called by
 * switch/enter.S only.
 */
int av_fast(struct av_srf *srf);

#endif /* AV_CPU_FAST_H */
