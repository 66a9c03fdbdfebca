// SPDX-License-Identifier: GPL-2.0
/* Code of virtual EL1 in a copy: mmu/stub/patch.h. */
#include "check.h"
#include "mmu/stub/patch.h"

#define SP_EL0		AV_SYS(3, 0, 4, 1, 0)
#define TPIDR_EL1	AV_SYS(3, 0, 13, 0, 4)
#define TPIDR_EL0	AV_SYS(3, 3, 13, 0, 2)
#define TPIDRRO_EL0	AV_SYS(3, 3, 13, 0, 3)

static const struct {
	u32 guest, copy;
} cases[] = {
	/* as an assembler writes them */
	{ 0xd5384100, 0xd53bd040 },	/* mrs x0, sp_el0: mrs x0, tpidr_el0 */
	{ 0xd518411c, 0xd51bd05c },	/* msr sp_el0, x28: msr tpidr_el0, x28 */
	{ 0xd538d083, 0xd53bd063 },	/* mrs x3, tpidr_el1: mrs x3, tpidrro_el0 */
	{ 0xd518d083, 0xd518d083 },	/* msr tpidr_el1, x3 */
	{ 0xd69f03e0, 0xd41f0001 },	/* eret: svc #0xf800 */
	{ 0xd4000002, 0xd41f0801 },	/* hvc #0: svc #0xf840 */
	{ 0xd4000022, 0xd4000022 },	/* hvc #1 */
	{ 0xd50343df, 0xd41f0c61 },	/* msr daifset, #3: svc #0xf863 */
	{ 0xd5034fff, 0xd41f11e1 },	/* msr daifclr, #15: svc #0xf88f */
	{ 0xd53b4235, 0xd41f16a1 },	/* mrs x21, daif: svc #0xf8b5 */
	{ 0xd5384036, 0xd41f26c1 },	/* mrs x22, elr_el1: svc #0xf936 */
	{ 0xd518403f, 0xd41f2be1 },	/* msr elr_el1, xzr: svc #0xf95f */
	{ 0xd5382040, 0xd41f3c01 },	/* mrs x0, tcr_el1: svc #0xf9e0 */
	{ 0xd5182040, 0xd5182040 },	/* msr tcr_el1, x0 */
	{ 0xd5182001, 0xd41f1c21 },	/* msr ttbr0_el1, x1: svc #0xf8e1 */
	{ 0xd4000001, 0xd4000001 },	/* svc #0 */
	{ 0xd41f0401, AV_INSN_COPY_SVC },	/* svc #0xf820 */
	{ 0xd41f0001, AV_INSN_COPY_SVC },	/* svc #0xf800 */
	{ 0xd41effe1, 0xd41effe1 },	/* svc #0xf7ff */
	{ 0xd41fffe1, 0xd41fffe1 },	/* svc #0xffff */
	{ 0xd5384120, AV_INSN_UDF },	/* its meaning in the copy */
	{ 0xd5184121, AV_INSN_UDF },
	{ 0xd5384240, 0xd5384240 },	/* mrs x0, currentel */
	{ 0xd50041bf, 0xd50041bf },	/* msr spsel, #1 */
	{ 0xd503201f, 0xd503201f },	/* nop */
	{ 0xd65f03c0, 0xd65f03c0 },	/* ret */
};

static void test_words(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ(av_patch(cases[i].guest), cases[i].copy);
}

static u16 register_of(u32 insn)
{
	return insn >> 5;
}

static bool is_token(u32 insn)
{
	return (insn & AV_WORD_SVC_MASK) == AV_WORD_SVC && av_token_of(insn >> 5) < AV_TOKENS;
}

/* A token of the copy's is the instruction that it stands for, and only of one kind. */
static void check_token(u32 insn, u32 copy)
{
	CHECK_EQ(av_token_insn(av_token_of(copy >> 5)), insn);
	CHECK(av_token_of(copy >> 5) / AV_TOKEN_OPERANDS != AV_TOKEN_UNKNOWN);
}

/*
 * Of all accesses to registers: those of the guest's that EL0 must not make
 * are not in a copy, and a token is the guest's own again.
 */
static void test_every_access(void)
{
	u32 i;

	for (i = 0; i < BIT(22) && !check_failed; i++) {
		u32 insn = AV_INSN_SYSREG_BITS | (i & BIT(21)) | (i & GENMASK(19, 0));
		u32 copy = av_patch(insn);
		u16 reg = register_of(insn), now = register_of(copy);
		bool read = insn & AV_INSN_SYSREG_READ;

		if (is_token(copy)) {
			check_token(insn, copy);
			CHECK(reg != SP_EL0 && reg != TPIDR_EL1);
			continue;
		}
		CHECK(copy == AV_INSN_UDF || (copy ^ insn) == ((u32)(reg ^ now) << 5));
		CHECK(now != SP_EL0 && !(read && now == TPIDR_EL1));
		CHECK_EQ(now == TPIDR_EL0, reg == SP_EL0);
		CHECK_EQ(now == TPIDRRO_EL0, read && reg == TPIDR_EL1);
		CHECK(copy != AV_INSN_COPY_SVC);
	}
}

/* Of all other words: a token is the guest's own again, and no word is one by itself. */
static void test_every_other(void)
{
	u64 word, tokens = 0;

	for (word = 0; word < BIT_ULL(32); word += (word + 4093) >> 26 == 0x35 ||
							word >> 26 == 0x35 ? 1 : 4093) {
		u32 copy = av_patch(word);

		if ((word & AV_INSN_SYSREG_MASK) == AV_INSN_SYSREG_BITS)
			continue;
		if ((word & AV_INSN_PATCH_MASK) != AV_INSN_PATCH_BITS)
			CHECK_EQ(copy, word);
		if (is_token(word))
			CHECK_EQ(copy, AV_INSN_COPY_SVC);
		else if (is_token(copy))
			check_token(word, copy);
		else
			CHECK_EQ(copy, word);
		tokens += is_token(copy);
	}
	/* ERET, HVC #0, DAIFSet and DAIFClr with 16 immediates each. */
	CHECK_EQ(tokens, 34);
}

/* Whichever half of a pair it is that counts. */
static void test_page(void)
{
	static const u32 words[] = {
		0xd5384100, 0xd503201f, 0xd53bd041, 0, ~0U, 0x80000000, 0xd5100000, 0xd5384121,
		0xd69f03e0, 0xd4000001, 0xd41f0001, 0xd0000000, 0xd8000000, 0x54000000,
		0xd4000000, 0xd5033000, 0xd50330ff, 0xd50342df, 0xd65f03c0, 0xd63f0000, 0xd6800000,
		0xd5031fff, 0xd6000000, 0xd67fffff, 0xd5032fff, 0xd3ffffff,
	};
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		for (j = 0; j < ARRAY_SIZE(words); j++) {
			u64 from[8] = { 0 }, to[9] = { [8] = 7 };
			unsigned int at;

			/* Each place of the eight that are looked at in one. */
			for (at = 0; at < 4; at++) {
				memset(from, 0, sizeof(from));
				from[at] = words[i] | (u64)words[j] << 32;
				from[7 - at] = words[j];
				av_patch_copy(to, from, 16);
				CHECK_EQ((u32)to[at], av_patch(words[i]));
				CHECK_EQ(to[at] >> 32, av_patch(words[j]));
				CHECK_EQ(to[7 - at], av_patch(words[j]));
				CHECK_EQ(to[3 - at], at == 3 - at ? to[at] : 0);
				CHECK_EQ(to[8], 7);
			}
		}
}

/* Two words that are looked at as a pair: right? */
static bool pair_is_right(u32 lower, u32 upper)
{
	u64 from[8] = { lower | (u64)upper << 32 }, to[8];

	av_patch_copy(to, from, 16);
	return to[0] == (av_patch(lower) | (u64)av_patch(upper) << 32);
}

/* Every word that may be another in a copy, beside words that others seem less by. */
static void test_every_pair(void)
{
	static const u32 beside[] = { 0, 0xd503201f, 0xd65f03c0 };
	const u64 first = AV_INSN_PATCH_BITS - 2, n = -AV_INSN_PATCH_MASK + 4;
	unsigned int i;
	u64 word, right = 0;

	for (i = 0; i < ARRAY_SIZE(beside); i++)
		for (word = first; word < first + n; word++)
			right += pair_is_right(word, beside[i]) && pair_is_right(beside[i], word);
	CHECK_EQ(right, n * ARRAY_SIZE(beside));
}

int main(void)
{
	RUN(test_words);
	RUN(test_every_pair);
	RUN(test_every_access);
	RUN(test_every_other);
	RUN(test_page);
	return TESTS_DONE();
}
