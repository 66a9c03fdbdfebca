// SPDX-License-Identifier: GPL-2.0
/*
 * The instruction that was read against the syndrome of the fault: only the access that faulted is
 * emulated, whatever another vCPU has written there since.
 */
#include "check.h"
#include "mmio/match.h"

#define BASE		0x123456100ULL	/* x1, and the stack pointer */
#define PAGE_END	0x123456ff8ULL	/* x2 */
#define LOAD		0
#define STORE		AV_ESR_WNR
#define TAG		(0x5aULL << 56)

static struct av_srf srf;

static enum av_match match(u32 insn, u64 iss, u64 far, u64 tcr)
{
	struct av_regime regime = { .sctlr = AV_SCTLR_M, .tcr = tcr };
	struct av_ldst ls;

	av_insn_decode(insn, &ls);
	return av_ldst_match(&ls, &regime, &srf, iss, far);
}

static const struct {
	const char *name;
	u32 insn;
	u64 iss, far;
	enum av_match want;
} rows[] = {
	/* As it faulted. */
	{ "ldr x0, [x1]", 0xf9400020, LOAD, BASE, AV_MATCH_YES },
	{ "str x0, [x1]", 0xf9000020, STORE, BASE, AV_MATCH_YES },
	{ "ldrb w0, [x1, #5]", 0x39401420, LOAD, BASE + 5, AV_MATCH_YES },
	{ "ldr x0, [x1, x3, lsl #3]", 0xf8637820, LOAD, BASE + 0x40, AV_MATCH_YES },
	{ "ldr x0, . + 8", 0x58000040, LOAD, BASE + 0x108, AV_MATCH_YES },
	{ "str w0, [sp, #4]", 0xb90007e0, STORE, BASE + 4, AV_MATCH_YES },
	{ "ldapr x0, [x1]", 0xf8bfc020, LOAD, BASE, AV_MATCH_YES },
	{ "stlr x0, [x1]", 0xc89ffc20, STORE, BASE, AV_MATCH_YES },
	{ "ldtr x0, [x1]", 0xf8400820, LOAD, BASE, AV_MATCH_YES },
	/* Written since: the other direction. */
	{ "a load became str x0, [x1]", 0xf9000020, LOAD, BASE, AV_MATCH_AGAIN },
	{ "a store became ldr x0, [x1]", 0xf9400020, STORE, BASE, AV_MATCH_AGAIN },
	{ "a load became stp x0, x3, [x1]", 0xa9000c20, LOAD, BASE, AV_MATCH_AGAIN },
	{ "a load became stlr x0, [x1]", 0xc89ffc20, LOAD, BASE, AV_MATCH_AGAIN },
	{ "a load became sttr x0, [x1]", 0xf8000820, LOAD, BASE, AV_MATCH_AGAIN },
	/* Another address, also on the same page and at the same offset of another. */
	{ "became ldr x0, [x1, #8]", 0xf9400420, LOAD, BASE, AV_MATCH_AGAIN },
	{ "became ldr x0, [x1, #8]!", 0xf8408c20, LOAD, BASE, AV_MATCH_AGAIN },
	{ "became ldr x0, [x1, #0x1000]", 0xf9480020, LOAD, BASE, AV_MATCH_AGAIN },
	{ "became str x0, [x1, #0x1000]", 0xf9080020, STORE, BASE, AV_MATCH_AGAIN },
	{ "became ldr x0, [x4], far away", 0xf9400080, LOAD, BASE, AV_MATCH_AGAIN },
	{ "became ldp x0, x3, [x1, #-8]", 0xa97f8c20, LOAD, BASE, AV_MATCH_AGAIN },
	{ "became ldur x0, [x1, #-4]", 0xf85fc020, LOAD, BASE, AV_MATCH_AGAIN },
	{ "in the middle of ldr x0, [x1]", 0xf9400020, LOAD, BASE + 4, AV_MATCH_AGAIN },
	/* Known to a later architecture only: it would fault for ever. */
	{ "stilp x0, x3, [x1]", 0xd9031820, STORE, BASE, AV_MATCH_REFUSED },
	{ "stlr x0, [x1, #-8]!", 0xd9800820, STORE, BASE, AV_MATCH_REFUSED },
	{ "ldclrp x0, x3, [x1]", 0x19231020, LOAD, BASE, AV_MATCH_REFUSED },
	/* Something that makes no such fault. */
	{ "became nop", 0xd503201f, LOAD, BASE, AV_MATCH_AGAIN },
	{ "became brk #0", 0xd4200000, STORE, BASE, AV_MATCH_AGAIN },
	{ "became prfm [x1]", 0xf9800020, LOAD, BASE, AV_MATCH_AGAIN },
	{ "became dc cvac, x1", 0xd50b7a21, STORE, BASE, AV_MATCH_AGAIN },
	{ "dc cvac became str x0, [x1]", 0xf9000020, STORE | AV_ESR_CM, BASE, AV_MATCH_AGAIN },
	/* Over the page's end: either page may be the one at fault. */
	{ "ldur x0, [x2, #4]", 0xf8404040, LOAD, PAGE_END + 4, AV_MATCH_SPLIT },
	{ "ldur x0, [x2, #4], its end", 0xf8404040, LOAD, PAGE_END + 8, AV_MATCH_SPLIT },
	{ "behind the end of ldur x0, [x2, #4]", 0xf8404040, LOAD, PAGE_END + 12, AV_MATCH_AGAIN },
	{ "in the first page of ldur x0, [x2, #4]", 0xf8404040, LOAD, PAGE_END + 6, AV_MATCH_AGAIN },
	{ "ldr x0, [x2], to its last byte", 0xf9400040, LOAD, PAGE_END, AV_MATCH_YES },
	{ "str x0, [x2] for a load behind it", 0xf9000040, LOAD, PAGE_END + 8, AV_MATCH_AGAIN },
	/* Not described to KVM, in one page or in two. */
	{ "ldr x0, [x1], #8", 0xf8408420, LOAD, BASE, AV_MATCH_REFUSED },
	{ "ldr x0, [x1, #8]!", 0xf8408c20, LOAD, BASE + 8, AV_MATCH_REFUSED },
	{ "strb w0, [sp], #1", 0x380017e0, STORE, BASE, AV_MATCH_REFUSED },
	{ "ldp x0, x3, [x1]", 0xa9400c20, LOAD, BASE, AV_MATCH_REFUSED },
	{ "stp x0, x3, [x1, #16]!", 0xa9810c20, STORE, BASE + 16, AV_MATCH_REFUSED },
	{ "ldp x0, x3, [x2]", 0xa9400c40, LOAD, PAGE_END, AV_MATCH_REFUSED },
	{ "ldp x0, x3, [x2], the second", 0xa9400c40, LOAD, PAGE_END + 8, AV_MATCH_REFUSED },
	{ "behind the end of ldp x0, x3, [x2]", 0xa9400c40, LOAD, PAGE_END + 16, AV_MATCH_AGAIN },
	/* Never emulated. */
	{ "ldxr x0, [x1]", 0xc85f7c20, LOAD, BASE, AV_MATCH_REFUSED },
	{ "ldadd x0, x3, [x1]", 0xf8200023, STORE, BASE, AV_MATCH_REFUSED },
	{ "str q0, [x1]", 0x3d800020, STORE, BASE, AV_MATCH_REFUSED },
	{ "dc zva, x1", 0xd50b7421, STORE, BASE, AV_MATCH_REFUSED },
};

static void test_rows(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned long before = check_failed;

		CHECK_EQ(match(rows[i].insn, rows[i].iss, rows[i].far, 0), rows[i].want);
		if (check_failed > before)
			fprintf(stderr, "  in the row: %s\n", rows[i].name);
	}
}

/* Of two addresses that differ in their tags only, with and without TBI. */
static void test_tags(void)
{
	u64 x1 = srf.regs[1];

	srf.regs[1] |= TAG;
	CHECK_EQ(match(0xf9400020, LOAD, BASE, AV_TCR_TBI0), AV_MATCH_YES);
	CHECK_EQ(match(0xf9400020, LOAD, BASE | TAG, AV_TCR_TBI0), AV_MATCH_YES);
	CHECK_EQ(match(0xf9400020, LOAD, BASE, 0), AV_MATCH_AGAIN);
	CHECK_EQ(match(0xf9400020, LOAD, BASE, AV_TCR_TBI1), AV_MATCH_AGAIN);
	srf.regs[1] = x1;
}

/* Whatever was read: the emulated access is that of the syndrome, and no other. */
static void test_any_word(void)
{
	struct av_regime regime = { .sctlr = AV_SCTLR_M };
	unsigned long emulated = 0;
	u64 state = 1, i;

	for (i = 0; i < 2000000; i++) {
		u64 iss, far;
		struct av_ldst ls;
		u32 insn;

		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		/* Mostly loads and stores by x1. */
		insn = (u32)(state >> 32);
		if (state & 1)
			insn = (insn & ~0x3a0003e0U) | 0x38000020;
		iss = state & 2 ? STORE : LOAD;
		far = BASE + (state & 4 ? state >> 8 & 0xfff : 0);
		av_insn_decode(insn, &ls);
		if (av_ldst_match(&ls, &regime, &srf, iss, far) != AV_MATCH_YES)
			continue;
		emulated++;
		CHECK_EQ(ls.kind, AV_LDST_SINGLE);
		CHECK(!av_ldst_writes_back(&ls));
		CHECK_EQ(ls.write, iss == STORE);
		CHECK_EQ(av_ldst_address(&ls, srf.regs, srf.sp, srf.pc), far);
		CHECK((far & 0xfff) + av_ldst_bytes(&ls) <= 0x1000);
	}
	CHECK(emulated > 1000);
}

int main(void)
{
	srf.regs[1] = BASE;
	srf.regs[2] = PAGE_END;
	srf.regs[3] = 8;
	srf.regs[4] = 0xffff000000000000ULL | BASE;
	srf.sp = BASE;
	srf.pc = BASE + 0x100;
	RUN(test_rows);
	RUN(test_tags);
	RUN(test_any_word);
	return TESTS_DONE();
}
