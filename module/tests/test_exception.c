// SPDX-License-Identifier: GPL-2.0
/* Exception entry and return of the virtual CPU: cpu/exception.c. */
#include "check.h"
#include "cpu/exception.h"

#define VBAR	0xffff800080011800ULL
#define PC	0xffff800080123458ULL
#define SP_USER	0x0000fffff0001230ULL
#define SP_KERN	0xffff800083a0be10ULL

static struct av_srf *reset(u64 mode)
{
	static struct av_srf srf;

	memset(&srf, 0, sizeof(srf));
	av_srf_set_vpstate(&srf, AV_PSR_EL1H);
	srf.sys[AV_VBAR_EL1] = VBAR;
	srf.sys[AV_SP_EL0] = SP_USER;
	srf.sp = SP_KERN;
	av_srf_set_mode(&srf, mode);
	srf.pc = PC;
	return &srf;
}

static void test_entry_picks_the_vector(void)
{
	static const struct { u64 mode; u32 group; } from[] = {
		{ AV_PSR_EL1T, 0x000 }, { AV_PSR_EL1H, 0x200 }, { AV_PSR_EL0T, 0x400 },
	};
	static const u32 vectors[] = {
		AV_VECTOR_SYNC, AV_VECTOR_IRQ, AV_VECTOR_FIQ, AV_VECTOR_SERROR,
	};
	unsigned int i, v;

	for (i = 0; i < ARRAY_SIZE(from); i++)
		for (v = 0; v < ARRAY_SIZE(vectors); v++) {
			struct av_srf *srf = reset(from[i].mode);

			CHECK_EQ(av_srf_take(srf, vectors[v]), from[i].group + vectors[v]);
			CHECK_EQ(srf->pc, VBAR + from[i].group + vectors[v]);
			CHECK_EQ(srf->sys[AV_ELR_EL1], PC);
			CHECK_EQ(srf->sys[AV_SPSR_EL1] & AV_PSR_MODE, from[i].mode);
			CHECK_EQ(av_srf_vpstate(srf), AV_PSR_EL1H | AV_PSR_DAIF);
			CHECK_EQ(srf->sp, SP_KERN);
		}
}

static void test_entry_saves_all_of_pstate(void)
{
	struct av_srf *srf = reset(AV_PSR_EL0T);

	srf->pstate = BIT_ULL(31) | BIT_ULL(29) | AV_PSR_SSBS | AV_PSR_BTYPE | AV_PSR_D | AV_PSR_A;
	srf->vmode |= AV_PSR_SS;
	av_srf_take(srf, AV_VECTOR_IRQ);
	CHECK_EQ(srf->sys[AV_SPSR_EL1],
		 BIT_ULL(31) | BIT_ULL(29) | AV_PSR_SSBS | AV_PSR_BTYPE | AV_PSR_SS);
	/* Flags stay, BTYPE and SSBS do not. */
	CHECK_EQ(srf->pstate & AV_PSR_PHYS, BIT_ULL(31) | BIT_ULL(29));
	CHECK(!(av_srf_vpstate(srf) & AV_PSR_SS));
}

static void test_dssbs(void)
{
	struct av_srf *srf = reset(AV_PSR_EL0T);

	srf->sys[AV_SCTLR_EL1] = BIT_ULL(44);
	av_srf_take(srf, AV_VECTOR_SYNC);
	CHECK(srf->pstate & AV_PSR_SSBS);
}

static void test_syndrome_by_level(void)
{
	static const struct { u32 low, same; } classes[] = {
		{ AV_EC_IABT_LOW, AV_EC_IABT_CUR }, { AV_EC_DABT_LOW, AV_EC_DABT_CUR },
		{ AV_EC_BREAKPT_LOW, AV_EC_BREAKPT_CUR }, { AV_EC_SOFTSTP_LOW, AV_EC_SOFTSTP_CUR },
		{ AV_EC_WATCHPT_LOW, AV_EC_WATCHPT_CUR },
		{ AV_EC_SVC64, AV_EC_SVC64 }, { AV_EC_BRK64, AV_EC_BRK64 },
		{ AV_EC_UNKNOWN, AV_EC_UNKNOWN }, { AV_EC_PC_ALIGN, AV_EC_PC_ALIGN },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(classes); i++) {
		u64 esr = FIELD_PREP(AV_ESR_EC, classes[i].low) | AV_ESR_IL | 0x47;
		struct av_srf *srf = reset(AV_PSR_EL0T);

		av_srf_take_sync(srf, esr);
		CHECK_EQ(srf->sys[AV_ESR_EL1], esr);
		srf = reset(AV_PSR_EL1H);
		av_srf_take_sync(srf, esr);
		CHECK_EQ(av_esr_ec(srf->sys[AV_ESR_EL1]), classes[i].same);
		CHECK_EQ(srf->sys[AV_ESR_EL1] & AV_ESR_ISS, 0x47);
	}
}

static void test_return_undoes_entry(void)
{
	static const u64 modes[] = { AV_PSR_EL0T, AV_PSR_EL1T, AV_PSR_EL1H };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		struct av_srf *srf = reset(modes[i]), before;

		srf->pstate = BIT_ULL(30);
		av_srf_set_daif(srf, av_srf_daif(srf) | AV_PSR_I);
		before = *srf;
		av_srf_take(srf, AV_VECTOR_SYNC);
		av_srf_eret(srf);
		CHECK_EQ(srf->pc, before.pc);
		CHECK_EQ(srf->sp, before.sp);
		CHECK_EQ(av_srf_vpstate(srf), av_srf_vpstate(&before));
		CHECK_EQ(av_srf_spsr(srf), av_srf_spsr(&before));
	}
}

static void test_illegal_return(void)
{
	static const u64 modes[] = { 0x1, 0x8, 0x9, 0xc, 0xd, 0x10, 0x13, 0x1f };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		struct av_srf *srf = reset(AV_PSR_EL1H);

		srf->sys[AV_ELR_EL1] = 0x4000;
		srf->sys[AV_SPSR_EL1] = modes[i] | AV_PSR_F | BIT_ULL(28);
		av_srf_eret(srf);
		CHECK_EQ(srf->pc, 0x4000);
		CHECK_EQ(srf->sp, SP_KERN);
		CHECK_EQ(av_srf_vpstate(srf), AV_PSR_EL1H | AV_PSR_F | AV_PSR_IL);
		CHECK_EQ(srf->pstate & AV_PSR_NZCV, BIT_ULL(28));
		/* And the exception that follows clears it. */
		av_srf_take_sync(srf, FIELD_PREP(AV_ESR_EC, AV_EC_ILLEGAL) | AV_ESR_IL);
		CHECK(srf->sys[AV_SPSR_EL1] & AV_PSR_IL);
		CHECK(!(av_srf_vpstate(srf) & AV_PSR_IL));
	}
}

static void test_no_pan_no_uao(void)
{
	struct av_srf *srf = reset(AV_PSR_EL1H);

	srf->sys[AV_SPSR_EL1] = AV_PSR_EL0T | AV_PSR_PAN | AV_PSR_UAO;
	av_srf_eret(srf);
	CHECK_EQ(av_srf_vpstate(srf), AV_PSR_EL0T);
}

static void test_stack_pointers(void)
{
	struct av_srf *srf = reset(AV_PSR_EL1H);

	av_srf_set_mode(srf, AV_PSR_EL1T);
	CHECK_EQ(srf->sp, SP_USER);
	srf->sp += 16;
	av_srf_set_mode(srf, AV_PSR_EL1H);
	CHECK_EQ(srf->sp, SP_KERN);
	CHECK_EQ(srf->sys[AV_SP_EL0], SP_USER + 16);
	av_srf_set_mode(srf, AV_PSR_EL1H);
	CHECK_EQ(srf->sp, SP_KERN);
}

#define MDSCR_SS	BIT_ULL(0)
#define MDSCR_KDE	BIT_ULL(13)

static void test_stepping(void)
{
	struct av_srf *srf = reset(AV_PSR_EL1H);

	srf->sys[AV_MDSCR_EL1] = MDSCR_SS;
	CHECK(!av_srf_stepping(srf));
	srf->sys[AV_SPSR_EL1] = AV_PSR_EL0T | AV_PSR_SS;
	av_srf_eret(srf);
	CHECK(av_srf_stepping(srf));
	CHECK(av_srf_vpstate(srf) & AV_PSR_SS);
	/* An emulated instruction is a step done. */
	av_srf_skip(srf);
	CHECK(!(av_srf_vpstate(srf) & AV_PSR_SS));

	/* The OS lock forbids. */
	srf->sys[AV_OSLSR_EL1] = BIT_ULL(1);
	CHECK(!av_srf_stepping(srf));

	/* EL1 only with KDE and PSTATE.D clear. */
	srf = reset(AV_PSR_EL1H);
	srf->sys[AV_MDSCR_EL1] = MDSCR_SS | MDSCR_KDE;
	CHECK(av_srf_stepping(srf));
	av_srf_set_daif(srf, av_srf_daif(srf) | AV_PSR_D);
	CHECK(!av_srf_stepping(srf));

	/* Not stepping where it returns to: SPSR.SS is for nothing. */
	srf = reset(AV_PSR_EL1H);
	srf->sys[AV_SPSR_EL1] = AV_PSR_EL0T | AV_PSR_SS;
	av_srf_eret(srf);
	CHECK(!(av_srf_vpstate(srf) & AV_PSR_SS));
}

int main(void)
{
	RUN(test_entry_picks_the_vector);
	RUN(test_entry_saves_all_of_pstate);
	RUN(test_dssbs);
	RUN(test_syndrome_by_level);
	RUN(test_return_undoes_entry);
	RUN(test_illegal_return);
	RUN(test_no_pan_no_uao);
	RUN(test_stack_pointers);
	RUN(test_stepping);
	return TESTS_DONE();
}
