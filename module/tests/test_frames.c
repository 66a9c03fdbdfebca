// SPDX-License-Identifier: GPL-2.0
/*
 * Pieces: a slot costs memory only for its mapped frames, every piece is found and freed, and
 * missing ones are skipped at once.
 */
#include <stdlib.h>

#include "check.h"
#include "mmu/slots/gfn_info.h"
#include "mmu/slots/slots.h"

static size_t held, most;
static long allowed;		/* allocations that still succeed; negative: any number */
static unsigned long allocations;

static void *alloc(size_t size)
{
	if (!allowed)
		return NULL;
	allowed--;
	allocations++;
	held += size;
	most = max(most, size);
	return calloc(1, size);
}

static void give(void *mem, size_t size)
{
	held -= size;
	free(mem);
}

static const struct av_gfn_info_ops ops = { .alloc = alloc, .free = give };

static void begin(struct av_gfn_info *frames, u64 nr)
{
	*frames = (struct av_gfn_info) { .nr = nr };
	held = 0;
	most = 0;
	allowed = -1;
	allocations = 0;
}

static void end(struct av_gfn_info *frames)
{
	av_gfn_info_free(frames, &ops);
	CHECK_EQ(held, 0);
	CHECK(!frames->top && !frames->blocks);
}

#define GIB_64		(1ULL << 24)

static void test_empty(void)
{
	const u64 sizes[] = { 1, AV_PIECE_FRAMES, GIB_64, AV_SLOT_PAGES_MAX };
	struct av_gfn_info frames;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		begin(&frames, sizes[i]);
		CHECK_EQ(held, 0);
		CHECK(!av_gfn_info_head(&frames, sizes[i] - 1));
		CHECK(!av_gfn_info_state(&frames, 0));
		CHECK_EQ(av_gfn_info_next(&frames, 0, sizes[i]), sizes[i]);
		end(&frames);
	}
}

/* One frame of a slot of each size. */
static void test_one(void)
{
	const struct {
		u64 nr, most;
	} sizes[] = {
		{ 1, 4096 + 16 }, { AV_PIECE_FRAMES + 1, 4096 + 24 }, { GIB_64, 3 * 4096 },
		{ AV_SLOT_PAGES_MAX, 112 << 10 },
	};
	struct av_gfn_info frames;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		u64 last = sizes[i].nr - 1;

		begin(&frames, sizes[i].nr);
		CHECK_EQ(av_gfn_info_make(&frames, last, &ops), 0);
		CHECK(held <= sizes[i].most);
		CHECK(av_gfn_info_head(&frames, last) && !*av_gfn_info_head(&frames, last));
		CHECK(av_gfn_info_state(&frames, last) && !*av_gfn_info_state(&frames, last));
		CHECK(av_gfn_info_page(&frames, last) && !*av_gfn_info_page(&frames, last));
		/* Made once. */
		CHECK_EQ(av_gfn_info_make(&frames, last, &ops), 0);
		CHECK_EQ(allocations, 3);
		end(&frames);
	}
}

/* Frames of one piece are apart from each other, and from those of the next. */
static void test_apart(void)
{
	const u64 nr = 3 * AV_PIECE_FRAMES;
	struct av_gfn_info frames;
	u64 i;

	begin(&frames, nr);
	for (i = 0; i < nr; i++) {
		CHECK_EQ(av_gfn_info_make(&frames, i, &ops), 0);
		*av_gfn_info_head(&frames, i) = (u32)i + 1;
		*av_gfn_info_state(&frames, i) = (u8)(i * 7 + 1);
		*av_gfn_info_page(&frames, i) = i << 40 | i;
	}
	for (i = 0; i < nr; i++) {
		CHECK_EQ(*av_gfn_info_head(&frames, i), i + 1);
		CHECK_EQ(*av_gfn_info_state(&frames, i), (u8)(i * 7 + 1));
		CHECK_EQ(*av_gfn_info_page(&frames, i), i << 40 | i);
	}
	CHECK_EQ(allocations, 5);
	end(&frames);
}

/* To the end, by as many calls as it takes. */
static u64 next_piece(const struct av_gfn_info *frames, u64 from, u64 end)
{
	while (from < end && !av_gfn_info_head(frames, from)) {
		u64 next = av_gfn_info_next(frames, from, end);

		CHECK(next > from && next <= end);
		from = next;
	}
	return from;
}

/* One call skips this much and no more, and the next one continues there. */
static void test_bound(void)
{
	const u64 most = AV_GFN_INFO_LOOKS, far = AV_SLOT_PAGES_MAX - 1;
	const u64 pieces = AV_GFN_INFO_FANOUT - 1, tables = most - pieces;
	struct av_gfn_info frames;
	u64 next;

	begin(&frames, AV_SLOT_PAGES_MAX);
	CHECK_EQ(av_gfn_info_make(&frames, 0, &ops), 0);
	CHECK_EQ(av_gfn_info_make(&frames, far, &ops), 0);
	next = av_gfn_info_next(&frames, AV_PIECE_FRAMES, AV_SLOT_PAGES_MAX);
	CHECK_EQ(next, (1 + tables) * AV_GFN_INFO_FANOUT * AV_PIECE_FRAMES);
	CHECK(!av_gfn_info_head(&frames, next));
	CHECK_EQ(next_piece(&frames, next, AV_SLOT_PAGES_MAX),
		 far / AV_PIECE_FRAMES * AV_PIECE_FRAMES);
	/* Never past the end. */
	CHECK_EQ(av_gfn_info_next(&frames, AV_PIECE_FRAMES, next - 1), next - 1);
	end(&frames);
}

/* Against a plain list of existing pieces: random frames, random ranges. */
static void test_next(void)
{
	enum { MADE = 40 };
	u64 made[MADE], state = 1, i, n;
	struct av_gfn_info frames;

	begin(&frames, AV_SLOT_PAGES_MAX);
	for (i = 0; i < MADE; i++) {
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		made[i] = i < 4 ? i * AV_PIECE_FRAMES : (state >> 20) % AV_SLOT_PAGES_MAX;
		CHECK_EQ(av_gfn_info_make(&frames, made[i], &ops), 0);
	}
	for (n = 0; n < 20000; n++) {
		u64 from, to, want;

		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		from = (state >> 20) % AV_SLOT_PAGES_MAX;
		if (n % 2)
			from = made[n % MADE] + (state & 3) - (made[n % MADE] ? 1 : 0);
		to = min(from + (state >> 50), AV_SLOT_PAGES_MAX);
		want = to;
		for (i = 0; i < MADE; i++) {
			u64 first = made[i] / AV_PIECE_FRAMES * AV_PIECE_FRAMES;

			if (from < first + AV_PIECE_FRAMES)
				want = min(want, max(first, from));
		}
		CHECK_EQ(next_piece(&frames, from, max(from, to)), max(from, want));
	}
	end(&frames);
}

/* Each allocation fails once: nothing is lost, and the next attempt succeeds. */
static void test_no_memory(void)
{
	struct av_gfn_info frames;
	long n;

	begin(&frames, GIB_64);
	for (n = 0; n < 3; n++) {
		allowed = n ? 1 : 0;
		if (n)
			CHECK_EQ(av_gfn_info_make(&frames, 5, &ops), -ENOMEM);
		allowed = 0;
		CHECK_EQ(av_gfn_info_make(&frames, 5, &ops), -ENOMEM);
		CHECK(!av_gfn_info_head(&frames, 5));
	}
	allowed = 1;
	CHECK_EQ(av_gfn_info_make(&frames, 5, &ops), 0);
	CHECK(av_gfn_info_head(&frames, 5));
	end(&frames);
}

/* To the end, by as many calls as it takes. */
static u64 next_block(const struct av_gfn_info *frames, u64 from, u64 end)
{
	while (from < end &&
	       !(av_gfn_info_block(frames, from) && *av_gfn_info_block(frames, from))) {
		u64 next = av_gfn_info_next_block(frames, from, end);

		CHECK(next > from && next <= end);
		from = next;
	}
	return from;
}

/* Heads of blocks cost little, are apart from each other, and are found. */
static void test_blocks(void)
{
	const u64 sizes[] = { 512, GIB_64, AV_SLOT_PAGES_MAX };
	const size_t mosts[] = { 3 * 4 + 8, 4096 + 33 * 8, 4096 + (33 << 10) };
	struct av_gfn_info frames;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		u64 nr = sizes[i] / AV_BLOCK_FRAMES + 2, last = nr - 1;

		begin(&frames, sizes[i]);
		CHECK(!av_gfn_info_block(&frames, last));
		CHECK_EQ(av_gfn_info_next_block(&frames, 0, nr), nr);
		allowed = 1;
		CHECK_EQ(av_gfn_info_make_block(&frames, last, &ops), -ENOMEM);
		CHECK(!av_gfn_info_block(&frames, last));
		allowed = -1;
		CHECK_EQ(av_gfn_info_make_block(&frames, last, &ops), 0);
		CHECK_EQ(av_gfn_info_make_block(&frames, last, &ops), 0);
		CHECK_EQ(allocations, 2);
		CHECK(held <= mosts[i]);
		CHECK_EQ(next_block(&frames, 0, nr), nr);
		*av_gfn_info_block(&frames, last) = 7;
		CHECK_EQ(next_block(&frames, 0, nr), last);
		CHECK_EQ(next_block(&frames, 0, last), last);
		CHECK_EQ(av_gfn_info_make_block(&frames, 0, &ops), 0);
		*av_gfn_info_block(&frames, 0) = 8;
		CHECK_EQ(*av_gfn_info_block(&frames, last), 7);
		CHECK_EQ(next_block(&frames, 0, nr), 0);
		CHECK_EQ(next_block(&frames, 1, nr), last);
		/* One call looks at this many. */
		CHECK(av_gfn_info_next_block(&frames, 1, nr) <=
		      1 + (u64)AV_GFN_INFO_LOOKS * AV_PIECE_BLOCKS);
		end(&frames);
	}
}

/* A bit of any of some frames, with and without pieces, at their edges too. */
static void test_any(void)
{
	const u64 at[] = { 0, 1, AV_PIECE_FRAMES - 1, AV_PIECE_FRAMES, 4 * AV_PIECE_FRAMES + 7 };
	struct av_gfn_info frames;
	u64 from, n;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		begin(&frames, 6 * AV_PIECE_FRAMES);
		CHECK(!av_gfn_info_any(&frames, 0, frames.nr, AV_FRAME_COPIED));
		av_gfn_info_make(&frames, at[i], &ops);
		*av_gfn_info_state(&frames, at[i]) = AV_FRAME_COPIED;
		for (from = 0; from < frames.nr; from += 13)
			for (n = 0; n <= frames.nr - from; n += 11) {
				bool in = at[i] >= from && at[i] < from + n;

				CHECK_EQ(av_gfn_info_any(&frames, from, n, AV_FRAME_COPIED), in);
				CHECK(!av_gfn_info_any(&frames, from, n, AV_FRAME_YOUNG));
			}
		CHECK(av_gfn_info_any(&frames, at[i], 1, AV_FRAME_COPIED));
		end(&frames);
	}
}

/* A part ends with its piece, and with its slot: the following frames are another slot's. */
static void test_parts(void)
{
	static const u64 sizes[] = { 1, 314, 315, 316, 16384, 5 * 315 };
	const u64 base = 0x40000;
	unsigned int i;
	u64 gfn;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct av_gfn_info frames = { .nr = sizes[i] };
		struct av_gfn_info_part part = {};
		u64 last = base + sizes[i] - 1;

		av_gfn_info_find_part(&frames, base, last, &part);
		CHECK(!av_gfn_info_part_head(&part, last));
		CHECK_EQ(av_gfn_info_make(&frames, sizes[i] - 1, &ops), 0);
		av_gfn_info_find_part(&frames, base, last, &part);
		for (gfn = base; gfn <= last; gfn++)
			if (part.gfn <= gfn)
				CHECK(av_gfn_info_part_head(&part, gfn) ==
				      av_gfn_info_head(&frames, gfn - base));
			else
				CHECK(!av_gfn_info_part_head(&part, gfn));
		CHECK(last - part.gfn < AV_PIECE_FRAMES);
		for (gfn = last + 1; gfn < last + 2 * AV_PIECE_FRAMES; gfn++)
			CHECK(!av_gfn_info_part_head(&part, gfn));
		av_gfn_info_find_part(&frames, base, last + 1, &part);
		CHECK(!av_gfn_info_part_head(&part, last + 1));
		CHECK(!av_gfn_info_part_head(&part, last));
		av_gfn_info_free(&frames, &ops);
	}
}

int main(void)
{
	RUN(test_empty);
	RUN(test_one);
	RUN(test_apart);
	RUN(test_next);
	RUN(test_bound);
	RUN(test_no_memory);
	RUN(test_blocks);
	RUN(test_any);
	RUN(test_parts);
	return TESTS_DONE();
}
