// SPDX-License-Identifier: GPL-2.0
/*
 * Places for an annex: in the hole of a kernel's image, as Linux leaves one. Each condition is
 * tested one step beyond.
 */
#include "check.h"
#include "find_world.h"

/* The kernel: numbers of areas that are read-only, missing, and writable. */
#define BELOW		16
#define HOLE		16
#define ABOVE		16
/* The last of the ones below, and the first of the others. */
#define LAST		(2 + BELOW - 1)
#define HOLE_AT		(LAST + 1)
#define ABOVE_AT	(HOLE_AT + HOLE)
/* As many areas as each part has at least. */
#define FEW		8

static struct av_annex_place place;

static void check_none(void)
{
	CHECK(!find(&place));
}

static void build(unsigned int below, unsigned int hole, unsigned int above, u64 image)
{
	reset(image, IMAGE_IPA);
	map_areas(0, 2, RX);
	if (below)
		map_areas(2, below - below / 2, RX);
	map_areas(2 + below - below / 2, below / 2, R);
	map_areas(2 + below + hole, above, RW);
}

static void build_hole(void)
{
	build(BELOW, HOLE, ABOVE, IMAGE);
}

static void check_hole(unsigned int at, unsigned int anchor)
{
	CHECK(find(&place));
	CHECK_EQ(place.va, area(at));
	CHECK_EQ(place.anchor, area(anchor));
	CHECK_EQ(place.ipa, area_ipa(anchor));
	CHECK(place.hole);
}

static void check_this_hole(void)
{
	check_hole(HOLE_AT, LAST);
}

static void test_hole(void)
{
	u64 offset;

	build_hole();
	check_this_hole();
	for (offset = 0; offset < AREA; offset += 0x800) {
		w.vbar = area(1) + offset;
		check_this_hole();
	}
	/* Where it is in memory does not matter. */
	reset(IMAGE, IMAGE_IPA + 0x3000);
	map_areas(1, LAST - 1, RX);
	map_areas(LAST, 1, R);
	map_areas(ABOVE_AT, ABOVE, RW);
	check_this_hole();
}

static void test_no_vectors(void)
{
	build_hole();
	w.regime.sctlr |= AV_SCTLR_EE;
	check_none();
	w.regime.sctlr &= ~AV_SCTLR_EE;
	*page_of(area(1)) &= ~AF;
	check_none();
	build(BELOW, HOLE, ABOVE, 0x10000000);
	check_none();
	CHECK_EQ(w.walks, 0);
}

static void test_hole_size(void)
{
	unsigned int below, hole, above;

	/* From the last sample below to the first above there are more than 512 KiB. */
	for (hole = 0; hole <= 12; hole++) {
		build(BELOW, hole, ABOVE, IMAGE);
		if (hole >= FEW)
			check_this_hole();
		else
			check_none();
	}
	for (below = 0; below <= 12; below++) {
		build(below, HOLE, ABOVE, IMAGE);
		if (below >= FEW)
			check_hole(2 + below, 1 + below);
		else
			check_none();
	}
	for (above = 0; above <= 12; above++) {
		build(BELOW, HOLE, above, IMAGE);
		if (above >= FEW)
			check_this_hole();
		else
			check_none();
	}
	build(FEW, FEW, FEW, IMAGE);
	check_hole(2 + FEW, 1 + FEW);
}

/* A part ends where one sample is missing. */
static void test_interrupted(void)
{
	unsigned int i;

	for (i = 0; i < FEW; i++) {
		build_hole();
		*page_of(area(LAST - i)) &= ~AF;
		if (i)
			check_none();
		else
			check_hole(HOLE_AT, LAST - 1);
		build_hole();
		*page_of(area(ABOVE_AT + i)) &= ~AF;
		if (i)
			check_none();
		else
			check_this_hole();
	}
	build_hole();
	*page_of(area(LAST - FEW)) = 0;
	*page_of(area(ABOVE_AT + FEW)) = 0;
	check_this_hole();
}

static void test_rights(void)
{
	static const u64 all[] = { RX, R, RW, RWX };
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		/* Below, the last one alone says what all have become. */
		for (n = 0; n < BELOW; n++) {
			build_hole();
			map_areas(LAST - n, 1, all[i]);
			if (!n && all[i] != R)
				check_none();
			else
				check_this_hole();
		}
		/* Above, all of the first ones do. */
		for (n = 0; n < ABOVE; n++) {
			build_hole();
			map_areas(ABOVE_AT + n, 1, all[i]);
			if (n < FEW && all[i] != RW)
				check_none();
			else
				check_this_hole();
		}
		/* But for the first page of each, nobody looks at rights. */
		build_hole();
		map_areas(LAST, 1, all[i]);
		map_areas(ABOVE_AT, 1, all[i]);
		*page_of(area(LAST)) = area_ipa(LAST) | R;
		*page_of(area(ABOVE_AT)) = area_ipa(ABOVE_AT) | RW;
		check_this_hole();
	}
}

/* Up to the last sample that is looked at. */
static void test_elsewhere(void)
{
	static const u64 away[] = { AV_PAGE_SIZE, AREA, 1ULL << 30 };
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(away); i++) {
		for (n = 2; n < ABOVE_AT + ABOVE; n++) {
			build_hole();
			*page_of(area(n)) = (area_ipa(n) ^ away[i]) | (n <= LAST ? R : RW);
			if (n < ABOVE_AT + FEW)
				check_none();
			else
				check_this_hole();
		}
	}
	/* No other page is looked up, and nothing below the vectors. */
	build_hole();
	*page_of(area(0)) ^= AREA;
	*page_of(area(LAST) + AV_PAGE_SIZE) ^= AREA;
	*page_of(area(ABOVE_AT) + AV_PAGE_SIZE) ^= AREA;
	check_this_hole();
}

/* The space between both parts: the hole is next to the writable part. */
static void test_islands(void)
{
	static const u64 all[] = { RX, R, RW, RWX };
	const unsigned int hole = 48;
	unsigned int i, at, nr;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		for (at = HOLE_AT + 1; at < HOLE_AT + hole - 1; at++) {
			build(BELOW, hole, ABOVE, IMAGE);
			*page_of(area(at)) = area_ipa(at) | all[i];
			check_none();
		}
	}
	for (nr = 1; nr <= 12; nr++) {
		/* More read-only areas. */
		build(BELOW, hole, ABOVE, IMAGE);
		map_areas(HOLE_AT + 12, nr, R);
		if (nr >= FEW)
			check_hole(HOLE_AT + 12 + nr, HOLE_AT + 12 + nr - 1);
		else
			check_none();
		/* More writable areas. */
		build(BELOW, hole, ABOVE, IMAGE);
		map_areas(HOLE_AT + 12, nr, RW);
		if (nr >= FEW)
			check_this_hole();
		else
			check_none();
	}
}

/* ---- where in the hole ---- */

/* Of the last two there can be one at a time. */
enum spoil { MAPPED, ELSEWHERE, NO_AF, TOO_LARGE, NO_MEMORY, BROKEN, SPOILS };

/* The guest has something in this page, or may have. */
static void spoil(u64 va, u64 ipa, enum spoil how)
{
	u64 *desc = page_of(va);

	*desc = ipa | RW;
	if (how == ELSEWHERE)
		*desc ^= AREA;
	else if (how == NO_AF)
		*desc &= ~AF;
	else if (how == TOO_LARGE)
		*desc |= OUTSIDE;
	else if (how == NO_MEMORY)
		break_desc(desc, 1);
	else if (how == BROKEN)
		break_desc(desc, -EFAULT);
}

/* A mapping in the first page of an area ends the hole. */
static bool is_seen(enum spoil how, unsigned int page)
{
	return !page && (how == MAPPED || how == ELSEWHERE);
}

/* The page of each of the first areas. */
static void check_spoilt(unsigned int nr, unsigned int page, enum spoil how)
{
	unsigned int i;

	build_hole();
	for (i = 0; i < nr; i++)
		spoil(area(HOLE_AT + i) + page * AV_PAGE_SIZE,
		      area_ipa(HOLE_AT + i) + page * AV_PAGE_SIZE,
		      how >= NO_MEMORY && i + 1 < nr ? NO_AF : how);
	if (nr >= 4)
		check_none();
	else
		check_hole(HOLE_AT + nr, LAST);
}

static void test_empty(void)
{
	unsigned int nr, page, i;
	enum spoil how;

	for (how = 0; how < SPOILS; how++)
		for (page = 0; page < PAGES; page++)
			for (nr = 1; nr <= 5; nr++)
				if (!is_seen(how, page))
					check_spoilt(nr, page, how);
	/* The first hole is the one, even if another has room. */
	build_hole();
	map_areas(ABOVE_AT + ABOVE, FEW, R);
	map_areas(ABOVE_AT + ABOVE + FEW + HOLE, FEW, RW);
	check_this_hole();
	for (i = 0; i < 4; i++)
		spoil(area(HOLE_AT + i) + AV_PAGE_SIZE, 0, NO_AF);
	check_none();
	/* Only the places that are tried are looked up. */
	build_hole();
	for (i = HOLE_AT + 1; i < ABOVE_AT; i++)
		spoil(area(i) + AV_PAGE_SIZE, area_ipa(i), MAPPED);
	check_this_hole();
	/* Behind the anchor there may be anything, up to the first area. */
	build_hole();
	for (i = 1; i < PAGES; i++)
		*page_of(area(LAST) + i * AV_PAGE_SIZE) = 0;
	check_this_hole();
	/* Descriptors that are none are nothing. */
	for (i = 0; i < PAGES; i++)
		*page_of(area(HOLE_AT) + i * AV_PAGE_SIZE) = ~(i % 2 ? VALID : 2ULL);
	check_this_hole();
}

/* By blocks, and where there are no tables at all. */
static void test_blocks(void)
{
	static const u64 descs[] = { RX, R, 0, 0, RW };
	unsigned int i;

	reset(IMAGE, IMAGE_IPA);
	for (i = 0; i < ARRAY_SIZE(descs); i++)
		if (descs[i])
			*block_of(area(32 * i)) = (area_ipa(32 * i) | descs[i]) & ~2ULL;
	check_hole(64, 63);
	/* A block that has not been used is something. */
	*block_of(area(64)) = (area_ipa(64) | RW) & ~2ULL & ~AF;
	check_none();
	*block_of(area(64)) = 0;
	check_hole(64, 63);
	*block_of(area(32 * 4)) |= RDONLY;
	check_none();
}

/* ---- how far ---- */

static void test_far(void)
{
	/* The last sample is the area 64 MiB above that of the vectors. */
	const unsigned int hole = 20, below = 1024 - FEW - 1 - hole;

	build(below, hole, FEW, IMAGE);
	check_hole(2 + below, 1 + below);
	CHECK_EQ(w.walks, 1 + 1023 + PAGES);
	build(below + 1, hole, FEW + 1, IMAGE);
	check_none();
	build(below, hole + 1, FEW + 1, IMAGE);
	check_none();
	CHECK_EQ(w.walks, 1 + 1023);
	/* It is the vectors' area that counts. */
	w.vbar += AREA;
	check_hole(2 + below, 1 + below);
	w.vbar = area(1) + 0xf800;
	check_none();
}

/* The last GiB may be the hypervisor's. */
static void test_hole_in_window(void)
{
	const unsigned int window = 994, hole = 10;
	const u64 image = AV_WINDOW_GIB - window * AREA;
	unsigned int i, j;

	for (i = 0; i <= 4; i++) {
		build(window - 2 - i, hole, FEW, image);
		if (i)
			check_hole(window - i, window - i - 1);
		else
			check_none();
		/* The last one in front of the window, or none. */
		for (j = 1; j < i; j++)
			spoil(area(window - j - 1) + AV_PAGE_SIZE, 0, NO_AF);
		if (i)
			check_hole(window - 1, window - i - 1);
		spoil(area(window - 1) + AV_PAGE_SIZE, 0, NO_AF);
		check_none();
	}
}

/* Behind the last address there is none; what the low half has there goes on in memory. */
static void test_top(void)
{
	static const u64 images[] = {
		-2 * AREA, -3 * AREA, -10 * AREA, -20 * AREA, -30 * AREA, -40 * AREA,
		/* The image ends before it, but what is looked at, 64 MiB, does not. */
		-100 * AREA, -32 * MIB, -64 * MIB, -64 * MIB - AREA,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(images); i++) {
		build(BELOW, HOLE, ABOVE, images[i]);
		check_none();
		CHECK_EQ(w.walks, 1);
	}
	/* One that ends before it is looked at, but may have the window. */
	build(BELOW, HOLE, ABOVE, -64 * MIB - 2 * AREA);
	check_none();
	CHECK(w.walks > 1);
}

/* ---- both ---- */

/* In front of the code rather than in the hole, if that can be read to the end. */
static void test_front_first(void)
{
	unsigned int all, i;

	build_hole();
	map_areas(0, 1, R);
	put_header(w.ipa, 1 << 30);
	CHECK(find(&place));
	CHECK_EQ(place.va, w.image);
	CHECK_EQ(place.anchor, w.image);
	CHECK_EQ(place.ipa, w.ipa);
	CHECK(!place.hole);
	all = w.reads;
	for (i = 1; i <= all; i++) {
		w.fails = i;
		check_this_hole();
		CHECK_EQ(w.reads, i);
	}
	*page_of(area(1) - AV_PAGE_SIZE) &= ~PXN;
	w.fails = 0;
	check_this_hole();
}

int main(void)
{
	RUN(test_hole);
	RUN(test_no_vectors);
	RUN(test_hole_size);
	RUN(test_interrupted);
	RUN(test_rights);
	RUN(test_elsewhere);
	RUN(test_islands);
	RUN(test_empty);
	RUN(test_blocks);
	RUN(test_far);
	RUN(test_hole_in_window);
	RUN(test_top);
	RUN(test_front_first);
	return TESTS_DONE();
}
