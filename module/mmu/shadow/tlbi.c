// SPDX-License-Identifier: GPL-2.0
/* TLBI instructions of the EL1&0 regime: one row per operation. */
#include "mmu/shadow/tlbi.h"

#define XT_TG		GENMASK_ULL(47, 46)
#define XT_SCALE	GENMASK_ULL(45, 44)
#define XT_NUM		GENMASK_ULL(43, 39)
#define XT_BASE		GENMASK_ULL(36, 0)

/* Rows by CRm: shareability and kind of operand. */
enum form { NONE, PAGE, RANGE };

static const struct {
	u8 form;
	u8 needs;
} forms[16] = {
	[1] = { PAGE, AV_TLBI_HAS_OUTER },
	[2] = { RANGE, AV_TLBI_HAS_RANGE },
	[3] = { PAGE, 0 },
	[5] = { RANGE, AV_TLBI_HAS_RANGE | AV_TLBI_HAS_OUTER },
	[6] = { RANGE, AV_TLBI_HAS_RANGE },
	[7] = { PAGE, 0 },
};

/* Rows by op2. */
static const struct {
	bool page, range;	/* exists in this form */
	u8 scope;
	bool leaf;
} ops[8] = {
	[0] = { true, false, AV_TLBI_ALL },	/* VMALLE1 */
	[1] = { true, true, AV_TLBI_VA },	/* VAE1, RVAE1 */
	[2] = { true, false, AV_TLBI_ASID },	/* ASIDE1 */
	[3] = { true, true, AV_TLBI_VAA },	/* VAAE1, RVAAE1 */
	[5] = { true, true, AV_TLBI_VA, true },		/* VALE1, RVALE1 */
	[7] = { true, true, AV_TLBI_VAA, true },	/* VAALE1, RVAALE1 */
};

static void decode_page(u64 xt, struct av_tlbi *op)
{
	op->start = (u64)sign_extend64(FIELD_GET(AV_TLBI_XT_VA, xt) << 12, 55);
	op->last = op->start | 0xfff;
}

/*
 * BaseADDR is in granules. A range that exceeds its half ends with the half. A reserved granule
 * invalidates all addresses of the half.
 */
static void decode_range(u64 xt, struct av_tlbi *op)
{
	static const u8 shifts[] = { 0, 12, 14, 16 };
	u8 shift = shifts[FIELD_GET(XT_TG, xt)];
	u64 pages = (FIELD_GET(XT_NUM, xt) + 1) << (5 * FIELD_GET(XT_SCALE, xt) + 1);
	u64 base = (u64)sign_extend64(FIELD_GET(XT_BASE, xt), 36);
	u64 end_of_half;

	op->start = shift ? base << shift : base & BIT_ULL(55);
	end_of_half = op->start & BIT_ULL(55) ? ~0ULL : GENMASK_ULL(54, 0);
	if (!shift) {
		op->start = op->start ? ~GENMASK_ULL(54, 0) : 0;
		op->last = end_of_half;
		return;
	}
	op->last = op->start + (pages << shift) - 1;
	if (op->last < op->start || op->last > end_of_half)
		op->last = end_of_half;
}

bool av_tlbi_decode(u32 sys, u64 xt, bool asid16, unsigned int features, struct av_tlbi *op)
{
	u32 crm = FIELD_GET(AV_SYS_CRM, sys), op2 = FIELD_GET(AV_SYS_OP2, sys);
	u8 form = forms[crm].form;

	memset(op, 0, sizeof(*op));
	if (FIELD_GET(AV_SYS_OP0, sys) != 1 || FIELD_GET(AV_SYS_OP1, sys) != 0 ||
	    FIELD_GET(AV_SYS_CRN, sys) != 8)
		return false;
	if (form == NONE || forms[crm].needs & ~features)
		return false;
	if (!(form == PAGE ? ops[op2].page : ops[op2].range))
		return false;
	op->scope = ops[op2].scope;
	op->leaf = ops[op2].leaf;
	op->asid = FIELD_GET(AV_TLBI_XT_ASID, xt) & (asid16 ? 0xffff : 0xff);
	if (op->scope == AV_TLBI_ALL || op->scope == AV_TLBI_ASID)
		return true;
	if (form == PAGE)
		decode_page(xt, op);
	else
		decode_range(xt, op);
	op->high = op->start & BIT_ULL(55);
	return true;
}
