// SPDX-License-Identifier: GPL-2.0
/*
 * TLBI of one page, which guests issue by the million: what else it drops, its effect on walks
 * under way and on remembered ones, and that it reaches all necessary trees among thousands, in
 * parts.
 */
#include <stdlib.h>

#include "mmu/shadow/entry.h"
#include "mmu/shadow/limits.h"
#include "check.h"
#include "shadow_world.h"

#define PAGE		0x1000ULL
#define L3_BYTES	(1ULL << 21)
#define GIB		(1ULL << 30)

static void step(struct av_tlbi_walk *w, bool *more)
{
	struct av_gather g;

	av_gather_init(&g, &sh);
	*more = av_shadow_tlbi(&sh, w, &g);
	most_work = max(most_work, g.work);
	av_gather_finish(&g);
}

static struct av_tlbi_walk walk_for(int scope, bool leaf, u64 va, u16 asid)
{
	return (struct av_tlbi_walk) {
		.op = {
			.scope = scope, .leaf = leaf, .high = va >> 55 & 1, .asid = asid,
			.start = va, .last = va + PAGE - 1,
		},
	};
}

/* To its end: in how many parts? */
static unsigned int one_page(int scope, bool leaf, u64 va, u16 asid)
{
	struct av_tlbi_walk w = walk_for(scope, leaf, va, asid);
	unsigned int parts = 0;
	bool more = true;

	for (; more && parts < 100; parts++)
		step(&w, &more);
	CHECK(!more);
	return parts;
}

/* ---- at once ---- */

static bool at_once(const struct av_tlbi *op)
{
	return tlbi_page(page_op(op));
}

static bool gone(struct av_tree *tree, u64 va)
{
	return !av_shadow_lookup(tree, va, NULL);
}

/*
 * One page of one ASID, with global entries: the entries that it drops, and those that it leaves.
 */
static void test_at_once(void)
{
	const u64 va = 0x5000;
	struct av_tlbi op = walk_for(AV_TLBI_VA, true, va, 1).op;
	struct av_tree *mine, *others;
	u64 seq;

	setup();
	mine = get(0x1000, false, 0, 1);
	others = get(0x2000, false, 0, 1 + AV_TREE_BUCKETS);	/* in the same list */
	CHECK_EQ(fill(mine, va, 1, 3, AV_R, 12, false), 0);
	CHECK_EQ(fill(mine, va + PAGE, 2, 3, AV_R, 12, false), 0);
	CHECK_EQ(fill(others, va, 3, 3, AV_R, 12, false), 0);
	seq = others->seq;
	CHECK(at_once(&op));
	CHECK(gone(mine, va) && !gone(mine, va + PAGE) && !gone(others, va));
	CHECK_EQ(others->seq, seq);
	CHECK(av_tlbi_voids(mine->seq, mine->recent, mine->seq - 1, va, 12));

	/* Of all ASIDs, or with global entries in trees of some: not at once. */
	op.scope = AV_TLBI_VAA;
	CHECK(!at_once(&op));
	op.scope = AV_TLBI_VA;
	CHECK_EQ(fill(others, va + PAGE, 4, 3, AV_R, 12, true), 0);
	op.start = va + PAGE;
	op.last = va + 2 * PAGE - 1;
	CHECK(!at_once(&op));
	CHECK(!gone(mine, va + PAGE));
	check_rmap();
	teardown();
}

/* A leaf of the guest's that is larger than a page takes the long way. */
static void test_not_at_once(void)
{
	struct av_tlbi op = walk_for(AV_TLBI_VA, true, 0x5000, 1).op;
	struct av_tree *tree;

	setup();
	tree = get(0x1000, false, 0, 1);
	CHECK_EQ(fill(tree, 0x5000, 1, 3, AV_R, 16, false), 0);
	CHECK(!at_once(&op));
	CHECK_EQ(one_page(AV_TLBI_VA, true, 0x5000, 1), 1);
	CHECK(gone(tree, 0x5000));
	teardown();
}

/* Nor does a page beside such a leaf; one in it may be part of it. */
static void test_beside_a_larger_leaf(void)
{
	const u64 leaf = KVA, span = 25, size = BIT_ULL(25), piece = leaf + 0x400000;
	struct {
		u64 va;
		bool at_once;
	} rows[] = {
		{ leaf + size, true }, { leaf + size + 0x200000, true }, { leaf - PAGE, true },
		{ leaf, false }, { piece, false }, { leaf + size - PAGE, false },
	};
	struct av_tree *tree;
	struct av_tlbi op;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		setup();
		tree = get(0x1000, true, 1, 1);
		CHECK_EQ(fill(tree, piece, 1, 3, AV_R, span, true), 0);
		if (rows[i].va != piece)
			CHECK_EQ(fill(tree, rows[i].va, 2, 3, AV_R, 12, true), 0);
		op = walk_for(AV_TLBI_VAA, true, rows[i].va, 0).op;
		CHECK_EQ(at_once(&op), rows[i].at_once);
		CHECK_EQ(gone(tree, rows[i].va), rows[i].at_once);
		CHECK(!gone(tree, piece));
		one_page(AV_TLBI_VAA, true, rows[i].va, 0);
		CHECK(gone(tree, rows[i].va));
		CHECK_EQ(gone(tree, piece), !rows[i].at_once);
		teardown();
	}

	/* One that was made a block of the host's tells no more what it was of. */
	setup();
	tree = get(0x1000, true, 1, 1);
	CHECK_EQ(fill(tree, leaf, 512, 2, AV_R, span, true), 0);
	op = walk_for(AV_TLBI_VAA, true, piece, 0).op;
	CHECK(!at_once(&op));
	teardown();
}

/* ---- walks that are kept ---- */

/*
 * Tables that walks of a tree came through are void by all that names more than leaves
 * of it, and by nothing else. Of an ASID all tables are, also those of global leaves.
 */
static void test_tables_of_walks(void)
{
	static const struct {
		int scope;
		bool leaf, any_va, any_asid;
	} rows[] = {
		{ AV_TLBI_VA, false, false, false }, { AV_TLBI_VA, true, false, false },
		{ AV_TLBI_VAA, false, false, true }, { AV_TLBI_VAA, true, false, true },
		{ AV_TLBI_ASID, false, true, false }, { AV_TLBI_ALL, false, true, true },
	};
	static const u64 va[] = { 0x5000, 0x77777000, KVA };
	struct av_tree *tree[3];
	unsigned int i, n, asid, t;
	u64 before[3];

	setup();
	tree[0] = get(0x1000, false, 0, 1);
	tree[1] = get(0x1000, false, 0, 2);
	/* Of all ASIDs. */
	tree[2] = get(0x1000, true, 1, 1);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		for (n = 0; n < ARRAY_SIZE(va); n++)
			for (asid = 1; asid < 4; asid++) {
				for (t = 0; t < ARRAY_SIZE(tree); t++)
					before[t] = av_tree_seq_tables(&sh, tree[t]);
				one_page(rows[i].scope, rows[i].leaf, va[n], asid);
				for (t = 0; t < ARRAY_SIZE(tree); t++) {
					bool high = t == 2, in = (va[n] == KVA) == high;
					bool its = high || rows[i].any_asid || asid == t + 1;

					CHECK_EQ(av_tree_seq_tables(&sh, tree[t]) - before[t],
						 !rows[i].leaf && (rows[i].any_va || in) && its);
				}
			}
	teardown();
}

/* Who remembers a table is told of each that is out of the walkers' reach. */
static void test_shape(void)
{
	struct av_tlbi_walk w;
	struct av_tree *tree;
	unsigned int keep;
	bool more = true;
	u64 before;

	for (keep = 0; keep < 2; keep++) {
		setup();
		tree = get(0x1000, false, 0, 1);
		CHECK_EQ(fill(tree, 0x5000, 1, 3, AV_R, 12, false), 0);
		before = sh.shape;
		w = walk_for(AV_TLBI_ASID, false, 0, 1);
		w.keep = keep;
		for (more = true; more; )
			step(&w, &more);
		CHECK(gone(tree, 0x5000));
		CHECK_EQ(sh.shape - before, 1);
		teardown();
	}
}

/* A tree that has nothing at a page is not looked into again, until it may have something. */
static void test_clean(void)
{
	struct av_tree *tree, *other;
	struct av_tlbi op;
	u64 va;

	setup();
	tree = get(0x1000, true, 1, 1);
	other = get(0x2000, true, 1, 1);
	for (va = KVA; va < KVA + 4 * PAGE; va += PAGE) {
		CHECK_EQ(fill(tree, va, 1, 3, AV_R, 12, true), 0);
		CHECK_EQ(tree->clean, AV_CLEAN_NONE);
		op = walk_for(AV_TLBI_VAA, va & PAGE, va, 0).op;
		CHECK(at_once(&op));
		CHECK(gone(tree, va));
		CHECK_EQ(tree->clean, va);
		CHECK_EQ(other->clean, va);
		/* The other one has it now, and this one not. */
		CHECK_EQ(fill(other, va, 1, 3, AV_R, 12, true), 0);
		CHECK(at_once(&op));
		CHECK(gone(other, va));
		CHECK_EQ(tree->seq_tables, other->seq_tables);
	}
	/* Added to a table that is there. */
	av_shadow_add(&sh, av_shadow_table(other, op.start), av_pt_index(op.start, 3), 3, NULL,
		      av_leaf_desc(&sh, 3, AV_R), 0);
	CHECK_EQ(other->clean, AV_CLEAN_NONE);
	CHECK(at_once(&op));
	CHECK(gone(other, op.start));
	/* A larger leaf over the page. */
	CHECK_EQ(fill(tree, KVA, 512, 2, AV_R, 21, true), 0);
	CHECK_EQ(tree->clean, AV_CLEAN_NONE);
	CHECK(at_once(&op));
	CHECK(gone(tree, KVA));
	/* Of the four pages two were named with their tables, twice each. */
	CHECK_EQ(tree->seq_tables, 4);
	teardown();
}

/* However many parts: each tree once, when it is reached; global leaves before anything else is done. */
static void test_tables_of_walks_in_parts(void)
{
	struct av_tlbi_walk w = walk_for(AV_TLBI_VAA, false, 0x5000, 0);
	unsigned int i, parts = 0;
	struct av_tree *tree[20];
	struct av_gather g;
	bool more = true;

	setup();
	for (i = 0; i < ARRAY_SIZE(tree); i++) {
		tree[i] = get(PAGE * i, false, 0, 1 + i);
		fill(tree[i], 0x5000, i, 3, AV_R, 12, false);
	}
	for (; more && parts < 100; parts++) {
		av_gather_init(&g, &sh);
		g.work = AV_WORK - 3;	/* as if it had done nearly enough */
		more = av_shadow_tlbi(&sh, &w, &g);
		av_gather_finish(&g);
		CHECK_EQ(sh.seq_va[0], 1);
		for (i = 0; i < ARRAY_SIZE(tree); i++)
			CHECK(tree[i]->seq_tables == 1 ||
			      (more && !tree[i]->seq_tables && !gone(tree[i], 0x5000)));
	}
	CHECK(parts > 5);
	teardown();
}

/* ---- leaves ---- */

/* Pages of a leaf, in tables by the hundred, and others around it. */
static void fill_around(struct av_tree *tree, u64 leaf, u8 span, u64 step)
{
	u64 at;

	for (at = leaf; at < leaf + BIT_ULL(span); at += step)
		CHECK_EQ(fill(tree, at, at >> 12 & (NR_GFNS - 1), 3, AV_R, span, false), 0);
}

static unsigned int left_of(struct av_tree *tree, u64 leaf, u8 span, u64 step)
{
	unsigned int n = 0;
	u64 at;

	for (at = leaf; at < leaf + BIT_ULL(span); at += step)
		n += !!touch(tree, at);
	return n;
}

/*
 * A leaf that was broken up goes as a whole, by any address of it, also one that was never
 * filled. What is beyond it stays, or goes with a leaf as large, of which it might be; all
 * comes back.
 */
static void test_leaves(void)
{
	static const struct {
		u8 span;
		u64 step;	/* between pages that are filled */
		bool tables;	/* unlinks some */
	} rows[] = {
		{ 12, PAGE, false }, { 16, PAGE, false }, { 21, 8 * PAGE, false },
		{ 25, L3_BYTES / 4, true }, { 30, 4 * L3_BYTES, true }, { 34, GIB / 8, true },
	};
	unsigned int i, n, leaf_entry;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u64 size = BIT_ULL(rows[i].span), leaf = 3 * size, far = 1ULL << 40;

		/* Of an entry that was filled, and of another one. */
		for (leaf_entry = 0; leaf_entry < 2; leaf_entry++) {
			u64 at = leaf_entry && size > PAGE ? leaf + size - PAGE : leaf;
			struct av_tree *tree;

			setup();
			most_work = 0;
			tree = get(0x1000, false, 0, 1);
			fill_around(tree, leaf, rows[i].span, rows[i].step);
			CHECK_EQ(fill(tree, leaf - PAGE, 1, 3, AV_R, 12, false), 0);
			CHECK_EQ(fill(tree, leaf + size, 2, 3, AV_R, 12, false), 0);
			CHECK_EQ(fill(tree, far, 3, 3, AV_R, 12, false), 0);
			touch(tree, leaf - PAGE);
			touch(tree, leaf + size);
			touch(tree, far);
			n = left_of(tree, leaf, rows[i].span, rows[i].step);
			CHECK(n && n <= 256 * 16);
			one_page(AV_TLBI_VA, true, at, 1);
			check_tlb();
			check_rmap();
			CHECK_EQ(left_of(tree, leaf, rows[i].span, rows[i].step), 0);
			CHECK_EQ(!av_list_empty(&sh.doomed), rows[i].tables);
			CHECK(touch(tree, leaf - PAGE) && touch(tree, leaf + size));
			CHECK(touch(tree, far));
			CHECK(most_work <= AV_WORK);
			/* Filled again while the old tables wait: they are not mixed up. */
			fill_around(tree, leaf, rows[i].span, rows[i].step);
			check_rmap();
			while (av_shadow_reap(&sh, NULL))
				check_rmap();
			check_rmap();
			CHECK_EQ(left_of(tree, leaf, rows[i].span, rows[i].step), n);
			teardown();
		}
	}
}

/* Again and again: tables do not pile up, though nobody takes them apart but TLBIs' callers. */
static void test_leaf_again(void)
{
	struct av_tree *tree;
	unsigned int i;
	u32 most = 0;

	setup();
	tree = get(0x1000, false, 0, 1);
	for (i = 0; i < 50; i++) {
		fill_around(tree, GIB, 30, 2 * L3_BYTES);
		one_page(AV_TLBI_VA, true, GIB + i * PAGE, 1);
		while (av_shadow_reap(&sh, NULL))
			;
		CHECK_EQ(left_of(tree, GIB, 30, 2 * L3_BYTES), 0);
		most = max(most, sh.nr_pts);
	}
	CHECK(most <= 4);
	teardown();
}

/* ---- thousands of trees ---- */

/* As many as the largest VM may have. */
#define VCPUS		254
#define TREES		((VCPUS + 1) * AV_VCPU_TREES)
#define ASIDS		1024	/* that are in one list */
/* The most trees that a part passes over: by PASSED, invalidate.c, and less than that for each list. */
#define MOST_PASSED	(AV_WORK * 8 + 8 * 2 * (AV_TREE_BUCKETS + 1))

static struct av_tree *all[TREES];

static u64 page_of(unsigned int i)
{
	return 0x5000 + (i % 3 ? 0 : PAGE);
}

/* One tree in 8 holds pages: at 0x5000, or beside it. */
static void many_trees(unsigned int (*asid_of)(unsigned int i), bool global)
{
	const struct av_shadow_limits max = av_vm_limits(VCPUS, 0);
	unsigned int i;

	setup();
	free(av_shadow_grow(&sh, calloc(max.pts, sizeof(struct av_pt *)), &max));
	CHECK_EQ(max.trees, TREES);
	for (i = 0; i < TREES; i++) {
		all[i] = get(PAGE * (1 + i), false, 0, asid_of(i));
		CHECK(all[i]);
		if (i % 8 == 0)
			CHECK_EQ(fill(all[i], page_of(i), i, 3, AV_R, 12, global && i % 16 == 0), 0);
	}
	CHECK_EQ(sh.nr_trees, TREES);
	most_work = 0;
}

static unsigned int one_list(unsigned int i)
{
	return 1 + i % ASIDS * AV_TREE_BUCKETS;
}

static unsigned int all_lists(unsigned int i)
{
	return 1 + i % ASIDS;
}

/* Trees that were looked at or passed over, in the list where a part began; serials follow each other. */
static u64 came_by(const struct av_tlbi_walk *before, const struct av_tlbi_walk *after)
{
	return after->place == before->place ? after->done - before->done : 0;
}

static void check_many(int scope, u16 asid)
{
	struct av_tlbi_walk w = walk_for(scope, true, 0x5000, asid);
	unsigned int i, parts = 0;
	bool more = true;

	for (; more && parts < 100; parts++) {
		struct av_tlbi_walk before = w;

		step(&w, &more);
		CHECK(came_by(&before, &w) <= MOST_PASSED);
		/* It advances, and never goes back. */
		CHECK(w.place > before.place || w.done >= before.done);
		CHECK(!more || w.place > before.place || w.done > before.done);
	}
	CHECK(!more && most_work <= AV_WORK + 2);
	for (i = 0; i < TREES; i += 8) {
		bool named = page_of(i) == 0x5000 &&
			     (scope == AV_TLBI_VAA || all[i]->key.asid == asid ||
			      all[i]->has_global);

		CHECK_EQ(!av_shadow_lookup(all[i], page_of(i), NULL), named);
	}
}

/* Most are passed over, by their ASID; in one list those of one ASID are reached. */
static void test_many_of_one_list(void)
{
	many_trees(one_list, false);
	CHECK_EQ(one_page(AV_TLBI_VA, true, 0x5000, 999), 1);	/* of no tree: its list is empty */
	CHECK_EQ(most_work, 0);
	check_many(AV_TLBI_VA, one_list(8));
	/* They count, eight for one. */
	CHECK(most_work >= min_t(u32, TREES / 8 - 1, AV_WORK));
	check_rmap();
	teardown();
}

/* The same where a tree or two hold global entries, so that all lists are looked through. */
static void test_many_of_all_lists(void)
{
	many_trees(all_lists, true);
	check_many(AV_TLBI_VA, all_lists(8));
	check_rmap();
	teardown();
}

/* Every tree is reached, in parts. */
static void test_many_of_any_asid(void)
{
	many_trees(all_lists, false);
	check_many(AV_TLBI_VAA, 0);
	CHECK(most_work > AV_WORK / 2);
	CHECK(one_page(AV_TLBI_VAA, true, 0x9000, 0) >= TREES / (AV_WORK + 1));
	check_rmap();
	teardown();
}

/* Drop the trees that nobody has loaded. */
static void reclaim_unused(void)
{
	bool more = true;

	while (more)
		av_shadow_reclaim(&sh, false, NULL, &more);
}

/* Between two parts trees that it has not come by yet are filled, become global, or go. */
static void test_many_that_change(void)
{
	struct av_tlbi_walk w = walk_for(AV_TLBI_VAA, true, 0x5000, 0);
	unsigned int i, parts = 0;
	bool more = true;

	many_trees(one_list, false);
	for (; more && parts < 100; parts++) {
		for (i = TREES - 16 * (parts + 1); i < TREES - 16 * parts; i++) {
			if (!all[i] || all[i]->serial <= w.done)
				continue;
			if (i % 2) {
				CHECK_EQ(fill(all[i], 0x5000, 9, 3, AV_R, 12, i % 4 == 1), 0);
				continue;
			}
			unload(all[i]);
			all[i] = NULL;
		}
		/* And the one where it stopped. */
		for (i = 0; i < TREES && w.done; i++)
			if (all[i] && all[i]->serial == w.done) {
				unload(all[i]);
				all[i] = NULL;
			}
		reclaim_unused();
		step(&w, &more);
	}
	CHECK(parts >= TREES / (AV_WORK + 1) && !more);
	for (i = 0; i < TREES; i++)
		if (all[i])
			CHECK_EQ(av_shadow_lookup(all[i], 0x5000, NULL), 0);
	check_rmap();
	teardown();
}

int main(void)
{
	RUN(test_at_once);
	RUN(test_not_at_once);
	RUN(test_beside_a_larger_leaf);
	RUN(test_tables_of_walks);
	RUN(test_clean);
	RUN(test_shape);
	RUN(test_tables_of_walks_in_parts);
	RUN(test_leaves);
	RUN(test_leaf_again);
	RUN(test_many_of_one_list);
	RUN(test_many_of_all_lists);
	RUN(test_many_of_any_asid);
	RUN(test_many_that_change);
	return TESTS_DONE();
}
