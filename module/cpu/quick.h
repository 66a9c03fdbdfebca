/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Traps that end in the window's assembly (switch/quick.S), in a third of what
 * cpu/fast.c takes: four registers are saved instead of all. Here is what that
 * code looks at; it may always decline, and then cpu/fast.c and the long way
 * have their turn. Pure.
 */
#ifndef AV_CPU_QUICK_H
#define AV_CPU_QUICK_H

#include "vm/regfile.h"

/* A row of srf->quick_rows: the encoding, its counter, whether it is written too, its word. */
#define AV_QUICK_ENC		GENMASK(31, 16)
#define AV_QUICK_COUNTER	GENMASK(14, 10)
#define AV_QUICK_WRITE		BIT(9)
#define AV_QUICK_VREG		GENMASK(8, 0)

/* Where a row stands. */
static inline unsigned int av_quick_hash(u16 enc)
{
	return (enc ^ enc >> 6) & (AV_QUICK_ROWS - 1);
}

/*
 * Make the rows, of what srf->cheap (cpu/cheap.h) has and as srf->copies asks.
 * False: two have one place.
 */
bool av_quick_rows(struct av_srf *srf);

/*
 * Before an entry, and where the mode changes in the window: is it on, and are
 * registers in place? Only in virtual EL1 with its own stack pointer, and the
 * first only where every trap need not leave.
 */
static __always_inline void av_quick_mode(struct av_srf *srf)
{
	bool el1h = av_srf_mode(srf) == AV_PSR_EL1H;

	srf->quick = el1h ? srf->quick_on : 0;
	srf->in_place = el1h ? srf->copies : 0;
}

/* The syndrome of an unknown instruction, which is also "on". */
#define AV_QUICK_ON		AV_ESR_IL

#endif /* AV_CPU_QUICK_H */
