// SPDX-License-Identifier: GPL-2.0
/*
 * The stage 1 walk of the EL1&0 regime over the guest's tables, after the architecture's
 * pseudocode. Faults have its priority: range and EPD; at each level external abort, validity,
 * address size; at the leaf the access flag. Callers check permissions (av_walk_permits()).
 */
#include "mmu/walk/walk_down.h"

#define DESC_VALID		BIT_ULL(0)
#define DESC_TABLE		BIT_ULL(1)	/* at level 3: a page */
#define DESC_ATTR		GENMASK_ULL(4, 2)
#define DESC_USER		BIT_ULL(6)	/* AP[1] */
#define DESC_RDONLY		BIT_ULL(7)	/* AP[2] */
#define DESC_SH			GENMASK_ULL(9, 8)
#define DESC_PXN		BIT_ULL(53)
#define DESC_UXN		BIT_ULL(54)
#define DESC_PXN_TABLE		BIT_ULL(59)
#define DESC_UXN_TABLE		BIT_ULL(60)
#define DESC_NOUSER_TABLE	BIT_ULL(61)	/* APTable[0] */
#define DESC_RDONLY_TABLE	BIT_ULL(62)	/* APTable[1] */

#define TSZ_MIN			16
#define TSZ_MAX			39

/* The half of the address space that contains va. */
struct half {
	u64 ttbr;
	u8 tsz;
	u8 granule;		/* log2 */
	bool epd, hpd, e0pd, tbi;
};

/* Rights that the tables above remove from a leaf: av_walk.limits. */
#define NO_USER			BIT(0)
#define NO_WRITE		BIT(1)
#define NO_PXEC			BIT(2)
#define NO_UEXEC		BIT(3)

u8 av_regime_granule(const struct av_regime *r, bool high)
{
	/* TG0 and TG1 encode the granules differently. */
	static const u8 tg0[] = { 12, 16, 14, 12 }, tg1[] = { 12, 14, 12, 16 };

	return high ? tg1[FIELD_GET(AV_TCR_TG1, r->tcr)] : tg0[FIELD_GET(AV_TCR_TG0, r->tcr)];
}

static struct half half_of(const struct av_regime *r, bool high)
{
	return (struct half) {
		.ttbr = high ? r->ttbr1 : r->ttbr0,
		.tsz = high ? FIELD_GET(AV_TCR_T1SZ, r->tcr) : FIELD_GET(AV_TCR_T0SZ, r->tcr),
		.granule = av_regime_granule(r, high),
		.epd = r->tcr & (high ? AV_TCR_EPD1 : AV_TCR_EPD0),
		.hpd = r->tcr & (high ? AV_TCR_HPD1 : AV_TCR_HPD0),
		.e0pd = r->tcr & (high ? AV_TCR_E0PD1 : AV_TCR_E0PD0),
		.tbi = r->tcr & (high ? AV_TCR_TBI1 : AV_TCR_TBI0),
	};
}

static bool is_high(u64 va)
{
	return va & BIT_ULL(55);
}

u16 av_regime_asid(const struct av_regime *r)
{
	u64 asid = FIELD_GET(AV_TTBR_ASID, r->tcr & AV_TCR_A1 ? r->ttbr1 : r->ttbr0);

	return r->tcr & AV_TCR_AS ? asid : asid & 0xff;
}

u8 av_parange_bits(unsigned int parange)
{
	static const u8 bits[] = { 32, 36, 40, 42, 44, 48 };

	return bits[min_t(unsigned int, parange, ARRAY_SIZE(bits) - 1)];
}

/* Output address bits: TCR_EL1.IPS, at most the guest's PARange. */
static u8 output_bits(const struct av_regime *r)
{
	return min(av_parange_bits(FIELD_GET(AV_TCR_IPS, r->tcr)), r->ipa_bits);
}

/* SCTLR_EL1.M clear: the IPA is the VA, if it is within the IPA size. */
static int walk_flat(const struct av_regime *r, u64 va, struct av_walk *out)
{
	/* TBI ignores the tag, but bit 55 must still be 0. */
	u64 addr = out->va & GENMASK_ULL(55, 0);

	if (va & GENMASK_ULL(63, 56) && av_untag(r, va) == va)
		addr = va;
	if (addr >> r->ipa_bits)
		return AV_FAULT_CODE(AV_FSC_ADDRESS_SIZE, 0);
	out->ipa = addr;
	out->span = 12;
	out->level = 0;
	out->el1 = AV_R | AV_W | AV_X;
	out->el0 = AV_R | AV_W | AV_X;
	out->sh = 2;
	out->global = true;
	return 0;
}

/* Is va in the part of its half that TnSZ covers? */
static bool within_half(const struct half *h, u64 va)
{
	int top = 64 - h->tsz;

	if (h->tsz < TSZ_MIN || h->tsz > TSZ_MAX)
		return false;
	return is_high(va) ? (s64)va >> top == -1 : va >> top == 0;
}

/* log2 of the bytes that a TLB entry may cover: the leaf's page, block or run. */
static u8 leaf_span(u8 granule, int level, bool contiguous)
{
	int stride = granule - 3;
	int shift = granule + stride * (3 - level);

	if (!contiguous)
		return shift;
	switch (granule) {
	case 14:
		return shift + (level == 3 ? 7 : 5);
	case 16:
		return shift + 5;
	default:
		return shift + 4;
	}
}

/* Levels that have blocks: 1 and 2 for 4 KiB, 2 for 16 and 64 KiB. */
static bool may_be_block(const struct half *h, int level)
{
	return level == 2 || (level == 1 && h->granule == 12);
}

/* Rights by the leaf's bits, the limits of the tables above, and WXN. */
static void set_rights(const struct av_regime *r, u64 desc, struct av_walk *out)
{
	bool user = desc & DESC_USER && !(out->limits & NO_USER);
	bool write = !(desc & DESC_RDONLY) && !(out->limits & NO_WRITE);
	bool wxn = r->sctlr & AV_SCTLR_WXN;

	out->el1 = AV_R | (write ? AV_W : 0);
	out->el0 = user ? out->el1 : 0;
	/* EL1 never executes pages that EL0 can write. */
	if (!(desc & DESC_PXN) && !(out->limits & NO_PXEC) && !(out->el0 & AV_W) &&
	    !(wxn && out->el1 & AV_W))
		out->el1 |= AV_X;
	if (!(desc & DESC_UXN) && !(out->limits & NO_UEXEC) && !(wxn && out->el0 & AV_W))
		out->el0 |= AV_X;
	/* EL0 must not even learn that there is a page. */
	if (out->e0pd)
		out->el0 = 0;
}

static __always_inline int leaf(const struct av_regime *r, u8 granule, int level, u64 desc,
				struct av_walk *out)
{
	int shift = granule + (granule - 3) * (3 - level);
	u64 offset = out->va & GENMASK_ULL(shift - 1, 0);

	out->level = level;
	out->desc = desc;
	if (!(desc & AV_DESC_AF))
		return AV_FAULT_CODE(AV_FSC_ACCESS_FLAG, level);
	out->ipa = (desc & GENMASK_ULL(47, 0) & ~GENMASK_ULL(shift - 1, 0)) | offset;
	out->span = leaf_span(granule, level, desc & AV_DESC_CONT);
	out->attr = r->mair >> (8 * FIELD_GET(DESC_ATTR, desc));
	out->sh = FIELD_GET(DESC_SH, desc);
	out->global = !(desc & AV_DESC_NG);
	set_rights(r, desc, out);
	return 0;
}

u8 av_walk_limits(u64 descs)
{
	return (descs & DESC_NOUSER_TABLE ? NO_USER : 0) |
	       (descs & DESC_RDONLY_TABLE ? NO_WRITE : 0) |
	       (descs & DESC_PXN_TABLE ? NO_PXEC : 0) | (descs & DESC_UXN_TABLE ? NO_UEXEC : 0);
}

/* Classify a descriptor: a fault, 0 for a leaf, or 1 for a table. */
static int classify(const struct half *h, int level, u64 desc, u8 obits)
{
	bool table = desc & DESC_TABLE;

	if (!(desc & DESC_VALID))
		return AV_FAULT_CODE(AV_FSC_TRANSLATION, level);
	if (!table && (level == 3 || !may_be_block(h, level)))
		return AV_FAULT_CODE(AV_FSC_TRANSLATION, level);
	if ((desc & GENMASK_ULL(47, 12)) >> obits)
		return AV_FAULT_CODE(AV_FSC_ADDRESS_SIZE, level);
	return level < 3 && table;
}

static int walk_tables(const struct av_regime *r, const struct half *h,
		       const struct av_mem_ops *ops, void *ctx, struct av_walk *out)
{
	int stride = h->granule - 3, in_bits = 64 - h->tsz, obits = output_bits(r);
	int level = 4 - (in_bits - h->granule + stride - 1) / stride;
	/* The first table may be smaller than a granule. */
	int shift = h->granule + stride * (3 - level);
	u64 mask = GENMASK_ULL(in_bits - 1, 0), table = h->ttbr & AV_TTBR_BADDR;
	u64 desc;
	int ret;

	if (table >> obits)
		return AV_FAULT_CODE(AV_FSC_ADDRESS_SIZE, 0);
	table &= ~((1ULL << (in_bits - shift + 3)) - 1);
	for (;; level++, shift -= stride) {
		out->level = level;
		out->desc_ipa = table | ((out->va & mask) >> shift << 3);
		ret = ops->read64(ctx, out->desc_ipa, &desc);
		if (ret)
			return ret < 0 ? ret : AV_FAULT_CODE(AV_FSC_EXTERNAL_WALK, level);
		ret = classify(h, level, desc, obits);
		if (ret != 1)
			return ret ?: leaf(r, h->granule, level, desc, out);
		out->limits |= h->hpd ? 0 : av_walk_limits(desc);
		table = desc & GENMASK_ULL(47, 0) & ~GENMASK_ULL(h->granule - 1, 0);
		mask = GENMASK_ULL(shift - 1, 0);
	}
}

int av_walk(const struct av_regime *r, const struct av_mem_ops *ops, void *ctx, u64 va,
	    struct av_walk *out)
{
	struct half h = half_of(r, is_high(va));

	memset(out, 0, sizeof(*out));
	out->va = av_untag(r, va);
	if (!av_regime_mmu_on(r))
		return walk_flat(r, va, out);
	out->high = is_high(va);
	out->e0pd = h.e0pd;
	if (h.epd || !within_half(&h, out->va))
		return AV_FAULT_CODE(AV_FSC_TRANSLATION, 0);
	return walk_tables(r, &h, ops, ctx, out);
}

/* The leaves, by their four bits, that have one of these bits set. */
#define LEAVES_USER	0x1010101010101010ULL
#define LEAVES_RDONLY	0x1100110011001100ULL
#define LEAVES_PXN	0x1111000011110000ULL
#define LEAVES_UXN	0x1111111100000000ULL

/* set_rights() for all leaves of a table at once. */
void av_walk_set_leaves(const struct av_regime *r, struct av_walk_table *table)
{
	u64 user = table->limits & NO_USER ? 0 : LEAVES_USER;
	u64 write = table->limits & NO_WRITE ? 0 : AV_LEAVES & ~LEAVES_RDONLY;
	u64 wxn = r->sctlr & AV_SCTLR_WXN ? write : 0;
	u64 el1_x = table->limits & NO_PXEC ? 0 : AV_LEAVES & ~LEAVES_PXN & ~(user & write) & ~wxn;
	u64 el0_x = table->limits & NO_UEXEC ? 0 : AV_LEAVES & ~LEAVES_UXN & ~(user & wxn);

	table->rights[1] = AV_LEAVES * AV_R | write * AV_W | el1_x * AV_X;
	table->rights[0] = user * AV_R | (user & write) * AV_W | el0_x * AV_X;
	if (table->e0pd)
		table->rights[0] = 0;
}

u64 av_walk_beyond(const struct av_regime *r)
{
	return GENMASK_ULL(47, 12) & ~(BIT_ULL(output_bits(r)) - 1);
}

bool av_walk_keep(const struct av_regime *r, const struct av_walk *walk,
		  struct av_walk_table *table)
{
	if (walk->level != 3 || av_regime_granule(r, walk->high) != 12)
		return false;
	*table = (struct av_walk_table) {
		.va = walk->va & ~AV_TABLE_SPAN,
		.ipa = walk->desc_ipa & ~GENMASK_ULL(11, 0),
		.beyond = av_walk_beyond(r),
		.limits = walk->limits,
		.e0pd = walk->e0pd,
	};
	av_walk_set_leaves(r, table);
	return true;
}

int av_walk_page(const struct av_regime *r, const struct av_walk_table *table, u64 va, u64 desc,
		 struct av_walk *out)
{
	*out = (struct av_walk) {
		.va = va,
		.desc_ipa = av_walk_desc_ipa(table, va),
		.level = 3,
		.high = is_high(va),
		.e0pd = table->e0pd,
		.limits = table->limits,
	};
	if ((desc & AV_DESC_PAGE) != AV_DESC_PAGE)
		return AV_FAULT_CODE(AV_FSC_TRANSLATION, 3);
	if (desc & table->beyond)
		return AV_FAULT_CODE(AV_FSC_ADDRESS_SIZE, 3);
	return leaf(r, 12, 3, desc, out);
}

int av_walk_permits(const struct av_walk *walk, int ret, int el, u8 access)
{
	u8 rights = el ? walk->el1 : walk->el0;

	if (ret >= 0 && !el && walk->e0pd)
		return AV_FAULT_CODE(AV_FSC_TRANSLATION, 0);
	if (ret)
		return ret;
	if (access & ~rights)
		return AV_FAULT_CODE(AV_FSC_PERMISSION, walk->level);
	return 0;
}
