// SPDX-License-Identifier: GPL-2.0
/*
 * A repeated TLBI of the same page (av_shadow_tlbi_again()): when it applies, what it drops and
 * flushes, and when it leaves the work to av_shadow_tlbi_page().
 */
#include "mmu/shadow/again.h"
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

/* ---- the low half, with trees of single ASIDs ------------------------------ */

#define LOW		0x5000ULL

static struct av_tree *mine;

static int again_low(u64 va, u16 asid)
{
	struct av_tlbi_page op = { .va = va, .asid = asid, .leaf = true };
	unsigned int flushed = flush_pages;

	return tlbi_again(op) ? (int)(flush_pages - flushed) : -1;
}

static void fill_low(struct av_tree *t, u64 va, bool global)
{
	CHECK_EQ(fill(t, va, 1, 3, AV_R | AV_W, 12, global), 0);
	touch(t, va);
}

/* Only a page that is named twice in a row is worth it. */
static void name_low(u64 va, u16 asid)
{
	struct av_tlbi_page op = { .va = va, .asid = asid, .leaf = true };

	CHECK(tlbi_page(op));
	CHECK(tlbi_page(op));
	CHECK_EQ(again_low(va, asid), 0);
}

static void begin_low(u64 va)
{
	setup();
	mine = get(0x1000, false, 0, 1);
	other = get(0x2000, false, 0, 2);
	fill_low(mine, va, false);
	fill_low(mine, LOW + PAGE, false);
	fill_low(other, va, false);
	CHECK(tlbi_page((struct av_tlbi_page) { .va = va, .asid = 1, .leaf = true }));
	CHECK_EQ(again_low(va, 1), va ? -1 : 0);
	fill_low(mine, va, false);
	name_low(va, 1);
	CHECK(gone(mine, va) && !gone(other, va) && !gone(mine, LOW + PAGE));
}

static void test_low(void)
{
	static const u64 pages[] = { LOW, 0 };
	unsigned int i, n;
	u64 seq;

	for (n = 0; n < ARRAY_SIZE(pages); n++) {
		begin_low(pages[n]);
		for (i = 0; i < 20; i++) {
			seq = mine->seq;
			fill_low(mine, pages[n], false);
			CHECK_EQ(again_low(pages[n], 1), 1);
			CHECK(gone(mine, pages[n]) && !gone(mine, LOW + PAGE));
			check_tlb();
			CHECK_EQ(again_low(pages[n], 1), 0);
			/* Fills under way must start over, in this tree and of global pages. */
			CHECK_EQ(mine->seq, seq + 2);
			CHECK(av_tlbi_voids(mine->seq, mine->recent, seq, pages[n], 12));
			CHECK(!av_tlbi_voids(mine->seq, mine->recent, seq, LOW + PAGE, 12));
			CHECK(av_tlbi_voids(sh.seq_va[0], sh.recent_va[0], sh.seq_va[0] - 1, pages[n], 12));
		}
		CHECK(!gone(other, pages[n]));
		check_rmap();
		teardown();
	}
}

static void test_not_low(void)
{
	struct av_tlbi_page all = { .va = LOW, .any_asid = true, .leaf = true };
	struct av_tlbi_page tables = { .va = LOW, .asid = 1 };

	begin_low(LOW);
	CHECK_EQ(again_low(LOW, 2), -1);
	CHECK_EQ(again_low(LOW + PAGE, 1), -1);
	CHECK(!tlbi_again(all) && !tlbi_again(tables));
	CHECK_EQ(again_low(LOW, 1), 0);
	/* A process of another ASID was filled last: mine may have been, before. */
	fill_low(other, LOW + 3 * PAGE, false);
	CHECK_EQ(again_low(LOW, 1), -1);
	fill_low(mine, LOW, false);
	CHECK_EQ(again_low(LOW, 1), -1);
	CHECK(!gone(mine, LOW));
	/* A global page is reached whatever the ASID. */
	tlbi(AV_TLBI_VA, LOW, LOW + PAGE - 1, 1);
	name_low(LOW, 1);
	fill_low(other, LOW, true);
	CHECK_EQ(again_low(LOW, 1), -1);
	teardown();
}

/* The tables that serve every ASID. */
static void test_low_of_every_asid(void)
{
	struct av_tree *idle;

	begin_low(LOW);
	sh.idle_base = 0x9000;
	idle = get(0x9000, false, 0, 7);
	CHECK_EQ(idle->key.asid, AV_ASID_ANY);
	CHECK_EQ(again_low(LOW, 1), -1);
	name_low(LOW, 1);
	fill_low(idle, LOW, true);
	CHECK_EQ(again_low(LOW, 1), 1);
	CHECK(gone(idle, LOW));
	check_tlb();
	teardown();
}

/* Another tree of the same ASID, and trees that come and go. */
static void test_low_trees(void)
{
	struct av_tree *second;

	begin_low(LOW);
	second = get(0x3000, false, 0, 1);
	CHECK_EQ(again_low(LOW, 1), -1);
	fill_low(second, LOW, false);
	tlbi(AV_TLBI_VA, LOW, LOW + PAGE - 1, 1);
	tlbi(AV_TLBI_VA, LOW, LOW + PAGE - 1, 1);
	tlbi(AV_TLBI_VA, LOW, LOW + PAGE - 1, 1);
	/* With two of them it is never done. */
	CHECK_EQ(again_low(LOW, 1), -1);
	CHECK(gone(second, LOW));
	teardown();

	begin_low(LOW);
	av_tree_put(&sh, mine);
	tlbi(AV_TLBI_ASID, 0, 0, 1);
	CHECK_EQ(again_low(LOW, 1), -1);
	teardown();

	/* It is passed on to the next process, by chance of the same ASID. */
	begin_low(LOW);
	keep_tables = true;
	tlbi(AV_TLBI_ASID, 0, 0, 1);
	av_tree_put(&sh, mine);
	av_tree_retire(&sh, mine);
	CHECK(get(0x4000, false, 0, 1) == mine);
	CHECK_EQ(again_low(LOW, 1), -1);
	teardown();
}

/* Entries that no walker can use: their table is kept, or they are asleep. */
static void test_low_kept(void)
{
	begin_low(LOW);
	fill_low(mine, LOW, false);
	keep_tables = true;
	tlbi(AV_TLBI_ASID, 0, 0, 1);
	CHECK_EQ(again_low(LOW, 1), -1);
	CHECK(gone(mine, LOW));
	teardown();

	begin_low(LOW);
	fill_low(mine, LOW, false);
	av_shadow_table(mine, LOW)->pte[av_pt_index(LOW, 3)] &= ~AV_PTE_VALID;
	av_shadow_table(mine, LOW)->live--;
	av_shadow_table(mine, LOW)->asleep++;
	CHECK_EQ(again_low(LOW, 1), 0);
	CHECK(av_pte_is_asleep(av_shadow_table(mine, LOW), av_pt_index(LOW, 3)));
	check_rmap();
	teardown();
}

int main(void)
{
	RUN(test_again);
	RUN(test_not_again);
	RUN(test_larger_leaf);
	RUN(test_other_table);
	RUN(test_tree_goes);
	RUN(test_low);
	RUN(test_not_low);
	RUN(test_low_of_every_asid);
	RUN(test_low_trees);
	RUN(test_low_kept);
	return TESTS_DONE();
}
