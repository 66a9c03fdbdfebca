// SPDX-License-Identifier: GPL-2.0
/* The CPU features that the guest sees: cpu/idregs.c. */
#include "check.h"
#include "cpu/idregs.h"

#define FIELD(val, lsb)	(((val) >> (lsb)) & 15)

/* Whatever the host has, these are never shown. */
static void test_hidden(void)
{
	static const struct { unsigned int reg, lsb; const char *name; } hidden[] = {
		{ AV_ID_PFR0, 8, "EL2" }, { AV_ID_PFR0, 12, "EL3" }, { AV_ID_PFR0, 28, "RAS" },
		{ AV_ID_PFR0, 32, "SVE" }, { AV_ID_PFR0, 44, "AMU" },
		{ AV_ID_PFR1, 0, "BT" }, { AV_ID_PFR1, 8, "MTE" }, { AV_ID_PFR1, 24, "SME" },
		{ AV_ID_ISAR1, 4, "APA" }, { AV_ID_ISAR1, 8, "API" }, { AV_ID_ISAR1, 24, "GPA" },
		{ AV_ID_ISAR1, 28, "GPI" },
		{ AV_IDREG(7, 1), 0, "HAFDBS" }, { AV_IDREG(7, 1), 8, "VH" },
		{ AV_IDREG(7, 1), 20, "PAN" },
		{ AV_ID_MMFR2, 0, "CnP" }, { AV_ID_MMFR2, 4, "UAO" }, { AV_ID_MMFR0, 8, "BigEnd" },
		{ AV_ID_MMFR0, 20, "TGran16" }, { AV_ID_DFR0, 8, "PMUVer" }, { AV_ID_DFR0, 32, "PMSVer" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hidden); i++) {
		CHECK_EQ(FIELD(av_idreg_compose(hidden[i].reg, ~0ULL), hidden[i].lsb), 0);
		CHECK_EQ(FIELD(av_idreg_compose(hidden[i].reg, 0), hidden[i].lsb), 0);
	}
}

static void test_fixed_and_capped(void)
{
	CHECK_EQ(FIELD(av_idreg_compose(AV_ID_PFR0, 0x22222222), 0), 1);	/* EL0: AArch64 only */
	CHECK_EQ(FIELD(av_idreg_compose(AV_ID_PFR0, 0), 60), 0);		/* CSV3, as the host */
	CHECK_EQ(FIELD(av_idreg_compose(AV_ID_PFR0, ~0ULL), 60), 1);
	CHECK_EQ(FIELD(av_idreg_compose(AV_ID_MMFR2, 0), 60), 1);		/* E0PD */
	CHECK_EQ(FIELD(av_idreg_compose(AV_ID_ISAR0, 0), 56), 2);		/* TLBI by range */
	CHECK_EQ(FIELD(av_idreg_compose(AV_ID_MMFR0, 6), 0), 5);		/* 52 bits: 48 */
	CHECK_EQ(FIELD(av_idreg_compose(AV_ID_MMFR0, 4), 0), 4);
	CHECK_EQ(FIELD(av_idreg_compose(AV_ID_MMFR0, 0), 24), 15);		/* TGran64: none */
	CHECK_EQ(FIELD(av_idreg_compose(AV_ID_MMFR0, ~0ULL), 28), 0);		/* TGran4 */
	CHECK_EQ(FIELD(av_idreg_compose(AV_ID_ISAR0, 0x20ULL << 16), 20), 2);	/* LSE, as the host */
	CHECK_EQ(FIELD(av_idreg_compose(AV_ID_PFR0, 0xffULL << 16), 16), 15);	/* no FP, as the host */
}

static void test_narrowing(void)
{
	u64 isar0 = av_idreg_compose(AV_ID_ISAR0, 0x0000100010211120ULL);
	u64 pfr0 = av_idreg_compose(AV_ID_PFR0, 0x11);

	CHECK(av_idreg_may_be(AV_ID_ISAR0, isar0, isar0, false));
	CHECK(av_idreg_may_be(AV_ID_ISAR0, isar0, isar0 & ~(15ULL << 20), false));
	CHECK(av_idreg_may_be(AV_ID_ISAR0, isar0, 0, false));
	CHECK(!av_idreg_may_be(AV_ID_ISAR0, isar0, isar0 + (1ULL << 20), false));
	CHECK(!av_idreg_may_be(AV_ID_ISAR0, isar0, isar0 | 1ULL << 60, false));
	/* The VMM cannot remove FP. */
	CHECK(!av_idreg_may_be(AV_ID_PFR0, pfr0, pfr0 | 0xffULL << 16, false));
	CHECK(av_idreg_may_be(AV_ID_PFR0, pfr0, pfr0 & ~(15ULL << 24), false));
	CHECK(!av_idreg_may_be(AV_ID_PFR0, pfr0, pfr0 + (1ULL << 24), false));
}

/* Fields that count otherwise. */
static void test_odd_fields(void)
{
	u64 mmfr0 = av_idreg_compose(AV_ID_MMFR0, 0), dfr0 = av_idreg_compose(AV_ID_DFR0, 0x305006);

	/* TGran4: 15 is less than 0, and nothing is more. */
	CHECK(av_idreg_may_be(AV_ID_MMFR0, mmfr0, mmfr0 | 15ULL << 28, false));
	CHECK(!av_idreg_may_be(AV_ID_MMFR0, mmfr0, mmfr0 | 1ULL << 28, false));
	CHECK(!av_idreg_may_be(AV_ID_MMFR0, mmfr0, mmfr0 & ~(15ULL << 24), false));
	CHECK(!av_idreg_may_be(AV_ID_MMFR0, mmfr0, mmfr0 & ~(15ULL << 4), false));
	/* SpecSEI. */
	CHECK(av_idreg_may_be(AV_ID_MMFR1, 0, 1ULL << 24, false));
	CHECK(!av_idreg_may_be(AV_ID_MMFR1, 1ULL << 24, 0, false));
	/* DebugVer, breakpoints, watchpoints, DoubleLock. */
	CHECK(!av_idreg_may_be(AV_ID_DFR0, dfr0, dfr0 - 1, false));
	CHECK(av_idreg_may_be(AV_ID_DFR0, dfr0, dfr0 - (1ULL << 20), false));
	CHECK(!av_idreg_may_be(AV_ID_DFR0, dfr0, dfr0 - (1ULL << 12), false));
	CHECK(av_idreg_may_be(AV_ID_DFR0, dfr0, dfr0 | 15ULL << 36, false));
	CHECK(!av_idreg_may_be(AV_ID_DFR0, dfr0, dfr0 | 1ULL << 36, false));
}

/* What only the newest KVM lets a VMM write. */
static void test_newer(void)
{
	u64 mmfr0 = av_idreg_compose(AV_ID_MMFR0, 0), pfr0 = av_idreg_compose(AV_ID_PFR0, 0x11);
	unsigned int n, lsb;

	/* Stage 2 granules: none, or as it is. */
	for (lsb = 32; lsb <= 40; lsb += 4) {
		CHECK(!av_idreg_may_be(AV_ID_MMFR0, mmfr0, mmfr0 | 1ULL << lsb, false));
		CHECK(av_idreg_may_be(AV_ID_MMFR0, mmfr0, mmfr0 | 1ULL << lsb, true));
		CHECK(!av_idreg_may_be(AV_ID_MMFR0, mmfr0, mmfr0 | 2ULL << lsb, true));
		CHECK(av_idreg_may_be(AV_ID_MMFR0, 2ULL << lsb, 2ULL << lsb, true));
	}
	/* TWED, which the guest does not have. */
	CHECK(av_idreg_writable(AV_ID_MMFR1, true) & 15ULL << 32);
	CHECK(!av_idreg_may_be(AV_ID_MMFR1, 0, 1ULL << 32, true));
	CHECK(!av_idreg_lacks_aarch64(AV_ID_PFR0, pfr0));
	CHECK(av_idreg_lacks_aarch64(AV_ID_PFR0, pfr0 & ~15ULL));
	CHECK(av_idreg_lacks_aarch64(AV_ID_PFR0, pfr0 & ~(15ULL << 4)));
	CHECK(!av_idreg_lacks_aarch64(AV_ID_PFR1, 0));
	/* What the guest has can be written, and nothing above. */
	for (n = 0; n < AV_NR_IDREGS; n++) {
		u64 limit = av_idreg_compose(n, 0x1111111111111111ULL);

		CHECK(av_idreg_may_be(n, limit, limit, true));
		for (lsb = 0; lsb < 64; lsb += 4)
			if (!FIELD(limit, lsb) && !(n == AV_ID_MMFR0 && lsb >= 32 && lsb <= 40) &&
			    !(n == AV_ID_MMFR1 && lsb == 24))
				CHECK(!av_idreg_may_be(n, limit, limit | 1ULL << lsb, true));
	}
}

static void test_aarch32(void)
{
	unsigned int n, found = 0;

	for (n = 0; n < AV_NR_IDREGS; n++) {
		if (!av_idreg_is_aarch32(n))
			continue;
		found++;
		CHECK_EQ(av_idreg_compose(n, ~0ULL), 0);
		CHECK_EQ(av_idreg_writable(n, false), 0);
		CHECK_EQ(av_idreg_writable(n, true), 0);
	}
	CHECK_EQ(found, 20);
}

static void test_forgotten(void)
{
	CHECK_EQ(av_idreg_forget(AV_ID_PFR0, 1ULL << 40, 1ULL << 40 | 1), 1);
	CHECK_EQ(av_idreg_forget(AV_ID_PFR0, 0, 1ULL << 40), 1ULL << 40);
	CHECK_EQ(av_idreg_forget(AV_ID_PFR1, 2ULL << 16, 2ULL << 16), 0);
	CHECK_EQ(av_idreg_forget(AV_ID_DFR0, 0, 0xf06), 6);
	CHECK_EQ(av_idreg_forget(AV_ID_DFR0, 0, 0x406), 0x406);
	CHECK_EQ(av_idreg_forget(AV_ID_MMFR2, 2ULL << 24, 2ULL << 24 | 1), 1);
	CHECK_EQ(av_idreg_forget(AV_ID_MMFR2, 0, 2ULL << 24), 2ULL << 24);
	CHECK_EQ(av_idreg_forget(AV_ID_ISAR0, 0, ~0ULL), ~0ULL);
}

static void test_ctr(void)
{
	u64 ctr = 0xb444c004;

	CHECK(av_ctr_may_be(ctr, ctr, false));
	CHECK(av_ctr_may_be(ctr, ctr - 1, false));
	CHECK(!av_ctr_may_be(ctr, ctr + 1, false));
	CHECK(av_ctr_may_be(ctr, ctr & ~AV_CTR_IDC, false));
	CHECK(!av_ctr_may_be(ctr & ~AV_CTR_DIC, ctr | AV_CTR_DIC, false));
	CHECK(!av_ctr_may_be(ctr, ctr ^ BIT_ULL(20), false));
	CHECK(!av_ctr_may_be(ctr, 0, false));
	/* PIPT shown as VIPT, by the newest KVM; nothing else, and not the other way. */
	CHECK(!av_ctr_may_be(ctr, ctr & ~BIT_ULL(14), false));
	CHECK(av_ctr_may_be(ctr, ctr & ~BIT_ULL(14), true));
	CHECK(!av_ctr_may_be(ctr, ctr & ~BIT_ULL(15), true));
	CHECK(!av_ctr_may_be(ctr, ctr & ~AV_CTR_L1IP, true));
	CHECK(!av_ctr_may_be(ctr & ~BIT_ULL(14), ctr, true));
}

static void test_unallocated(void)
{
	unsigned int n, shown = 0;

	for (n = 0; n < AV_NR_IDREGS; n++) {
		if (av_idreg_compose(n, ~0ULL))
			shown++;
		if (!av_idreg_uses_host(n))
			CHECK_EQ(av_idreg_compose(n, ~0ULL), av_idreg_compose(n, 0));
	}
	CHECK_EQ(shown, 7);
}

int main(void)
{
	RUN(test_hidden);
	RUN(test_fixed_and_capped);
	RUN(test_narrowing);
	RUN(test_odd_fields);
	RUN(test_newer);
	RUN(test_aarch32);
	RUN(test_forgotten);
	RUN(test_ctr);
	RUN(test_unallocated);
	return TESTS_DONE();
}
