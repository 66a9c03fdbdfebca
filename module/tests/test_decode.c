// SPDX-License-Identifier: GPL-2.0
/*
 * The load/store decoder by hand: one instruction of each form, its address and its result, and
 * properties over many words. decode_capstone.py compares the whole encoding space with Capstone.
 */
#include "check.h"
#include "mmio/decode.c"	/* for its table */

static u64 x[31];
static const u64 sp = 0xffff000012340010, pc = 0xffff800008001000;

static struct av_ldst decode(u32 insn)
{
	struct av_ldst ls;

	CHECK_EQ(av_insn_decode(insn, &ls), ls.kind);
	return ls;
}

static void addresses(void)
{
	struct av_ldst ls;

	x[1] = 0x1000;
	x[2] = 0xfffffff8;
	ls = decode(0xf9400c20);		/* ldr x0, [x1, #24] */
	CHECK_EQ(ls.kind, AV_LDST_SINGLE);
	CHECK_EQ(av_ldst_address(&ls, x, sp, pc), 0x1018);
	CHECK(!av_ldst_writes_back(&ls));
	ls = decode(0xb85fc020);		/* ldur w0, [x1, #-4] */
	CHECK_EQ(av_ldst_address(&ls, x, sp, pc), 0xffc);
	ls = decode(0xb8408420);		/* ldr w0, [x1], #8 */
	CHECK_EQ(av_ldst_address(&ls, x, sp, pc), 0x1000);
	CHECK(av_ldst_writes_back(&ls));
	CHECK(strcmp(av_ldst_name(&ls), "a load or store"));
	ls = decode(0xb8408c20);		/* ldr w0, [x1, #8]! */
	CHECK_EQ(av_ldst_address(&ls, x, sp, pc), 0x1008);
	CHECK(av_ldst_writes_back(&ls));
	ls = decode(0xb8626820);		/* ldr w0, [x1, x2] */
	CHECK_EQ(av_ldst_address(&ls, x, sp, pc), 0x100000ff8);
	ls = decode(0xb862c820);		/* ldr w0, [x1, w2, sxtw] */
	CHECK_EQ(av_ldst_address(&ls, x, sp, pc), 0xff8);
	ls = decode(0xb862d820);		/* ldr w0, [x1, w2, sxtw #2] */
	CHECK_EQ(av_ldst_address(&ls, x, sp, pc), 0xfe0);
	ls = decode(0xb8625820);		/* ldr w0, [x1, w2, uxtw #2] */
	CHECK_EQ(av_ldst_address(&ls, x, sp, pc), 0x400000fe0);
	ls = decode(0xb87f6820);		/* ldr w0, [x1, xzr] */
	CHECK_EQ(av_ldst_address(&ls, x, sp, pc), 0x1000);
	ls = decode(0x58ffffe0);		/* ldr x0, pc-4 */
	CHECK_EQ(av_ldst_address(&ls, x, sp, pc), pc - 4);
	ls = decode(0xa9bf07e0);		/* stp x0, x1, [sp, #-16]! */
	CHECK_EQ(ls.kind, AV_LDST_PAIR);
	CHECK(ls.write);
	CHECK_EQ(av_ldst_address(&ls, x, sp, pc), sp - 16);
	CHECK_EQ(ls.rt2, 1);
	CHECK_EQ(ls.rn, AV_LDST_SP);
}

static void values(void)
{
	struct av_ldst ls;

	ls = decode(0x39400020);		/* ldrb w0, [x1] */
	CHECK_EQ(av_ldst_extend(&ls, 0xfff), 0xff);
	ls = decode(0x39800020);		/* ldrsb x0, [x1] */
	CHECK_EQ(av_ldst_extend(&ls, 0x80), 0xffffffffffffff80);
	ls = decode(0x39c00020);		/* ldrsb w0, [x1] */
	CHECK_EQ(av_ldst_extend(&ls, 0x80), 0xffffff80);
	ls = decode(0x79800020);		/* ldrsh x0, [x1] */
	CHECK_EQ(av_ldst_extend(&ls, 0x17fff), 0x7fff);
	ls = decode(0xb9800020);		/* ldrsw x0, [x1] */
	CHECK_EQ(av_ldst_extend(&ls, 0x80000000), 0xffffffff80000000);
	ls = decode(0xb9400020);		/* ldr w0, [x1] */
	CHECK_EQ(av_ldst_extend(&ls, 0xffffffff80000000), 0x80000000);
	ls = decode(0xf9400020);		/* ldr x0, [x1] */
	CHECK_EQ(av_ldst_extend(&ls, 0x8000000000000001), 0x8000000000000001);
	ls = decode(0x69400420);		/* ldpsw x0, x1, [x1] */
	CHECK_EQ(ls.kind, AV_LDST_PAIR);
	CHECK_EQ(ls.size, 2);
	CHECK_EQ(av_ldst_extend(&ls, 0xffffffff), ~0ULL);
}

static void kinds(void)
{
	static const struct {
		u32 insn;
		enum av_ldst_kind kind;
	} cases[] = {
		{ 0x885f7c20, AV_LDST_EXCLUSIVE },	/* ldxr w0, [x1] */
		{ 0xc87f0440, AV_LDST_EXCLUSIVE },	/* ldxp x0, x1, [x2] */
		{ 0x88dffc20, AV_LDST_SINGLE },		/* ldar w0, [x1] */
		{ 0x089ffc20, AV_LDST_SINGLE },		/* stlrb w0, [x1] */
		{ 0x38bfc020, AV_LDST_SINGLE },		/* ldaprb w0, [x1] */
		{ 0x19000020, AV_LDST_SINGLE },		/* stlurb w0, [x1] */
		{ 0x88a07c41, AV_LDST_ATOMIC },		/* cas w0, w1, [x2] */
		{ 0x48207c82, AV_LDST_ATOMIC },		/* casp x0, x1, x2, x3, [x4] */
		{ 0xb8200041, AV_LDST_ATOMIC },		/* ldadd w0, w1, [x2] */
		{ 0xf8208041, AV_LDST_ATOMIC },		/* swp x0, x1, [x2] */
		{ 0xf83fd020, AV_LDST_ATOMIC },		/* ld64b x0, [x1] */
		{ 0x3dc00020, AV_LDST_SIMD },		/* ldr q0, [x1] */
		{ 0xad400420, AV_LDST_SIMD },		/* ldp q0, q1, [x1] */
		{ 0x4c407020, AV_LDST_SIMD },		/* ld1 {v0.16b}, [x1] */
		{ 0xf8200420, AV_LDST_PAUTH },		/* ldraa x0, [x1] */
		{ 0xd9200820, AV_LDST_TAG },		/* stg x0, [x1] */
		{ 0xd50b7420, AV_LDST_ZVA },		/* dc zva, x0 */
		{ 0xd50b7a20, AV_LDST_CACHE },		/* dc cvac, x0 */
		{ 0xd50b7e20, AV_LDST_CACHE },		/* dc civac, x0 */
		{ 0xd50b7520, AV_LDST_CACHE },		/* ic ivau, x0 */
		{ 0xd50b7400, AV_LDST_NONE },
		{ 0xf9800020, AV_LDST_PREFETCH },	/* prfm pldl1keep, [x1] */
		{ 0xd503201f, AV_LDST_NONE },		/* nop */
		{ 0xd4000001, AV_LDST_NONE },		/* svc #0 */
		{ 0x00000000, AV_LDST_NONE },
		{ 0xffffffff, AV_LDST_NONE },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct av_ldst ls = decode(cases[i].insn);

		CHECK_EQ(ls.kind, cases[i].kind);
		CHECK(av_ldst_name(&ls));
	}
	CHECK(av_ldst_name(&(struct av_ldst) { .kind = 99 }));
}

/* What each transfer must satisfy, over a walk through the whole space. */
static void properties(void)
{
	u32 insn = 12345;
	unsigned int i;

	for (i = 0; i < 2000000; i++) {
		struct av_ldst ls;

		insn = insn * 1664525 + 1013904223;
		av_insn_decode(insn, &ls);
		if (ls.kind >= AV_LDST_NR_KINDS || ls.rt > 31 || ls.rn > 31 || ls.rt2 > 31 ||
		    ls.rm > 31 || ls.size > 3 || ls.shift > 3) {
			CHECK(!"fields in range");
			continue;
		}
		if (ls.kind != AV_LDST_SINGLE && ls.kind != AV_LDST_PAIR)
			continue;
		CHECK((insn & 0x0a000000) == 0x08000000);
		CHECK(!(ls.write && ls.sign));
		av_ldst_address(&ls, x, sp, pc);
		CHECK(ls.wide || av_ldst_extend(&ls, ~0ULL) <= 0xffffffff);
	}
}

/* No word selects two rows: their order carries no meaning. */
static void rows_are_disjoint(void)
{
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_EQ(rows[i].value & ~rows[i].mask, 0);
		for (j = i + 1; j < ARRAY_SIZE(rows); j++)
			CHECK((rows[i].value ^ rows[j].value) & rows[i].mask & rows[j].mask);
	}
}

int main(void)
{
	RUN(rows_are_disjoint);
	RUN(addresses);
	RUN(values);
	RUN(kinds);
	RUN(properties);
	return TESTS_DONE();
}
