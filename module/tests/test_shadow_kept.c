// SPDX-License-Identifier: GPL-2.0
/*
 * Tables that a TLBI of an ASID keeps (mmu/shadow/resync.c): walkers cannot reach them, they are on
 * the reverse map, and they are freed like others. A fault restores exactly the entries that the
 * guest still has.
 */
#include <stdlib.h>

#include "check.h"
#include "shadow_world.h"

#define PAGE		0x1000ULL
#define L3_BYTES	(1ULL << 21)
#define GIB		(1ULL << 30)
#define TABLE		0x7000ULL	/* the guest's, in its memory */

#define VALID		3ULL
#define AF		BIT_ULL(10)
#define NG		BIT_ULL(11)
#define RDONLY		AV_PTE_RDONLY
#define DIRTY		BIT_ULL(55)	/* Linux's own */

#define RW		(AV_R | AV_W)
#define RWX		(AV_R | AV_W | AV_X)

static u64 words[AV_ENTRIES];
static bool unreadable;
static struct av_tree *tree;

static int read_words(u64 ipa, u64 *to, unsigned int n)
{
	if (unreadable || ipa - TABLE >= sizeof(words))
		return -1;
	memcpy(to, &words[(ipa - TABLE) / 8], n * 8);
	return 0;
}

static void begin(void)
{
	setup();
	memset(words, 0, sizeof(words));
	unreadable = false;
	guest_words = read_words;
	keep_tables = true;
	tree = get(0x1000, false, 0, 1);
}

static u64 page_desc(u32 gfn)
{
	return (u64)gfn << 12 | AF | NG | AV_PTE_USER | VALID;
}

/* Page n of the guest's table is frame gfn, and is filled. */
static void map(unsigned int n, u32 gfn, u8 rights)
{
	words[n] = page_desc(gfn);
	CHECK_EQ(fill_by(tree, n * PAGE, gfn, rights, av_walk_key(words[n], 0), TABLE), 0);
}

static void keep(void)
{
	tlbi(AV_TLBI_ASID, 0, 0, 1);
}

/* A fault at page n, by the guest's table. */
static void fault(unsigned int n)
{
	u32 gfn = words[n] >> 12 & 0x7fffffff;

	CHECK_EQ(fill_by(tree, n * PAGE, gfn, words[n] & RDONLY ? AV_R : RW,
			 av_walk_key(words[n], 0), TABLE), 0);
	check_tlb();
	check_rmap();
}

static void test_entries_come_back(void)
{
	unsigned int i;
	u32 tables;

	begin();
	for (i = 0; i < AV_ENTRIES; i += 3)
		map(i, 10 + i, RW);
	for (i = 0; i < AV_ENTRIES; i++)
		touch(tree, i * PAGE);
	tables = sh.nr_pts;
	keep();
	CHECK_EQ(flush_trees, 1);
	CHECK_EQ(flush_pages + flush_alls, 0);
	CHECK_EQ(sh.nr_pts, tables);
	for (i = 0; i < AV_ENTRIES; i++)
		CHECK_EQ(touch(tree, i * PAGE), 0);
	CHECK_EQ(av_shadow_present(tree, 0, 16), 0);
	CHECK(!av_shadow_table(tree, 0));
	words[1] = page_desc(3000);
	fault(1);
	CHECK_EQ(tables_relinked, 1);
	CHECK_EQ(entries_agreed, 171);
	CHECK_EQ(sh.nr_pts, tables);
	for (i = 0; i < AV_ENTRIES; i += 3) {
		CHECK_EQ((touch(tree, i * PAGE) & AV_PTE_ADDR) >> 12, 0x100000 + 10 + i);
		CHECK(!(touch(tree, i * PAGE) & AV_PTE_RDONLY));
	}
	CHECK(touch(tree, PAGE));
	CHECK_EQ(touch(tree, 2 * PAGE), 0);
	/* Once is enough. */
	fault(2 * 3);
	CHECK_EQ(tables_relinked, 1);
	teardown();
}

/* Entry 1 is to come back, or not, after this change to its descriptor. */
static const struct {
	u64 clear, set;
	bool stays;
} changes[] = {
	{ 0, 0, true },
	{ 0, DIRTY, true },		/* the guest's own bits */
	{ 0, BIT_ULL(51), true },	/* DBM: no guest has it */
	{ VALID, 0, false },
	{ ~0ULL, 0, false },
	{ BIT_ULL(1), 0, false },
	{ AF, 0, false },
	{ NG, 0, false },
	{ AV_PTE_USER, 0, false },
	{ 0, BIT_ULL(12), false },
	{ 0, BIT_ULL(47), false },
	{ 0, AV_PTE_PXN, false },
	{ 0, AV_PTE_UXN, false },
	{ 0, BIT_ULL(2), false },	/* another kind of memory */
	{ 0, BIT_ULL(52), false },	/* of a contiguous run */
	{ 0, RDONLY, true },
	{ 0, RDONLY | DIRTY, true },
	{ 0, RDONLY | BIT_ULL(12), false },
	{ AF, RDONLY, false },
};

static void test_changed_descriptors(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		begin();
		map(0, 5, RW);
		map(1, 6, RW);
		touch(tree, PAGE);
		keep();
		words[1] = (words[1] & ~changes[i].clear) | changes[i].set;
		fault(0);
		CHECK_EQ(!!touch(tree, PAGE), changes[i].stays);
		CHECK_EQ(entries_agreed, 1 + changes[i].stays);
		teardown();
	}
}

/* Fork takes the right to write away; it does not come back by itself. */
static void test_write_protected(void)
{
	begin();
	map(0, 5, RW);
	map(1, 6, RWX);
	map(2, 7, AV_R | AV_X);
	words[2] |= RDONLY;
	fault(2);
	keep();
	words[1] |= RDONLY;
	fault(0);
	/* Permission to execute may depend on permission to write. */
	CHECK(touch(tree, PAGE) & AV_PTE_RDONLY && touch(tree, PAGE) & AV_PTE_UXN);
	CHECK(!(touch(tree, PAGE) & AV_PTE_DBM));
	CHECK(touch(tree, PAGE) & AV_PTE_USER);
	/* Once more: the entry follows its current descriptor. */
	keep();
	fault(0);
	CHECK(touch(tree, PAGE) & AV_PTE_RDONLY);
	keep();
	words[1] &= ~RDONLY;
	fault(0);
	CHECK_EQ(touch(tree, PAGE), 0);
	teardown();
}

/* What was filled otherwise, or where there is nothing to compare with, does not come back. */
static void test_no_descriptors(void)
{
	begin();
	map(0, 5, RW);
	CHECK_EQ(fill(tree, PAGE, 6, 3, RW, 21, false), 0);
	map(2, 7, RW);
	words[1] = page_desc(6);
	keep();
	fault(0);
	CHECK_EQ(touch(tree, PAGE), 0);
	CHECK(touch(tree, 2 * PAGE));
	/* The guest has a large leaf there now. */
	keep();
	CHECK_EQ(fill(tree, PAGE, 6, 3, RW, 21, false), 0);
	CHECK_EQ(touch(tree, 0), 0);
	CHECK_EQ(touch(tree, 2 * PAGE), 0);
	CHECK(touch(tree, PAGE));
	/* Its table cannot be read at once. */
	map(0, 5, RW);
	keep();
	unreadable = true;
	fault(2);
	CHECK_EQ(touch(tree, 0), 0);
	unreadable = false;
	/* The tables above forbid something else. */
	map(0, 5, RW);
	keep();
	CHECK_EQ(fill_by(tree, PAGE, 6, RW, av_walk_key(words[1], 2), TABLE), 0);
	CHECK_EQ(touch(tree, 0), 0);
	teardown();
}

/* A table that had no page for descriptors at first knows those from then on. */
static void test_descriptors_from_later_on(void)
{
	struct av_fill f = { .va = 0, .pa = 0x100005000, .gfn = 5, .level = 3, .rights = AV_R,
			     .gspan = 12, .table = TABLE };
	struct av_memcache *p;
	u32 had;

	begin();
	words[0] = page_desc(5);
	f.desc = av_walk_key(words[0], 0);
	p = full_pool();
	had = p->nr_descs;
	p->nr_descs = 0;
	CHECK_EQ(av_shadow_fill(&sh, tree, &f, p), 0);
	CHECK_EQ(sh.nr_descs, 0);
	p->nr_descs = had;
	map(1, 6, RW);
	CHECK_EQ(sh.nr_descs, 1);
	keep();
	words[2] = page_desc(7);
	fault(2);
	CHECK_EQ(touch(tree, 0), 0);
	CHECK(touch(tree, PAGE));
	teardown();
}

/* Tables far from each other, of all levels: a fault restores those on its way. */
static void test_levels(void)
{
	static const u64 at[] = { 0, L3_BYTES, GIB, 512 * GIB, 700 * GIB };
	unsigned int i, round;
	u32 tables;

	begin();
	words[0] = page_desc(9);
	for (i = 0; i < ARRAY_SIZE(at); i++)
		fill_by(tree, at[i], 9, AV_R, av_walk_key(words[0], 0), TABLE);
	/* A block among them is dropped. */
	fill(tree, 5 * L3_BYTES, 512, 2, AV_R, 21, false);
	tables = sh.nr_pts;
	for (round = 0; round < 5; round++) {
		keep();
		for (i = 0; i < round; i++) {
			CHECK_EQ(touch(tree, at[i]), 0);
			fault(0);
			fill_by(tree, at[i], 9, AV_R, av_walk_key(words[0], 0), TABLE);
			check_rmap();
			CHECK(touch(tree, at[i]));
		}
		for (i = round; i < ARRAY_SIZE(at); i++)
			CHECK_EQ(!!touch(tree, at[i]), !i && round);
		CHECK_EQ(touch(tree, 5 * L3_BYTES), 0);
		CHECK_EQ(sh.nr_pts, tables);
	}
	teardown();
}

/* By frame, entries of kept tables are found as others are. */
static void test_by_frame(void)
{
	begin();
	map(0, 5, RW);
	map(1, 6, RW);
	map(2, 7, RW);
	map(3, 8, RW);
	keep();
	zap(6, 7);
	wrprotect(7);
	CHECK(age(8, true));
	CHECK(!age(8, true));
	check_rmap();
	fault(0);
	CHECK_EQ(touch(tree, PAGE), 0);
	CHECK(touch(tree, 2 * PAGE) & AV_PTE_RDONLY);
	CHECK(av_shadow_lookup(tree, 3 * PAGE, NULL));
	CHECK(!(av_shadow_lookup(tree, 3 * PAGE, NULL) & AV_PTE_AF));
	teardown();
}

/* By address, they are skipped, except tables that are dropped as a whole. */
static void test_by_address(void)
{
	u32 tables;

	begin();
	map(0, 5, RW);
	map(1, 6, RW);
	tables = sh.nr_pts;
	keep();
	tlbi(AV_TLBI_VA, PAGE, 2 * PAGE - 1, 1);
	tlbi(AV_TLBI_VA, 0, 100 * PAGE - 1, 1);
	CHECK_EQ(flush_trees + flush_pages + flush_alls, 1);
	CHECK_EQ(sh.nr_pts, tables);
	fault(0);
	CHECK(touch(tree, PAGE));
	tlbi(AV_TLBI_VA, PAGE, 2 * PAGE - 1, 1);
	CHECK_EQ(touch(tree, PAGE), 0);
	keep();
	CHECK_EQ(fill(tree, GIB, 9, 3, RW, 12, false), 0);
	tlbi(AV_TLBI_VA, 0, GIB - 1, 1);
	/* One of level 2 and one of level 3 less, and as many more. */
	CHECK_EQ(sh.nr_pts, tables);
	CHECK_EQ(flush_trees + flush_pages + flush_alls, 3);
	teardown();
}

/* Of a contiguous run that came back, one address drops all. */
static void test_contiguous(void)
{
	struct av_fill f = { .level = 3, .rights = AV_R, .gspan = 16, .table = TABLE };
	unsigned int i;

	begin();
	for (i = 0; i < 16; i++) {
		words[i] = page_desc(16 + i) | BIT_ULL(52);
		f.va = i * PAGE;
		f.gfn = 16 + i;
		f.pa = (f.gfn + 0x100000ULL) << 12;
		f.desc = av_walk_key(words[i], 0);
		CHECK_EQ(av_shadow_fill(&sh, tree, &f, full_pool()), 0);
	}
	keep();
	map(20, 5, RW);
	CHECK(touch(tree, 3 * PAGE));
	tlbi(AV_TLBI_VA, 7 * PAGE, 8 * PAGE - 1, 1);
	CHECK_EQ(touch(tree, 3 * PAGE), 0);
	CHECK(touch(tree, 20 * PAGE));
	teardown();
}

/* Whatever gives tables back finds those that are kept. */
static void test_given_back(void)
{
	unsigned int how;
	u64 next = 0;
	struct av_gather g;

	for (how = 0; how < 5; how++) {
		begin();
		map(0, 5, RW);
		fill(tree, 600 * GIB, 6, 3, RW, 12, false);
		keep();
		CHECK(!av_tree_empty(tree));
		switch (how) {
		case 0:
			tlbi(AV_TLBI_ALL, 0, 0, 0);
			CHECK_EQ(sh.nr_pts, 1);
			break;
		case 1:
			reclaim_all();
			CHECK_EQ(sh.nr_pts, 1);
			break;
		case 2:
			/* No vCPU has it loaded. */
			av_tree_put(&sh, tree);
			keep();
			CHECK_EQ(sh.nr_trees, 0);
			CHECK_EQ(sh.nr_pts, 0);
			break;
		case 3:
			keep_tables = false;
			keep();
			CHECK_EQ(sh.nr_pts, 1);
			break;
		case 4:
			/* A block where a kept table is. */
			CHECK_EQ(fill(tree, 0, 512, 2, AV_R, 21, false), 0);
			CHECK(touch(tree, PAGE));
			check_rmap();
			av_gather_init(&g, &sh);
			while (av_tree_drop(&sh, tree, &g, &next))
				;
			av_gather_finish(&g);
			break;
		}
		teardown();
	}
}

/* A process that is gone: with the last vCPU that had its tree loaded, tables go too. */
static void test_retire(void)
{
	unsigned int flushes, reaps = 0, i;

	begin();
	map(0, 5, RW);
	for (i = 1; i < 200; i++)
		fill(tree, i * L3_BYTES, i, 3, RW, 12, false);
	av_tree_retire(&sh, tree);
	av_tree_put(&sh, tree);
	av_tree_retire(&sh, tree);
	CHECK_EQ(sh.nr_trees, 1);
	tree = get(0x1000, false, 0, 1);
	keep();
	av_tree_retire(&sh, tree);
	CHECK_EQ(sh.nr_trees, 1);
	fault(0);
	av_tree_put(&sh, tree);
	av_tree_retire(&sh, tree);
	CHECK_EQ(sh.nr_trees, 1);
	tree = get(0x1000, false, 0, 1);
	keep();
	flushes = flush_trees + flush_pages + flush_alls;
	av_tree_put(&sh, tree);
	av_tree_retire(&sh, tree);
	CHECK_EQ(sh.nr_trees, 0);
	CHECK_EQ(flush_trees + flush_pages + flush_alls, flushes);
	/* A part at a time. */
	for (; av_shadow_reap(&sh, NULL); reaps++)
		check_rmap();
	CHECK(reaps > 2);
	CHECK_EQ(sh.nr_pts, 0);
	/* One that never had anything stays: the guest may be about to run there. */
	tree = get(0x1000, false, 0, 1);
	av_tree_put(&sh, tree);
	av_tree_retire(&sh, tree);
	CHECK_EQ(sh.nr_trees, 1);
	teardown();
}

/* The upper half is as before. */
static void test_high(void)
{
	struct av_tree *high;
	u64 gen;

	begin();
	sh.high_tagged = true;
	high = get(0x2000, true, 1, 1);
	fill(high, KVA, 5, 3, RW, 12, false);
	gen = high->gen;
	keep();
	CHECK_EQ(touch(high, KVA), 0);
	CHECK(av_tree_empty(high));
	CHECK_EQ(high->gen, gen);
	teardown();
}

/* In parts, while vCPUs fault, and give the tree back and take it. */
static void test_parts(void)
{
	struct av_tlbi_walk w = { .op = { .scope = AV_TLBI_ASID, .asid = 1 }, .keep = true };
	unsigned int i, parts, how;

	for (how = 0; how < 4; how++) {
		struct av_tlbi_walk again = w, walk = w;

		begin();
		words[0] = page_desc(9);
		for (i = 0; i < 10; i++)
			fill_by(tree, i * 512 * GIB, 9, AV_R, av_walk_key(words[0], 0), TABLE);
		if (how == 3)
			unload(tree);
		for (parts = 0; tlbi_part(&walk, 3); parts++) {
			/* What is filled now was read after it had begun. */
			if (how == 1)
				fill_by(tree, 0, 9, AV_R, av_walk_key(words[0], 0), TABLE);
			if (how == 2)
				tlbi_part(&again, 3);
			if (how < 2 || parts > 1)
				load_again(tree);
			else
				unload(tree);
		}
		CHECK(parts > 2);
		for (i = 0; i < 10; i++)
			CHECK_EQ(!!touch(tree, i * 512 * GIB), how == 1 && !i);
		teardown();
	}
}

/*
 * A table that is filled between two parts, where the TLBI has not been yet, is kept with all that
 * is above it. It is new, and compared all the same.
 */
static void test_filled_between_parts(void)
{
	struct av_tlbi_walk walk = { .op = { .scope = AV_TLBI_ASID, .asid = 1 }, .keep = true };
	u64 last = 9 * 512 * GIB, va = last + AV_BLOCK_SIZE;
	unsigned int i;

	begin();
	words[0] = page_desc(9);
	words[1] = page_desc(10);
	for (i = 0; i < 10; i++)
		fill_by(tree, i * 512 * GIB, 9, AV_R, av_walk_key(words[0], 0), TABLE);
	CHECK(tlbi_part(&walk, 3));
	fill_by(tree, va, 9, AV_R, av_walk_key(words[0], 0), TABLE);
	while (tlbi_part(&walk, 3))
		;
	CHECK_EQ(touch(tree, va), 0);
	words[0] = 0;
	tlbi(AV_TLBI_VA, va, va + PAGE - 1, 1);
	fill_by(tree, va + PAGE, 10, AV_R, av_walk_key(words[1], 0), TABLE);
	CHECK(touch(tree, va + PAGE));
	CHECK_EQ(touch(tree, va), 0);
	teardown();
}

static void test_bounds(void)
{
	struct av_root copy = { .pte = calloc(512, 8) };
	unsigned int i;

	begin();
	most_work = 0;
	av_root_attach(&copy, tree);
	for (i = 0; i < 100; i++)
		fill(tree, i * 512 * GIB, i, 3, RW, 12, false);
	tree->users = 40;
	keep();
	CHECK(most_work <= AV_WORK + 2 * AV_ENTRIES);
	for (i = 0; i < 100; i++)
		CHECK(copy.pte[i] && !(copy.pte[i] & AV_PTE_VALID));
	/* Nothing was reached since. */
	i = flush_trees;
	keep();
	CHECK_EQ(flush_trees, i);
	av_root_detach(&copy, tree);
	teardown();
	free(copy.pte);
}

/* A fault that has many blocks to forget leaves the table of pages below for the next time. */
static void test_many_blocks(void)
{
	unsigned int i;

	begin();
	map(1, 1, RW);
	map(2, 2, RW);
	for (i = 1; i <= 300; i++)
		CHECK_EQ(fill(tree, i * L3_BYTES, i % 8 * AV_BLOCK_PAGES, 2, RW, 21, false), 0);
	keep();
	CHECK_EQ(fill_by(tree, PAGE, 1, RW, av_walk_key(words[1], 0), TABLE), -EAGAIN);
	for (i = 1; i <= 300; i++)
		CHECK(!av_shadow_lookup(tree, i * L3_BYTES, NULL));
	CHECK(!av_shadow_lookup(tree, 2 * PAGE, NULL));
	check_rmap();
	CHECK_EQ(fill_by(tree, PAGE, 1, RW, av_walk_key(words[1], 0), TABLE), 0);
	CHECK(av_shadow_lookup(tree, 2 * PAGE, NULL));
	teardown();
}

int main(void)
{
	RUN(test_entries_come_back);
	RUN(test_changed_descriptors);
	RUN(test_write_protected);
	RUN(test_no_descriptors);
	RUN(test_descriptors_from_later_on);
	RUN(test_levels);
	RUN(test_by_frame);
	RUN(test_by_address);
	RUN(test_contiguous);
	RUN(test_given_back);
	RUN(test_retire);
	RUN(test_high);
	RUN(test_parts);
	RUN(test_filled_between_parts);
	RUN(test_bounds);
	RUN(test_many_blocks);
	return TESTS_DONE();
}
