// SPDX-License-Identifier: GPL-2.0
/* The mitigation for the branch predictors of each CPU: switch/mitigate.c. */
#include "check.h"
#include "switch/mitigate.h"

#define A53	0x410fd034
#define A72	0x410fd083
#define A73	0x410fd092
#define A75	0x413fd0a1
#define N1	0x413fd0c1
#define N2	0x410fd490
#define V2	0x410fd4f1
#define OTHER	0x610f0230

#define CSV2(n)	((u64)(n) << 56)
#define CSV3(n)	((u64)(n) << 60)
#define ECBHB	BIT_ULL(60)
#define CLRBHB	BIT_ULL(28)

static const struct {
	struct av_cpu_facts cpu;
	u16 loops;
	u8 firmware;
} rows[] = {
	/* Nothing to learn from, whatever the firmware says. */
	{ { A53, 0, 0, 0, true, true }, 0, AV_FIRMWARE_NONE },
	/* Open to branch targets and nothing to be done: as the host. */
	{ { A72, 0, 0, 0, false, false }, 0, AV_FIRMWARE_NONE },
	{ { A72, 0, 0, 0, true, false }, 8, AV_FIRMWARE_WORKAROUND_1 },
	{ { A72, 0, 0, 0, true, true }, 8, AV_FIRMWARE_WORKAROUND_1 },
	{ { A72, 0, 0, 0, false, true }, 8, AV_FIRMWARE_WORKAROUND_3 },
	/* A later revision that keeps targets apart, but not history. */
	{ { A72, CSV2(1), 0, 0, false, false }, 8, AV_FIRMWARE_NONE },
	{ { A73, 0, 0, 0, true, true }, 0, AV_FIRMWARE_WORKAROUND_3 },
	{ { A73, 0, 0, 0, true, false }, 0, AV_FIRMWARE_WORKAROUND_1 },
	{ { N1, CSV2(1), 0, 0, false, false }, 24, AV_FIRMWARE_NONE },
	{ { N2, CSV2(2), 0, 0, false, true }, 32, AV_FIRMWARE_NONE },
	{ { V2, CSV2(2), 0, 0, false, false }, 132, AV_FIRMWARE_NONE },
	/* The hardware forgets by itself, or has an instruction for it. */
	{ { N2, CSV2(3), 0, 0, false, true }, 0, AV_FIRMWARE_NONE },
	{ { N2, CSV2(2), ECBHB, 0, false, true }, 0, AV_FIRMWARE_NONE },
	{ { N2, CSV2(2), 0, CLRBHB, false, true }, 0, AV_FIRMWARE_NONE },
	/* Unknown models: the mitigation that their firmware offers. */
	{ { OTHER, CSV2(1), 0, 0, false, false }, 0, AV_FIRMWARE_NONE },
	{ { OTHER, CSV2(1), 0, 0, false, true }, 0, AV_FIRMWARE_WORKAROUND_3 },
	{ { OTHER, 0, 0, 0, true, false }, 0, AV_FIRMWARE_WORKAROUND_1 },
};

static void test_rows(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct av_mitigation m = av_mitigation_for(&rows[i].cpu);

		CHECK_EQ(m.loops, rows[i].loops);
		CHECK_EQ(m.firmware, rows[i].firmware);
		CHECK_EQ(av_mitigation_needs_exit(&m), rows[i].firmware != AV_FIRMWARE_NONE);
	}
}

/* Variant and revision do not count. */
static void test_model_only(void)
{
	struct av_cpu_facts cpu = { .midr = N1 ^ 0x0030000f, .pfr0 = CSV2(1) };

	CHECK_EQ(av_mitigation_for(&cpu).loops, 24);
}

static void test_unprivileged_loads(void)
{
	CHECK(av_unpriv_load_leaks(0x410fd460));		/* Cortex-A510: all of them */
	CHECK(av_unpriv_load_leaks(0x411fd463));
	CHECK(av_unpriv_load_leaks(0x410fd800));		/* Cortex-A520 r0p0 and r0p1 */
	CHECK(av_unpriv_load_leaks(0x410fd801));
	CHECK(!av_unpriv_load_leaks(0x410fd802));
	CHECK(!av_unpriv_load_leaks(0x411fd800));
	CHECK(!av_unpriv_load_leaks(A53));
	CHECK(!av_unpriv_load_leaks(N1));
}

static void test_meltdown(void)
{
	CHECK(av_meltdown_safe(A53, 0));
	CHECK(av_meltdown_safe(A72, 0));
	CHECK(av_meltdown_safe(A73 ^ 0x0030000f, 0));
	CHECK(av_meltdown_safe(0x430f0af1, 0));			/* ThunderX2 */
	CHECK(!av_meltdown_safe(A75, 0));
	CHECK(!av_meltdown_safe(OTHER, 0));
	CHECK(av_meltdown_safe(A75, CSV3(1)));
	CHECK(av_meltdown_safe(OTHER, CSV3(1)));
}

int main(void)
{
	RUN(test_unprivileged_loads);
	RUN(test_meltdown);
	RUN(test_rows);
	RUN(test_model_only);
	return TESTS_DONE();
}
