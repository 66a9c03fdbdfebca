// SPDX-License-Identifier: GPL-2.0
/*
 * Stubs (mmu/stub/stub.h) against the instructions that they stand for: a model of a CPU
 * (stub_model.h) runs the site's word and the stub.
 */
#include "stub_model.h"

static void test_random(void)
{
	u32 i, n, round;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		for (n = 0; n < (has_operand(&kinds[i]) ? 32 : 1); n++) {
			struct world w = { .insn = kinds[i].word | n, .kind = &kinds[i] };
			u32 seen = 0, whole = BIT(shapes[kinds[i].what].nr) - 1;

			for (round = 0; round < 60; round++) {
				random_places(&w);
				random_state(&w, round % 2);
				CHECK(make(&w));
				check_shape(&w);
				/* all but LDR (literal) */
				CHECK_EQ(av_stub_replaces_token(w.stub.site), w.stub.site >> 24 != 0x58);
				run(&w, round % 2, &seen);
			}
			CHECK_EQ(seen, is_nop(&kinds[i], w.insn) ? 0 : whole);
		}
}

/* There is no place beyond a stub's end, or for an instruction without a stub. */
static void test_nowhere(void)
{
	static const u32 none[] = { 0xd69f03e0, 0xd4000002, 0xd5182040, 0xd5384100, 0xd50342df, 0 };
	u32 i, index, n;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		for (n = 0; n < (has_operand(&kinds[i]) ? 32 : 1); n++)
			for (index = 0; index < 40; index++) {
				u32 insn = kinds[i].word | n;
				bool in = index < shapes[kinds[i].what].nr &&
					  !is_nop(&kinds[i], insn);

				CHECK_EQ(av_stub_rest(insn, 0, index).how != AV_STUB_NOWHERE, in);
			}
	for (i = 0; i < ARRAY_SIZE(none); i++)
		for (index = 0; index < 16; index++)
			CHECK_EQ(av_stub_rest(none[i], 0, index).how, AV_STUB_NOWHERE);
	CHECK_EQ(av_stub_rest(kinds[0].word, 0, ~0U).how, AV_STUB_NOWHERE);
}

/* ==== reach and place ==== */

/* Sites below and above, just in and just out, for a literal of the site's and for branches. */
static void test_reach(void)
{
	static const u64 bases[] = { 0xffff800012340000, 0x7fff0000, 0 };
	u32 i, j, place;
	int words, side;

	for (i = 0; i < ARRAY_SIZE(kinds) * ARRAY_SIZE(bases); i++) {
		const struct kind *kind = &kinds[i % ARRAY_SIZE(kinds)];
		struct world w = { .insn = kind->word, .kind = kind,
				   .base = bases[i / ARRAY_SIZE(kinds)] };
		const u64 ats[] = { w.base + 0x1000, w.base + 0x5550, w.base + 0x10000 - 48 };

		for (j = 0; j < 2 * 33 * ARRAY_SIZE(ats); j++) {
			place = j % ARRAY_SIZE(ats);
			words = (int)(j / ARRAY_SIZE(ats) / 2) - 16;
			side = j / ARRAY_SIZE(ats) % 2 ? 1 : -1;
			w.at = ats[place];
			w.site = w.at + side * 128 * (s64)MIB + 4 * words;
			check_edge(&w);
			w.site = w.base + kind->reg * 8 + side * (s64)MIB + 4 * words;
			check_edge(&w);
		}
		/* Nowhere near, of the other half. */
		w.site = w.base ^ BIT_ULL(63);
		CHECK(!make(&w));
	}
}

/* Granules are said where all places of the area will do, and only there. */
static void test_granules(void)
{
	u32 i, round, some = 0, none = 0;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		for (round = 0; round < 40; round++) {
			struct world w = { .insn = kinds[i].word, .base = 0x40000000 };
			u32 nr = (shapes[kinds[i].what].nr + 3) / 4;
			u32 spread = round < 20 ? 8 : 0x4000;
			u64 first = w.base + 0x1000, last = w.base + 0x10000 - nr * 16;
			bool all = true;

			w.site = round % 2 ? last - 128 * MIB : first + 128 * MIB;
			w.site += 4 * (s64)(rnd() % (2 * spread)) - 4 * (s64)spread;
			for (w.at = first; w.at <= last; w.at += 16)
				all &= make(&w);
			CHECK_EQ(av_stub_granules(w.insn, 0, w.site, w.base), all ? nr : 0);
			*(all ? &some : &none) += 1;
		}
	CHECK(some > 20 && none > 20);
}

/* Alignment, and the area's ends. */
static void test_places(void)
{
	u32 i, off;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct world w = { .insn = kinds[i].word };
		const struct world good = { .insn = w.insn, .base = 0x50000, .site = 0x400000,
					    .at = 0x51000 };
		u32 size = (shapes[kinds[i].what].nr + 3) / 4 * 16;

		for (off = 0; off < 64; off++) {
			w = good;
			w.at += off;
			CHECK_EQ(make(&w), off % 16 == 0);
			w = good;
			w.site += off;
			CHECK_EQ(make(&w), off % 4 == 0);
			w = good;
			w.base += off * 0x1000;
			w.at += off * 0x1000;
			CHECK_EQ(make(&w), off % 16 == 0);
			w = good;
			w.at = 0x60000 - 16 * off;
			CHECK_EQ(make(&w), 16 * off >= size);
			w = good;
			w.at = 0x51000 - 16 * off;
			CHECK_EQ(make(&w), off == 0);
		}
		/* The same where the word for the site is all: the stub's address is nothing. */
		if (kinds[i].what == READS) {
			w = good;
			w.site = 0x60000;
			w.at = 7;
			CHECK(make(&w));
			w.site = 0x60002;
			CHECK(!make(&w));
			w.site = 0x60000;
			w.base += 8;
			CHECK(!make(&w));
			w.insn |= 31;
			CHECK(!make(&w));
			CHECK_EQ(av_stub_granules(w.insn, 0, w.site, w.base), 0);
		}
	}
}

/* Of all system instructions, and of some others, only those of the table have one. */
static void test_every_word(void)
{
	u32 i, found = 0;
	u64 word;

	for (i = 0; i < BIT(22) && !check_failed; i++) {
		struct world w = { .insn = 0xd5000000 | i, .base = 0x50000, .at = 0x51000 };
		bool wanted = kind_of(w.insn);

		w.site = 0x400000;
		CHECK_EQ(make(&w), wanted);
		w.site = 0x80000;
		CHECK_EQ(make(&w), wanted);
		if (wanted) {
			w.kind = kind_of(w.insn);
			check_shape(&w);
			found++;
		} else {
			CHECK_EQ(av_stub_rest(w.insn, 0, 0).how, AV_STUB_NOWHERE);
		}
	}
	CHECK_EQ(found, 18 * 32 + 4);
	for (word = 0; word < BIT_ULL(32); word += word >> 24 == 0xd4 ? 31 : 4093) {
		struct world w = { .insn = word, .site = 0x400000, .base = 0x50000, .at = 0x51000 };

		if (word >> 22 != 0xd5000000 >> 22)
			CHECK(!make(&w));
	}
}

/* ==== as an assembler writes them ==== */

#define ABOVE	0xffff8000123d8764
#define LAST	(BASE + 0xffd0)

static const struct assembled assembled[] = {
	/* mrs x22, elr_el1 */
	{ 0xd5384036, 0, NEAR, AT, 0x587b8096, 0, {} },
	/* mrs x0, tcr_el1 */
	{ 0xd5382040, 0, ABOVE, AT, 0x58b3c860, 0, {} },
	/* mrs xzr, far_el1 */
	{ 0xd538601f, 0, FAR, AT, 0xd503201f, 0, {} },
	/* mrs xzr, daif */
	{ 0xd53b423f, 0, NEAR, AT, 0xd503201f, 0, {} },
	/* mrs x1, esr_el1 */
	{ 0xd5385201, 0, FAR, AT, 0x14d15e6e, 2, { 0x58ff6f81, 0x172ea192 } },
	/* mrs x30, ttbr1_el1 */
	{ 0xd538203e, 0, UP, LAST, 0x16403ff3, 2, { 0x58f8059e, 0x15bfc00d } },
	/* mrs x21, daif */
	{ 0xd53b4235, 0, NEAR, AT, 0x1403e08c, 3, { 0x58ff6fd5, 0x927a0eb5, 0x17fc1f73 } },
	/* msr elr_el1, x21 */
	{ 0xd5184035, 0, FAR, AT, 0x14d15e6e, 5, {
		0xf81f0ffe, 0x10ff6e7e, 0xf9000bd5, 0xf84107fe, 0x172ea18f } },
	/* msr spsr_el1, x30 */
	{ 0xd518401e, 0, UP, LAST, 0x16403ff3, 5, {
		0xf81f0ffd, 0x10f8017d, 0xf9000fbe, 0xf84107fd, 0x15bfc00a } },
	/* msr tpidr_el0, xzr */
	{ 0xd51bd05f, 0, NEAR, AT, 0x1403e08c, 5, {
		0xf81f0ffe, 0x10ff6e7e, 0xf90027df, 0xf84107fe, 0x17fc1f71 } },
	/* msr tpidrro_el0, x29 */
	{ 0xd51bd07d, 0, NEAR, AT, 0x1403e08c, 5, {
		0xf81f0ffe, 0x10ff6e7e, 0xf9002bdd, 0xf84107fe, 0x17fc1f71 } },
	/* msr contextidr_el1, x3 */
	{ 0xd518d023, 0, NEAR, AT, 0x1403e08c, 5, {
		0xf81f0ffe, 0x10ff6e7e, 0xf90033c3, 0xf84107fe, 0x17fc1f71 } },
	/* msr daifset, #3 */
	{ 0xd50343df, 0, FAR, AT, 0x14d15e6e, 5, {
		0xf81f0ffe, 0x10ff547e, 0x390da3de, 0xf84107fe, 0x172ea18f } },
	/* msr daifset, #15 */
	{ 0xd5034fdf, 0, NEAR, LAST, 0x14041bf4, 5, {
		0xf81f0ffe, 0x10f7ff7e, 0x7900d3de, 0xf84107fe, 0x17fbe409 } },
	/* msr daifclr, #3 */
	{ 0xd50343ff, 0, FAR, AT, 0x14d15e6e, 10, {
		0xf81f0ffe, 0x58ff71be, 0xb50000be, 0x10ff6e3e, 0x3900a3df,
		0xf84107fe, 0x172ea18d, 0xf84107fe, 0xd41f1061, 0x172ea18a } },
	/* msr daifclr, #15 */
	{ 0xd5034fff, 0, UP, LAST, 0x16403ff3, 10, {
		0xf81f0ffe, 0x58f804be, 0xb50000be, 0x10f8013e, 0xf90017df,
		0xf84107fe, 0x15bfc008, 0xf84107fe, 0xd41f11e1, 0x15bfc005 } },
	/* msr daif, x7 */
	{ 0xd51b4227, 0, NEAR, AT, 0x1403e08c, 10, {
		0xf81f0ffe, 0x58ff71be, 0xb50000be, 0x10ff6e3e, 0xf90017c7,
		0xf84107fe, 0x17fc1f6f, 0xf84107fe, 0xd41f18e1, 0x17fc1f6c } },
	/* msr daif, x30 */
	{ 0xd51b423e, 0, NEAR, AT, 0x1403e08c, 10, {
		0xf81f0ffd, 0x58ff71bd, 0xb50000bd, 0x10ff6e3d, 0xf90017be,
		0xf84107fd, 0x17fc1f6f, 0xf84107fd, 0xd41f1bc1, 0x17fc1f6c } },
};

static void test_words(void)
{
	check_assembled(assembled, ARRAY_SIZE(assembled));
}

int main(void)
{
	RUN(test_words);
	RUN(test_random);
	RUN(test_nowhere);
	RUN(test_reach);
	RUN(test_granules);
	RUN(test_places);
	RUN(test_every_word);
	return TESTS_DONE();
}
