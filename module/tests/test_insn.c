// SPDX-License-Identifier: GPL-2.0
/* Decoding of instructions that trap as unknown: cpu/insn.h. */
#include "check.h"
#include "cpu/insn.h"

static const struct {
	u32 word;
	enum av_insn_kind kind;
	u16 enc, imm;
	u8 rt;
	bool write;
} cases[] = {
	/* as an assembler writes them */
	{ 0xd5384100, AV_INSN_SYSREG, AV_SYS(3, 0, 4, 1, 0), 0, 0, false },	/* mrs x0, sp_el0 */
	{ 0xd518d083, AV_INSN_SYSREG, AV_SYS(3, 0, 13, 0, 4), 0, 3, true },	/* msr tpidr_el1, x3 */
	{ 0xd538425e, AV_INSN_SYSREG, AV_SYS(3, 0, 4, 2, 2), 0, 30, false },	/* mrs x30, currentel */
	{ 0xd53b4224, AV_INSN_SYSREG, AV_SYS(3, 3, 4, 2, 1), 0, 4, false },	/* mrs x4, daif */
	{ 0xd5100241, AV_INSN_SYSREG, AV_SYS(2, 0, 0, 2, 2), 0, 1, true },	/* msr mdscr_el1, x1 */
	{ 0xd508871f, AV_INSN_SYS, AV_SYS(1, 0, 8, 7, 0), 0, 31, true },	/* tlbi vmalle1 */
	{ 0xd5087802, AV_INSN_SYS, AV_SYS(1, 0, 7, 8, 0), 0, 2, true },		/* at s1e1r, x2 */
	{ 0xd508751f, AV_INSN_SYS, AV_SYS(1, 0, 7, 5, 0), 0, 31, true },	/* ic iallu */
	{ 0xd50342df, AV_INSN_MSR_IMM, AV_SYS(0, 3, 4, 0, 6), 2, 31, true },	/* msr daifset, #2 */
	{ 0xd50343ff, AV_INSN_MSR_IMM, AV_SYS(0, 3, 4, 0, 7), 3, 31, true },	/* msr daifclr, #3 */
	{ 0xd50041bf, AV_INSN_MSR_IMM, AV_SYS(0, 0, 4, 0, 5), 1, 31, true },	/* msr spsel, #1 */
	{ 0xd40000e2, AV_INSN_HVC, 0, 7, 0, false },				/* hvc #7 */
	{ 0xd4000003, AV_INSN_SMC, 0, 0, 0, false },				/* smc #0 */
	{ 0xd41fffe3, AV_INSN_SMC, 0, 0xffff, 0, false },			/* smc #0xffff */
	{ 0xd69f03e0, AV_INSN_ERET, 0, 0, 0, false },
	{ 0xd69f0bff, AV_INSN_UNDEF, 0, 0, 0, false },				/* eretaa */
	{ 0x00000000, AV_INSN_UNDEF, 0, 0, 0, false },				/* udf #0 */
	{ 0xd4a00001, AV_INSN_UNDEF, 0, 0, 0, false },				/* dcps1 */
	{ 0xd4400000, AV_INSN_UNDEF, 0, 0, 0, false },				/* hlt #0 */
	/* these never trap as unknown: they took the place of one that did */
	{ 0x14000001, AV_INSN_RUNS, 0, 0, 0, false },				/* b . + 4 */
	{ 0x17ffffff, AV_INSN_RUNS, 0, 0, 0, false },				/* b . - 4 */
	{ 0x94000001, AV_INSN_RUNS, 0, 0, 0, false },				/* bl . + 4 */
	{ 0x54000021, AV_INSN_RUNS, 0, 0, 0, false },				/* b.ne . + 4 */
	{ 0xd4200000, AV_INSN_RUNS, 0, 0, 0, false },				/* brk #0 */
	{ 0xd43fffe0, AV_INSN_RUNS, 0, 0, 0, false },				/* brk #0xffff */
	{ 0xd4000001, AV_INSN_RUNS, 0, 0, 0, false },				/* svc #0 */
	{ 0xd5033fdf, AV_INSN_RUNS, 0, 0, 0, false },				/* isb */
	{ 0xd503201f, AV_INSN_RUNS, 0, 0, 0, false },				/* nop */
	{ 0xd503245f, AV_INSN_RUNS, 0, 0, 0, false },				/* bti c */
	/* their neighbours may be unknown */
	{ 0xd4200001, AV_INSN_UNDEF, 0, 0, 0, false },
	{ 0xd4000000, AV_INSN_UNDEF, 0, 0, 0, false },
	{ 0x54000031, AV_INSN_UNDEF, 0, 0, 0, false },				/* bc.ne . + 4 */
	{ 0xd61f0800, AV_INSN_UNDEF, 0, 0, 0, false },				/* braaz x0 */
};

static void test_words(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct av_insn insn = {};
		enum av_insn_kind kind = av_insn_kind(cases[i].word, &insn);

		CHECK_EQ(kind, cases[i].kind);
		if (kind == AV_INSN_SYSREG || kind == AV_INSN_SYS || kind == AV_INSN_MSR_IMM)
			CHECK_EQ(insn.enc, cases[i].enc);
		if (kind == AV_INSN_SYSREG || kind == AV_INSN_SYS) {
			CHECK_EQ(insn.rt, cases[i].rt);
			CHECK_EQ(insn.write, cases[i].write);
		}
		if (kind == AV_INSN_HVC || kind == AV_INSN_SMC || kind == AV_INSN_MSR_IMM)
			CHECK_EQ(insn.imm, cases[i].imm);
	}
}

/* The syndrome of a trapped one says the same as the instruction. */
static u64 iss_of(u32 word)
{
	u64 op0 = (word >> 19) & 3, op1 = (word >> 16) & 7, crn = (word >> 12) & 15;
	u64 crm = (word >> 8) & 15, op2 = (word >> 5) & 7, rt = word & 31;

	return op0 << 20 | op2 << 17 | op1 << 14 | crn << 10 | rt << 5 | crm << 1 |
	       ((word >> 21) & 1);
}

static void test_syndromes(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct av_insn a = {}, b = {};
		enum av_insn_kind kind = av_insn_kind(cases[i].word, &a);

		if (kind != AV_INSN_SYSREG && kind != AV_INSN_SYS &&
		    (kind != AV_INSN_MSR_IMM || a.enc == AV_SYS(0, 0, 4, 0, 5)))
			continue;
		CHECK_EQ(av_insn_from_iss(iss_of(cases[i].word), &b), kind);
		CHECK_EQ(a.enc, b.enc);
		CHECK_EQ(a.rt, b.rt);
		CHECK_EQ(a.write, b.write);
		CHECK_EQ(a.imm, b.imm);
		if (kind != AV_INSN_MSR_IMM)
			CHECK_EQ(av_insn_iss(&a), iss_of(cases[i].word));
	}
}

/* QEMU's op1 and op2 of DAIFSet and DAIFClr, as seen. */
static void test_swapped_syndrome(void)
{
	struct av_insn insn = {};

	CHECK_EQ(av_insn_from_iss(0x0793fe, &insn), AV_INSN_MSR_IMM);
	CHECK_EQ(insn.enc, AV_SYS(0, 3, 4, 0, 6));
	CHECK_EQ(insn.imm, 15);
}

int main(void)
{
	RUN(test_words);
	RUN(test_syndromes);
	RUN(test_swapped_syndrome);
	return TESTS_DONE();
}
