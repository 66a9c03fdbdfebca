// SPDX-License-Identifier: GPL-2.0
/*
 * The maximum work of one call on the shadow tables, whatever a guest has made of them. Work in
 * parts is complete in the end, even if others fill, make trees or drop them between two parts.
 */
#include <stdlib.h>

#include "check.h"
#include "shadow_world.h"

/* A call may finish a table after it has reached its bound: this much more. */
#define MOST	(AV_WORK + 2 * AV_ENTRIES)

#define L3_BYTES	(1ULL << 21)

static void test_one_frame_in_many_entries(void)
{
	struct av_tree *tree;
	unsigned int i;

	setup();
	most_work = 0;
	tree = get(0x1000, false, 0, 1);
	for (i = 0; i < 50000; i++)
		CHECK_EQ(fill(tree, 0x1000ULL * i, 9, 3, AV_R | AV_W, 12, false), 0);
	wrprotect(9);
	for (i = 0; i < 50000; i++)
		CHECK(!touch(tree, 0x1000ULL * i) || touch(tree, 0x1000ULL * i) & AV_PTE_RDONLY);
	check_rmap();
	for (i = 0; i < 50000; i++)
		CHECK_EQ(fill(tree, 0x1000ULL * i, 9, 3, AV_R | AV_W, 12, false), 0);
	zap(9, 10);
	CHECK_EQ(av_shadow_present(tree, 0, 16), 0);
	check_rmap();
	CHECK(most_work > AV_WORK / 2 && most_work <= MOST);
	teardown();
}

/* Tables wherever a tree can have them, dropped by address, ASID, and all. */
static void test_many_tables(void)
{
	static const int scopes[] = { AV_TLBI_ALL, AV_TLBI_ASID, AV_TLBI_VA, AV_TLBI_VAA };
	struct av_tree *tree, *other;
	unsigned int s, i, reaps;
	bool more;

	for (s = 0; s < ARRAY_SIZE(scopes); s++) {
		setup();
		most_work = 0;
		tree = get(0x1000, false, 0, 1);
		other = get(0x1000, false, 0, 2);
		CHECK_EQ(fill(other, 0x1000, 1, 3, AV_R, 12, false), 0);
		for (i = 0; i < 100; i++)
			CHECK_EQ(fill(tree, (i * 5ULL << 39) + 0x1000, i, 3, AV_R, 12, false), 0);
		tlbi(scopes[s], 0, (1ULL << 55) - 1, 1);
		for (i = 0; i < 100; i++)
			CHECK_EQ(touch(tree, (i * 5ULL << 39) + 0x1000), 0);
		CHECK_EQ(!touch(other, 0x1000), s == 0 || s == 3);
		CHECK_EQ(sh.nr_pts, s == 0 || s == 3 ? 2 : 5);
		CHECK(most_work <= MOST);
		/* What is unlinked is taken apart a part at a time. */
		for (i = 0; i < 60; i++)
			CHECK_EQ(fill(tree, i * L3_BYTES, i, 3, AV_R, 12, false), 0);
		CHECK(av_shadow_reclaim(&sh, true, NULL, &more) <= 60);
		for (reaps = 0; av_shadow_reap(&sh, NULL); reaps++)
			check_rmap();
		CHECK(reaps < 10);
		teardown();
	}
}

/* Of tables that are nearly full a call takes one apart, not a second one on top. */
static void test_full_tables(void)
{
	enum { TABLES = 5, LIVE = 450 };
	struct av_tree *tree;
	unsigned int i, n;
	u32 before;
	bool more;

	setup();
	tree = get(0x1000, false, 0, 1);
	for (i = 0; i < TABLES; i++)
		for (n = 0; n < LIVE; n++)
			CHECK_EQ(fill(tree, i * L3_BYTES + n * 0x1000, n, 3, AV_R, 12, false), 0);
	unload(tree);
	av_shadow_reclaim(&sh, true, NULL, &more);
	do {
		before = sh.nr_pts;
		more = av_shadow_reap(&sh, NULL);
		check_rmap();
		/* Or it, and tables above that have few entries. */
		CHECK(before - sh.nr_pts <= 1 || sh.nr_pts == 0);
	} while (more);
	CHECK_EQ(sh.nr_pts, 0);
	teardown();
}

/* A gigabyte's leaf broken into pages is dropped by one address, tables and all. */
static void test_large_leaf(void)
{
	struct av_tree *tree;
	unsigned int i;

	setup();
	tree = get(0x1000, false, 0, 1);
	most_work = 0;
	for (i = 0; i < 300; i++)
		CHECK_EQ(fill(tree, i * L3_BYTES + 0x5000, i, 3, AV_R, 30, false), 0);
	touch(tree, 0x5000);
	tlbi(AV_TLBI_VA, 0x123000, 0x123fff, 1);
	for (i = 0; i < 300; i++)
		CHECK_EQ(touch(tree, i * L3_BYTES + 0x5000), 0);
	CHECK(most_work <= 300 + AV_ENTRIES / 8 + 10);
	CHECK_EQ(sh.nr_pts, 3);
	teardown();
}

/* Trees of one ASID by the hundred, each made by another table base. */
static void test_many_trees(void)
{
	struct av_tree *tree = NULL;
	unsigned int i;

	setup();
	most_work = 0;
	for (i = 0; i < 90; i++) {
		tree = get(0x1000 * i, false, 0, 1);
		CHECK(tree);
		fill(tree, 0x1000, i, 3, AV_R, 12, false);
		av_tree_put(&sh, tree);
	}
	CHECK_EQ(sh.nr_trees, 90);
	tlbi(AV_TLBI_ASID, 0, 0, 1);
	CHECK_EQ(sh.nr_trees, 0);
	CHECK_EQ(sh.nr_pts, 0);
	CHECK(most_work <= MOST);
	teardown();
}

/*
 * To drop everything is a step for each tree and for each table at the top of one, whatever is in
 * the tables: the notifier does that where single entries are too many.
 */
static void test_all_in_few_steps(void)
{
	enum { TREES = 20, ENTRIES = 400 };
	struct av_tlbi_walk w = { .op = { .scope = AV_TLBI_ALL } };
	struct av_tree *trees[TREES];
	struct av_gather g;
	unsigned int i, n, work = 0;
	bool more;

	setup();
	for (i = 0; i < TREES; i++) {
		bool high = i % 2;
		u64 va = high ? KVA : 0;

		trees[i] = get(0x1000 * i, high, 1, i);
		for (n = 0; n < ENTRIES; n++) {
			fill(trees[i], va + n * 0x1000, n, 3, AV_R, 12, high);
			fill(trees[i], va + (1ULL << 30) + n * L3_BYTES, 512, 2, AV_R, 21, high);
		}
	}
	do {
		av_gather_init(&g, &sh);
		more = av_shadow_tlbi(&sh, &w, &g);
		av_gather_finish(&g);
		work += g.work;
	} while (more);
	/* Tables on the way to the window are looked at; an entry of a root counts for each user. */
	CHECK(work >= TREES && work <= 6 * TREES);
	for (i = 0; i < TREES; i++)
		CHECK(!av_shadow_lookup(trees[i], i % 2 ? KVA : 0, NULL));
	teardown();
}

/* Between two parts a tree goes, another comes, and a third is filled again. */
static void test_lists_that_change(void)
{
	struct av_tlbi_walk w = { .op = { .scope = AV_TLBI_ALL } };
	struct av_tree *trees[20], *late = NULL;
	struct av_gather g;
	unsigned int i, parts = 0;
	bool more = true;

	setup();
	for (i = 0; i < 20; i++) {
		trees[i] = get(0x1000 * i, false, 0, 1 + i % 3);
		fill(trees[i], 0x1000, i, 3, AV_R, 12, false);
	}
	while (more) {
		av_gather_init(&g, &sh);
		g.work = AV_WORK - 3;	/* as if it had done nearly enough */
		more = av_shadow_tlbi(&sh, &w, &g);
		av_gather_finish(&g);
		if (parts++ == 2) {
			unload(trees[15]);
			reclaim_all();
			late = get(0x999000, false, 0, 1);
			fill(late, 0x1000, 1, 3, AV_R, 12, false);
		}
		CHECK(parts < 100);
	}
	CHECK(parts > 5);
	for (i = 0; i < 20; i++)
		if (i != 15)
			CHECK_EQ(touch(trees[i], 0x1000), 0);
	/* Made since it began, by what the guest's tables say now. */
	CHECK(touch(late, 0x1000));
	check_rmap();
	teardown();
}

/* A flush names the trees that it is for, and no more. */
static void test_flushes_name_trees(void)
{
	struct av_tree *a, *b;

	setup();
	a = get(0x1000, false, 0, 1);
	b = get(0x2000, false, 0, 2);
	fill(a, 0x1000, 1, 3, AV_R, 12, false);
	fill(b, 0x1000, 2, 3, AV_R, 12, false);
	tlbi(AV_TLBI_VA, 0x1000, 0x1fff, 1);
	CHECK_EQ(flush_pages, 1);
	tlbi(AV_TLBI_ASID, 0, 0, 2);
	CHECK_EQ(flush_trees, 1);
	CHECK_EQ(flush_alls, 0);
	/* Nothing was there, so nothing is flushed. */
	tlbi(AV_TLBI_VA, 0x1000, 0x1fff, 1);
	tlbi(AV_TLBI_ASID, 0, 0, 2);
	CHECK_EQ(flush_pages + flush_trees, 2);
	teardown();
}

/* A tree that is flushed as a whole has no pages named beside it, others have theirs. */
static void test_flush_of_a_tree_covers_its_pages(void)
{
	struct av_tree *a, *b;
	unsigned int i;

	for (i = AV_FLUSH_PAGES - 1; i < AV_FLUSH_PAGES + 3; i++) {
		unsigned int n, over = i > AV_FLUSH_PAGES;

		setup();
		a = get(0x1000, false, 0, 1);
		b = get(0x2000, false, 0, 1);
		fill(a, 0x1000, 1, 3, AV_R, 12, false);
		for (n = 1; n < i; n++)
			fill(b, n * 0x1000, n, 3, AV_R, 12, false);
		touch(a, 0x1000);
		for (n = 1; n < i; n++)
			touch(b, n * 0x1000);
		tlbi(AV_TLBI_VA, 0x1000, i * 0x1000 - 1, 1);
		CHECK_EQ(flush_trees, over);
		CHECK_EQ(flush_pages, over ? 1 : i);
		CHECK_EQ(flush_alls, 0);
		teardown();
	}
}

/* Invalidations count in the trees that they reach, so faults elsewhere go on. */
static void test_sequences(void)
{
	struct av_tree *a, *b, *k;
	u64 sa, sb, sk, va;

	setup();
	a = get(0x1000, false, 0, 1);
	b = get(0x2000, false, 0, 2);
	k = get(0x3000, true, 1, 1);
	sa = a->seq;
	sb = b->seq;
	sk = k->seq;
	tlbi(AV_TLBI_VA, 0x1000, 0x1fff, 1);
	CHECK(a->seq != sa && b->seq == sb && k->seq == sk);
	/* By address it reaches global entries of all ASIDs, also those that are to be filled. */
	va = sh.seq_va[0];
	tlbi(AV_TLBI_VA, 0x1000, 0x1fff, 9);
	CHECK(sh.seq_va[0] != va);
	va = sh.seq_va[0];
	tlbi(AV_TLBI_ASID, 0, 0, 9);
	CHECK(sh.seq_va[0] == va);
	tlbi(AV_TLBI_VAA, KVA, KVA + 0xfff, 0);
	CHECK(b->seq == sb && k->seq != sk);
	sa = a->seq;
	tlbi(AV_TLBI_ASID, 0, 0, 2);
	CHECK(a->seq == sa && b->seq != sb);
	sb = b->seq;
	sk = k->seq;
	tlbi(AV_TLBI_ALL, 0, 0, 0);
	CHECK(a->seq != sa && b->seq != sb && k->seq != sk);
	teardown();
}

static void tlbi_leaf(u64 start, u64 last, u16 asid)
{
	struct av_tlbi_walk w = {
		.op = { .scope = AV_TLBI_VA, .leaf = true, .asid = asid, .start = start, .last = last },
	};
	struct av_gather g;
	bool more;

	do {
		av_gather_init(&g, &sh);
		more = av_shadow_tlbi(&sh, &w, &g);
		av_gather_finish(&g);
	} while (more);
}

/* A fault in flight starts over for a TLBI that names its leaf, or a table on its way, and no other. */
static void test_faults_in_flight(void)
{
	struct av_tree *tree;
	unsigned int i;
	u64 since, half;

	setup();
	tree = get(0x1000, false, 0, 1);
	since = tree->seq;
	half = sh.seq_va[0];
	CHECK(!av_tlbi_voids(tree->seq, tree->recent, since, 0x400000, 12));
	tlbi_leaf(0x401000, 0x401fff, 1);
	CHECK(!av_tlbi_voids(tree->seq, tree->recent, since, 0x400000, 12));
	CHECK(av_tlbi_voids(tree->seq, tree->recent, since, 0x401000, 12));
	CHECK(!av_tlbi_voids(tree->seq, tree->recent, since, 0x402000, 12));
	CHECK(!av_tlbi_voids(tree->seq, tree->recent, tree->seq, 0x401000, 12));
	/* The same guest leaf: a block, or pages with the contiguous bit. */
	CHECK(av_tlbi_voids(tree->seq, tree->recent, since, 0x5ff000, 21));
	CHECK(!av_tlbi_voids(tree->seq, tree->recent, since, 0x600000, 21));
	CHECK(av_tlbi_voids(tree->seq, tree->recent, since, 0x40f000, 16));
	CHECK(av_tlbi_voids(tree->seq, tree->recent, since, 0x7000000000, 64));
	/* Global entries: by their half, whatever the ASID. */
	CHECK(av_tlbi_voids(sh.seq_va[0], sh.recent_va[0], half, 0x401000, 12));
	CHECK(!av_tlbi_voids(sh.seq_va[0], sh.recent_va[0], half, 0x400000, 12));
	CHECK_EQ(sh.seq_va[1], 0);
	/* All of a range, and the first of several. */
	since = tree->seq;
	tlbi_leaf(0x800000, 0x80ffff, 1);
	for (i = 1; i < AV_RECENT; i++)
		tlbi_leaf(0x900000, 0x900fff, 1);
	CHECK(av_tlbi_voids(tree->seq, tree->recent, since, 0x80f000, 12));
	CHECK(!av_tlbi_voids(tree->seq, tree->recent, since, 0x810000, 12));
	/* One more, and the first is forgotten. */
	tlbi_leaf(0x900000, 0x900fff, 1);
	CHECK(av_tlbi_voids(tree->seq, tree->recent, since, 0x810000, 12));
	/* Tables may have gone with it, or it names no address. */
	since = tree->seq;
	tlbi(AV_TLBI_VA, 0x1000, 0x1fff, 1);
	CHECK(av_tlbi_voids(tree->seq, tree->recent, since, 0x810000, 12));
	since = tree->seq;
	tlbi(AV_TLBI_ASID, 0, 0, 1);
	CHECK(av_tlbi_voids(tree->seq, tree->recent, since, 0x810000, 12));
	teardown();
}

static bool all_zero(const u64 *word, unsigned int n)
{
	while (n && !word[n - 1])
		n--;
	return !n;
}

/* vCPUs' copies of a root follow it until they are detached. */
static void test_copies(void)
{
	struct av_root one = { .pte = calloc(512, 8) }, two = { .pte = calloc(512, 8) };
	struct av_tree *tree;

	setup();
	tree = get(0x1000, true, 1, 1);
	fill(tree, KVA, 1, 3, AV_R, 12, true);
	av_root_attach(&one, tree);
	av_root_attach(&two, tree);
	check_rmap();
	CHECK(one.pte[AV_WINDOW_INDEX] && one.pte[256]);
	fill(tree, KVA + (1ULL << 40), 2, 3, AV_R, 12, true);
	check_rmap();
	CHECK(two.pte[258]);
	av_root_detach(&two, tree);
	CHECK(all_zero(two.pte, 512));
	tlbi(AV_TLBI_ALL, 0, 0, 0);
	CHECK(!one.pte[256] && !one.pte[258] && one.pte[AV_WINDOW_INDEX]);
	CHECK(all_zero(two.pte, 512));
	av_root_detach(&one, tree);
	CHECK(all_zero(one.pte, 512));
	teardown();
	free(one.pte);
	free(two.pte);
}

int main(void)
{
	RUN(test_one_frame_in_many_entries);
	RUN(test_many_tables);
	RUN(test_full_tables);
	RUN(test_large_leaf);
	RUN(test_many_trees);
	RUN(test_all_in_few_steps);
	RUN(test_lists_that_change);
	RUN(test_flushes_name_trees);
	RUN(test_flush_of_a_tree_covers_its_pages);
	RUN(test_sequences);
	RUN(test_faults_in_flight);
	RUN(test_copies);
	return TESTS_DONE();
}
