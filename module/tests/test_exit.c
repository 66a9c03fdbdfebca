// SPDX-License-Identifier: GPL-2.0
/* Dispatch by exception class: cpu/exit.c, with trap.c and inject.c behind it. */
#include "check.h"
#include "cpu/cheap.h"
#include "cpu/cpu.h"
#include "mmu/patch.h"

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
	/* PAC failure, memory copies, GCS, and what nobody has allocated. */
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

/* Instructions of virtual EL1 that the window does and counts, but for a sample of them. */
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
 * The sample was counted as done: it is not counted again, and a stub is asked for. If
 * there is one the next sample comes sooner, otherwise later; readers get what was counted.
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

int main(void)
{
	if (av_sysreg_init())
		return 1;
	RUN(test_no_class_kills);
	RUN(test_unlisted_class_is_undefined);
	RUN(test_what_kills);
	RUN(test_samples);
	RUN(test_svc_of_el0);
	return TESTS_DONE();
}
