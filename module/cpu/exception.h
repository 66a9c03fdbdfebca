/* SPDX-License-Identifier: GPL-2.0 */
/* Exception entry to virtual EL1 and exception return: their effect on the register file. Pure. */
#ifndef AV_CPU_EXCEPTION_H
#define AV_CPU_EXCEPTION_H

#include "vm/regfile.h"

#define AV_VECTOR_SYNC		0x000
#define AV_VECTOR_IRQ		0x080
#define AV_VECTOR_FIQ		0x100
#define AV_VECTOR_SERROR	0x180

static __always_inline u32 av_vector_group(const struct av_srf *srf)
{
	if (!av_srf_el1(srf))
		return AV_VECTOR_LOWER;
	return av_srf_mode(srf) == AV_PSR_EL1T ? 0x000 : 0x200;
}

/* Take an exception. The caller sets ESR and FAR. Returns the vector's offset from VBAR_EL1. */
static __always_inline u32 av_srf_take(struct av_srf *srf, u32 vector)
{
	u32 offset = av_vector_group(srf) + vector;

	av_srf_set(srf, AV_SPSR_EL1, av_srf_spsr(srf));
	av_srf_set(srf, AV_ELR_EL1, srf->pc);
	av_srf_set_mode(srf, AV_PSR_EL1H);
	av_srf_set_vpstate(srf, AV_PSR_EL1H | AV_PSR_DAIF);
	srf->pstate &= ~(AV_PSR_BTYPE | AV_PSR_SSBS);
	if (av_srf_get(srf, AV_SCTLR_EL1) & AV_SCTLR_DSSBS)
		srf->pstate |= AV_PSR_SSBS;
	srf->pc = av_srf_get(srf, AV_VBAR_EL1) + offset;
	return offset;
}

/* Some exception classes have a separate value for the same level, one higher. */
static __always_inline u64 av_esr_same_level(u64 esr)
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

/* Take a synchronous exception. esr is as from a lower level and is adjusted here. */
static __always_inline u32 av_srf_take_sync(struct av_srf *srf, u64 esr)
{
	av_srf_set(srf, AV_ESR_EL1, av_srf_el1(srf) ? av_esr_same_level(esr) : esr);
	return av_srf_take(srf, AV_VECTOR_SYNC);
}

void av_srf_eret(struct av_srf *srf);

/* Replace the whole virtual PSTATE. The caller has checked the mode. */
static __always_inline void av_srf_set_pstate(struct av_srf *srf, u64 pstate)
{
	av_srf_set_mode(srf, pstate);
	av_srf_set_vpstate(srf, pstate);
	srf->pstate = (srf->pstate & ~AV_PSR_PHYS) | (pstate & AV_PSR_PHYS);
}

/* Skip an emulated instruction. */
static __always_inline void av_srf_skip(struct av_srf *srf)
{
	srf->pc += 4;
	srf->pstate &= ~AV_PSR_BTYPE;
	srf->vmode &= ~AV_PSR_SS;
}

/* Does MDSCR_EL1 single-step instructions in the current mode? */
bool av_srf_stepping(const struct av_srf *srf);

#endif /* AV_CPU_EXCEPTION_H */
