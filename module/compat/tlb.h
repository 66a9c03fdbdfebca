/* SPDX-License-Identifier: GPL-2.0 */
/* asm/tlbflush.h, and completion of broadcast TLB maintenance. */
#ifndef AV_COMPAT_TLB_H
#define AV_COMPAT_TLB_H

/* First: 6.8's asm/tlbflush.h needs it and does not include it. */
#include <linux/mm.h>
#include <asm/barrier.h>
#include <asm/tlbflush.h>

/*
 * On many Arm CPUs TLBI;DSB may complete before stores that used the dropped translations are
 * visible (CVE-2025-10263, and older errata): a second round waits for them. Kernels without
 * __repeat_tlbi_sync() do that in __tlbi().
 */
static inline void av_tlbi_sync(void)
{
	dsb(ish);
#ifdef __repeat_tlbi_sync
	__repeat_tlbi_sync(vale1is, 0);
#endif
}

#endif /* AV_COMPAT_TLB_H */
