// SPDX-License-Identifier: GPL-2.0
/*
 * The window in the shadow tables: a tree has it at one position for life; which trees go after a
 * move.
 */
#include <stdlib.h>

#include "check.h"
#include "mmu/shadow/position.h"
#include "shadow_world.h"

#define WINDOW		av_window_at(AV_WINDOW_HOME)

/* The window is in every high tree, before and after anything happens to it, and once. */
static void check_window(struct av_tree *tree)
{
	struct av_pt *pt = tree->root;
	unsigned int i;

	while (pt->level < 2) {
		CHECK_EQ(pt->pte[511] & 3, 3);
		CHECK_EQ(pt->pte[511] & AV_PTE_ADDR, pt->aux[511].child->pa);
		pt = pt->aux[511].child;
	}
	for (i = 0; i < AV_WINDOW_POSITIONS; i++)
		CHECK_EQ(pt->pte[i] == (WINDOW_PA | 3), i == tree->key.window);
}

static void test_window(void)
{
	struct av_tree *tree;

	setup();
	tree = get(0x1000, true, 1, 1);
	check_window(tree);
	fill(tree, WINDOW - 0x1000, 5, 3, AV_R, 12, true);
	fill(tree, WINDOW + AV_WINDOW_SIZE, 5, 3, AV_R, 12, true);
	fill(tree, KVA, 5, 3, AV_R, 12, true);
	CHECK(!av_tree_empty(tree));
	tlbi(AV_TLBI_VAA, WINDOW, WINDOW + 0xfff, 0);
	CHECK(touch(tree, WINDOW - 0x1000) && touch(tree, WINDOW + AV_WINDOW_SIZE));
	tlbi(AV_TLBI_VAA, WINDOW - 0x10000000, ~0ULL, 0);
	check_window(tree);
	CHECK_EQ(touch(tree, WINDOW - 0x1000), 0);
	CHECK_EQ(touch(tree, WINDOW + AV_WINDOW_SIZE), 0);
	CHECK(touch(tree, KVA));
	tlbi(AV_TLBI_ALL, 0, 0, 0);
	check_window(tree);
	CHECK_EQ(touch(tree, KVA), 0);
	/* It was loaded: emptied, kept, and good for more. */
	CHECK_EQ(fill(tree, KVA, 5, 3, AV_R, 12, true), 0);
	reclaim_all();
	check_rmap();
	check_window(tree);
	CHECK_EQ(touch(tree, KVA), 0);
	teardown();
}

/* Wherever the window is: what is filled in the last GiB, and what the last table of it is. */
static void test_positions(void)
{
	unsigned int position, last = AV_WINDOW_POSITIONS - 1;
	struct av_tree *tree;

	for (position = 0; position <= last; position++) {
		u64 at = av_window_at(position), other = av_window_at(last - position);

		setup();
		sh.window = position;
		tree = get(0x1000, true, 1, 1);
		check_window(tree);
		CHECK(av_tree_empty(tree));
		CHECK_EQ(fill(tree, at + 0x5000, 5, 3, AV_R, 12, true), -EINVAL);
		CHECK(av_tree_empty(tree));
		/* A leaf of the guest's that is as large as all positions together. */
		CHECK_EQ(fill(tree, other + 0x5000, 5, 3, AV_R, 30, true), 0);
		CHECK(!av_tree_empty(tree));
		CHECK(touch(tree, other + 0x5000));
		check_window(tree);
		check_rmap();
		tlbi(AV_TLBI_VAA, at, at + 0xfff, 0);
		CHECK_EQ(touch(tree, other + 0x5000), 0);
		check_window(tree);
		CHECK_EQ(fill(tree, other, 512, 2, AV_R, 21, true), 0);
		check_window(tree);
		CHECK_EQ(sh.touched[(last - position) / 64], BIT_ULL((last - position) % 64));
		teardown();
	}
}

/* A tree with the window elsewhere is dropped first, once no vCPU has it, whatever is in it. */
static void test_behind(void)
{
	struct av_tree *tree, *cold, *low;
	unsigned int calls = 0;

	setup();
	cold = get(0x1000, true, 1, 1);
	low = get(0x1000, false, 1, 1);
	tree = get(0x2000, true, 1, 1);
	fill(tree, KVA, 5, 3, AV_R, 12, true);
	CHECK(get(0x2000, true, 1, 1) == tree);
	av_tree_put(&sh, low);
	av_tree_put(&sh, tree);
	CHECK(!av_shadow_drop_behind(&sh, NULL));
	sh.window = 5;
	CHECK(!av_shadow_drop_behind(&sh, NULL));
	CHECK(get(0x2000, true, 1, 1) != tree);
	av_tree_put(&sh, tree);
	CHECK_EQ(sh.nr_trees, 4);
	while (av_shadow_drop_behind(&sh, NULL))
		calls++;
	CHECK(calls && sh.nr_trees == 3);
	check_rmap();
	av_tree_put(&sh, cold);
	CHECK(av_shadow_drop_behind(&sh, NULL) && !av_shadow_drop_behind(&sh, NULL));
	/* Those of the low half know nothing of the window. */
	CHECK_EQ(sh.nr_trees, 2);
	CHECK(get(0x1000, false, 1, 1) == low);
	teardown();
}

int main(void)
{
	RUN(test_window);
	RUN(test_positions);
	RUN(test_behind);
	return TESTS_DONE();
}
