// SPDX-License-Identifier: GPL-2.0
/*
 * Exception entry and return of the virtual CPU. Pure: see cpu/exception.h.
 *
 * The guest's CPU lacks PAN and UAO, so these stay 0. It has the host's SSBS,
 * DIT and BTYPE, which are kept in physical PSTATE.
 */
#include "cpu/exception.h"
#include "cpu/hwdebug.h"

/* Would completing an instruction in this state raise a step exception? */
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

void av_srf_eret(struct av_srf *srf)
{
	u64 spsr = av_srf_get(srf, AV_SPSR_EL1);
	bool was_stepping = av_srf_stepping(srf);

	srf->pc = av_srf_get(srf, AV_ELR_EL1);
	/*
	 * An illegal return keeps the mode and sets PSTATE.IL; the next
	 * instruction takes the exception.
	 */
	if (!mode_exists(spsr))
		spsr = (spsr & ~AV_PSR_MODE) | av_srf_mode(srf) | AV_PSR_IL;
	/* SPSR.SS is used only if this return enables stepping. */
	if (was_stepping || !step_enabled(srf, spsr))
		spsr &= ~AV_PSR_SS;
	av_srf_set_pstate(srf, spsr);
}
