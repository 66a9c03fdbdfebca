/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest's own translation of an address, by its tables.
 *
 * Pure code. The walker reads guest memory through struct av_mem_ops and knows nothing of
 * shadow tables or host pages. It supports all three granules; the ID registers decide which of
 * them a guest sees.
 *
 * Choices where the architecture permits several:
 *  - TnSZ outside 16..39 (no FEAT_TTST, no FEAT_LVA): level 0 translation fault;
 *  - a reserved granule: 4 KiB;
 *  - TTBR base bits below the table's alignment: taken as zero;
 *  - IPS reserved, or larger than the guest's PARange: that PARange;
 *  - the guest never sees hardware management of the access flag and dirty state, so TCR_EL1.HA
 *    and HD are RES0, and AF=0 faults.
 */
#ifndef AV_MMU_WALK_H
#define AV_MMU_WALK_H

#include "vm/regfile.h"

/* The registers that control the EL1&0 regime; ipa_bits is the guest's PARange. */
struct av_regime {
	u64 sctlr, tcr, ttbr0, ttbr1, mair;
	u8 ipa_bits;
};

#define AV_TCR_T0SZ		GENMASK_ULL(5, 0)
#define AV_TCR_EPD0		BIT_ULL(7)
#define AV_TCR_TG0		GENMASK_ULL(15, 14)
#define AV_TCR_T1SZ		GENMASK_ULL(21, 16)
#define AV_TCR_A1		BIT_ULL(22)
#define AV_TCR_EPD1		BIT_ULL(23)
#define AV_TCR_TG1		GENMASK_ULL(31, 30)
#define AV_TCR_IPS		GENMASK_ULL(34, 32)
#define AV_TCR_AS		BIT_ULL(36)
#define AV_TCR_TBI0		BIT_ULL(37)
#define AV_TCR_TBI1		BIT_ULL(38)
#define AV_TCR_HPD0		BIT_ULL(41)
#define AV_TCR_HPD1		BIT_ULL(42)
#define AV_TCR_E0PD0		BIT_ULL(55)
#define AV_TCR_E0PD1		BIT_ULL(56)

#define AV_TTBR_BADDR		GENMASK_ULL(47, 1)
#define AV_TTBR_ASID		GENMASK_ULL(63, 48)

/* Fault status codes (ESR_ELx.ISS.{D,I}FSC). Add the level to those that have one. */
#define AV_FSC_ADDRESS_SIZE	0x00
#define AV_FSC_TRANSLATION	0x04
#define AV_FSC_ACCESS_FLAG	0x08
#define AV_FSC_PERMISSION	0x0c
#define AV_FSC_EXTERNAL		0x10
#define AV_FSC_EXTERNAL_WALK	0x14
#define AV_FSC_ALIGNMENT	0x21
#define AV_FSC_TLB_CONFLICT	0x30
#define AV_FSC_ATOMIC_UPDATE	0x31
#define AV_FSC_LOCKDOWN		0x34
#define AV_FSC_EXCLUSIVE	0x35

/* A guest's fault as a return value: never 0, never negative. */
#define AV_FAULT		0x100
#define AV_FAULT_CODE(fsc, level)	(AV_FAULT | (fsc) | (level))
#define AV_FAULT_FSC(ret)		((ret) & 0x3f)

/* Did a walk that returned ret find nothing mapped? */
static inline bool av_walk_empty(int ret)
{
	return ret > 0 && (AV_FAULT_FSC(ret) & ~3) == AV_FSC_TRANSLATION;
}

/* Rights: needed by an access, or granted by a page to one exception level. */
#define AV_R	1
#define AV_W	2
#define AV_X	4

/* Bits of a level-3 descriptor: valid page; accessed; of one ASID; of a run of 16. */
#define AV_DESC_PAGE	3ULL
#define AV_DESC_AF	BIT_ULL(10)
#define AV_DESC_NG	BIT_ULL(11)
#define AV_DESC_CONT	BIT_ULL(52)

/* The guest's leaf for one address. */
struct av_walk {
	u64 va;		/* canonical: without the tag */
	u64 ipa;	/* the translation of va */
	u64 desc_ipa;	/* address of the leaf descriptor; 0 with the MMU off */
	u64 desc;	/* the leaf descriptor, after a successful walk */
	u8 level;	/* of the leaf */
	u8 span;	/* log2 of the bytes that one TLB entry may cover */
	u8 el1, el0;	/* AV_R | AV_W | AV_X */
	u8 attr;	/* the MAIR byte; Device-nGnRnE with the MMU off */
	u8 sh;		/* the SH field */
	bool global;	/* nG clear: matches every ASID */
	bool high;	/* translated by TTBR1 */
	bool e0pd;	/* EL0 accesses to this half fault at level 0 */
	u8 limits;	/* rights that the tables above remove, in the walker's own bits */
};

struct av_mem_ops {
	/*
	 * Read 8 aligned bytes of guest memory in one access. 0; 1: no memory at ipa; or a
	 * negative errno, which the walk returns.
	 */
	int (*read64)(void *ctx, u64 ipa, u64 *val);
};

/*
 * Walk the guest's tables for va. Returns 0 and *out; AV_FAULT_CODE() as the hardware would
 * report it before it checks permissions; or read64's errno. out->va and out->high are valid
 * after a fault too.
 */
int av_walk(const struct av_regime *regime, const struct av_mem_ops *ops, void *ctx, u64 va,
	    struct av_walk *out);

/*
 * The level-3 table of 4 KiB pages that a walk used, cached as in a TLB: walks in its 2 MiB may
 * start there until the guest invalidates more than leaves, or changes its registers.
 */
struct av_walk_table {
	u64 va, ipa;
	u64 beyond;	/* output address bits that must be 0 */
	u64 rights[2];	/* of its leaves, by exception level: av_walk_leaf_rights() */
	u8 limits;
	bool e0pd;
};

/* Mask of the offset in the 2 MiB that the table maps. */
#define AV_TABLE_SPAN		GENMASK_ULL(20, 0)

/* Get the table of a walk, even of one that ended there with a fault. False: it has none. */
bool av_walk_keep(const struct av_regime *regime, const struct av_walk *walk,
		  struct av_walk_table *table);

/* The address of va's descriptor in the table. */
static inline u64 av_walk_desc_ipa(const struct av_walk_table *table, u64 va)
{
	return table->ipa | (va & AV_TABLE_SPAN) >> 12 << 3;
}

/*
 * Rights of all leaves of a table. They depend on four bits of the descriptor: the word has
 * four bits for each of their 16 values. AV_LEAVES is the lowest bit of each four.
 */
#define AV_LEAVES		0x1111111111111111ULL

static inline u8 av_walk_leaf_rights(u64 rights, u64 desc)
{
	/* AP[2:1] and, above them, UXN and PXN; times four. */
	unsigned int shift = (desc >> 4 & 0xc) | (desc >> 49 & 0x30);

	return rights >> shift & (AV_R | AV_W | AV_X);
}

/*
 * av_walk_page() and av_walk_permits() in one, for callers that need only the result and have
 * read the descriptor from the table. With E0PD set, EL0 must get another fault.
 */
static inline int av_walk_table_permits(const struct av_walk_table *table, u64 desc, int el,
					u8 access)
{
	if ((desc & AV_DESC_PAGE) != AV_DESC_PAGE)
		return AV_FAULT_CODE(AV_FSC_TRANSLATION, 3);
	if (unlikely(desc & table->beyond))
		return AV_FAULT_CODE(AV_FSC_ADDRESS_SIZE, 3);
	if (unlikely(!(desc & AV_DESC_AF)))
		return AV_FAULT_CODE(AV_FSC_ACCESS_FLAG, 3);
	if (access & ~av_walk_leaf_rights(table->rights[el], desc))
		return AV_FAULT_CODE(AV_FSC_PERMISSION, 3);
	return 0;
}

/* av_walk() for an untagged va, whose descriptor the caller has read from the table. */
int av_walk_page(const struct av_regime *regime, const struct av_walk_table *table, u64 va,
		 u64 desc, struct av_walk *out);

/*
 * All that a leaf of a level-3 table of 4 KiB pages takes from the guest's tables: its
 * descriptor, and the limits of the tables above in bits that the walker ignores. In one
 * regime, leaves with the same key are the same. Never 0 for a valid descriptor.
 */
#define AV_KEY_LIMITS	GENMASK_ULL(58, 55)
#define AV_KEY_IGNORED	(GENMASK_ULL(63, 55) | BIT_ULL(51))

static inline u64 av_walk_key(u64 desc, u8 limits)
{
	return (desc & ~AV_KEY_IGNORED) | FIELD_PREP(AV_KEY_LIMITS, limits);
}

/*
 * May exception level el (0 or 1) make this access, after a walk that returned ret? 0,
 * AV_FAULT_CODE(), or ret's errno. With E0PD set, EL0 gets the same fault for the whole half.
 */
int av_walk_permits(const struct av_walk *walk, int ret, int el, u8 access);

/* The address without its tag: with TBI, bits 63:56 become copies of bit 55. */
static inline u64 av_untag(const struct av_regime *regime, u64 va)
{
	bool tbi = regime->tcr & (va & BIT_ULL(55) ? AV_TCR_TBI1 : AV_TCR_TBI0);

	return tbi ? (u64)sign_extend64(va, 55) : va;
}

/* log2 of the granule of one half. */
u8 av_regime_granule(const struct av_regime *regime, bool high);

/* The current ASID: from TTBRn by TCR_EL1.A1, 8 or 16 bits by TCR_EL1.AS. */
u16 av_regime_asid(const struct av_regime *regime);

/* Physical address bits of ID_AA64MMFR0_EL1.PARange or TCR_EL1.IPS; reserved: the most. */
u8 av_parange_bits(unsigned int parange);

static inline bool av_regime_mmu_on(const struct av_regime *regime)
{
	return regime->sctlr & AV_SCTLR_M;
}

#endif /* AV_MMU_WALK_H */
