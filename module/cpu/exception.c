// SPDX-License-Identifier: GPL-2.0
/*
 * Exception entry and return of the virtual CPU. Pure: see cpu/exception.h.
 *
 * The guest's CPU has no PAN and no UAO, so these stay 0; it has what the host
 * has of SSBS, DIT and BTYPE, which live in the physical PSTATE.
 */
#include "cpu/exception.h"
#include "cpu/hwdebug.h"

#define SCTLR_DSSBS	BIT_ULL(44)
/* Would a step of an instruction in this mode be taken as an exception? */
static bool step_enabled(const struct av_srf *srf, u64 pstate)
{
	u64 mdscr = av_srf_get(srf, AV_MDSCR_EL1);

	if (!(mdscr & AV_MDSCR_SS) || (av_srf_get(srf, AV_OSLSR_EL1) & AV_OSLSR_OSLK))
		return false;
	if (!(pstate & AV_PSR_EL1T))
		return true;
	return (mdscr & AV_MDSCR_KDE) && !(pstate & AV_PSR_D);
}

bool av_srf_stepping(const struct av_srf *srf)
{
	return step_enabled(srf, av_srf_vpstate(srf));
}

static u32 vector_group(const struct av_srf *srf)
{
	switch (av_srf_mode(srf)) {
	case AV_PSR_EL0T:
		return 0x400;
	case AV_PSR_EL1T:
		return 0x000;
	default:
		return 0x200;
	}
}

u32 av_srf_take(struct av_srf *srf, u32 vector)
{
	u32 offset = vector_group(srf) + vector;

	av_srf_set(srf, AV_SPSR_EL1, av_srf_spsr(srf));
	av_srf_set(srf, AV_ELR_EL1, srf->pc);
	av_srf_set_mode(srf, AV_PSR_EL1H);
	av_srf_set_vpstate(srf, AV_PSR_EL1H | AV_PSR_DAIF);
	srf->pstate &= ~(AV_PSR_BTYPE | AV_PSR_SSBS);
	if (av_srf_get(srf, AV_SCTLR_EL1) & SCTLR_DSSBS)
		srf->pstate |= AV_PSR_SSBS;
	srf->pc = av_srf_get(srf, AV_VBAR_EL1) + offset;
	return offset;
}

/* The class of an exception from the same level is one more, where there are two. */
static u64 esr_same_level(u64 esr)
{
	switch (av_esr_ec(esr)) {
	case AV_EC_IABT_LOW:
	case AV_EC_DABT_LOW:
	case AV_EC_BREAKPT_LOW:
	case AV_EC_SOFTSTP_LOW:
	case AV_EC_WATCHPT_LOW:
		return esr + FIELD_PREP(AV_ESR_EC, 1);
	default:
		return esr;
	}
}

u32 av_srf_take_sync(struct av_srf *srf, u64 esr)
{
	av_srf_set(srf, AV_ESR_EL1, av_srf_el1(srf) ? esr_same_level(esr) : esr);
	return av_srf_take(srf, AV_VECTOR_SYNC);
}

static bool mode_exists(u64 spsr)
{
	switch (spsr & AV_PSR_MODE) {
	case AV_PSR_EL0T:
	case AV_PSR_EL1T:
	case AV_PSR_EL1H:
		return true;
	default:
		return false;
	}
}

void av_srf_set_pstate(struct av_srf *srf, u64 pstate)
{
	av_srf_set_mode(srf, pstate);
	av_srf_set_vpstate(srf, pstate);
	srf->pstate = (srf->pstate & ~AV_PSR_PHYS) | (pstate & AV_PSR_PHYS);
}

void av_srf_eret(struct av_srf *srf)
{
	u64 spsr = av_srf_get(srf, AV_SPSR_EL1);
	bool was_stepping = av_srf_stepping(srf);

	srf->pc = av_srf_get(srf, AV_ELR_EL1);
	/*
	 * An illegal return stays in its mode with PSTATE.IL set; the next
	 * instruction then takes the exception.
	 */
	if (!mode_exists(spsr))
		spsr = (spsr & ~AV_PSR_MODE) | av_srf_mode(srf) | AV_PSR_IL;
	/* SPSR.SS counts only where stepping begins with this return. */
	if (was_stepping || !step_enabled(srf, spsr))
		spsr &= ~AV_PSR_SS;
	av_srf_set_pstate(srf, spsr);
}
