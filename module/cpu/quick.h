/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Traps completed by the window's assembly (switch/quick.S), at a third of cpu/fast.c's cost: it
 * saves four registers instead of all. This header sets the fields that it reads. It may always
 * decline; cpu/fast.c and then the slow path come next. Pure.
 */
#ifndef AV_CPU_QUICK_H
#define AV_CPU_QUICK_H

#include "cpu/cheap.h"
#include "vm/regfile.h"
#include "vm/token.h"

/* The syndrome of the first token. */
#define AV_QUICK_TOKENS		(FIELD_PREP(AV_ESR_EC, AV_EC_SVC64) | AV_ESR_IL | AV_TOKEN_FIRST)

/* The syndrome of SVC #0. Bit 15 of the immediate, set in tokens, is clear. */
#define AV_QUICK_SVC		(FIELD_PREP(AV_ESR_EC, AV_EC_SVC64) | AV_ESR_IL)

/* Shift of PSTATE.SSBS relative to BTYPE's low bit. */
#define AV_PSR_SSBS_FROM_BTYPE	2

/* The slot of a row in quick_rows. */
static inline unsigned int av_quick_hash(u16 enc)
{
	return (enc ^ enc >> 6) & (AV_QUICK_ROWS - 1);
}

/*
 * Fill quick_rows with the rows that srf->cheap enables (cpu/cheap.h). False: two rows share a
 * slot.
 */
bool av_quick_rows(struct av_srf *srf);

/* Now in virtual EL1 with SP_EL1. */
static __always_inline void av_quick_el1h(struct av_srf *srf)
{
	srf->quick = srf->quick_on;
	srf->quick_nr = srf->quick_on_nr;
	srf->in_place = srf->copies;
}

/*
 * Before an entry, and when the window changes the mode: set the syndromes that switch/quick.S
 * takes, and whether registers are in place. In virtual EL1 with SP_EL1, the syndromes are
 * quick_on's. In virtual EL0, SVC #0 is the only one, if nothing is masked and virtual EL1 runs
 * from copies.
 */
static __always_inline void av_quick_mode(struct av_srf *srf)
{
	if (likely(av_srf_mode(srf) == AV_PSR_EL1H)) {
		av_quick_el1h(srf);
		return;
	}
	srf->quick = !av_srf_el1(srf) && srf->quick_modes && !av_srf_daif(srf) ?
		     srf->quick_el0[0] : 0;
	srf->quick_nr = 0;
	srf->in_place = 0;
}

/* May switch/quick.S change the mode? Call after a change of modes, quick_on or due. */
static __always_inline void av_quick_modes(struct av_srf *srf)
{
	srf->quick_modes = srf->quick_on && !srf->due ? srf->modes : 0;
}

/*
 * Set the syndromes handled in each mode: none; with copies, tokens (vm/token.h, the first is ERET)
 * and SVC #0; without copies, unknown instructions, numbered as a token. Call when srf->slow,
 * copies or cheap has changed, or while quick_made is false.
 */
static inline void av_quick_set(struct av_srf *srf, bool on)
{
	srf->phys = AV_PSR_PHYS;
	srf->el1h = AV_PSR_EL1H;
	srf->quick_on = 0;
	srf->quick_on_nr = 0;
	srf->quick_el0[0] = 0;
	srf->quick_el0[1] = 0;		/* virtual EL0: SVC only */
	srf->quick_made = true;
	if (on && srf->copies) {
		srf->quick_on = AV_QUICK_TOKENS;
		srf->quick_on_nr = AV_TOKEN_OPERANDS * (srf->cheap & AV_CHEAP_ROWS ?
							AV_NR_TOKENS : AV_NR_TOKENS_ALWAYS);
		srf->quick_el0[0] = AV_QUICK_SVC;
	} else if (on) {
		srf->quick_on = AV_ESR_IL - AV_TOKEN_UNKNOWN * AV_TOKEN_OPERANDS;
		srf->quick_on_nr = AV_TOKEN_UNKNOWN * AV_TOKEN_OPERANDS + 1;
	}
}

/*
 * Before an entry with copies: set where an SVC of virtual EL0 goes, and the values that stubs
 * read.
 */
static __always_inline void av_quick_show(struct av_srf *srf)
{
	u64 sctlr = av_srf_get(srf, AV_SCTLR_EL1);

	srf->svc_pc = av_srf_get(srf, AV_VBAR_EL1) + AV_VECTOR_LOWER;
	srf->svc_pstate = FIELD_GET(AV_SCTLR_DSSBS, sctlr) << AV_PSR_SSBS_FROM_BTYPE;
	av_srf_set(srf, AV_SHOWN_DUE, srf->due);
}

#endif /* AV_CPU_QUICK_H */
