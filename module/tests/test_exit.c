// SPDX-License-Identifier: GPL-2.0
/* Dispatch by exception class: cpu/exit.c, with trap.c and inject.c behind it. */
#include "check.h"
#include "cpu/cheap.h"
#include "cpu/cpu.h"
#include "mmu/stub/patch.h"

bool fake_meltdown_safe = true, fake_id_fields = true;
u64 fake_midr = 0x410fd083;

static struct av_vm vm;
static struct av_srf srf;
static struct av_vcpu vcpu = { .vm = &vm, .srf = &srf };

static void leave_with(u64 mode, u64 exit, u64 esr)
{
	memset(&srf, 0, sizeof(srf));
	vcpu = (struct av_vcpu){ .vm = &vm, .srf = &srf };
	av_srf_set_vpstate(&srf, mode);
	srf.exit = exit;
	srf.esr = esr;
}

/* Whatever a CPU of tomorrow reports: no guest, nor its user space, ends its VM by it. */
static void test_no_class_kills(void)
{
	static const u8 modes[] = { AV_PSR_EL0T, AV_PSR_EL1T, AV_PSR_EL1H };
	unsigned int i, ec;

	for (i = 0; i < ARRAY_SIZE(modes); i++)
		for (ec = 0; ec < 64; ec++) {
			leave_with(modes[i], AV_EXCEPTION_SYNC, FIELD_PREP(AV_ESR_EC, ec) | AV_ESR_IL);
			CHECK_EQ(av_handle_exit(&vcpu), 1);
			CHECK(!vcpu.killed);
		}
}

static void test_unlisted_class_is_undefined(void)
{
	/* PAC failure, memory copies, GCS, and unallocated classes. */
	static const u8 classes[] = { 0x1c, 0x27, 0x2d, 0x3f };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(classes); i++) {
		leave_with(AV_PSR_EL0T, AV_EXCEPTION_SYNC, FIELD_PREP(AV_ESR_EC, classes[i]) | 0x1234);
		av_handle_exit(&vcpu);
		CHECK_EQ(av_srf_get(&srf, AV_ESR_EL1), AV_ESR_IL);
		CHECK_EQ(av_srf_mode(&srf), AV_PSR_EL1H);
		CHECK_EQ(vcpu.stats.count[AV_EXIT_UNDEF], 1);
	}
}

static void test_what_kills(void)
{
	leave_with(AV_PSR_EL1H, AV_EXCEPTION_SERROR, 0);
	CHECK_EQ(av_handle_exit(&vcpu), 0);
	CHECK(vcpu.killed);
	leave_with(AV_PSR_EL0T, AV_EXCEPTION_FATAL, 0);
	CHECK_EQ(av_handle_exit(&vcpu), 0);
	CHECK(vcpu.killed);
}

/* Instructions of virtual EL1 that the window completes and counts, except samples. */
static const u32 sampled[] = {
	0xd50342df,	/* msr daifset, #2 */
	0xd50342ff,	/* msr daifclr, #2 */
	0xd53b4221,	/* mrs x1, daif */
	0xd51b4221,
	0xd5384021,	/* mrs x1, elr_el1 */
	0xd5184021,	/* msr elr_el1, x1 */
	0xd5384001,
	0xd5184001,
	0xd5385201,
	0xd5386001,
	0xd5382041,
	0xd5382001,
	0xd5382021,
	0xd538d021,
	0xd518d021,
	0xd53bd061,
	0xd51bd061,
	0xd53bd041,
	0xd51bd041,
};

static void leave_with_token(u64 mode, u32 insn)
{
	leave_with(mode, AV_EXCEPTION_SYNC, FIELD_PREP(AV_ESR_EC, AV_EC_SVC64) | AV_ESR_IL |
		   (av_patch(insn) >> 5 & 0xffff));
	srf.in_place = srf.copies = mode == AV_PSR_EL1H;
	srf.pc = 0x1004;
}

/* The same vCPU's next one. */
static void leave_again(u32 insn)
{
	u16 sample_in[AV_NR_FAST];

	memcpy(sample_in, vcpu.cpu->sample_in, sizeof(sample_in));
	leave_with_token(AV_PSR_EL1H, insn);
	memcpy(vcpu.cpu->sample_in, sample_in, sizeof(sample_in));
}

/*
 * The window has counted the sample as done: it is not counted again, and a stub is requested. If
 * there is one, the next sample comes sooner, otherwise later; readers get the true count.
 */
static void sample(u32 insn, bool stubs, bool made, unsigned int until_next)
{
	unsigned int j, skipped = 0;

	vm.cpu->cheap = stubs ? AV_CHEAP_ALL : AV_CHEAP_ALL & ~AV_CHEAP_STUBS;
	vcpu.stub_made = made;
	for (j = 0; j < AV_NR_FAST; j++)
		srf.fast[j] = AV_TOKEN_SAMPLE;
	CHECK_EQ(av_handle_exit(&vcpu), 1);
	for (j = 0; j < AV_NR_FAST; j++) {
		CHECK_EQ(srf.fast[j] - vcpu.stats.skipped[j], AV_TOKEN_SAMPLE);
		skipped += vcpu.stats.skipped[j];
		vcpu.stats.skipped[j] = 0;
	}
	CHECK_EQ(skipped, AV_TOKEN_SAMPLE - until_next);
	for (j = 0; j < AV_NR_EXITS; j++)
		CHECK_EQ(vcpu.stats.count[j], 0);
	CHECK_EQ(srf.pc, 0x1004);
	CHECK_EQ(vcpu.stub_at, stubs ? 0x1000 : 0);
	CHECK_EQ(vcpu.stub_for, stubs ? insn : 0);
}

static void test_samples(void)
{
	unsigned int i, n, next;

	for (i = 0; i < ARRAY_SIZE(sampled); i++) {
		leave_with_token(AV_PSR_EL1H, sampled[i]);
		sample(sampled[i], false, false, AV_TOKEN_SAMPLE);
		for (n = 0, next = 64; n < 8; n++, next = min(2 * next, (unsigned int)AV_TOKEN_SAMPLE)) {
			leave_again(sampled[i]);
			sample(sampled[i], true, false, next);
		}
		leave_again(sampled[i]);
		sample(sampled[i], true, true, 64);
		leave_again(sampled[i]);
		sample(sampled[i], true, false, 128);
	}
}

/* The same number in virtual EL0's code is its own SVC. */
static void test_svc_of_el0(void)
{
	leave_with_token(AV_PSR_EL0T, sampled[0]);
	CHECK_EQ(av_handle_exit(&vcpu), 1);
	CHECK_EQ(vcpu.stats.count[AV_EXIT_SVC], 1);
	CHECK_EQ(av_srf_get(&srf, AV_ELR_EL1), 0x1004);
	CHECK_EQ(vcpu.stub_at, 0);
}

/* ---- debug exceptions ------------------------------------------------------ */

#define STEP_ISV	BIT_ULL(24)

static void leave_stepping(u64 mode, bool emulated)
{
	leave_with(mode, AV_EXCEPTION_SYNC, FIELD_PREP(AV_ESR_EC, AV_EC_SOFTSTP_LOW) | AV_ESR_IL);
	vcpu.cpu->step_emulated = emulated;
}

/* Of an emulated instruction nothing is executed: the hardware says ISV 0, the guest must not see it. */
static void test_step_of_emulated(void)
{
	static const u8 modes[] = { AV_PSR_EL0T, AV_PSR_EL1H };
	unsigned int i;
	u64 esr;

	for (i = 0; i < 2 * ARRAY_SIZE(modes); i++) {
		bool el1 = modes[i / 2] == AV_PSR_EL1H, emulated = i % 2;

		leave_stepping(modes[i / 2], emulated);
		CHECK_EQ(av_handle_exit(&vcpu), 1);
		esr = av_srf_get(&srf, AV_ESR_EL1);
		CHECK_EQ(av_esr_ec(esr), el1 ? AV_EC_SOFTSTP_CUR : AV_EC_SOFTSTP_LOW);
		CHECK_EQ(esr & AV_ESR_ISS, emulated ? STEP_ISV : 0);
		CHECK_EQ(vcpu.stats.count[AV_EXIT_DEBUG], 1);
		/* The next one is the hardware's own. */
		CHECK(!vcpu.cpu->step_emulated);
	}
}

/* A VMM that debugs its guest gets it, with the same syndrome, and the guest nothing. */
static void test_vmm_debugs(void)
{
	static const u8 classes[] = {
		AV_EC_BREAKPT_LOW, AV_EC_SOFTSTP_LOW, AV_EC_WATCHPT_LOW, AV_EC_BRK64,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(classes); i++) {
		leave_with(AV_PSR_EL0T, AV_EXCEPTION_SYNC, FIELD_PREP(AV_ESR_EC, classes[i]) | AV_ESR_IL);
		srf.far = 0x5000;
		vcpu.cpu->step_emulated = classes[i] == AV_EC_SOFTSTP_LOW;
		vcpu.cpu->guest_debug = 1;
		CHECK_EQ(av_handle_exit(&vcpu), 0);
		CHECK_EQ(vcpu.others, 1);
		CHECK_EQ(av_srf_mode(&srf), AV_PSR_EL0T);
		CHECK_EQ(av_srf_get(&srf, AV_ESR_EL1), 0);
		CHECK_EQ(av_srf_get(&srf, AV_FAR_EL1), 0);
		CHECK_EQ(srf.esr & AV_ESR_ISS, classes[i] == AV_EC_SOFTSTP_LOW ? STEP_ISV : 0);
	}
}

/* ---- state that comes with an exception ------------------------------------- */

/* Those that have an address tell the guest, and only they. */
static void test_addresses(void)
{
	static const struct { u8 ec, cls; bool far; } rows[] = {
		{ AV_EC_WATCHPT_LOW, AV_EXIT_DEBUG, true },
		{ AV_EC_PC_ALIGN, AV_EXIT_ALIGN, true },
		{ AV_EC_SP_ALIGN, AV_EXIT_ALIGN, true },
		{ AV_EC_BREAKPT_LOW, AV_EXIT_DEBUG, false },
		{ AV_EC_BRK64, AV_EXIT_DEBUG, false },
		{ AV_EC_FP_EXC64, AV_EXIT_OTHER, false },
		{ 0x0d, AV_EXIT_UNDEF, false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		leave_with(AV_PSR_EL0T, AV_EXCEPTION_SYNC, FIELD_PREP(AV_ESR_EC, rows[i].ec) | AV_ESR_IL);
		srf.far = 0x5000;
		CHECK_EQ(av_handle_exit(&vcpu), 1);
		CHECK_EQ(av_srf_get(&srf, AV_FAR_EL1), rows[i].far ? 0x5000 : 0);
		CHECK_EQ(vcpu.stats.count[rows[i].cls], 1);
		CHECK_EQ(av_srf_mode(&srf), AV_PSR_EL1H);
	}
}

/* A stub's push is not the guest's access. */
static void test_stub_that_failed(void)
{
	leave_with(AV_PSR_EL1H, AV_EXCEPTION_SYNC, FIELD_PREP(AV_ESR_EC, AV_EC_SP_ALIGN) | AV_ESR_IL);
	srf.pc = 0x1000;
	vcpu.stub_failed = true;
	CHECK_EQ(av_handle_exit(&vcpu), 1);
	CHECK_EQ(srf.pc, 0x1000);
	CHECK_EQ(av_srf_get(&srf, AV_ESR_EL1), 0);
}

/* CPACR_EL1.FPEN decides who may use FP registers. */
static void test_fp(void)
{
	unsigned int fpen, el1;

	for (fpen = 0; fpen < 4; fpen++) {
		for (el1 = 0; el1 < 2; el1++) {
			bool may = el1 ? fpen & 1 : fpen == 3;

			leave_with(el1 ? AV_PSR_EL1H : AV_PSR_EL0T, AV_EXCEPTION_SYNC,
				   FIELD_PREP(AV_ESR_EC, AV_EC_FP) | AV_ESR_IL);
			av_srf_set(&srf, AV_CPACR_EL1, FIELD_PREP(AV_CPACR_FPEN, fpen));
			CHECK_EQ(av_handle_exit(&vcpu), 1);
			CHECK_EQ(vcpu.cpu->fp_wanted, may);
			CHECK_EQ(av_esr_ec(av_srf_get(&srf, AV_ESR_EL1)), may ? 0 : AV_EC_FP);
		}
	}
}

/* The guest's CPU has neither SVE nor SME, but CPACR_EL1 traps them first where the core has them. */
static void test_vectors(void)
{
	static const struct { u8 ec, lsb; } kinds[] = {
		{ AV_EC_SVE, AV_CPACR_ZEN_LSB }, { AV_EC_SME, AV_CPACR_SMEN_LSB },
	};
	unsigned int i, enable, fpen, el1;

	for (i = 0; i < 2 * 4 * 4 * 2; i++) {
		u64 esr = FIELD_PREP(AV_ESR_EC, kinds[i & 1].ec) | AV_ESR_IL | (i & 1);
		u64 seen = AV_ESR_IL;

		enable = i >> 1 & 3;
		fpen = i >> 3 & 3;
		el1 = i >> 5;
		if (el1 ? !(enable & 1) : enable != 3)
			seen = esr;
		else if (!(i & 1) && (el1 ? !(fpen & 1) : fpen != 3))
			seen = 0x1fe00000;
		leave_with(el1 ? AV_PSR_EL1H : AV_PSR_EL0T, AV_EXCEPTION_SYNC, esr);
		av_srf_set(&srf, AV_CPACR_EL1, (u64)enable << kinds[i & 1].lsb |
						       FIELD_PREP(AV_CPACR_FPEN, fpen));
		CHECK_EQ(av_handle_exit(&vcpu), 1);
		CHECK_EQ(av_srf_get(&srf, AV_ESR_EL1), seen);
	}
}

/* The syndrome that a guest gets for an instruction of the given level, with CPACR_EL1. */
static u64 syndrome_of(u64 mode, u32 word, u64 cpacr)
{
	leave_with(mode, AV_EXCEPTION_SYNC, FIELD_PREP(AV_ESR_EC, AV_EC_UNKNOWN) | AV_ESR_IL);
	srf.insn = word;
	av_srf_set(&srf, AV_CPACR_EL1, cpacr);
	CHECK_EQ(av_handle_exit(&vcpu), 1);
	return av_srf_get(&srf, AV_ESR_EL1);
}

/* Registers that the guest's CPU lacks: the core's own traps at EL1 come first. */
static void test_absent_registers(void)
{
	/* The ID space, whose reads tell what they are: CRn 0, CRm 0 to 7 of op1 0, 1 and 3. */
	CHECK_EQ(syndrome_of(AV_PSR_EL1H, 0xd5380027, 0), 0x623200e1);	/* mrs x7, s3_0_c0_c0_1 */
	CHECK_EQ(syndrome_of(AV_PSR_EL1H, 0xd53900a0, 0), 0x623a4001);	/* mrs x0, s3_1_c0_c0_5 */
	CHECK_EQ(syndrome_of(AV_PSR_EL1H, 0xd53b07e3, 0), 0x623ec06f);	/* mrs x3, s3_3_c0_c7_7 */
	CHECK_EQ(syndrome_of(AV_PSR_EL1H, 0xd5390040, 0), AV_ESR_IL);	/* mrs x0, ccsidr2_el1 */
	CHECK_EQ(syndrome_of(AV_PSR_EL1H, 0xd51b07e3, 0), AV_ESR_IL);	/* msr s3_3_c0_c7_7, x3 */
	CHECK_EQ(syndrome_of(AV_PSR_EL1H, 0xd53b0803, 0), AV_ESR_IL);	/* mrs x3, s3_3_c0_c8_0 */
	CHECK_EQ(syndrome_of(AV_PSR_EL1H, 0xd53a0023, 0), AV_ESR_IL);	/* mrs x3, s3_2_c0_c0_1 */
	/* ZCR_EL1 and SMCR_EL1. */
	CHECK_EQ(syndrome_of(AV_PSR_EL1H, 0xd5381200, 0), 0x66000000);
	CHECK_EQ(syndrome_of(AV_PSR_EL1H, 0xd5381200, 1 << 16), AV_ESR_IL);
	CHECK_EQ(syndrome_of(AV_PSR_EL1H, 0xd51812c0, 2 << 24), 0x76000000);
	CHECK_EQ(syndrome_of(AV_PSR_EL1H, 0xd51812c0, 3 << 24), AV_ESR_IL);
}

/* The same for programs, which trap with the syndrome of a system register. */
static void test_absent_for_programs(void)
{
	u64 sys = FIELD_PREP(AV_ESR_EC, AV_EC_SYS64) | AV_ESR_IL;
	u64 scxtnum = sys | 3 << 20 | 7 << 17 | 3 << 14 | 13 << 10 | 1;
	u64 tpidr2 = sys | 3 << 20 | 5 << 17 | 3 << 14 | 13 << 10;
	u64 mdccsr = sys | 2 << 20 | 3 << 14 | 9 << 5 | 1 << 1 | 1;
	u64 id = sys | 3 << 20 | 3 << 14 | 1;
	unsigned int denied;

	leave_with(AV_PSR_EL0T, AV_EXCEPTION_SYNC, id);
	CHECK_EQ(av_handle_exit(&vcpu), 1);
	CHECK_EQ(av_srf_get(&srf, AV_ESR_EL1), id);
	for (denied = 0; denied < 2; denied++) {
		leave_with(AV_PSR_EL0T, AV_EXCEPTION_SYNC, scxtnum);
		av_srf_set(&srf, AV_SCTLR_EL1, denied ? AV_SCTLR_TSCXT : 0);
		CHECK_EQ(av_handle_exit(&vcpu), 1);
		CHECK_EQ(av_srf_get(&srf, AV_ESR_EL1), denied ? scxtnum : AV_ESR_IL);

		leave_with(AV_PSR_EL0T, AV_EXCEPTION_SYNC, tpidr2);
		av_srf_set(&srf, AV_SCTLR_EL1, denied ? 0 : AV_SCTLR_ENTP2);
		CHECK_EQ(av_handle_exit(&vcpu), 1);
		CHECK_EQ(av_srf_get(&srf, AV_ESR_EL1), denied ? tpidr2 : AV_ESR_IL);

		/* The debug channel, which only the module traps otherwise. */
		leave_with(AV_PSR_EL0T, AV_EXCEPTION_SYNC, mdccsr);
		srf.regs[9] = 1;
		av_srf_set(&srf, AV_MDSCR_EL1, denied ? BIT(12) : 0);
		CHECK_EQ(av_handle_exit(&vcpu), 1);
		CHECK_EQ(av_srf_get(&srf, AV_ESR_EL1), denied ? mdccsr : 0);
		CHECK_EQ(srf.regs[9], denied);
		CHECK_EQ(av_srf_mode(&srf), denied ? AV_PSR_EL1H : AV_PSR_EL0T);
	}
}

/* As KVM: with an immediate SMC is an unknown function, whatever X0 asks for. */
static void test_smc(void)
{
	u32 immediate;

	for (immediate = 0; immediate < 2; immediate++) {
		leave_with(AV_PSR_EL1H, AV_EXCEPTION_SYNC, FIELD_PREP(AV_ESR_EC, AV_EC_UNKNOWN) | AV_ESR_IL);
		srf.insn = 0xd4000003 | immediate << 5;
		srf.regs[0] = AV_CALL_PSCI_VERSION;
		srf.pc = 0x1000;
		CHECK_EQ(av_handle_exit(&vcpu), 1);
		CHECK_EQ(vcpu.others, !immediate);
		CHECK_EQ(srf.regs[0], immediate ? ~0ULL : AV_CALL_PSCI_VERSION);
		CHECK_EQ(srf.pc, 0x1004);
	}
}

/* What the guest's kernel traps for its programs (CNTKCTL_EL1) is reflected, and not UNDEFINED. */
static void test_trapped_for_programs(void)
{
	u64 esr = FIELD_PREP(AV_ESR_EC, AV_EC_SYS64) | AV_ESR_IL | 3 << 20 | 2 << 17 | 3 << 14 |
		  14 << 10 | 5 << 5 | 1;	/* mrs x5, cntvct_el0 */

	leave_with(AV_PSR_EL0T, AV_EXCEPTION_SYNC, esr);
	CHECK_EQ(av_handle_exit(&vcpu), 1);
	CHECK_EQ(av_srf_get(&srf, AV_ESR_EL1), esr);
	CHECK_EQ(av_srf_mode(&srf), AV_PSR_EL1H);
	leave_with(AV_PSR_EL0T, AV_EXCEPTION_SYNC, esr);
	av_srf_set(&srf, AV_CNTKCTL_EL1, 3);
	vcpu.cntvct = 0x1234;
	CHECK_EQ(av_handle_exit(&vcpu), 1);
	CHECK_EQ(srf.regs[5], 0x1234);
	CHECK_EQ(av_srf_mode(&srf), AV_PSR_EL0T);
}

/* An SError waits while PSTATE.A is set, and is not lost. */
static void test_serror(void)
{
	leave_with(AV_PSR_EL0T, AV_EXCEPTION_IRQ, 0);
	av_srf_set_daif(&srf, AV_PSR_A);
	av_inject_serror(&vcpu, 0x123);
	CHECK(!av_inject_due(&vcpu));
	CHECK_EQ(srf.due, AV_PSR_A);
	av_inject_pending(&vcpu);
	CHECK_EQ(av_srf_mode(&srf), AV_PSR_EL0T);
	av_srf_set_daif(&srf, 0);
	CHECK(av_inject_due(&vcpu));
	av_inject_pending(&vcpu);
	CHECK_EQ(av_srf_mode(&srf), AV_PSR_EL1H);
	CHECK_EQ(av_srf_get(&srf, AV_ESR_EL1), FIELD_PREP(AV_ESR_EC, AV_EC_SERROR) | AV_ESR_IL | 0x123);
	CHECK(!av_inject_due(&vcpu));
}

int main(void)
{
	if (av_sysreg_init())
		return 1;
	RUN(test_no_class_kills);
	RUN(test_unlisted_class_is_undefined);
	RUN(test_what_kills);
	RUN(test_samples);
	RUN(test_svc_of_el0);
	RUN(test_step_of_emulated);
	RUN(test_vmm_debugs);
	RUN(test_addresses);
	RUN(test_stub_that_failed);
	RUN(test_fp);
	RUN(test_vectors);
	RUN(test_absent_registers);
	RUN(test_absent_for_programs);
	RUN(test_smc);
	RUN(test_serror);
	RUN(test_trapped_for_programs);
	return TESTS_DONE();
}
