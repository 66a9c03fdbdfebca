// SPDX-License-Identifier: GPL-2.0
/* TLBI: every encoding of op1, CRm and op2, and the addresses and ASIDs that operands name. */
#include "check.h"
#include "mmu/shadow/tlbi.h"

#define ALL_FEATURES	(AV_TLBI_HAS_RANGE | AV_TLBI_HAS_OUTER)

static struct av_tlbi op;

static bool decode(u32 crm, u32 op2, u64 xt)
{
	return av_tlbi_decode(AV_SYS(1, 0, 8, crm, op2), xt, true, ALL_FEATURES, &op);
}

/* The architecture's list, from its instruction index. */
static const struct {
	u8 crm, op2, scope;
	bool range;
	unsigned int needs;
} known[] = {
	{ 1, 0, AV_TLBI_ALL, false, AV_TLBI_HAS_OUTER },	/* VMALLE1OS */
	{ 1, 1, AV_TLBI_VA, false, AV_TLBI_HAS_OUTER },		/* VAE1OS */
	{ 1, 2, AV_TLBI_ASID, false, AV_TLBI_HAS_OUTER },	/* ASIDE1OS */
	{ 1, 3, AV_TLBI_VAA, false, AV_TLBI_HAS_OUTER },	/* VAAE1OS */
	{ 1, 5, AV_TLBI_VA, false, AV_TLBI_HAS_OUTER },		/* VALE1OS */
	{ 1, 7, AV_TLBI_VAA, false, AV_TLBI_HAS_OUTER },	/* VAALE1OS */
	{ 2, 1, AV_TLBI_VA, true, AV_TLBI_HAS_RANGE },		/* RVAE1IS */
	{ 2, 3, AV_TLBI_VAA, true, AV_TLBI_HAS_RANGE },		/* RVAAE1IS */
	{ 2, 5, AV_TLBI_VA, true, AV_TLBI_HAS_RANGE },		/* RVALE1IS */
	{ 2, 7, AV_TLBI_VAA, true, AV_TLBI_HAS_RANGE },		/* RVAALE1IS */
	{ 3, 0, AV_TLBI_ALL, false, 0 },			/* VMALLE1IS */
	{ 3, 1, AV_TLBI_VA, false, 0 },				/* VAE1IS */
	{ 3, 2, AV_TLBI_ASID, false, 0 },			/* ASIDE1IS */
	{ 3, 3, AV_TLBI_VAA, false, 0 },			/* VAAE1IS */
	{ 3, 5, AV_TLBI_VA, false, 0 },				/* VALE1IS */
	{ 3, 7, AV_TLBI_VAA, false, 0 },			/* VAALE1IS */
	{ 5, 1, AV_TLBI_VA, true, ALL_FEATURES },		/* RVAE1OS */
	{ 5, 3, AV_TLBI_VAA, true, ALL_FEATURES },		/* RVAAE1OS */
	{ 5, 5, AV_TLBI_VA, true, ALL_FEATURES },		/* RVALE1OS */
	{ 5, 7, AV_TLBI_VAA, true, ALL_FEATURES },		/* RVAALE1OS */
	{ 6, 1, AV_TLBI_VA, true, AV_TLBI_HAS_RANGE },		/* RVAE1 */
	{ 6, 3, AV_TLBI_VAA, true, AV_TLBI_HAS_RANGE },		/* RVAAE1 */
	{ 6, 5, AV_TLBI_VA, true, AV_TLBI_HAS_RANGE },		/* RVALE1 */
	{ 6, 7, AV_TLBI_VAA, true, AV_TLBI_HAS_RANGE },		/* RVAALE1 */
	{ 7, 0, AV_TLBI_ALL, false, 0 },			/* VMALLE1 */
	{ 7, 1, AV_TLBI_VA, false, 0 },				/* VAE1 */
	{ 7, 2, AV_TLBI_ASID, false, 0 },			/* ASIDE1 */
	{ 7, 3, AV_TLBI_VAA, false, 0 },			/* VAAE1 */
	{ 7, 5, AV_TLBI_VA, false, 0 },				/* VALE1 */
	{ 7, 7, AV_TLBI_VAA, false, 0 },			/* VAALE1 */
};

static void test_encodings(void)
{
	u32 crm, op2, features;
	unsigned int i;

	for (features = 0; features <= ALL_FEATURES; features++)
		for (crm = 0; crm < 16; crm++)
			for (op2 = 0; op2 < 8; op2++) {
				bool want = false;

				for (i = 0; i < ARRAY_SIZE(known); i++)
					want |= known[i].crm == crm && known[i].op2 == op2 &&
						!(known[i].needs & ~features);
				CHECK_EQ(av_tlbi_decode(AV_SYS(1, 0, 8, crm, op2), 0, true,
							features, &op), want);
				/* EL2's, EL3's, other instructions. */
				CHECK(!av_tlbi_decode(AV_SYS(1, 4, 8, crm, op2), 0, true,
						      features, &op));
				CHECK(!av_tlbi_decode(AV_SYS(1, 6, 8, crm, op2), 0, true,
						      features, &op));
				CHECK(!av_tlbi_decode(AV_SYS(1, 0, 7, crm, op2), 0, true,
						      features, &op));
				CHECK(!av_tlbi_decode(AV_SYS(3, 0, 8, crm, op2), 0, true,
						      features, &op));
			}
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		CHECK(decode(known[i].crm, known[i].op2, 0));
		CHECK_EQ(op.scope, known[i].scope);
		/* Those with an L in their name. */
		CHECK_EQ(op.leaf, known[i].op2 == 5 || known[i].op2 == 7);
	}
}

/* What names one page is known by its encoding, and decoded to the same. */
static void check_page(u32 sys, u64 xt, bool asid16)
{
	struct av_tlbi_page page = av_tlbi_page(sys, xt, asid16);

	CHECK(av_tlbi_decode(sys, xt, asid16, ALL_FEATURES, &op));
	CHECK_EQ(page.va, op.start);
	CHECK_EQ(op.last - op.start, 0xfff);
	CHECK_EQ(page.va >> 55 & 1, op.high);
	CHECK_EQ(page.asid, op.asid);
	CHECK_EQ(page.any_asid ? AV_TLBI_VAA : AV_TLBI_VA, op.scope);
	CHECK_EQ(page.leaf, op.leaf);
}

static void test_one_page(void)
{
	static const u64 xt[] = {
		0, 0x400, 0x1234ULL << 48 | 0xff800010203ULL, ~0ULL, 0xfULL << 44 | 0x400,
	};
	unsigned int i;
	u32 sys;

	for (sys = 0; sys < 1U << 16; sys++) {
		bool one = av_tlbi_decode(sys, 0, true, ALL_FEATURES, &op) &&
			   (op.scope == AV_TLBI_VA || op.scope == AV_TLBI_VAA) &&
			   op.last - op.start == 0xfff;

		CHECK_EQ(av_tlbi_is_page(sys), one);
		for (i = 0; one && i < ARRAY_SIZE(xt); i++) {
			check_page(sys, xt[i], true);
			check_page(sys, xt[i], false);
		}
	}
}

static void test_pages(void)
{
	CHECK(decode(3, 1, 0x1234ULL << 48 | 0xff800010203ULL));
	CHECK_EQ(op.start, 0xffff800010203000);
	CHECK_EQ(op.last, 0xffff800010203fff);
	CHECK(op.high);
	CHECK(decode(3, 1, 0x1234ULL << 48 | 0x400));
	CHECK_EQ(op.asid, 0x1234);
	CHECK_EQ(op.start, 0x400000);
	CHECK(!op.high);
	/* The level hint is no part of the address. */
	CHECK(decode(3, 1, 0xfULL << 44 | 0x400));
	CHECK_EQ(op.start, 0x400000);
	CHECK(av_tlbi_decode(AV_SYS(1, 0, 8, 7, 2), 0x1234ULL << 48, false, 0, &op));
	CHECK_EQ(op.asid, 0x34);
}

static u64 range(u64 tg, u64 scale, u64 num, u64 base)
{
	return 7ULL << 48 | tg << 46 | scale << 44 | num << 39 | (base & GENMASK_ULL(36, 0));
}

static void test_ranges(void)
{
	static const u8 shift[] = { 0, 12, 14, 16 };
	u64 tg, scale, num;

	for (tg = 1; tg < 4; tg++)
		for (scale = 0; scale < 4; scale++)
			for (num = 0; num < 32; num += 31) {
				u64 bytes = (num + 1) << (5 * scale + 1) << shift[tg];

				CHECK(decode(2, 1, range(tg, scale, num, 0x400)));
				CHECK_EQ(op.start, 0x400ULL << shift[tg]);
				CHECK_EQ(op.last - op.start + 1, bytes);
				CHECK_EQ(op.asid, 7);
				CHECK(!op.high);
			}
	/* The upper half, by the sign of BaseADDR; the end stays in it. */
	CHECK(decode(2, 3, range(1, 0, 0, ~0ULL - 0xff)));
	CHECK_EQ(op.start, 0xfffffffffff00000);
	CHECK_EQ(op.last, 0xfffffffffff01fff);
	CHECK(op.high);
	CHECK(decode(2, 3, range(1, 3, 31, ~0ULL)));
	CHECK_EQ(op.start, ~0xfffULL);
	CHECK_EQ(op.last, ~0ULL);
	/* A reserved granule: the whole half. */
	CHECK(decode(2, 3, range(0, 0, 0, 0x400)));
	CHECK_EQ(op.start, 0);
	CHECK_EQ(op.last, GENMASK_ULL(54, 0));
	CHECK(decode(2, 3, range(0, 0, 0, ~0ULL)));
	CHECK_EQ(op.start, ~GENMASK_ULL(54, 0));
	CHECK_EQ(op.last, ~0ULL);
}

int main(void)
{
	RUN(test_encodings);
	RUN(test_one_page);
	RUN(test_pages);
	RUN(test_ranges);
	return TESTS_DONE();
}
