// SPDX-License-Identifier: GPL-2.0
/* The shadow tables, case by case: the entries that an operation drops, and those that it keeps. */
#include <stdlib.h>

#include "check.h"
#include "shadow_world.h"

#define WINDOW		av_window_at(AV_WINDOW_HOME)

static void test_fill(void)
{
	struct av_tree *low, *high;
	u64 pte;

	setup();
	low = get(0x1000, false, 0, 1);
	high = get(0x1000, true, 1, 1);
	CHECK(low != high);
	CHECK_EQ(fill(low, 0x400000, 7, 3, AV_R | AV_X, 12, false), 0);
	pte = touch(low, 0x400000);
	CHECK_EQ(pte & AV_PTE_ADDR, 0x100007000);
	CHECK(pte & AV_PTE_RDONLY && pte & AV_PTE_USER && !(pte & AV_PTE_UXN));
	CHECK(pte & AV_PTE_PXN && pte & AV_PTE_NG && pte & AV_PTE_AF);
	CHECK_EQ(touch(high, 0x400000 | KVA), 0);
	CHECK_EQ(touch(low, 0x401000), 0);
	/* More rights in place: the TLB may hold the fewer. Fewer: flushed too. */
	CHECK_EQ(fill(low, 0x400000, 7, 3, AV_R | AV_W | AV_X, 12, false), 0);
	CHECK_EQ(flush_pages + flush_alls, 1);
	touch(low, 0x400000);
	CHECK_EQ(fill(low, 0x400000, 7, 3, AV_R, 12, false), 0);
	CHECK_EQ(flush_pages, 2);
	check_tlb();
	/* Another page at the same place: flushed between. */
	touch(low, 0x400000);
	CHECK_EQ(fill(low, 0x400000, 8, 3, AV_R, 12, false), 0);
	CHECK_EQ(flush_pages, 3);
	check_tlb();
	check_rmap();
	/* Execute only. */
	CHECK_EQ(fill(low, 0x402000, 9, 3, AV_X, 12, false), 0);
	pte = touch(low, 0x402000);
	CHECK(!(pte & AV_PTE_USER) && !(pte & AV_PTE_UXN) && pte & AV_PTE_RDONLY);
	/* The kernel half: high addresses in the high tree only, never the window. */
	CHECK_EQ(fill(high, KVA, 5, 3, AV_R, 12, true), 0);
	CHECK_EQ(fill(high, 0x400000, 5, 3, AV_R, 12, true), -EINVAL);
	CHECK_EQ(fill(low, KVA, 5, 3, AV_R, 12, true), -EINVAL);
	CHECK_EQ(fill(low, 1ULL << 48, 5, 3, AV_R, 12, true), -EINVAL);
	CHECK_EQ(fill(high, WINDOW, 5, 3, AV_R, 12, true), -EINVAL);
	CHECK_EQ(fill(high, WINDOW + AV_WINDOW_SIZE - 0x1000, 5, 3, AV_R, 12, true), -EINVAL);
	CHECK_EQ(fill(high, WINDOW, 512, 2, AV_R, 21, true), -EINVAL);
	CHECK_EQ(fill(high, WINDOW - 0x1000, 5, 3, AV_R, 12, true), 0);
	CHECK_EQ(fill(high, WINDOW + AV_WINDOW_SIZE, 5, 3, AV_R, 12, true), 0);
	CHECK_EQ(fill(high, ~0xfffULL, 5, 3, AV_R, 12, true), 0);
	check_rmap();
	teardown();
}

static void test_present(void)
{
	struct av_tree *tree;
	struct av_fill f = { .va = 0x405000, .pa = 0x100000000, .level = 3, .rights = AV_R,
			     .gspan = 12, .only_new = true };

	setup();
	tree = get(0x1000, false, 0, 1);
	CHECK_EQ(av_shadow_present(tree, 0x400000, 16), 0);
	fill(tree, 0x400000, 7, 3, AV_R, 12, false);
	CHECK_EQ(av_shadow_present(tree, 0x600000, 16), 0);
	fill(tree, 0x40f000, 7, 3, AV_R, 12, false);
	fill(tree, 0x410000, 7, 3, AV_R, 12, false);
	CHECK_EQ(av_shadow_present(tree, 0x400000, 16), 0x8001);
	CHECK_EQ(av_shadow_present(tree, 0x410000, 16), 1);
	/* A neighbour does not replace an existing entry. */
	fill(tree, 0x405000, 9, 3, AV_R | AV_W, 12, false);
	touch(tree, 0x405000);
	CHECK_EQ(av_shadow_fill(&sh, tree, &f, full_pool()), 0);
	CHECK_EQ(touch(tree, 0x405000) & AV_PTE_ADDR, 0x100009000);
	fill(tree, 0x800000, 512, 2, AV_R, 21, false);
	CHECK_EQ(av_shadow_present(tree, 0x8f0000, 16), 0xffff);
	check_rmap();
	teardown();
}

/* A guest block broken into pages goes as a whole, and nothing beside it does. */
static void test_spans(void)
{
	struct av_tree *tree;
	int i;

	setup();
	tree = get(0x1000, true, 1, 1);
	for (i = 0; i < 8; i++) {
		fill(tree, KVA + i * 0x1000, i, 3, AV_R, 21, true);
		fill(tree, KVA + 0x200000 + i * 0x1000, 16 + i, 3, AV_R, 12, true);
	}
	for (i = 0; i < 32; i++)
		fill(tree, KVA + 0x400000 + i * 0x1000, 32 + i, 3, AV_R, 16, true);
	tlbi(AV_TLBI_VAA, KVA + 0x200000, KVA + 0x200fff, 0);
	CHECK_EQ(touch(tree, KVA + 0x200000), 0);
	CHECK(touch(tree, KVA + 0x201000));
	CHECK(touch(tree, KVA));
	tlbi(AV_TLBI_VAA, KVA + 0x100000, KVA + 0x100fff, 0);
	for (i = 0; i < 8; i++)
		CHECK_EQ(touch(tree, KVA + i * 0x1000), 0);
	CHECK(touch(tree, KVA + 0x201000));
	/* A contiguous run. */
	tlbi(AV_TLBI_VAA, KVA + 0x403000, KVA + 0x403fff, 0);
	for (i = 0; i < 32; i++)
		CHECK_EQ(!touch(tree, KVA + 0x400000 + i * 0x1000), i < 16);
	/* A gigabyte, in two level 3 tables; its neighbour stays. */
	fill(tree, KVA + 0x40000000, 1, 3, AV_R, 30, true);
	fill(tree, KVA + 0x40200000, 2, 3, AV_R, 30, true);
	fill(tree, KVA + 0x10000, 3, 3, AV_R, 12, true);
	tlbi(AV_TLBI_VAA, 0xffff800080000000, 0xffff800080000fff, 0);
	CHECK(touch(tree, KVA + 0x40000000));
	tlbi(AV_TLBI_VAA, 0xffff800040000000 + 0x12345000, 0xffff800040000000 + 0x12345fff, 0);
	CHECK_EQ(touch(tree, KVA + 0x40000000), 0);
	CHECK_EQ(touch(tree, KVA + 0x40200000), 0);
	CHECK(touch(tree, KVA + 0x10000));
	teardown();
}

static void test_asids(void)
{
	struct av_tree *a, *b, *other;

	setup();
	a = get(0x1000, false, 0, 1);
	b = get(0x2000, false, 0, 2);
	other = get(0x1000, false, 0, 65);	/* the same bucket as 1 */
	CHECK(a != b && a != other);
	CHECK(get(0x1000, false, 1, 1) == a);
	av_tree_put(&sh, a);
	fill(a, 0x1000, 1, 3, AV_R, 12, false);
	fill(b, 0x1000, 2, 3, AV_R, 12, false);
	fill(b, 0x2000, 2, 3, AV_R, 12, true);
	fill(other, 0x1000, 3, 3, AV_R, 12, false);
	tlbi(AV_TLBI_VA, 0x1000, 0x1fff, 1);
	CHECK_EQ(touch(a, 0x1000), 0);
	CHECK(touch(other, 0x1000));
	/* Global entries go whatever the ASID. */
	tlbi(AV_TLBI_VA, 0x2000, 0x2fff, 1);
	CHECK_EQ(touch(b, 0x2000), 0);
	fill(a, 0x1000, 1, 3, AV_R, 12, false);
	tlbi(AV_TLBI_ASID, 0, 0, 65);
	CHECK(touch(a, 0x1000));
	CHECK_EQ(touch(other, 0x1000), 0);
	tlbi(AV_TLBI_VAA, 0x1000, 0x1fff, 7);
	CHECK_EQ(touch(a, 0x1000), 0);
	teardown();
}

/* Kernel trees serve every ASID until a non-global entry comes. */
static void test_high_tagging(void)
{
	struct av_tree *any, *one, *two;

	setup();
	any = get(0x1000, true, 1, 1);
	CHECK(get(0x1000, true, 1, 2) == any);
	CHECK(get(0x1000, true, 0, 1) != any);
	fill(any, KVA, 1, 3, AV_R, 12, true);
	CHECK_EQ(fill(any, KVA + 0x1000, 1, 3, AV_R, 12, false), -ESTALE);
	CHECK(sh.high_tagged);
	CHECK(touch(any, KVA));
	one = get(0x1000, true, 1, 1);
	two = get(0x1000, true, 1, 2);
	CHECK(one != any && two != any && one != two);
	CHECK_EQ(fill(one, KVA + 0x1000, 1, 3, AV_R, 12, false), 0);
	CHECK_EQ(fill(one, KVA, 1, 3, AV_R, 12, true), 0);
	CHECK_EQ(fill(two, KVA + 0x1000, 2, 3, AV_R, 12, false), 0);
	tlbi(AV_TLBI_ASID, 0, 0, 1);
	CHECK_EQ(touch(one, KVA + 0x1000), 0);
	CHECK(touch(two, KVA + 0x1000));
	CHECK(touch(any, KVA));
	teardown();
}

/* A vCPU lets a tree go. */
static void let_go(struct av_tree *tree)
{
	av_tree_put(&sh, tree);
	av_tree_note_idle(&sh, tree);
}

/* Two ASIDs in a row had the same tables with nothing in them: all that follow share a tree. */
static void make_idle(u64 base)
{
	let_go(get(base, false, 1, 1));
	let_go(get(base, false, 1, 1));
	CHECK(get(base, false, 1, 5) != get(base, false, 1, 6));
	let_go(get(base, false, 1, 2));
	CHECK_EQ(sh.idle_base, base);
}

/* TTBR0's tables that map nothing serve every ASID, until they map something of one. */
static void test_idle_tables(void)
{
	struct av_tree *any, *used;

	setup();
	used = get(0x1000, false, 1, 1);
	fill(used, 0x1000, 1, 3, AV_R, 12, false);
	let_go(used);
	let_go(get(0x2000, false, 1, 1));
	used = get(0x1000, false, 1, 2);
	fill(used, 0x1000, 1, 3, AV_R, 12, false);
	let_go(used);
	CHECK_EQ(sh.idle_base, AV_NO_BASE);
	/* One in between that has something does not matter; another that has nothing does. */
	let_go(get(0x3000, false, 1, 2));
	let_go(get(0x2000, false, 1, 3));
	CHECK_EQ(sh.idle_base, AV_NO_BASE);
	let_go(get(0x2000, false, 1, 4));
	CHECK_EQ(sh.idle_base, 0x2000);
	any = get(0x2000, false, 1, 1);
	CHECK(get(0x2000, false, 0, 2) == any);
	CHECK(get(0x1000, false, 1, 2) == used);
	/* What is global is all ASIDs'. */
	CHECK_EQ(fill(any, 0x1000, 1, 3, AV_R, 12, true), 0);
	CHECK(touch(any, 0x1000));
	tlbi(AV_TLBI_ASID, 0, 0, 1);
	CHECK(touch(any, 0x1000));
	tlbi(AV_TLBI_VA, 0x1000, 0x1fff, 3);
	CHECK_EQ(touch(any, 0x1000), 0);
	CHECK_EQ(fill(any, 0x2000, 2, 3, AV_R, 12, false), -ESTALE);
	CHECK_EQ(fill(any, 0x2000, 2, 3, AV_R, 12, false), -ESTALE);
	CHECK(!sh.high_tagged);
	CHECK(get(0x2000, false, 1, 7) != any);
	CHECK_EQ(fill(get(0x2000, false, 1, 7), 0x2000, 2, 3, AV_R, 12, false), 0);
	teardown();
}

/* A guest that keeps using idle tables gets a tree for each ASID in the end. */
static void test_idle_tries(void)
{
	unsigned int i;

	setup();
	for (i = 0; i < AV_IDLE_TRIES; i++) {
		make_idle(0x10000 * (i + 1));
		CHECK_EQ(fill(get(0x10000 * (i + 1), false, 1, 3), 0x1000, 1, 3, AV_R, 12, false),
			 -ESTALE);
	}
	let_go(get(0x2000, false, 1, 1));
	let_go(get(0x2000, false, 1, 2));
	CHECK_EQ(sh.idle_base, AV_NO_BASE);
	teardown();
}

static void test_blocks(void)
{
	struct av_tree *tree;

	setup();
	tree = get(0x1000, false, 0, 1);
	/* Pages, then a block over them, then a page in the block. */
	fill(tree, 0x201000, 1, 3, AV_R, 12, false);
	touch(tree, 0x201000);
	CHECK_EQ(fill(tree, 0x200000, 512, 2, AV_R, 21, false), 0);
	check_tlb();
	check_rmap();
	CHECK_EQ(touch(tree, 0x3ff000) & AV_PTE_ADDR, 0x100200000);
	CHECK_EQ(fill(tree, 0x205000, 7, 3, AV_R, 12, false), 0);
	check_tlb();
	check_rmap();
	CHECK_EQ(touch(tree, 0x3ff000), 0);
	CHECK(touch(tree, 0x205000));
	/* A frame in the middle of a block takes the block. */
	CHECK_EQ(fill(tree, 0x200000, 512, 2, AV_R | AV_W, 21, false), 0);
	touch(tree, 0x300000);
	CHECK(age(700, false));
	CHECK(!age(1024, false));
	zap(700, 701);
	CHECK_EQ(touch(tree, 0x300000), 0);
	check_tlb();
	check_rmap();
	/* Logging takes it apart. */
	CHECK_EQ(fill(tree, 0x200000, 512, 2, AV_R | AV_W, 21, false), 0);
	touch(tree, 0x300000);
	wrprotect(1000);
	CHECK_EQ(touch(tree, 0x300000), 0);
	check_tlb();
	teardown();
}

/* Beside the window, in its GiB, everything is mapped by pages. */
static void test_no_block_beside_the_window(void)
{
	struct av_tree *tree;

	setup();
	tree = get(0x1000, true, 1, 1);
	CHECK(!av_shadow_takes_block(tree, WINDOW - AV_BLOCK_SIZE));
	CHECK(!av_shadow_takes_block(tree, AV_WINDOW_GIB));
	CHECK(av_shadow_takes_block(tree, AV_WINDOW_GIB - AV_BLOCK_SIZE));
	teardown();
}

/* Where pages are there are pages, until the last of them has gone: then a block again. */
static void test_blocks_form_again(void)
{
	struct av_leaves n = {};
	struct av_tree *tree;

	setup();
	tree = get(0x1000, false, 0, 1);
	CHECK(av_shadow_takes_block(tree, 0x2ff000));
	fill(tree, 0x200000, 512, 2, AV_R, 21, false);
	CHECK(av_shadow_takes_block(tree, 0x2ff000));
	fill(tree, 0x201000, 513, 3, AV_R | AV_X, 21, false);
	fill(tree, 0x202000, 514, 3, AV_R, 21, false);
	CHECK(!av_shadow_takes_block(tree, 0x2ff000));
	CHECK(av_shadow_takes_block(tree, 0x400000));
	zap(513, 514);
	CHECK(!av_shadow_takes_block(tree, 0x2ff000));
	/* The host takes the rest, or the guest does. */
	zap(514, 515);
	CHECK(av_shadow_takes_block(tree, 0x2ff000));
	fill(tree, 0x202000, 514, 3, AV_R, 21, false);
	tlbi(AV_TLBI_VA, 0x300000, 0x300fff, 1);
	CHECK(av_shadow_takes_block(tree, 0x2ff000));
	CHECK_EQ(fill(tree, 0x200000, 512, 2, AV_R, 21, false), 0);
	fill(tree, 0x600000, 1, 3, AV_R, 12, false);
	check_rmap();
	while (av_shadow_count(&sh, &n))
		;
	CHECK_EQ(n.pages, 1);
	CHECK_EQ(n.blocks, 1);
	teardown();
}

static void test_dirty_and_age(void)
{
	struct av_tree *a, *b;
	int i;

	setup();
	a = get(0x1000, false, 0, 1);
	b = get(0x2000, false, 0, 2);
	for (i = 0; i < 40; i++) {
		fill(a, 0x1000 * i, 9, 3, AV_R | AV_W, 12, false);
		touch(a, 0x1000 * i);
	}
	fill(b, 0x5000, 9, 3, AV_R, 12, false);
	fill(b, 0x6000, 10, 3, AV_R | AV_W, 12, false);
	touch(b, 0x6000);
	wrprotect(9);
	check_tlb();
	for (i = 0; i < 40; i++)
		CHECK(touch(a, 0x1000 * i) & AV_PTE_RDONLY);
	CHECK(!(touch(b, 0x6000) & AV_PTE_RDONLY));
	CHECK(age(9, true));
	CHECK(!age(9, true));
	CHECK(!age(9, false));
	CHECK(age(10, false));
	/* A fault makes it young again. */
	fill(b, 0x5000, 9, 3, AV_R, 12, false);
	CHECK(age(9, true));
	check_rmap();
	teardown();
}

/* A frame that a guest mapped many times is looked at by some of its entries, and dropped by all. */
static void test_age_of_many_entries(void)
{
	struct av_tree *tree;
	unsigned int i, old = 0;

	setup();
	tree = get(0x1000, false, 0, 1);
	for (i = 0; i < 200; i++) {
		fill(tree, 0x1000 * i, 9, 3, AV_R, 12, false);
		touch(tree, 0x1000 * i);
	}
	CHECK(age(9, true));
	CHECK(!age(9, false));
	check_tlb();
	for (i = 0; i < 200; i++)
		old += !(av_shadow_lookup(tree, 0x1000 * i, NULL) & AV_PTE_AF);
	CHECK_EQ(old, 64);
	zap(9, 10);
	for (i = 0; i < 200; i++)
		CHECK_EQ(touch(tree, 0x1000 * i), 0);
	teardown();
}

static void test_budget(void)
{
	struct av_tree *trees[200], *tree;
	struct av_shadow_limits max;
	int i, ret = 0, n = 0;
	bool more;

	setup();
	max = sh.max;
	tree = get(0x1000, true, 1, 1);
	for (i = 0; i < 200; i++) {
		trees[i] = get(0x1000 * i, false, 0, i);
		if (!trees[i])
			break;
		ret = fill(trees[i], 0x1000, i, 3, AV_R, 12, false);
		if (ret)
			break;
		n++;
	}
	CHECK(!trees[i] || ret == -ENOSPC);
	CHECK(n > 50 && n < 150);
	CHECK(sh.nr_pts < MAX_PTS);
	/* All are loaded: only a hard reclaim gets anything. */
	CHECK_EQ(av_shadow_reclaim(&sh, false, NULL, &more), 0);
	CHECK(!more);
	av_tree_put(&sh, trees[0]);
	av_tree_put(&sh, trees[1]);
	CHECK_EQ(av_shadow_reclaim(&sh, false, NULL, &more), 4);
	CHECK(more);
	CHECK_EQ(av_shadow_reclaim(&sh, true, NULL, &more), 4);
	CHECK_EQ(av_shadow_reclaim(&sh, true, NULL, &more), 3);
	check_rmap();
	CHECK_EQ(fill(tree, KVA, 1, 3, AV_R, 12, true), 0);
	/* Nothing set aside. */
	spare = 1;
	CHECK_EQ(fill(tree, KVA + 0x4000000000, 1, 3, AV_R, 12, true), -ENOMEM);
	spare = 0;
	CHECK(!get(0x999000, true, 1, 1));
	spare = -1;
	check_rmap();
	/* Room for more. */
	max.pts += 10;
	free(av_shadow_grow(&sh, calloc(max.pts, sizeof(struct av_pt *)), &max));
	check_rmap();
	CHECK_EQ(fill(tree, KVA + 0x4000000000, 1, 3, AV_R, 12, true), 0);
	teardown();
}

static void test_keys(void)
{
	struct av_regime r = regime(0x1000, 0x2000, 5);
	struct av_tree_key a, b;

	setup();
	av_tree_key(&sh, &r, false, 1, &a);
	r.tcr ^= AV_TCR_T1SZ;
	r.ttbr1 ^= 0x7000;
	av_tree_key(&sh, &r, false, 0, &b);
	CHECK(av_tree_key_equal(&a, &b));
	r.tcr ^= AV_TCR_EPD0;
	av_tree_key(&sh, &r, false, 0, &b);
	CHECK(!av_tree_key_equal(&a, &b));
	r.tcr ^= AV_TCR_EPD0;
	r.sctlr ^= AV_SCTLR_WXN;
	av_tree_key(&sh, &r, false, 0, &b);
	CHECK(!av_tree_key_equal(&a, &b));
	r.sctlr = 0;
	av_tree_key(&sh, &r, false, 0, &a);
	r.mair = 1;
	r.ttbr0 = 0;
	av_tree_key(&sh, &r, false, 1, &b);
	CHECK(av_tree_key_equal(&a, &b));
	av_tree_key(&sh, &r, true, 1, &b);
	CHECK(!av_tree_key_equal(&a, &b));
	a = b;
	a.owner = 1;
	CHECK(!av_tree_key_equal(&a, &b));
	a = b;
	a.window = 1;
	CHECK(!av_tree_key_equal(&a, &b));
	teardown();
}

/* vCPUs with trees of their own for one key, and in each a page at KVA that is of no frame. */
static void test_owners(void)
{
	struct av_regime r = regime(0x1000, 0x1000, 1);
	struct av_tree *tree[3];
	struct av_tree_key key;
	unsigned int i, j;

	setup();
	av_tree_key(&sh, &r, true, 1, &key);
	CHECK_EQ(key.owner, 0);
	key.mode = AV_MODE_EL1_COPIES;
	for (i = 0; i < 3; i++) {
		key.owner = i;
		tree[i] = av_tree_get(&sh, &key, full_pool());
		CHECK(av_tree_get(&sh, &key, full_pool()) == tree[i]);
		for (j = 0; j < i; j++)
			CHECK(tree[i] != tree[j]);
		CHECK_EQ(fill(tree[i], KVA, NR_GFNS + i, 3, AV_R | AV_W, 12, true), 0);
	}
	for (i = 0; i < 3; i++)
		CHECK_EQ(touch(tree[i], KVA) & AV_PTE_ADDR, (0x100000ULL + NR_GFNS + i) << 12);
	/* The guest's own page takes its place, and gives it back. */
	CHECK_EQ(fill(tree[1], KVA, 5, 3, AV_X, 12, true), 0);
	check_tlb();
	touch(tree[1], KVA);
	CHECK_EQ(fill(tree[1], KVA, NR_GFNS, 3, AV_R | AV_W, 12, true), 0);
	check_tlb();
	zap(5, 6);
	CHECK(touch(tree[1], KVA));
	/* The guest knows of one tree only: its invalidations apply to all. */
	tlbi(AV_TLBI_VAA, KVA, KVA + 0xfff, 0);
	for (i = 0; i < 3; i++)
		CHECK_EQ(touch(tree[i], KVA), 0);
	check_rmap();
	teardown();
}

int main(void)
{
	RUN(test_fill);
	RUN(test_present);
	RUN(test_spans);
	RUN(test_asids);
	RUN(test_high_tagging);
	RUN(test_idle_tables);
	RUN(test_idle_tries);
	RUN(test_blocks);
	RUN(test_no_block_beside_the_window);
	RUN(test_blocks_form_again);
	RUN(test_dirty_and_age);
	RUN(test_age_of_many_entries);
	RUN(test_budget);
	RUN(test_keys);
	RUN(test_owners);
	return TESTS_DONE();
}
