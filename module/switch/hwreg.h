/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registers that EL0 uses itself: in the hardware while the guest runs, in the
 * register file otherwise. These are for code in the window, and reach the
 * hardware; a program on another machine has the register file only. Pure.
 */
#ifndef AV_SWITCH_HWREG_H
#define AV_SWITCH_HWREG_H

#include "vm/regfile.h"

#ifdef __KERNEL__

static __always_inline u64 av_hw_tpidrro(const struct av_srf *srf)
{
	u64 val;

	asm volatile("mrs %0, tpidrro_el0" : "=r" (val));
	return val;
}

static __always_inline void av_hw_set_tpidrro(struct av_srf *srf, u64 val)
{
	asm volatile("msr tpidrro_el0, %0" : : "r" (val));
}

#else

static __always_inline u64 av_hw_tpidrro(const struct av_srf *srf)
{
	return av_srf_get(srf, AV_TPIDRRO_EL0);
}

static __always_inline void av_hw_set_tpidrro(struct av_srf *srf, u64 val)
{
	av_srf_set(srf, AV_TPIDRRO_EL0, val);
}

#endif /* __KERNEL__ */

#endif /* AV_SWITCH_HWREG_H */
