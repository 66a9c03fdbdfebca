/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest's breakpoints and watchpoints, in the form that the hardware needs
 * while the guest runs. Pure.
 *
 * Both virtual levels run at EL0. So a register that selects the current
 * virtual level selects EL0 in the hardware, and any other is off. Matches of
 * CONTEXTIDR_EL1 are evaluated here, as every write of it traps. A resulting
 * debug exception goes to the guest unchanged.
 *
 * Limitation: LDTR and STTR of virtual EL1 match as EL1 accesses.
 */
#ifndef AV_CPU_HWDEBUG_H
#define AV_CPU_HWDEBUG_H

#include "vm/regfile.h"

/* DBGBCR<n>_EL1, DBGWCR<n>_EL1 */
#define AV_DBG_E		BIT_ULL(0)
#define AV_DBG_PMC		GENMASK_ULL(2, 1)	/* PAC in DBGWCR */
#define AV_DBG_EL1		BIT_ULL(1)
#define AV_DBG_EL0		BIT_ULL(2)
#define AV_DBG_HMC		BIT_ULL(13)
#define AV_DBG_SSC		GENMASK_ULL(15, 14)
#define AV_DBG_SSC_SECURE	2
#define AV_DBG_LBN		GENMASK_ULL(19, 16)
#define AV_DBGB_BAS		GENMASK_ULL(8, 5)
#define AV_DBGB_BT		GENMASK_ULL(23, 20)
#define AV_DBGW_LSC		GENMASK_ULL(4, 3)
#define AV_DBGW_BAS		GENMASK_ULL(12, 5)
#define AV_DBGW_WT		BIT_ULL(20)
#define AV_DBGW_MASK		GENMASK_ULL(28, 24)

#define AV_DBGBCR_BITS		(AV_DBG_E | AV_DBG_PMC | AV_DBG_HMC | AV_DBG_SSC | AV_DBG_LBN | \
				 AV_DBGB_BAS | AV_DBGB_BT)
#define AV_DBGWCR_BITS		(AV_DBG_E | AV_DBG_PMC | AV_DBG_HMC | AV_DBG_SSC | AV_DBG_LBN | \
				 AV_DBGW_LSC | AV_DBGW_BAS | AV_DBGW_WT | AV_DBGW_MASK)

/* The CPU's numbers of debug registers, and the hardware's current CONTEXTIDR_EL1. */
struct av_hwdebug {
	u8 breakpoints, watchpoints, context_aware;
	u32 contextidr;
};

/* Values for one pair of hardware registers; control is 0 if nothing may match. */
struct av_hwdebug_pair {
	u64 value, control;
};

#define AV_MDSCR_SS		BIT_ULL(0)
#define AV_MDSCR_TDCC		BIT_ULL(12)
#define AV_MDSCR_KDE		BIT_ULL(13)
#define AV_MDSCR_MDE		BIT_ULL(15)
#define AV_OSLSR_OSLK		BIT_ULL(1)

/* Is any virtual debug feature enabled, even if masked at the moment? */
static inline bool av_srf_debugging(const struct av_srf *srf)
{
	return av_srf_get(srf, AV_MDSCR_EL1) & (AV_MDSCR_SS | AV_MDSCR_MDE) &&
	       !(av_srf_get(srf, AV_OSLSR_EL1) & AV_OSLSR_OSLK);
}

/* Also of virtual EL1? Else nothing there is stepped or matches, whatever PSTATE.D is. */
static inline bool av_srf_debugging_el1(const struct av_srf *srf)
{
	return av_srf_debugging(srf) && av_srf_get(srf, AV_MDSCR_EL1) & AV_MDSCR_KDE;
}

/* May breakpoints and watchpoints match at the current level? */
bool av_srf_matching(const struct av_srf *srf);

/* The n'th breakpoint or watchpoint for the hardware, if av_srf_matching(). */
struct av_hwdebug_pair av_srf_breakpoint(const struct av_srf *srf, const struct av_hwdebug *hw,
					 unsigned int n);
struct av_hwdebug_pair av_srf_watchpoint(const struct av_srf *srf, const struct av_hwdebug *hw,
					 unsigned int n);

/* The VMM's own: by address, at the levels in control, regardless of the guest's masks. */
struct av_hwdebug_pair av_vmm_breakpoint(const struct av_srf *srf, u64 value, u64 control);
struct av_hwdebug_pair av_vmm_watchpoint(const struct av_srf *srf, u64 value, u64 control);

/* The value of a control register after a write of val. */
u64 av_dbgbcr_written(u64 val);
u64 av_dbgwcr_written(u64 val);

#endif /* AV_CPU_HWDEBUG_H */
