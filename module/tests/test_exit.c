// SPDX-License-Identifier: GPL-2.0
/* Dispatch by exception class: cpu/exit.c, with trap.c and inject.c behind it. */
#include "check.h"
#include "cpu/cpu.h"

bool fake_meltdown_safe = true;

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

int main(void)
{
	if (av_sysreg_init())
		return 1;
	RUN(test_no_class_kills);
	RUN(test_unlisted_class_is_undefined);
	RUN(test_what_kills);
	return TESTS_DONE();
}
