// SPDX-License-Identifier: GPL-2.0
/*
 * Places for an annex in random address spaces: the result must follow the rules, which are
 * implemented here a second time without regard for speed. Also the maximum cost of a search.
 */
#include "check.h"
#include "find_world.h"

#define LAYOUTS		4000
#define GARBAGE		200

/* 64 KiB areas that are looked at, from the vectors' own on. */
#define SAMPLES		1024
#define FEW		8

static u64 seed;

static u32 rnd(u32 n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % n;
}

/* ---- the rules ---- */

/* The first page of the n'th area above the vectors' own. */
static struct sample {
	bool mapped, linear;
	u8 rights;
} sample[SAMPLES];

static u64 sample_va(unsigned int n)
{
	return ALIGN_DOWN(w.vbar, AREA) + n * AREA;
}

static void take_samples(u64 ipa)
{
	struct av_walk at;
	unsigned int i;

	for (i = 1; i < SAMPLES; i++) {
		sample[i] = (struct sample) { .mapped = !look(sample_va(i), &at) };
		sample[i].linear = sample_va(i) - at.ipa == w.vbar - ipa;
		sample[i].rights = at.el1;
	}
}

/* Of the image, there and mapped as one of the parts that a hole is between. */
static bool is_part(unsigned int first)
{
	unsigned int i;

	for (i = first; i < first + FEW; i++)
		if (i >= SAMPLES || !sample[i].mapped)
			return false;
	return true;
}

static bool is_data(unsigned int first)
{
	unsigned int i;

	for (i = first; i < first + FEW; i++)
		if (!(sample[i].rights & AV_W) || sample[i].rights & AV_X)
			return false;
	return true;
}

static bool is_nothing(unsigned int from, unsigned int to)
{
	unsigned int i;

	for (i = from; i < to; i++)
		if (sample[i].mapped)
			return false;
	return true;
}

static bool is_linear(unsigned int to)
{
	unsigned int i;

	for (i = 1; i < to; i++)
		if (sample[i].mapped && !sample[i].linear)
			return false;
	return true;
}

static bool is_hole(unsigned int last, unsigned int above)
{
	return (above - last) * AREA > 512 << 10 && is_part(above) && is_data(above) &&
	       is_part(last - FEW + 1) && sample[last].rights == AV_R &&
	       is_nothing(last + 1, above) && is_linear(above + FEW);
}

static bool is_empty(u64 va)
{
	struct av_walk at;
	unsigned int i;

	for (i = 0; i < PAGES; i++)
		if (!av_walk_empty(look(va + i * AV_PAGE_SIZE, &at)))
			return false;
	return true;
}

static bool place_in_hole(unsigned int last, u64 ipa, struct av_annex_place *want)
{
	unsigned int i;

	for (i = last + 1; i <= last + 4; i++) {
		if (sample_va(i) >= AV_WINDOW_GIB || !is_empty(sample_va(i)))
			continue;
		*want = (struct av_annex_place) {
			.va = sample_va(i), .anchor = sample_va(last),
			.ipa = ipa + sample_va(last) - w.vbar, .hole = true,
		};
		return true;
	}
	return false;
}

static bool want_hole(u64 ipa, struct av_annex_place *want)
{
	unsigned int last, above;

	take_samples(ipa);
	for (above = 1; above < SAMPLES; above++)
		for (last = FEW; is_part(above) && last < above; last++)
			if (is_hole(last, above))
				return place_in_hole(last, ipa, want);
	return false;
}

static bool is_word(u64 ipa, u64 word, u64 mask)
{
	u64 is;

	return peek(ipa, &is) && (is & mask) == word;
}

static bool is_gap(u64 ipa)
{
	unsigned int i;

	for (i = 0; i < AV_PAGE_SIZE; i += 8)
		if (!is_word(ipa + i, 0, ~0ULL) && !is_word(ipa + i, NOPS, ~0ULL))
			return false;
	return true;
}

static bool is_reserved(u64 va, u64 ipa)
{
	struct av_walk at;
	unsigned int i;

	for (i = 0; i < AV_STUB_AREA; i += AV_PAGE_SIZE)
		if (look(va + i, &at) || at.ipa != ipa + i || at.el1 & AV_X ||
		    (i && !is_gap(ipa + i)))
			return false;
	return true;
}

static bool want_front(u64 ipa, struct av_annex_place *want)
{
	u64 below, size;

	for (below = w.vbar % AREA; below < 64 * MIB; below += AREA) {
		if (!peek(ipa - below + 16, &size))
			return false;
		if (!is_word(ipa - below + 56, IMAGE_MAGIC, GENMASK_ULL(31, 0)) || size <= below)
			continue;
		*want = (struct av_annex_place) {
			.va = w.vbar - below, .anchor = w.vbar - below, .ipa = ipa - below,
		};
		return want->va < AV_WINDOW_GIB && is_reserved(want->va, want->ipa);
	}
	return false;
}

static bool want(struct av_annex_place *place)
{
	struct av_walk at;

	return !look(w.vbar, &at) && (want_front(at.ipa, place) || want_hole(at.ipa, place));
}

enum found { NOWHERE, FRONT, HOLE, FOUNDS };

static enum found check(void)
{
	struct av_annex_place place = {}, wanted = {};
	bool is = want(&wanted);

	CHECK_EQ(find(&place), is);
	if (!is)
		return NOWHERE;
	CHECK_EQ(place.va, wanted.va);
	CHECK_EQ(place.anchor, wanted.anchor);
	CHECK_EQ(place.ipa, wanted.ipa);
	CHECK_EQ(place.hole, wanted.hole);
	return place.hole ? HOLE : FRONT;
}

/* ---- random kernels ---- */

static const u64 kinds[] = { R, 0, RW, RX, RWX };

/* One page of an area differs from the others. */
static void random_page(unsigned int n, unsigned int page)
{
	u64 ipa = area_ipa(n) + page * AV_PAGE_SIZE, rights = kinds[rnd(ARRAY_SIZE(kinds))];
	u64 *desc = page_of(area(n) + page * AV_PAGE_SIZE);

	switch (rnd(8)) {
	case 0:
		*desc = 0;
		break;
	case 1:
		*desc = (ipa ^ AREA << rnd(8)) | (rights ?: R);
		break;
	case 2:
	case 3:
		*desc = (ipa | RW) & ~AF;
		break;
	case 4:
		*desc = ipa | OUTSIDE | RW;
		break;
	default:
		*desc = rights ? ipa | rights : 0;
	}
}

/* So many areas of a kind. One page in sparse is another. */
static void random_part(unsigned int first, unsigned int nr, u64 kind, unsigned int sparse)
{
	unsigned int n, page;

	map_areas(first, nr, kind);
	for (n = first; n < first + nr; n++)
		for (page = 0; page < PAGES; page++)
			if (sparse && !rnd(page ? sparse : 16 * sparse))
				random_page(n, page);
}

/* Read-only, missing, writable: mostly in turns. */
static void random_parts(void)
{
	static const unsigned int many[] = { 0, 0, 16, 64, 256 };
	unsigned int parts = 2 + rnd(8), first = 2, kind = rnd(3), nr, sparse;

	while (parts--) {
		nr = 5 + rnd(10);
		if (!rnd(20))
			nr += rnd(700);
		if (first + nr > 1100)
			break;
		sparse = many[rnd(ARRAY_SIZE(many))];
		random_part(first, nr, rnd(20) ? kinds[kind] : kinds[rnd(5)], sparse);
		first += nr;
		kind = (kind + (rnd(8) ? 1 : 2)) % 3;
	}
}

static void random_front(void)
{
	unsigned int defects = rnd(3);

	put_header(w.ipa, rnd(8) ? 1 << 30 : rnd(3 * AV_STUB_AREA));
	w.filler = rnd(2) ? NOPS : 0;
	map_areas(0, 1, rnd(4) ? R : RW);
	if (!rnd(8))
		put_header(w.ipa - AREA * rnd(9), 1 << 30);
	if (!rnd(8))
		w.memory = w.ipa + AREA * rnd(2);
	while (defects--) {
		if (rnd(2))
			put(w.ipa + 8 * rnd(AV_STUB_AREA / 8), rnd(2) ? NOPS : 1);
		else if (rnd(2))
			random_page(0, 1 + rnd(PAGES - 1));
	}
}

static void random_kernel(void)
{
	static const u64 images[] = { IMAGE, IMAGE + 31 * AREA, -64 * MIB - 2 * AREA };

	reset(images[rnd(ARRAY_SIZE(images))], IMAGE_IPA + AV_PAGE_SIZE * rnd(2));
	map_areas(0, 2, RX);
	w.vbar = area(1) + 0x800 * rnd(32);
	if (rnd(2))
		random_front();
	random_parts();
}

static void test_kernels(void)
{
	unsigned int found[FOUNDS] = {}, i;

	for (i = 0; i < LAYOUTS; i++) {
		seed = i;
		random_kernel();
		found[check()]++;
	}
	/* Each of them is often enough the one under test. */
	for (i = 0; i < FOUNDS; i++)
		CHECK(found[i] > LAYOUTS / 10);
}

/* ---- random tables ---- */

/* Any bits, except the address, which is a table's or memory's; often there is none. */
static u64 random_desc(unsigned int empty)
{
	u64 to = rnd(8) ? TABLES + (2 + rnd(NR_TABLES - 2)) * AV_PAGE_SIZE :
			  MEMORY + rnd(MEMORY_END - MEMORY);

	if (rnd(100) < empty)
		return 0;
	return (u64)rnd(1 << 16) << 48 | (to & AV_PAGE_MASK) | rnd(1 << 12) |
	       (rnd(8) ? TABLE | AF : 0);
}

static void random_tables(void)
{
	unsigned int i, j, empty = rnd(100);
	struct av_walk at;

	reset(IMAGE, IMAGE_IPA);
	nr_tables = NR_TABLES;
	for (i = 1; i < NR_TABLES; i++)
		for (j = 0; j < AV_ENTRIES; j++)
			tables[i][j] = random_desc(i > 3 ? empty : 0);
	w.memory = rnd(2) ? 0 : MEMORY;
	/* Vectors that are there, if some are soon found. */
	for (i = 0; !i || (i < 64 && look(w.vbar, &at)); i++)
		w.vbar = 0xffff000000000000 + ((u64)rnd(1 << 25) << 23) + 0x800 * rnd(1 << 12);
}

static void test_tables(void)
{
	unsigned int i, searched = 0;

	for (i = 0; i < GARBAGE; i++) {
		seed = i;
		random_tables();
		check();
		searched += w.walks > 1;
	}
	CHECK(searched > GARBAGE / 4);
}

/* ---- bounds: find() looks at what lies between two offers ---- */

/* The Image of vectors that are as far as can be, but for one word. */
static void build_far_front(void)
{
	reset(IMAGE, IMAGE_IPA);
	map_areas(0, 1, R);
	put_header(w.ipa, 1 << 30);
	put(w.ipa + AREA - 8, 1);
	map_areas(1023, 1, RX);
	w.vbar = area(1023) + 0x800;
}

/* From there on, an image as large as can be: only the last page of each area in a hole of it. */
static void build_far_hole(void)
{
	unsigned int i;

	map_areas(1024, 8, R);
	for (i = 1032; i < 1023 + 1024; i++)
		*page_of(area(i + 1) - AV_PAGE_SIZE) = (area_ipa(i + 1) - AV_PAGE_SIZE) | RW;
	map_areas(1023 + 1024 - 8, 8, RW);
}

static void test_most(void)
{
	build_far_front();
	CHECK_EQ(check(), NOWHERE);
	CHECK_EQ(w.reads, 1024 + 15 * 8);
	CHECK_EQ(w.walks, 1 + 16 + 1023);
	build_far_hole();
	CHECK_EQ(check(), NOWHERE);
	CHECK_EQ(w.walks + w.reads, MOST_STEPS);
	/* It is a hole: with one page less the last area that is tried is taken. */
	*page_of(area(1036) - AV_PAGE_SIZE) = 0;
	CHECK_EQ(check(), HOLE);
	CHECK_EQ(w.walks + w.reads, MOST_STEPS);
	/* find() has seen that all was offered; a CPU is not kept for longer than this. */
	CHECK(AV_ANNEX_STEPS <= 64);
}

/* Nothing that the samples find, and then data, far away. */
static void test_sparse(void)
{
	unsigned int i;

	reset(IMAGE, IMAGE_IPA);
	map_areas(1, 1, RX);
	for (i = 2; i < 1200; i++)
		*page_of(area(i + 1) - AV_PAGE_SIZE) = (area_ipa(i + 1) - AV_PAGE_SIZE) | R;
	CHECK_EQ(check(), NOWHERE);
	map_areas(1000, 40, RW);
	CHECK_EQ(check(), NOWHERE);
	CHECK_EQ(w.walks, 1 + 1023);
	CHECK_EQ(w.reads, 1024);
}

/* All is there, as it lies in memory: by blocks, to the end. */
static void test_full(void)
{
	static const u64 rights[] = { RX, R, RW };
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(rights); i++) {
		reset(IMAGE, IMAGE_IPA);
		for (j = 0; j < 1200; j += 32)
			*block_of(area(j)) = (area_ipa(j) | rights[i]) & ~2ULL;
		CHECK_EQ(check(), NOWHERE);
		CHECK_EQ(w.walks, 1 + 1023);
		CHECK_EQ(w.reads, 1024);
	}
}

int main(void)
{
	RUN(test_kernels);
	RUN(test_tables);
	RUN(test_most);
	RUN(test_sparse);
	RUN(test_full);
	return TESTS_DONE();
}
