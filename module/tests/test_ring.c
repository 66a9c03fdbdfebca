// SPDX-License-Identifier: GPL-2.0
/*
 * Dirty rings: each page comes out once and in order, exactly the taken entries are reset, and
 * nothing in the memory that the VMM shares is trusted.
 */
#include <stdlib.h>

#include "check.h"
#include "lib/av_types.h"

/* Another thread may look at the ring after each store that it can see: test_reset_at_once(). */
static void stored(void);

#undef smp_store_release
/* The real one, and a look. */
#define smp_store_release(p, v) do {						\
	__atomic_store_n(p, v, __ATOMIC_RELEASE);				\
	stored();								\
} while (0)

#include "../mmu/slots/ring.c"

#define BYTES	4096
#define SIZE	(BYTES / sizeof(struct av_ring_entry))

/* As large as the ring, so that the sanitizer sees accesses beyond it. */
static void begin(struct av_ring *ring, u32 bytes)
{
	av_ring_init(ring, calloc(1, bytes), bytes);
}

static void end(struct av_ring *ring)
{
	free(ring->at);
}

static void take(struct av_ring *ring, u32 first, u32 n)
{
	while (n--)
		ring->at[first++ % ring->size].flags = AV_RING_TAKEN;
}

/* Reset all taken entries; returns the number of runs, and the sum of the reset entries. */
static unsigned int reset_all(struct av_ring *ring, unsigned int *entries)
{
	u32 to = av_ring_end(ring), used = av_ring_used(ring);
	struct av_ring_run run;
	unsigned int runs = 0, n;

	*entries = 0;
	while ((n = av_ring_reset(ring, to, &run))) {
		runs++;
		*entries += n;
		CHECK(n <= 64 && run.mask & 1);
	}
	CHECK_EQ(used - *entries, av_ring_used(ring));
	return runs;
}

static void test_sizes(void)
{
	static const struct { u32 bytes; int ret; } rows[] = {
		{ 0, -EINVAL }, { 1, -EINVAL }, { 16, -EINVAL }, { 1024, -EINVAL },
		{ 2048, -EINVAL }, { 4095, -EINVAL }, { 4096, 0 }, { 4097, -EINVAL },
		{ 12288, -EINVAL }, { 8192, 0 }, { 1 << 20, 0 }, { (1 << 20) + 4096, -EINVAL },
		{ 1 << 21, -E2BIG }, { 1U << 31, -E2BIG }, { ~0U, -EINVAL },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(av_ring_check_size(rows[i].bytes), rows[i].ret);
}

static void test_order(void)
{
	struct av_ring ring;
	u32 i;

	begin(&ring, BYTES);
	for (i = 0; i < 10; i++)
		CHECK(av_ring_put(&ring, 7, 1000 - i));
	for (i = 0; i < 10; i++) {
		CHECK_EQ(ring.at[i].flags, AV_RING_DIRTY);
		CHECK_EQ(ring.at[i].slot, 7);
		CHECK_EQ(ring.at[i].offset, 1000 - i);
	}
	CHECK_EQ(ring.at[10].flags, 0);
	end(&ring);
}

/* Soft full, then full; and with room again. */
static void test_full(void)
{
	struct av_ring ring;
	unsigned int entries;
	u32 i;

	begin(&ring, BYTES);
	for (i = 0; i < SIZE; i++) {
		CHECK_EQ(av_ring_soft_full(&ring), i >= SIZE - AV_RING_RESERVED);
		CHECK(av_ring_put(&ring, 0, i));
	}
	CHECK(!av_ring_put(&ring, 0, i));
	CHECK_EQ(ring.at[0].offset, 0);
	take(&ring, 0, 1);
	CHECK_EQ(reset_all(&ring, &entries), 1);
	CHECK(av_ring_soft_full(&ring) && av_ring_put(&ring, 0, 5000));
	CHECK_EQ(ring.at[0].offset, 5000);
	CHECK(!av_ring_put(&ring, 0, i));
	take(&ring, 1, AV_RING_RESERVED);
	reset_all(&ring, &entries);
	CHECK(av_ring_soft_full(&ring));
	take(&ring, 1 + AV_RING_RESERVED, 1);
	reset_all(&ring, &entries);
	CHECK(!av_ring_soft_full(&ring));
	end(&ring);
}

/* The counts wrap as the ring goes round, 32 bits and all. */
static void test_wrap(void)
{
	struct av_ring ring;
	struct av_ring_run run;
	u64 i;

	begin(&ring, BYTES);
	ring.put = -1000;
	ring.reset = -1000;
	for (i = 0; i < 3000; i++) {
		u32 at = ring.put;

		CHECK(av_ring_put(&ring, 3, i));
		CHECK_EQ(av_ring_used(&ring), 1);
		CHECK_EQ(av_ring_reset(&ring, av_ring_end(&ring), &run), 0);
		take(&ring, at, 1);
		CHECK_EQ(av_ring_reset(&ring, av_ring_end(&ring), &run), 1);
		CHECK(run.slot == 3 && run.offset == i && run.mask == 1);
		CHECK_EQ(ring.at[at % SIZE].flags, 0);
	}
	end(&ring);
}

/* An entry that was taken out of order waits for those before it. */
static void test_gap(void)
{
	struct av_ring ring;
	unsigned int entries;
	u32 i;

	begin(&ring, BYTES);
	for (i = 0; i < 20; i++)
		av_ring_put(&ring, 0, i);
	take(&ring, 1, 19);
	CHECK_EQ(reset_all(&ring, &entries), 0);
	take(&ring, 0, 1);
	ring.at[10].flags = AV_RING_DIRTY;
	CHECK_EQ(reset_all(&ring, &entries), 1);
	CHECK_EQ(entries, 10);
	/* The VMM's other bits mean nothing. */
	ring.at[10].flags = ~0U;
	reset_all(&ring, &entries);
	CHECK_EQ(entries, 10);
	end(&ring);
}

/* A row: pages in the order that they were written in, and the runs that come of it. */
static void check_runs(const u64 *pages, u32 n, const struct av_ring_run *runs, u32 nr_runs)
{
	struct av_ring ring;
	struct av_ring_run run;
	u32 i;

	begin(&ring, BYTES);
	for (i = 0; i < n; i++)
		av_ring_put(&ring, 5, pages[i]);
	take(&ring, 0, n);
	for (i = 0; i < nr_runs; i++) {
		CHECK(av_ring_reset(&ring, n, &run));
		CHECK_EQ(run.slot, 5);
		CHECK_EQ(run.offset, runs[i].offset);
		CHECK_EQ(run.mask, runs[i].mask);
	}
	CHECK_EQ(av_ring_reset(&ring, n, &run), 0);
	CHECK_EQ(av_ring_used(&ring), 0);
	end(&ring);
}

#define CHECK_RUNS(pages, ...) do {						\
	const struct av_ring_run check_runs_want[] = { __VA_ARGS__ };		\
										\
	check_runs(pages, ARRAY_SIZE(pages), check_runs_want, ARRAY_SIZE(check_runs_want)); \
} while (0)

static void test_runs(void)
{
	static const u64 up[] = { 10, 11, 12 }, down[] = { 12, 11, 10 }, twice[] = { 4, 4, 4 };
	static const u64 far[] = { 10, 73, 74 }, back[] = { 63, 0, 64 };
	static const u64 no_room[] = { 64, 127, 63 }, ends[] = { ~0ULL, 0, ~0ULL - 1 };

	CHECK_RUNS(up, { 5, 10, 7 });
	CHECK_RUNS(down, { 5, 10, 7 });
	CHECK_RUNS(twice, { 5, 4, 1 });
	CHECK_RUNS(far, { 5, 10, 1 | 1ULL << 63 }, { 5, 74, 1 });
	CHECK_RUNS(back, { 5, 0, 1 | 1ULL << 63 }, { 5, 64, 1 });
	CHECK_RUNS(no_room, { 5, 64, 1 | 1ULL << 63 }, { 5, 63, 1 });
	CHECK_RUNS(ends, { 5, ~0ULL - 1, 7 });
}

static void test_other_slot(void)
{
	struct av_ring ring;
	unsigned int entries;

	begin(&ring, BYTES);
	av_ring_put(&ring, 1, 10);
	av_ring_put(&ring, 2, 11);
	av_ring_put(&ring, 1, 12);
	take(&ring, 0, 3);
	CHECK_EQ(reset_all(&ring, &entries), 3);
	end(&ring);
}

/* One call does so much and no more, also of one page over and over. */
static void test_bound(void)
{
	struct av_ring ring;
	struct av_ring_run run;
	u32 i;

	begin(&ring, BYTES);
	for (i = 0; i < SIZE; i++)
		av_ring_put(&ring, 0, 9);
	take(&ring, 0, SIZE);
	for (i = 0; i < SIZE / 64; i++)
		CHECK_EQ(av_ring_reset(&ring, SIZE, &run), 64);
	CHECK_EQ(av_ring_reset(&ring, SIZE, &run), 0);
	end(&ring);
}

static void test_clip(void)
{
	struct av_ring_run run = { .offset = 100, .mask = ~0ULL };

	CHECK(av_ring_clip(&run, 1000) && run.mask == ~0ULL);
	CHECK(av_ring_clip(&run, 164) && run.mask == ~0ULL);
	CHECK(av_ring_clip(&run, 163) && run.mask == ~0ULL >> 1);
	CHECK(av_ring_clip(&run, 101) && run.mask == 1 && run.offset == 100);
	CHECK(!av_ring_clip(&run, 100));
	CHECK(!av_ring_clip(&run, 0));
	run.offset = ~0ULL;
	CHECK(!av_ring_clip(&run, ~0ULL));
	CHECK(!av_ring_clip(&run, 1));
}

/* An empty ring with all entries marked as taken: nothing is reset, nothing is lost. */
static void test_nothing_was_put(void)
{
	struct av_ring ring;
	unsigned int entries;

	begin(&ring, BYTES);
	take(&ring, 0, SIZE);
	CHECK_EQ(reset_all(&ring, &entries), 0);
	CHECK(av_ring_put(&ring, 1, 2));
	CHECK_EQ(ring.at[0].flags, AV_RING_DIRTY);
	/* What is marked behind the end is not reached from before it. */
	take(&ring, 0, 1);
	CHECK_EQ(reset_all(&ring, &entries), 1);
	CHECK_EQ(entries, 1);
	CHECK(!av_ring_soft_full(&ring));
	end(&ring);
}

/* A VMM that writes anything anywhere, against a count of the ring's entries. */
static void test_random(void)
{
	u64 rng = 12345, round;
	struct av_ring ring;
	unsigned int entries;
	u32 used = 0;

	begin(&ring, BYTES);
	for (round = 0; round < 200000; round++) {
		rng = rng * 6364136223846793005ULL + 1442695040888963407ULL;
		switch (rng >> 60) {
		case 0: case 1: case 2: case 3: case 4:
			CHECK_EQ(av_ring_put(&ring, rng >> 50, rng >> 20), used < SIZE);
			used += used < SIZE;
			break;
		case 5:
			reset_all(&ring, &entries);
			used -= entries;
			break;
		case 6:
			take(&ring, ring.reset, (rng >> 40) % SIZE);
			break;
		default:
			((u8 *)ring.at)[(rng >> 30) % BYTES] = rng >> 20;
		}
		CHECK_EQ(av_ring_used(&ring), used);
		CHECK_EQ(av_ring_soft_full(&ring), used >= SIZE - AV_RING_RESERVED);
	}
	end(&ring);
}

static struct av_ring *watched;
static unsigned int seen, late;

/*
 * The VMM, between any two stores of the vCPU's thread: takes the entries that it sees and has them
 * reset.
 */
static void stored(void)
{
	struct av_ring *ring = watched;
	struct av_ring_entry *entry;
	struct av_ring_run run;

	if (!ring)
		return;
	entry = &ring->at[ring->reset % ring->size];
	if (entry->flags != AV_RING_DIRTY)
		return;
	watched = NULL;
	seen++;
	entry->flags = AV_RING_TAKEN;
	late += av_ring_reset(ring, av_ring_end(ring), &run) != 1;
	watched = ring;
}

/* An entry that the VMM has seen and taken is reset, even if the vCPU is still adding it. */
static void test_reset_at_once(void)
{
	struct av_ring ring;
	u32 i, put = 0;

	begin(&ring, BYTES);
	watched = &ring;
	for (i = 0; i < 3 * SIZE; i++)
		put += av_ring_put(&ring, 0, i);
	watched = NULL;
	CHECK_EQ(put, 3 * SIZE);
	CHECK_EQ(seen, 3 * SIZE);
	CHECK_EQ(late, 0);
	CHECK_EQ(av_ring_used(&ring), 0);
	end(&ring);
}

int main(void)
{
	RUN(test_sizes);
	RUN(test_order);
	RUN(test_full);
	RUN(test_wrap);
	RUN(test_gap);
	RUN(test_runs);
	RUN(test_other_slot);
	RUN(test_bound);
	RUN(test_clip);
	RUN(test_nothing_was_put);
	RUN(test_random);
	RUN(test_reset_at_once);
	return TESTS_DONE();
}
