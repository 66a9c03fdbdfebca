// SPDX-License-Identifier: GPL-2.0
/*
 * A64 loads and stores as data (pure; rules in decode.h).
 *
 * Each row of the table is one encoding group of the architecture's "Loads and
 * Stores" page: the bits that select it and the function that reads its fields.
 * Rows do not overlap (tests/test_decode.c proves it for every combination of
 * the selecting bits), so their order does not matter: those that drivers use
 * for devices come first, to be found first.
 */
#include "mmio/decode.h"

/* The architecture's top level: op0 is x1x0. */
#define LOADS_AND_STORES	(BIT(27) | BIT(25))
#define LOADS_AND_STORES_VALUE	BIT(27)

#define RT		GENMASK(4, 0)
#define RN		GENMASK(9, 5)
#define RT2		GENMASK(14, 10)
#define RS		GENMASK(20, 16)
#define IMM7		GENMASK(21, 15)
#define IMM9		GENMASK(20, 12)
#define IMM12		GENMASK(21, 10)
#define IMM19		GENMASK(23, 5)
#define OPC		GENMASK(23, 22)		/* of single registers */
#define SIZE		GENMASK(31, 30)
#define V		BIT(26)			/* FP and SIMD registers */

static u32 field(u64 mask, u32 insn)
{
	return (u32)FIELD_GET(mask, (u64)insn);
}

static s32 simm(u32 value, int bits)
{
	return (s32)sign_extend64(value, bits - 1);
}

/*
 * opc and size of a single-register transfer: store, load, and loads that
 * sign-extend to 64 and 32 bits. Size 3 with opc 2 is the prefetch where the
 * group has one.
 */
static void single(u32 insn, struct av_ldst *out, bool has_prefetch)
{
	u32 size = field(SIZE, insn), opc = field(OPC, insn);

	if (opc == 2 && size == 3) {
		out->kind = has_prefetch ? AV_LDST_PREFETCH : AV_LDST_NONE;
		return;
	}
	if (opc == 3 && size >= 2)
		return;
	out->kind = AV_LDST_SINGLE;
	out->size = size;
	out->write = opc == 0;
	out->sign = opc >= 2;
	out->wide = opc == 2 || (opc < 2 && size == 3);
}

static void dec_unsigned(u32 insn, struct av_ldst *out)
{
	single(insn, out, true);
	out->mode = AV_LDST_OFFSET;
	out->offset = field(IMM12, insn) << out->size;
}

static void dec_unscaled(u32 insn, struct av_ldst *out)
{
	single(insn, out, true);
	out->mode = AV_LDST_OFFSET;
	out->offset = simm(field(IMM9, insn), 9);
}

static void dec_unpriv(u32 insn, struct av_ldst *out)
{
	single(insn, out, false);
	out->mode = AV_LDST_OFFSET;
	out->offset = simm(field(IMM9, insn), 9);
}

static void dec_post(u32 insn, struct av_ldst *out)
{
	dec_unpriv(insn, out);
	out->mode = AV_LDST_POST;
}

static void dec_pre(u32 insn, struct av_ldst *out)
{
	dec_unpriv(insn, out);
	out->mode = AV_LDST_PRE;
}

static void dec_reg(u32 insn, struct av_ldst *out)
{
	out->extend = field(GENMASK(15, 13), insn);
	if (!(out->extend & 2))		/* option of byte and halfword extends */
		return;
	single(insn, out, true);
	out->mode = AV_LDST_REG;
	out->rm = field(RS, insn);
	out->shift = insn & BIT(12) ? out->size : 0;
}

static void dec_literal(u32 insn, struct av_ldst *out)
{
	u32 opc = field(SIZE, insn);

	if (opc == 3) {
		out->kind = AV_LDST_PREFETCH;
		return;
	}
	out->kind = AV_LDST_SINGLE;
	out->mode = AV_LDST_LITERAL;
	out->size = opc == 1 ? 3 : 2;
	out->sign = opc == 2;
	out->wide = opc != 0;
	out->offset = simm(field(IMM19, insn), 19) * 4;
}

static void dec_pair(u32 insn, struct av_ldst *out)
{
	static const u8 modes[4] = {
		AV_LDST_OFFSET, AV_LDST_POST, AV_LDST_OFFSET, AV_LDST_PRE,
	};
	u32 opc = field(SIZE, insn), type = field(GENMASK(24, 23), insn);
	bool load = insn & BIT(22);

	if (opc == 3 || (opc == 1 && type == 0))
		return;
	if (opc == 1 && !load) {
		out->kind = AV_LDST_TAG;	/* STGP */
		return;
	}
	out->kind = AV_LDST_PAIR;
	out->mode = modes[type];
	out->write = !load;
	out->size = opc == 2 ? 3 : 2;
	out->sign = opc == 1;
	out->wide = opc != 0;
	out->rt2 = field(RT2, insn);
	out->offset = simm(field(IMM7, insn), 7) * (1 << out->size);
}

/* LDAPUR and STLUR: like the unscaled forms, but ordered and without prefetch. */
static void dec_rcpc(u32 insn, struct av_ldst *out)
{
	dec_unpriv(insn, out);
	out->ordered = out->kind == AV_LDST_SINGLE;
}

/* Load-acquire and store-release, with the exclusives' fields unused. */
static void dec_ordered(u32 insn, struct av_ldst *out)
{
	out->kind = AV_LDST_SINGLE;
	out->mode = AV_LDST_OFFSET;
	out->ordered = true;
	out->write = !(insn & BIT(22));
	out->size = field(SIZE, insn);
	out->wide = out->size == 3;
}

static void dec_exclusive(u32 insn, struct av_ldst *out)
{
	out->kind = AV_LDST_EXCLUSIVE;
	out->write = !(insn & BIT(22));
}

/* STXP and LDXP if bit 31 of the size is set, else CASP. */
static void dec_exclusive_pair(u32 insn, struct av_ldst *out)
{
	if (insn & BIT(31))
		dec_exclusive(insn, out);
	else if (field(RT2, insn) == 31 && !(insn & BIT(16)) && !(insn & BIT(0)))
		out->kind = AV_LDST_ATOMIC;
}

static void dec_cas(u32 insn, struct av_ldst *out)
{
	if (field(RT2, insn) == 31)
		out->kind = AV_LDST_ATOMIC;
}

/* LSE's read-modify-write, LDAPR, and the 64-byte accesses. */
static void dec_atomic(u32 insn, struct av_ldst *out)
{
	u32 op = field(GENMASK(15, 12), insn);	/* o3:opc */
	u32 order = field(OPC, insn);		/* A:R */
	u32 size = field(SIZE, insn);

	if (op <= 8) {			/* the eight operations and SWP */
		out->kind = AV_LDST_ATOMIC;
	} else if (op == 12 && order == 2) {
		dec_ordered(insn, out);	/* LDAPR: bit 22 is not L */
		out->write = false;
	} else if (size == 3 && order == 0 && op >= 9 && op != 12 && op <= 13) {
		out->kind = AV_LDST_ATOMIC;	/* ST64B, LD64B, ST64BV(0) */
	}
}

static void dec_pauth(u32 insn, struct av_ldst *out)
{
	if (field(SIZE, insn) == 3)
		out->kind = AV_LDST_PAUTH;
}

/*
 * FP and SIMD, coarsely: an unallocated encoding raises UNDEF before any abort,
 * so an instruction that aborted is allocated.
 */
static void dec_simd(u32 insn, struct av_ldst *out)
{
	(void)insn;
	out->kind = AV_LDST_SIMD;
}

static void dec_tag(u32 insn, struct av_ldst *out)
{
	(void)insn;
	out->kind = AV_LDST_TAG;
}

static void dec_copy(u32 insn, struct av_ldst *out)
{
	(void)insn;
	out->kind = AV_LDST_COPY;
}

/*
 * SYS #3, C7: cache maintenance by address that EL0 may use. EL1's IVAC and ISW
 * trap as unknown instructions and do not get here.
 */
static void dec_sys(u32 insn, struct av_ldst *out)
{
	u32 crm = field(GENMASK(11, 8), insn), op2 = field(GENMASK(7, 5), insn);

	if (crm == 4 && op2 == 1)
		out->kind = AV_LDST_ZVA;
	else if (crm == 4 && (op2 == 3 || op2 == 4))
		out->kind = AV_LDST_TAG;	/* DC GVA, GZVA */
	else if (crm == 5 && op2 == 1)
		out->kind = AV_LDST_CACHE;	/* IC IVAU */
	else if (op2 == 1 && crm >= 10 && crm <= 14)
		out->kind = AV_LDST_CACHE;	/* DC CVAC, CVAU, CVAP, CVADP, CIVAC */
}

struct row {
	u32 mask, value;
	void (*decode)(u32 insn, struct av_ldst *out);
};

static const struct row rows[] = {
	/* one register: size 111 V 0x opc … */
	{ 0x3f000000, 0x39000000, dec_unsigned },
	{ 0x3f200c00, 0x38000000, dec_unscaled },
	{ 0x3f200c00, 0x38000400, dec_post },
	{ 0x3f200c00, 0x38000800, dec_unpriv },
	{ 0x3f200c00, 0x38000c00, dec_pre },
	{ 0x3f200c00, 0x38200000, dec_atomic },
	{ 0x3f200c00, 0x38200800, dec_reg },
	{ 0x3f200400, 0x38200400, dec_pauth },
	{ 0x3e000000, 0x3c000000, dec_simd },
	/* exclusives, ordered, compare-and-swap: size 001000 o2 L o1 … */
	{ 0x3fa00000, 0x08000000, dec_exclusive },
	{ 0x3fa00000, 0x08200000, dec_exclusive_pair },
	{ 0x3fa00000, 0x08800000, dec_ordered },
	{ 0x3fa00000, 0x08a00000, dec_cas },
	/* PC-relative: opc 011 V 00 imm19 Rt */
	{ 0x3f000000, 0x18000000, dec_literal },
	{ 0x3f000000, 0x1c000000, dec_simd },
	/* 011001: RCPC with an immediate, tags, memory copy */
	{ 0x3f200c00, 0x19000000, dec_rcpc },
	{ 0x3f200c00, 0x1d000800, dec_simd },
	{ 0xff200000, 0xd9200000, dec_tag },
	{ 0xff200c00, 0x19000400, dec_copy },
	{ 0xff200c00, 0x1d000400, dec_copy },
	/* pairs: opc 101 V 0 type L imm7 Rt2 Rn Rt */
	{ 0x3e000000, 0x28000000, dec_pair },
	{ 0x3e000000, 0x2c000000, dec_simd },
	/* SIMD structures: 0 Q 00110x */
	{ 0xbe000000, 0x0c000000, dec_simd },
	/* SYS #3, C7, Cm, #op2, Xt */
	{ 0xfffff000, 0xd50b7000, dec_sys },
};

enum av_ldst_kind av_insn_decode(u32 insn, struct av_ldst *out)
{
	unsigned int i;

	memset(out, 0, sizeof(*out));
	out->rt = field(RT, insn);
	out->rn = field(RN, insn);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if ((insn & rows[i].mask) == rows[i].value) {
			rows[i].decode(insn, out);
			break;
		}
	}
	/* Unallocated when this was written: a later architecture may define it. */
	if (out->kind == AV_LDST_NONE && (insn & LOADS_AND_STORES) == LOADS_AND_STORES_VALUE)
		out->kind = AV_LDST_UNKNOWN;
	return out->kind;
}

const char *av_ldst_name(const struct av_ldst *ls)
{
	static const char * const names[AV_LDST_NR_KINDS] = {
		[AV_LDST_NONE] = "an instruction that is no load or store",
		[AV_LDST_SINGLE] = "a load or store",
		[AV_LDST_PAIR] = "a load or store of a pair",
		[AV_LDST_EXCLUSIVE] = "an exclusive load or store",
		[AV_LDST_ATOMIC] = "an atomic operation",
		[AV_LDST_SIMD] = "a SIMD load or store",
		[AV_LDST_PAUTH] = "an authenticated load",
		[AV_LDST_TAG] = "an access to memory tags",
		[AV_LDST_COPY] = "a memory copy instruction",
		[AV_LDST_ZVA] = "DC ZVA",
		[AV_LDST_UNKNOWN] = "a load or store that the module does not know",
		[AV_LDST_PREFETCH] = "a prefetch",
		[AV_LDST_CACHE] = "cache maintenance",
	};

	if (ls->kind == AV_LDST_SINGLE && av_ldst_writes_back(ls))
		return "a load or store with write-back";
	return ls->kind < AV_LDST_NR_KINDS ? names[ls->kind] : names[0];
}

/* The index register of AV_LDST_REG: option 2 UXTW, 3 LSL, 6 SXTW, 7 SXTX. */
static u64 index_of(const struct av_ldst *ls, const u64 *x)
{
	u64 v = ls->rm == 31 ? 0 : x[ls->rm];

	if (ls->extend == 2)
		v = (u32)v;
	else if (ls->extend == 6)
		v = (u64)sign_extend64(v, 31);
	return v << ls->shift;
}

u64 av_ldst_address(const struct av_ldst *ls, const u64 *x, u64 sp, u64 pc)
{
	u64 base = ls->rn == AV_LDST_SP ? sp : x[ls->rn];

	switch (ls->mode) {
	case AV_LDST_LITERAL:
		return pc + (s64)ls->offset;
	case AV_LDST_REG:
		return base + index_of(ls, x);
	case AV_LDST_POST:
		return base;
	default:
		return base + (s64)ls->offset;
	}
}

u64 av_ldst_extend(const struct av_ldst *ls, u64 raw)
{
	unsigned int bits = 8U << ls->size;

	if (ls->sign)
		raw = (u64)sign_extend64(raw, bits - 1);
	else if (bits < 64)
		raw &= GENMASK_ULL(bits - 1, 0);
	return ls->wide ? raw : (u32)raw;
}
