// SPDX-License-Identifier: GPL-2.0
/*
 * TLBI of the page that was named before (av_shadow_tlbi_again()): when it is done, what it drops and
 * flushes, and what makes it be left to av_shadow_tlbi_page().
 */
#include "mmu/again.h"
#include "check.h"
#include "shadow_world.h"

#define PAGE		0x1000ULL
#define HOLE		(KVA + 0x7000)		/* the kernel's own page, which it writes through */

static struct av_tree *tree, *other;

/* The pages that it flushed, or -1: it was not done. */
static int again(u64 va)
{
	struct av_tlbi_page op = { .va = va, .any_asid = true, .leaf = true };
	unsigned int flushed = flush_pages;

	return tlbi_again(op) ? (int)(flush_pages - flushed) : -1;
}

/* The long way, after which there is nothing anywhere. */
static bool page(u64 va)
{
	struct av_tlbi_page op = { .va = va, .any_asid = true, .leaf = true };

	return tlbi_page(op);
}

static void fill_page(struct av_tree *t, u64 va)
{
	CHECK_EQ(fill(t, va, 1, 3, AV_R | AV_W, 12, true), 0);
}

static bool gone(const struct av_tree *t, u64 va)
{
	return !av_shadow_lookup(t, va, NULL);
}

static void begin(void)
{
	setup();
	tree = get(0x1000, true, 1, 1);
	other = get(0x2000, true, 1, 1);
	fill_page(tree, HOLE + PAGE);
	fill_page(other, HOLE);
	CHECK_EQ(again(HOLE), -1);
	CHECK(page(HOLE));
	CHECK(gone(other, HOLE));
}

/* Time after time: one flush of one page where there is something, and faults are told. */
static void test_again(void)
{
	unsigned int flushed, i;
	u64 seq;

	begin();
	for (i = 0; i < 20; i++) {
		seq = sh.seq_va[1];
		flushed = flush_pages;
		CHECK_EQ(again(HOLE), 0);
		CHECK_EQ(flush_pages, flushed);
		fill_page(tree, HOLE);
		touch(tree, HOLE);
		CHECK_EQ(again(HOLE), 1);
		CHECK_EQ(flush_pages, flushed + 1);
		CHECK_EQ(tree->clean, HOLE);
		check_tlb();
		CHECK(gone(tree, HOLE) && !gone(tree, HOLE + PAGE));
		CHECK_EQ(sh.seq_va[1], seq + 2);
		CHECK(av_tlbi_voids(sh.seq_va[1], sh.recent_va[1], seq, HOLE, 12));
		CHECK(!av_tlbi_voids(sh.seq_va[1], sh.recent_va[1], seq, HOLE + PAGE, 12));
	}
	check_rmap();
	teardown();
}

/* Another page, tables too, another page filled, a second tree. */
static void test_not_again(void)
{
	struct av_tlbi_page tables = { .va = HOLE, .any_asid = true };

	begin();
	CHECK_EQ(again(HOLE + PAGE), -1);
	CHECK(!tlbi_again(tables));
	/* What was filled need not be that page. */
	fill_page(tree, HOLE + 2 * PAGE);
	CHECK_EQ(again(HOLE), 0);
	CHECK(!gone(tree, HOLE + 2 * PAGE));
	/* Two trees have been filled, in whatever order. */
	fill_page(tree, HOLE);
	fill_page(other, HOLE);
	fill_page(tree, HOLE + 3 * PAGE);
	CHECK_EQ(again(HOLE), -1);
	CHECK(!gone(tree, HOLE) && !gone(other, HOLE));
	CHECK(page(HOLE));
	CHECK(gone(tree, HOLE) && gone(other, HOLE));
	CHECK_EQ(again(HOLE), 0);
	/* Entries that are added to a table are fills. */
	av_shadow_add(&sh, av_shadow_table(other, HOLE), av_pt_index(HOLE, 3), 3, NULL,
		      av_leaf_desc(&sh, 3, AV_R), 0);
	CHECK_EQ(again(HOLE), 1);
	CHECK(gone(other, HOLE));
	teardown();
}

/* A larger leaf of the guest's over the page, in the table that was remembered, and above it. */
static void test_larger_leaf(void)
{
	begin();
	fill_page(tree, HOLE);
	CHECK_EQ(again(HOLE), 1);
	CHECK_EQ(fill(tree, HOLE + PAGE, 9, 3, AV_R, 16, true), 0);
	fill_page(tree, HOLE);
	CHECK_EQ(again(HOLE), -1);
	CHECK(!page(HOLE));
	tlbi(AV_TLBI_VAA, HOLE, HOLE + PAGE - 1, 0);
	CHECK(gone(tree, HOLE) && gone(tree, HOLE + PAGE));
	teardown();

	begin();
	CHECK_EQ(fill(tree, HOLE & AV_BLOCK_MASK, 0, 2, AV_R, 21, true), 0);
	CHECK(!gone(tree, HOLE));
	CHECK_EQ(again(HOLE), -1);
	CHECK(page(HOLE));
	CHECK(gone(tree, HOLE));
	teardown();
}

/* The table that was remembered has been taken out of the tree, and is somebody else's. */
static void test_other_table(void)
{
	struct av_gather g;
	u64 next = 0;

	begin();
	fill_page(tree, HOLE);
	CHECK_EQ(again(HOLE), 1);
	av_gather_init(&g, &sh);
	CHECK(!av_shadow_zap_range(tree, KVA, KVA + AV_BLOCK_SIZE - 1, &g, &next));
	av_gather_finish(&g);
	while (av_shadow_reap(&sh, full_pool()))
		;
	fill_page(other, KVA + 5 * AV_BLOCK_SIZE);
	CHECK_EQ(again(HOLE), 0);
	fill_page(tree, HOLE);
	CHECK_EQ(again(HOLE), 1);
	CHECK(gone(tree, HOLE));
	check_rmap();
	teardown();
}

/* The tree that was filled goes, and its memory is another one's. */
static void test_tree_goes(void)
{
	begin();
	fill_page(tree, HOLE);
	av_tree_put(&sh, tree);
	av_tree_put(&sh, other);
	reclaim_all();
	CHECK_EQ(again(HOLE), -1);
	tree = get(0x1000, true, 1, 1);
	fill_page(tree, HOLE);
	CHECK_EQ(again(HOLE), -1);
	CHECK(page(HOLE));
	CHECK_EQ(again(HOLE), 0);
	teardown();
}

/* With trees of one ASID there are others to look into. */
static void test_tagged(void)
{
	struct av_tlbi_page op = { .va = 0x5000, .asid = 1, .leaf = true };
	struct av_tree *mine;

	setup();
	CHECK(!tlbi_again(op));
	mine = get(0x1000, false, 0, 1);
	CHECK_EQ(fill(mine, 0x5000, 1, 3, AV_R, 12, false), 0);
	CHECK(!tlbi_again(op));
	CHECK(!gone(mine, 0x5000));
	tlbi(AV_TLBI_VA, 0x5000, 0x5fff, 1);
	CHECK(gone(mine, 0x5000));
	CHECK(!tlbi_again(op));
	teardown();
}

int main(void)
{
	RUN(test_again);
	RUN(test_not_again);
	RUN(test_larger_leaf);
	RUN(test_other_table);
	RUN(test_tree_goes);
	RUN(test_tagged);
	return TESTS_DONE();
}
