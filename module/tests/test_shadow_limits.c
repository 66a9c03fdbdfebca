// SPDX-License-Identifier: GPL-2.0
/* Limits of a VM's tables and trees: each vCPU can always load as many trees as it has places. */
#include <stdlib.h>

#include "check.h"
#include "mmu/shadow/limits.h"
#include "shadow_world.h"

#define VCPUS		40
#define PLACES		(VCPUS * AV_VCPU_TREES)
#define PAGE		0x1000ULL
#define L3_BYTES	(2ULL << 20)

static struct av_tree *places[PLACES];
static u64 base;

static void begin(void)
{
	const struct av_shadow_limits max = av_vm_limits(VCPUS, 0);

	setup();
	free(av_shadow_grow(&sh, calloc(max.pts, sizeof(struct av_pt *)), &max));
	base = PAGE;
}

/* As root_cache.c: make room until there is some. */
static struct av_tree *load(bool high)
{
	struct av_tree *tree;
	bool more = true;

	for (base += PAGE; !(tree = get(base, high, 1, 1)) && more; )
		av_shadow_reclaim(&sh, true, NULL, &more);
	return tree;
}

/* As slow.c. The entry is there, or there is no room. */
static bool fill_one(struct av_tree *tree, u64 va)
{
	bool more = true;

	while (more) {
		if (fill(tree, va, 1, 3, AV_R, 12, tree->key.high) != -ENOSPC)
			return touch(tree, va);
		av_shadow_reclaim(&sh, true, NULL, &more);
	}
	return false;
}

/* Tables of every level, in one tree after the other, as far as there is room. */
static void fill_up(struct av_tree *tree)
{
	u64 va = tree->key.high ? KVA : 0;

	while (fill(tree, va, 1, 3, AV_R, 12, tree->key.high) != -ENOSPC)
		va += L3_BYTES;
	CHECK(sh.nr_pts < sh.max.pts);
}

/* Trees of the high half have most tables of their own. All places have one, and fill it. */
static void test_all_places(void)
{
	struct av_tree *other;
	unsigned int i, n;

	begin();
	for (i = 0; i < 200; i++) {
		other = load(i % 2);
		fill_one(other, i % 2 ? KVA : 0);
		av_tree_put(&sh, other);
	}
	for (i = 0; i < PLACES; i++) {
		places[i] = load(true);
		CHECK(places[i]);
		if (i % 64 == 0)
			fill_up(places[i]);
	}
	CHECK_EQ(sh.nr_loaded, PLACES);
	CHECK_EQ(sh.loaded_pts, PLACES * AV_TREE_PTS);
	for (i = 0; i < PLACES; i++)
		CHECK(fill_one(places[i], KVA + (u64)i * L3_BYTES));
	/* More address spaces than places. */
	for (n = 0; n < 2 * PLACES; n++) {
		i = n * 7 % PLACES;
		av_tree_put(&sh, places[i]);
		places[i] = load(n % 3);
		CHECK(places[i] && fill_one(places[i], n % 3 ? KVA : 0));
		CHECK(sh.nr_pts < sh.max.pts);
	}
	check_rmap();
	teardown();
}

/* Trees that no vCPU has loaded fill the limit. They are dropped for those that a vCPU loads. */
static void test_unloaded_make_room(void)
{
	struct av_tree *tree;
	unsigned int i;

	begin();
	for (i = 0; i < 2 * sh.max.trees; i++) {
		tree = load(false);
		CHECK(tree);
		av_tree_put(&sh, tree);
	}
	CHECK(sh.nr_trees <= sh.max.trees);
	for (i = 0; i < PLACES; i++)
		CHECK(load(i % 2));
	CHECK(sh.nr_trees <= sh.max.trees);
	teardown();
}

/* What is left for loaded trees is not filled. */
static void test_full(void)
{
	struct av_tree *tree;

	begin();
	tree = load(false);
	fill_up(tree);
	CHECK_EQ(sh.nr_pts, sh.max.pts - 1 - (PLACES * AV_TREE_PTS - 1));
	CHECK_EQ(sh.nr_pts - 1, AV_MIN_PTS + PLACES - 1);
	teardown();
}

/* The most loaded trees that a call looks at: reclaim.c. */
#define LOOKS		256

/* A call looks at some of the loaded trees, and all calls together at all of them. */
static void test_parts(void)
{
	unsigned int i, calls;
	bool more;

	begin();
	for (i = 0; i < PLACES; i++)
		places[i] = load(false);
	for (calls = 1; av_shadow_reclaim(&sh, true, NULL, &more), more; calls++)
		;
	CHECK_EQ(calls, PLACES / LOOKS);
	/* The last one of all is found, whoever looked before. */
	for (i = 0; i < 3; i++)
		av_shadow_reclaim(&sh, true, NULL, &more);
	CHECK(fill_one(places[2 * LOOKS], 0));
	for (calls = 1; av_shadow_reclaim(&sh, true, NULL, &more), more; calls++)
		CHECK(calls < 3 * PLACES / LOOKS);
	CHECK_EQ(sh.nr_pts, PLACES);
	CHECK_EQ(touch(places[2 * LOOKS], 0), 0);
	teardown();
}

/* vCPUs load trees and let them go while others look: the last one is found all the same. */
static void test_parts_beside_loads(void)
{
	struct av_tree *full, *counted;
	unsigned int i, calls, twice;
	bool more;

	for (twice = 0; twice < 2; twice++) {
		begin();
		for (i = 0; i < PLACES; i++)
			places[i] = load(false);
		full = places[PLACES - 1];
		CHECK(fill_one(full, 0));
		av_shadow_reclaim(&sh, true, NULL, &more);
		CHECK(more && sh.barren == LOOKS);
		/* Another vCPU loads it, before or after the one that had it lets it go. */
		if (!twice)
			unload(full);
		load_again(full);
		/* So does one with a tree that was counted. */
		counted = places[3];
		unload(counted);
		CHECK_EQ(sh.barren, LOOKS - 1);
		load_again(counted);
		for (calls = 1; av_shadow_reclaim(&sh, true, NULL, &more), more; calls++)
			CHECK(calls < 3 * PLACES / LOOKS);
		CHECK_EQ(touch(full, 0), 0);
		CHECK_EQ(sh.nr_pts, PLACES);
		teardown();
	}
}

static void test_limits(void)
{
	struct av_shadow_limits small = av_vm_limits(1, 0), max = av_vm_limits(254, ~0ULL >> 12);

	CHECK_EQ(small.trees, AV_MIN_TREES);
	CHECK_EQ(small.pts, AV_MIN_PTS + (AV_TREE_PTS + 1) * AV_VCPU_TREES);
	CHECK_EQ(max.trees, 255 * AV_VCPU_TREES);
	/* Each is at most three pages: 763 MiB. */
	CHECK_EQ(max.pts, AV_MAX_PTS + 254 * (AV_TREE_PTS + 1) * AV_VCPU_TREES);
	/* Names of entries have 31 bits. */
	CHECK((u64)max.pts * AV_ENTRIES < AV_RMAP_FLAG);
}

int main(void)
{
	RUN(test_limits);
	RUN(test_full);
	RUN(test_parts);
	RUN(test_parts_beside_loads);
	RUN(test_all_places);
	RUN(test_unloaded_make_room);
	return TESTS_DONE();
}
