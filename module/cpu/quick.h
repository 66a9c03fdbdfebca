/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Traps that end in the window's assembly (switch/quick.S), in a third of what
 * cpu/fast.c takes: four registers are saved instead of all. Here is what that
 * code looks at; it may always decline, and then cpu/fast.c and the long way
 * have their turn. Pure.
 */
#ifndef AV_CPU_QUICK_H
#define AV_CPU_QUICK_H

#include "cpu/cheap.h"
#include "vm/regfile.h"
#include "vm/token.h"

/* The syndrome of the first token. */
#define AV_QUICK_TOKENS		(FIELD_PREP(AV_ESR_EC, AV_EC_SVC64) | AV_ESR_IL | AV_TOKEN_FIRST)

/* The syndrome of SVC #0, which has no bit 15, as all tokens have. */
#define AV_QUICK_SVC		(FIELD_PREP(AV_ESR_EC, AV_EC_SVC64) | AV_ESR_IL)

/* PSTATE.SSBS, from BTYPE's low bit on. */
#define AV_PSR_SSBS_FROM_BTYPE	2

/* Where a row stands. */
static inline unsigned int av_quick_hash(u16 enc)
{
	return (enc ^ enc >> 6) & (AV_QUICK_ROWS - 1);
}

/* Make the rows, of what srf->cheap (cpu/cheap.h) has. False: two have one place. */
bool av_quick_rows(struct av_srf *srf);

/* In virtual EL1 with its own stack pointer. */
static __always_inline void av_quick_el1h(struct av_srf *srf)
{
	srf->quick = srf->quick_on;
	srf->quick_nr = srf->quick_on_nr;
	srf->in_place = srf->copies;
}

/*
 * Before an entry, and where the mode changes in the window: which syndromes are
 * taken, and are registers in place? In virtual EL1 with its own stack pointer;
 * in virtual EL0 an SVC, with nothing masked and copies to go to.
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

/* May the mode change in switch/quick.S? When modes, quick_on or due has changed. */
static __always_inline void av_quick_modes(struct av_srf *srf)
{
	srf->quick_modes = srf->quick_on && !srf->due ? srf->modes : 0;
}

/*
 * What is taken where: nothing; tokens (vm/token.h), the first of which is ERET, and
 * SVC #0; or without copies unknown instructions, with the number of a token. To be
 * done when srf->slow, copies or cheap has changed, or quick_made is not set.
 */
static inline void av_quick_set(struct av_srf *srf, bool on)
{
	srf->phys = AV_PSR_PHYS;
	srf->el1h = AV_PSR_EL1H;
	srf->quick_on = 0;
	srf->quick_on_nr = 0;
	srf->quick_el0[0] = 0;
	srf->quick_el0[1] = 0;		/* in virtual EL0 no syndrome but SVC's is looked for */
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

/* Before an entry with copies: where an SVC of virtual EL0 goes, and what stubs look at. */
static __always_inline void av_quick_show(struct av_srf *srf)
{
	u64 sctlr = av_srf_get(srf, AV_SCTLR_EL1);

	srf->svc_pc = av_srf_get(srf, AV_VBAR_EL1) + AV_VECTOR_LOWER;
	srf->svc_pstate = FIELD_GET(AV_SCTLR_DSSBS, sctlr) << AV_PSR_SSBS_FROM_BTYPE;
	av_srf_set(srf, AV_SHOWN_DUE, srf->due);
}

#endif /* AV_CPU_QUICK_H */
