// SPDX-License-Identifier: GPL-2.0
/*
 * Places for an annex: in front of the code of a kernel that has reserved them. Each condition is
 * tested one step beyond. For places in a hole: test_annex_find_hole.c.
 */
#include "check.h"
#include "find_world.h"

/* An Image that large has its vectors in it, wherever they are looked for. */
#define LARGE		(1ULL << 30)

static struct av_annex_place place;

static void check_none(void)
{
	CHECK(!find(&place));
}

static void build_front_at(u64 image, u64 ipa)
{
	reset(image, ipa);
	map_areas(0, 1, R);
	map_areas(1, 2, RX);
	put_header(w.ipa, LARGE);
}

static void build_front(void)
{
	build_front_at(IMAGE, IMAGE_IPA);
}

static void check_front(void)
{
	CHECK(find(&place));
	CHECK_EQ(place.va, w.image);
	CHECK_EQ(place.anchor, w.image);
	CHECK_EQ(place.ipa, w.ipa);
	CHECK(!place.hole);
}

static u64 *front_page(unsigned int n)
{
	return page_of(w.image + n * AV_PAGE_SIZE);
}

static void test_front(void)
{
	static const u64 rights[] = { R, RW, R & ~UXN, RW & ~UXN };
	unsigned int i;

	build_front();
	check_front();
	w.filler = NOPS;
	check_front();
	/* EL0's byte order is its own affair, and so are its rights. */
	w.regime.sctlr |= BIT_ULL(24);
	check_front();
	for (i = 0; i < ARRAY_SIZE(rights); i++) {
		map_areas(0, 1, rights[i]);
		check_front();
	}
	/* Memory's own alignment does not matter. */
	build_front_at(IMAGE, IMAGE_IPA + 0x3000);
	check_front();
	/* By blocks: all of the first one is reserved. */
	reset(IMAGE, IMAGE_IPA);
	*block_of(area(0)) = (w.ipa | R) & ~2ULL;
	*block_of(area(32)) = (area_ipa(32) | RX) & ~2ULL;
	put_header(w.ipa, LARGE);
	w.vbar = area(33) + 0x800;
	check_front();
}

static void test_vectors(void)
{
	static const u64 rows[] = { 0, 0x800, 0x1000, 0xf800 };
	static const unsigned int areas[] = { 1, 2, 500, 1022, 1023 };
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(areas); i++) {
		for (j = 0; j < ARRAY_SIZE(rows); j++) {
			build_front();
			map_areas(areas[i], 1, RX);
			w.vbar = area(areas[i]) + rows[j];
			check_front();
			/* The image ends with the page before, and with the first byte. */
			put_header(w.ipa, w.vbar - w.image);
			check_none();
			put_header(w.ipa, w.vbar - w.image + 1);
			check_front();
		}
	}
	/* One page further is too far. */
	build_front();
	map_areas(1024, 1, RX);
	w.vbar = area(1024);
	check_none();
	CHECK_EQ(w.reads, 1024);
}

static void test_no_vectors(void)
{
	build_front();
	w.regime.sctlr |= AV_SCTLR_EE;
	check_none();
	w.regime.sctlr &= ~AV_SCTLR_EE;
	check_front();
	*page_of(w.vbar) &= ~AF;
	check_none();
	*page_of(w.vbar) = 0;
	check_none();
	CHECK_EQ(w.walks, 1);
	CHECK_EQ(w.reads, 0);
	/* In the low half. */
	build_front_at(0x10000000, IMAGE_IPA);
	check_none();
	CHECK_EQ(w.walks, 0);
}

static void test_header(void)
{
	unsigned int bit;

	reset(IMAGE, IMAGE_IPA);
	map_areas(0, 1, R);
	map_areas(1, 2, RX);
	put(w.ipa + 16, LARGE);
	check_none();
	CHECK_EQ(w.reads, 1024);
	for (bit = 0; bit < 64; bit++) {
		put(w.ipa + 56, IMAGE_MAGIC ^ BIT_ULL(bit));
		/* The other half of the word is another field. */
		if (bit < 32)
			check_none();
		else
			check_front();
	}
	/* What else is in the header's page is no gap. */
	build_front();
	put(w.ipa, ~0ULL);
	put(w.ipa + 64, 1);
	put(w.ipa + 0xff8, 1);
	check_front();
	/* A size has no sign. */
	put_header(w.ipa, 0);
	check_none();
	put_header(w.ipa, ~0ULL);
	check_front();
}

/* Another Image nearer to the vectors, which are in it, or not; or memory that is none. */
static void test_headers(void)
{
	build_front();
	map_areas(0, 40, R);
	map_areas(30, 1, RX);
	w.vbar = area(30) + 0x800;
	check_front();
	put_header(area_ipa(20), 10 * AREA + 0x800);
	check_front();
	put_header(area_ipa(20), 10 * AREA + 0x801);
	CHECK(find(&place));
	CHECK_EQ(place.va, area(20));
	CHECK_EQ(place.anchor, area(20));
	CHECK_EQ(place.ipa, area_ipa(20));
	/* It is the vectors' Image, whether it has reserved anything or not. */
	map_areas(21, 1, RX);
	map_areas(20, 1, RX);
	check_none();
	build_front();
	w.memory = w.ipa;
	check_front();
	w.memory = w.ipa + 1;
	check_none();
	/* It does not begin below the first address of all. */
	build_front_at(IMAGE, 0);
	w.memory = 0;
	check_front();
	put_header(w.ipa, 0);
	check_none();
	CHECK_EQ(w.reads, 2);
}

/* A walk that fails leaves 0, which is memory's as well as any. */
static void check_pages(u64 ipa)
{
	static const int errors[] = { 1, -EFAULT, -ENOMEM };
	unsigned int i, j;

	build_front_at(IMAGE, ipa);
	w.memory = ipa;
	for (i = 0; i < PAGES; i++) {
		u64 *desc = front_page(i), good = *desc;
		const u64 bad[] = {
			good & ~PXN, good & ~AF, 0, good + AV_PAGE_SIZE, good ^ AREA,
			good ^ 1ULL << 30, good ^ 1ULL << 39, good | OUTSIDE,
		};

		for (j = 0; j < ARRAY_SIZE(bad); j++) {
			*desc = bad[j];
			check_none();
		}
		*desc = good;
		for (j = 0; j < ARRAY_SIZE(errors); j++) {
			break_desc(desc, errors[j]);
			check_none();
		}
		break_desc(NULL, 0);
		check_front();
	}
	/* The pages around do not matter. */
	*page_of(w.image - AV_PAGE_SIZE) = 0;
	*page_of(area(1) + AV_PAGE_SIZE) = 0;
	check_front();
}

static void test_front_pages(void)
{
	check_pages(IMAGE_IPA);
	check_pages(0);
}

static void test_gap(void)
{
	static const u64 others[] = {
		1, 1ULL << 63, NOP, NOP << 32, NOPS ^ 1, NOPS ^ 1ULL << 63, ~0ULL,
	};
	unsigned int page, at, i;

	for (page = 1; page < PAGES; page++) {
		for (at = 0; at < AV_PAGE_SIZE; at += page == 1 ? 8 : 0xff8) {
			u64 ipa = IMAGE_IPA + page * AV_PAGE_SIZE + at;

			build_front();
			put(ipa, NOPS);
			check_front();
			w.filler = NOPS;
			put(ipa, 0);
			check_front();
			for (i = 0; i < ARRAY_SIZE(others); i++) {
				put(ipa, others[i]);
				check_none();
			}
		}
	}
}

static void test_front_va(void)
{
	/* An Image that is not where one may be, though all else is right. */
	build_front_at(IMAGE + 0x1000, IMAGE_IPA);
	check_none();
	build_front_at(IMAGE + 0x8000, IMAGE_IPA + 0x8000);
	check_none();
	/* In the last GiB, in front of it, and the vectors in it. */
	build_front_at(AV_WINDOW_GIB, IMAGE_IPA);
	check_none();
	build_front_at(AV_WINDOW_GIB + 3 * AREA, IMAGE_IPA);
	check_none();
	build_front_at(-2 * AREA, IMAGE_IPA);
	check_none();
	build_front_at(AV_WINDOW_GIB - AREA, IMAGE_IPA);
	check_front();
	/* The first address that there is. */
	build_front_at(0xffff000000000000, IMAGE_IPA);
	check_front();
}

/* The header, and the space between it and the vectors; then each page of the gap. */
static void test_unreadable(void)
{
	unsigned int all, i;

	build_front();
	check_front();
	all = w.reads;
	CHECK_EQ(all, 2 + 15 * 4096 / 512);
	for (i = 1; i <= all; i++) {
		w.fails = i;
		check_none();
		CHECK_EQ(w.reads, i);
	}
	w.fails = all + 1;
	check_front();
}

int main(void)
{
	RUN(test_front);
	RUN(test_vectors);
	RUN(test_no_vectors);
	RUN(test_header);
	RUN(test_headers);
	RUN(test_front_pages);
	RUN(test_gap);
	RUN(test_front_va);
	RUN(test_unreadable);
	return TESTS_DONE();
}
