/* SPDX-License-Identifier: GPL-2.0 */
/* Instruction cache maintenance, for aliasing caches too. */
#ifndef AV_COMPAT_ICACHE_H
#define AV_COMPAT_ICACHE_H

#include <asm/barrier.h>
#include <asm/cache.h>
#include <asm/cacheflush.h>
#include <asm/cpufeature.h>
#include <asm/sysreg.h>

#define AV_L1IP_PIPT	3

/* Invalidate the instruction caches of all CPUs; completes before any later instruction here. */
static inline void av_icache_inval_all(void)
{
	asm volatile("ic ialluis" : : : "memory");
	dsb(ish);
}

/*
 * Make code written at va visible to fetches from another address of the same
 * page: an aliasing cache (Cortex-A53, A55) needs more than invalidation by va.
 * The kernel's icache_is_aliasing() reads a variable that is not exported.
 */
static inline void av_sync_icache_aliases(unsigned long va, size_t size)
{
	caches_clean_inval_pou(va, va + size);
	if (CTR_L1IP(read_sanitised_ftr_reg(SYS_CTR_EL0)) != AV_L1IP_PIPT)
		icache_inval_all_pou();
}

#endif /* AV_COMPAT_ICACHE_H */
