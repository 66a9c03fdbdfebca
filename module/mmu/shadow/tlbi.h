/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Decoding of the TLBI instructions of the EL1&0 regime. Pure code.
 *
 * Shareability (local, inner, outer) is ignored: a local invalidation is applied to all vCPUs,
 * which is always permitted. Level hints are ignored. "Last level only" makes no difference to the
 * shadow tables, which cache only leaves. It matters to a fault that has walked the guest's tables
 * and not yet filled an entry (av_tlbi_voids()).
 */
#ifndef AV_MMU_TLBI_H
#define AV_MMU_TLBI_H

#include "lib/av_types.h"

enum av_tlbi_scope {
	AV_TLBI_ALL,
	AV_TLBI_ASID,		/* non-global entries of one ASID */
	AV_TLBI_VA,		/* by address, of one ASID and global */
	AV_TLBI_VAA,		/* by address, of every ASID */
};

struct av_tlbi {
	u8 scope;
	bool high;
	bool leaf;		/* last level only: the tables above are unchanged */
	u16 asid;
	u64 start, last;	/* canonical, in one half, inclusive */
};

/* An operation that names one page, as most do; passed in registers. */
struct av_tlbi_page {
	u64 va;			/* canonical */
	u16 asid;
	bool any_asid;		/* AV_TLBI_VAA: asid is ignored */
	bool leaf;
};

/* Features that decide which encodings exist. */
#define AV_TLBI_HAS_RANGE	BIT(0)
#define AV_TLBI_HAS_OUTER	BIT(1)

/*
 * Decode encoding sys (AV_SYS()) with operand xt. asid16: the guest's TCR_EL1.AS. False: EL1
 * has no such instruction.
 */
bool av_tlbi_decode(u32 sys, u64 xt, bool asid16, unsigned int features, struct av_tlbi *op);

#define AV_TLBI_XT_ASID		GENMASK_ULL(63, 48)
#define AV_TLBI_XT_VA		GENMASK_ULL(43, 0)	/* VA[55:12] */

/* CRm of outer shareable, inner shareable and local; op2 of VAE1, VAAE1, VALE1, VAALE1. */
#define AV_TLBI_PAGE_CRM	(BIT(1) | BIT(3) | BIT(7))
#define AV_TLBI_PAGE_OP2	(BIT(1) | BIT(3) | BIT(5) | BIT(7))

/* Does this encoding name one page? Assumes all features. */
static inline bool av_tlbi_is_page(u32 sys)
{
	return (sys & ~(AV_SYS_CRM | AV_SYS_OP2)) == AV_SYS(1, 0, 8, 0, 0) &&
	       AV_TLBI_PAGE_CRM >> FIELD_GET(AV_SYS_CRM, sys) & 1 &&
	       AV_TLBI_PAGE_OP2 >> FIELD_GET(AV_SYS_OP2, sys) & 1;
}

/* av_tlbi_decode() for those encodings. */
static inline struct av_tlbi_page av_tlbi_page(u32 sys, u64 xt, bool asid16)
{
	u32 op2 = FIELD_GET(AV_SYS_OP2, sys);

	return (struct av_tlbi_page) {
		.va = (u64)sign_extend64(FIELD_GET(AV_TLBI_XT_VA, xt) << 12, 55),
		.asid = FIELD_GET(AV_TLBI_XT_ASID, xt) & (asid16 ? 0xffff : 0xff),
		.any_asid = op2 & 2,
		.leaf = op2 & 4,
	};
}

#endif /* AV_MMU_TLBI_H */
