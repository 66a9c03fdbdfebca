// SPDX-License-Identifier: GPL-2.0
/* The guest's breakpoints and watchpoints that the hardware gets: cpu/hwdebug.c. */
#include "check.h"
#include "cpu/hwdebug.h"

#define MDSCR_SS	BIT_ULL(0)
#define MDSCR_KDE	BIT_ULL(13)
#define MDSCR_MDE	BIT_ULL(15)
#define BAS_ALL		(0xfULL << 5)
#define BT(n)		((u64)(n) << 20)
#define LBN(n)		((u64)(n) << 16)
#define SSC(n)		((u64)(n) << 14)
#define ADDRESS		0xffff800080123458ULL
#define CONTEXT		0x1234

/* Six, the last two of which are context-aware; the hardware runs under another context. */
static const struct av_hwdebug hw = {
	.breakpoints = 6, .watchpoints = 4, .context_aware = 2, .contextidr = 0x77,
};

static struct av_srf *reset(u64 mode, u64 mdscr)
{
	static struct av_srf srf;

	memset(&srf, 0, sizeof(srf));
	av_srf_set_vpstate(&srf, mode);
	srf.sys[AV_MDSCR_EL1] = mdscr;
	srf.sys[AV_CONTEXTIDR_EL1] = CONTEXT;
	return &srf;
}

static struct av_hwdebug_pair breakpoint(u64 mode, unsigned int n, u64 control)
{
	struct av_srf *srf = reset(mode, MDSCR_MDE | MDSCR_KDE);

	srf->sys[AV_DBGBVR0_EL1 + n] = ADDRESS;
	srf->sys[AV_DBGBCR0_EL1 + n] = control;
	return av_srf_breakpoint(srf, &hw, n);
}

static void test_when_anything_matches(void)
{
	CHECK(!av_srf_matching(reset(AV_PSR_EL0T, 0)));
	CHECK(!av_srf_matching(reset(AV_PSR_EL0T, MDSCR_SS | MDSCR_KDE)));
	CHECK(av_srf_matching(reset(AV_PSR_EL0T, MDSCR_MDE)));
	CHECK(av_srf_matching(reset(AV_PSR_EL0T | AV_PSR_D, MDSCR_MDE)));
	CHECK(!av_srf_matching(reset(AV_PSR_EL1H, MDSCR_MDE)));
	CHECK(av_srf_matching(reset(AV_PSR_EL1H, MDSCR_MDE | MDSCR_KDE)));
	CHECK(!av_srf_matching(reset(AV_PSR_EL1H | AV_PSR_D, MDSCR_MDE | MDSCR_KDE)));
}

/* What other masks would let act counts as debugging, but nothing does behind the lock. */
static void test_debugging(void)
{
	struct av_srf *srf = reset(AV_PSR_EL1H | AV_PSR_D, MDSCR_SS);

	CHECK(av_srf_debugging(srf));
	srf->sys[AV_OSLSR_EL1] = BIT_ULL(1);
	CHECK(!av_srf_debugging(srf));
	CHECK(!av_srf_debugging(reset(AV_PSR_EL1H, MDSCR_KDE)));
	srf = reset(AV_PSR_EL0T, MDSCR_MDE);
	srf->sys[AV_OSLSR_EL1] = BIT_ULL(1);
	CHECK(!av_srf_matching(srf));
}

static void test_level_becomes_el0(void)
{
	static const struct { u64 mode, control; bool on; } rows[] = {
		{ AV_PSR_EL0T, AV_DBG_E | AV_DBG_EL0, true },
		{ AV_PSR_EL0T, AV_DBG_E | AV_DBG_EL1, false },
		{ AV_PSR_EL1H, AV_DBG_E | AV_DBG_EL1, true },
		{ AV_PSR_EL1T, AV_DBG_E | AV_DBG_EL1, true },
		{ AV_PSR_EL1H, AV_DBG_E | AV_DBG_EL0, false },
		{ AV_PSR_EL1H, AV_DBG_E | AV_DBG_PMC, true },
		{ AV_PSR_EL0T, AV_DBG_E | AV_DBG_PMC | AV_DBG_HMC, true },
		{ AV_PSR_EL0T, AV_DBG_E, false },
		{ AV_PSR_EL0T, AV_DBG_PMC, false },
		{ AV_PSR_EL0T, AV_DBG_E | AV_DBG_EL0 | SSC(1), true },
		{ AV_PSR_EL0T, AV_DBG_E | AV_DBG_EL0 | SSC(2), false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct av_hwdebug_pair p = breakpoint(rows[i].mode, 1, rows[i].control | BAS_ALL);

		CHECK_EQ(p.control, rows[i].on ? AV_DBG_E | AV_DBG_EL0 | BAS_ALL : 0);
		CHECK_EQ(p.value, rows[i].on ? ADDRESS : 0);
	}
}

/* Nothing that matches at EL1 or above ever reaches the hardware. */
static void test_every_control_is_el0s(void)
{
	u64 control;

	for (control = 0; control < BIT_ULL(24); control++) {
		struct av_srf *srf = control & 1 ? reset(AV_PSR_EL1H, MDSCR_MDE | MDSCR_KDE) :
						   reset(AV_PSR_EL0T, MDSCR_MDE);
		struct av_hwdebug_pair p;
		const u64 never = AV_DBG_EL1 | AV_DBG_HMC | AV_DBG_SSC | AV_DBG_LBN;

		srf->sys[AV_DBGBCR0_EL1 + 5] = control | AV_DBG_E;
		p = av_srf_breakpoint(srf, &hw, 5);
		if (p.control & never || (p.control && !(p.control & AV_DBG_EL0)))
			break;
		srf->sys[AV_DBGWCR0_EL1 + 3] = control | AV_DBG_E;
		p = av_srf_watchpoint(srf, &hw, 3);
		if (p.control & (never | AV_DBGW_WT) || (p.control && !(p.control & AV_DBG_EL0)))
			break;
	}
	CHECK_EQ(control, BIT_ULL(24));
}

static void test_context(void)
{
	struct av_srf *srf = reset(AV_PSR_EL0T, MDSCR_MDE);
	u64 user = AV_DBG_E | AV_DBG_EL0 | BAS_ALL;

	/* Alone: every instruction of one context. */
	srf->sys[AV_DBGBVR0_EL1 + 4] = CONTEXT;
	srf->sys[AV_DBGBCR0_EL1 + 4] = user | BT(2);
	CHECK_EQ(av_srf_breakpoint(srf, &hw, 4).control, user | BT(2));
	CHECK_EQ(av_srf_breakpoint(srf, &hw, 4).value, hw.contextidr);
	srf->sys[AV_CONTEXTIDR_EL1]++;
	CHECK_EQ(av_srf_breakpoint(srf, &hw, 4).control, 0);
	srf->sys[AV_CONTEXTIDR_EL1]--;

	/* Linked: an address in one context. */
	srf->sys[AV_DBGBCR0_EL1 + 4] = user | BT(3);
	CHECK_EQ(av_srf_breakpoint(srf, &hw, 4).control, 0);
	srf->sys[AV_DBGBCR0_EL1] = user | BT(1) | LBN(4);
	srf->sys[AV_DBGBVR0_EL1] = ADDRESS;
	CHECK_EQ(av_srf_breakpoint(srf, &hw, 0).control, user);
	srf->sys[AV_DBGWCR0_EL1 + 1] = user | AV_DBGW_WT | AV_DBGW_LSC | LBN(4);
	CHECK_EQ(av_srf_watchpoint(srf, &hw, 1).control, user | AV_DBGW_LSC);
	/* Both need the other one to be enabled. */
	srf->sys[AV_DBGBCR0_EL1 + 4] &= ~AV_DBG_E;
	CHECK_EQ(av_srf_breakpoint(srf, &hw, 0).control, 0);
	CHECK_EQ(av_srf_watchpoint(srf, &hw, 1).control, 0);
	srf->sys[AV_DBGBCR0_EL1 + 4] |= AV_DBG_E;
	srf->sys[AV_CONTEXTIDR_EL1]++;
	CHECK_EQ(av_srf_breakpoint(srf, &hw, 0).control, 0);
	CHECK_EQ(av_srf_watchpoint(srf, &hw, 1).control, 0);

	/* To one that knows no context, or is not there. */
	srf->sys[AV_DBGBCR0_EL1] = user | BT(1) | LBN(3);
	srf->sys[AV_DBGBCR0_EL1 + 3] = user | BT(3);
	srf->sys[AV_DBGBVR0_EL1 + 3] = CONTEXT + 1;
	CHECK_EQ(av_srf_breakpoint(srf, &hw, 0).control, 0);
	srf->sys[AV_DBGBCR0_EL1] = user | BT(1) | LBN(15);
	CHECK_EQ(av_srf_breakpoint(srf, &hw, 0).control, 0);
	/* Kinds that want another level or another state. */
	CHECK_EQ(breakpoint(AV_PSR_EL0T, 5, user | BT(4)).control, 0);
	CHECK_EQ(breakpoint(AV_PSR_EL0T, 5, user | BT(8)).control, 0);
}

static void test_written(void)
{
	CHECK_EQ(av_dbgbcr_written(~0ULL), 0xffe1e7);
	CHECK_EQ(av_dbgbcr_written(0x144), 0x4);
	CHECK_EQ(av_dbgbcr_written(0xa2), 0x1e2);
	CHECK_EQ(av_dbgwcr_written(~0ULL), 0x1f1fffff);
}

/* A VMM's own: the guest's masks and the context do not matter. */
static void test_vmms(void)
{
	struct av_srf *srf = reset(AV_PSR_EL1H | AV_PSR_DAIF, 0);
	u64 both = AV_DBG_E | AV_DBG_PMC | BAS_ALL, loads = AV_DBG_E | AV_DBG_EL1 | BIT_ULL(3);
	struct av_hwdebug_pair p = av_vmm_breakpoint(srf, ADDRESS, both);

	CHECK_EQ(p.value, ADDRESS);
	CHECK_EQ(p.control, AV_DBG_E | AV_DBG_EL0 | BAS_ALL);
	CHECK_EQ(av_vmm_breakpoint(srf, ADDRESS, both & ~AV_DBG_E).control, 0);
	CHECK_EQ(av_vmm_breakpoint(srf, ADDRESS, both & ~AV_DBG_EL1).control, 0);
	CHECK_EQ(av_vmm_breakpoint(srf, ADDRESS, both | BT(1)).control, 0);
	CHECK_EQ(av_vmm_breakpoint(srf, ADDRESS, both | BT(2)).control, 0);
	CHECK_EQ(av_vmm_breakpoint(srf, ADDRESS, both | SSC(2)).control, 0);
	CHECK_EQ(av_vmm_breakpoint(srf, ADDRESS, ~0ULL).control, 0);
	p = av_vmm_watchpoint(srf, ADDRESS, loads | 0xff << 5);
	CHECK_EQ(p.value, ADDRESS);
	CHECK_EQ(p.control, AV_DBG_E | AV_DBG_EL0 | BIT_ULL(3) | 0xff << 5);
	CHECK_EQ(av_vmm_watchpoint(srf, ADDRESS, loads | AV_DBGW_WT).control, 0);
	CHECK_EQ(av_vmm_watchpoint(reset(AV_PSR_EL0T, 0), ADDRESS, loads).control, 0);
}

int main(void)
{
	RUN(test_when_anything_matches);
	RUN(test_debugging);
	RUN(test_level_becomes_el0);
	RUN(test_every_control_is_el0s);
	RUN(test_context);
	RUN(test_written);
	RUN(test_vmms);
	return TESTS_DONE();
}
