// SPDX-License-Identifier: GPL-2.0
/* Code of virtual EL1 as it stands in a copy: mmu/patch.h. */
#include "check.h"
#include "mmu/patch.h"

#define SP_EL0		AV_SYS(3, 0, 4, 1, 0)
#define TPIDR_EL1	AV_SYS(3, 0, 13, 0, 4)
#define TPIDR_EL0	AV_SYS(3, 3, 13, 0, 2)
#define TPIDRRO_EL0	AV_SYS(3, 3, 13, 0, 3)

static const struct {
	u32 guest, copy, back;
} cases[] = {
	/* as an assembler writes them */
	{ 0xd5384100, 0xd53bd040, 0xd53bd040 },	/* mrs x0, sp_el0: mrs x0, tpidr_el0 */
	{ 0xd518411c, 0xd51bd05c, 0xd51bd05c },	/* msr sp_el0, x28: msr tpidr_el0, x28 */
	{ 0xd538d083, 0xd53bd063, 0xd53bd063 },	/* mrs x3, tpidr_el1: mrs x3, tpidrro_el0 */
	{ 0xd518d083, 0xd518d083, 0xd518d083 },	/* msr tpidr_el1, x3 */
	{ 0xd53bd041, 0xd5384121, 0xd53bd041 },	/* mrs x1, tpidr_el0 */
	{ 0xd51bd05e, 0xd518413e, 0xd51bd05e },	/* msr tpidr_el0, x30 */
	{ 0xd51bd07f, 0xd518415f, 0xd51bd07f },	/* msr tpidrro_el0, xzr */
	{ 0xd5384121, AV_INSN_UDF, AV_INSN_UDF },	/* what the copy means by these */
	{ 0xd5184140, AV_INSN_UDF, AV_INSN_UDF },
	{ 0xd5384240, 0xd5384240, 0xd5384240 },	/* mrs x0, currentel */
	{ 0xd503201f, 0xd503201f, 0xd503201f },	/* nop */
};

static void test_words(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK_EQ(av_patch(cases[i].guest), cases[i].copy);
		CHECK_EQ(av_unpatch(cases[i].copy), cases[i].back);
	}
}

static u16 register_of(u32 insn)
{
	return insn >> 5;
}

/*
 * Of all accesses to registers: those of the guest's that EL0 must not make
 * are not in a copy; what traps there is the guest's own again.
 */
static void test_every_access(void)
{
	u32 i;

	for (i = 0; i < BIT(22) && !check_failed; i++) {
		u32 insn = AV_INSN_SYSREG_BITS | (i & BIT(21)) | (i & GENMASK(19, 0));
		u32 copy = av_patch(insn), back = av_unpatch(copy);
		u16 reg = register_of(insn), now = register_of(copy);
		bool read = insn & AV_INSN_SYSREG_READ;

		CHECK(copy == AV_INSN_UDF || (copy ^ insn) == ((u32)(reg ^ now) << 5));
		CHECK(now != SP_EL0 && !(read && now == TPIDR_EL1));
		CHECK_EQ(now == TPIDR_EL0, reg == SP_EL0);
		CHECK_EQ(now == TPIDRRO_EL0, read && reg == TPIDR_EL1);
		if (reg == TPIDR_EL0 || reg == TPIDRRO_EL0)
			CHECK(copy != insn && back == insn);
		else
			CHECK_EQ(back, copy);
	}
}

/* What is no access to a register stands for itself. */
static void test_all_else(void)
{
	u64 word;

	for (word = 0; word < BIT_ULL(32); word += 4093)
		if ((word & AV_INSN_SYSREG_MASK) != AV_INSN_SYSREG_BITS)
			CHECK(av_patch(word) == word && av_unpatch(word) == word);
}

/* Whichever half of a pair it is that counts. */
static void test_page(void)
{
	static const u32 words[] = {
		0xd5384100, 0xd503201f, 0xd53bd041, 0, ~0U, 0x80000000, 0xd5100000, 0xd5384121,
	};
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		for (j = 0; j < ARRAY_SIZE(words); j++) {
			u64 from[2] = { words[i] | (u64)words[j] << 32, words[j] };
			u64 to[3] = { [2] = 7 };

			av_patch_copy(to, from, 4);
			CHECK_EQ((u32)to[0], av_patch(words[i]));
			CHECK_EQ(to[0] >> 32, av_patch(words[j]));
			CHECK_EQ(to[1], av_patch(words[j]));
			CHECK_EQ(to[2], 7);
		}
}

int main(void)
{
	RUN(test_words);
	RUN(test_every_access);
	RUN(test_all_else);
	RUN(test_page);
	return TESTS_DONE();
}
