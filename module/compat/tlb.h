/* SPDX-License-Identifier: GPL-2.0 */
/* The end of TLB maintenance that other CPUs take part in. */
#ifndef AV_COMPAT_TLB_H
#define AV_COMPAT_TLB_H

#include <asm/barrier.h>
#include <asm/tlbflush.h>

/*
 * Many CPUs of Arm's let a TLBI;DSB complete before stores that were translated
 * by what it drops can be seen (CVE-2025-10263, and older errata): a second
 * round waits for them. Kernels that have no __repeat_tlbi_sync() do it in __tlbi().
 */
static inline void av_tlbi_sync(void)
{
	dsb(ish);
#ifdef __repeat_tlbi_sync
	__repeat_tlbi_sync(vale1is, 0);
#endif
}

#endif /* AV_COMPAT_TLB_H */
