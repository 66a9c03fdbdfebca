/* SPDX-License-Identifier: GPL-2.0 */
/* Descriptor and register fields of stage 1, 4 KiB granule, 39-bit addresses. */
#ifndef GUESTS_MMU_H
#define GUESTS_MMU_H

#include "guest.h"

#define PTE_BLOCK	1UL
#define PTE_TABLE	3UL
#define PTE_PAGE	3UL
#define PTE_NORMAL	(0UL << 2)
#define PTE_DEVICE	(1UL << 2)
#define PTE_NONCACHED	(2UL << 2)
#define PTE_USER	(1UL << 6)
#define PTE_READONLY	(1UL << 7)
#define PTE_INNER	(3UL << 8)
#define PTE_AF		(1UL << 10)
#define PTE_NG		(1UL << 11)
#define PTE_CONT	(1UL << 52)
#define PTE_PXN		(1UL << 53)
#define PTE_UXN		(1UL << 54)
#define PTE_ADDRESS	0x0000fffffffff000UL

#define TABLE_UXN	(1UL << 60)
#define TABLE_PXN	(1UL << 59)
#define TABLE_READONLY	(1UL << 62)
#define TABLE_NO_USER	(1UL << 61)

/* Index 0 write-back, 1 Device-nGnRE, 2 non-cacheable. */
#define MAIR_VALUE	0x4404ffUL

#define TCR_T0SZ(n)	((u64)(n))
#define TCR_T1SZ(n)	((u64)(n) << 16)
#define TCR_EPD0	(1UL << 7)
#define TCR_EPD1	(1UL << 23)
#define TCR_WALK0	(1UL << 8 | 1UL << 10 | 3UL << 12)
#define TCR_WALK1	(1UL << 24 | 1UL << 26 | 3UL << 28 | 2UL << 30)
/* As in Linux: without TBI the module's light exits switch all registers. */
#define TCR_TBI		(3UL << 37)
#define TCR_VALUE	(TCR_T0SZ(25) | TCR_T1SZ(25) | TCR_WALK0 | TCR_WALK1 | TCR_TBI)

#define SCTLR_M		(1UL << 0)
#define SCTLR_A		(1UL << 1)
#define SCTLR_C		(1UL << 2)
#define SCTLR_SA	(1UL << 3)
#define SCTLR_SA0	(1UL << 4)
#define SCTLR_UMA	(1UL << 9)
#define SCTLR_I		(1UL << 12)
#define SCTLR_DZE	(1UL << 14)
#define SCTLR_UCT	(1UL << 15)
#define SCTLR_NTWI	(1UL << 16)
#define SCTLR_NTWE	(1UL << 18)
#define SCTLR_WXN	(1UL << 19)
#define SCTLR_SPAN	(1UL << 23)
#define SCTLR_UCI	(1UL << 26)
/* The bits that are reserved as one in Armv8.0; SPAN (23) keeps PAN as it was. */
#define SCTLR_RES1	(1UL << 11 | 1UL << 20 | 1UL << 22 | SCTLR_SPAN | 3UL << 28)
#define SCTLR_MMU_ON	(SCTLR_RES1 | SCTLR_M | SCTLR_C | SCTLR_I | SCTLR_SA)

/* The CPU's output size, as a value of TCR_EL1.IPS (48 bits at most). */
static inline u64 mmu_tcr_ips(void)
{
	u64 range = read_sysreg(id_aa64mmfr0_el1) & 15;

	return (range > 5 ? 5 : range) << 32;
}

#endif
