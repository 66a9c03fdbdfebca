/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Decoding of the TLBI instructions of the EL1&0 regime. Pure code.
 *
 * The shareability (local, inner, outer) does not matter to us: a local
 * invalidation is carried out for all vCPUs, which is always allowed. Level
 * hints are not used, and "last level only" drops no more and no less: the
 * shadow tables cache leaves only. Last level matters to faults that have
 * walked the guest's tables and have not filled yet (av_tlbi_voids()).
 */
#ifndef AV_MMU_TLBI_H
#define AV_MMU_TLBI_H

#include "lib/av_types.h"

enum av_tlbi_scope {
	AV_TLBI_ALL,
	AV_TLBI_ASID,		/* non-global entries of one ASID */
	AV_TLBI_VA,		/* addresses, of one ASID and global */
	AV_TLBI_VAA,		/* addresses, of every ASID */
};

struct av_tlbi {
	u8 scope;
	bool high;
	bool leaf;		/* last level only: tables on the way stay as they are */
	u16 asid;
	u64 start, last;	/* canonical, in one half, inclusive */
};

/* The features that decide which encodings there are. */
#define AV_TLBI_HAS_RANGE	BIT(0)
#define AV_TLBI_HAS_OUTER	BIT(1)

/*
 * Decode encoding sys (AV_SYS()) with operand xt. asid16: the guest's
 * TCR_EL1.AS. False when there is no such instruction at EL1.
 */
bool av_tlbi_decode(u32 sys, u64 xt, bool asid16, unsigned int features, struct av_tlbi *op);

#endif /* AV_MMU_TLBI_H */
