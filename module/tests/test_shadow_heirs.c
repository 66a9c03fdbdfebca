// SPDX-License-Identifier: GPL-2.0
/*
 * State that is kept for longer (mmu/shadow/resync.c): sleeping entries in a linked table, and
 * trees of processes that have exited, for the next process.
 */
#include "check.h"
#include "mmu/shadow/resync.h"
#include "shadow_world.h"

#define PAGE		0x1000ULL
#define L3_BYTES	(1ULL << 21)
#define TABLE		0x8000ULL	/* the guest's, one behind the other */
#define NR_TABLES	8

#define VALID		3ULL
#define AF		BIT_ULL(10)
#define NG		BIT_ULL(11)
#define RW		(AV_R | AV_W)

static u64 words[NR_TABLES][AV_ENTRIES];
static struct av_tree *tree;

static int read_words(u64 ipa, u64 *to, unsigned int n)
{
	u64 at = (ipa - TABLE) / 8;

	if (ipa < TABLE || at + n > NR_TABLES * AV_ENTRIES)
		return -1;
	memcpy(to, &words[0][0] + at, n * 8);
	return 0;
}

static void begin(void)
{
	setup();
	memset(words, 0, sizeof(words));
	guest_words = read_words;
	keep_tables = true;
	tree = get(0x1000, false, 0, 1);
}

static u64 desc_of(u32 gfn)
{
	return (u64)gfn << 12 | AF | NG | AV_PTE_USER | VALID;
}

static u64 address(unsigned int table, unsigned int n)
{
	return table * L3_BYTES + n * PAGE;
}

/* A fault at a page, which the guest maps. */
static void fault(unsigned int table, unsigned int n)
{
	u64 desc = words[table][n];

	CHECK_EQ(fill_by(tree, address(table, n), desc >> 12 & 0x7fffffff,
			 desc & AV_PTE_RDONLY ? AV_R : RW, av_walk_key(desc, 0),
			 TABLE + table * PAGE), 0);
	check_tlb();
	check_rmap();
}

static void map(unsigned int table, unsigned int n, u32 gfn)
{
	words[table][n] = desc_of(gfn);
	fault(table, n);
}

static struct av_pt *table_at(unsigned int table)
{
	return av_shadow_table(tree, address(table, 0));
}

static unsigned int wake(unsigned int table, unsigned int n)
{
	unsigned int woken = av_resync_wake(&sh, table_at(table), address(table, n), 16,
					    &words[table][n], 0);

	check_tlb();
	check_rmap();
	return woken;
}

/* Pages 16 to 31 are asleep: the guest has none of them when their table is used again. */
static void make_sleep(void)
{
	unsigned int i;

	begin();
	map(0, 0, 5);
	for (i = 16; i < 32; i++)
		map(0, i, 100 + i);
	for (i = 16; i < 32; i++)
		touch(tree, address(0, i));
	tlbi(AV_TLBI_ASID, 0, 0, 1);
	for (i = 16; i < 32; i++)
		words[0][i] = 0;
	fault(0, 0);
	CHECK_EQ(table_at(0)->asleep, 16);
	CHECK_EQ(table_at(0)->live, 1);
	for (i = 16; i < 32; i++)
		CHECK_EQ(touch(tree, address(0, i)), 0);
}

static void test_sleep_and_wake(void)
{
	unsigned int i;

	make_sleep();
	CHECK_EQ(av_shadow_present(tree, address(0, 16), 16), 0);
	CHECK_EQ(wake(0, 16), 0);
	for (i = 16; i < 32; i++)
		words[0][i] = desc_of(100 + i);
	words[0][17] = desc_of(99);
	words[0][18] = 0;
	words[0][19] |= AV_PTE_RDONLY;
	words[0][20] &= ~AF;
	CHECK_EQ(wake(0, 0), 0);
	CHECK_EQ(wake(0, 16), 13);
	CHECK_EQ(touch(tree, address(0, 16)) & AV_PTE_ADDR, (100 + 16 + 0x100000ULL) << 12);
	CHECK_EQ(touch(tree, address(0, 17)), 0);
	CHECK_EQ(touch(tree, address(0, 18)), 0);
	CHECK(touch(tree, address(0, 19)) & AV_PTE_RDONLY);
	CHECK_EQ(touch(tree, address(0, 20)), 0);
	CHECK_EQ(av_shadow_present(tree, address(0, 16), 16), 0xffff & ~(2 | 4 | 16));
	/* Only one that may come back still sleeps. */
	CHECK_EQ(table_at(0)->asleep, 1);
	CHECK_EQ(wake(0, 16), 0);
	words[0][18] = desc_of(100 + 18);
	CHECK_EQ(wake(0, 16), 1);
	teardown();
}

/* Other pages are filled over sleeping ones, also with only_new. */
static void test_filled_over(void)
{
	struct av_fill f = {
		.va = address(0, 17), .pa = (u64)(7 + 0x100000) << 12, .gfn = 7, .level = 3,
		.rights = RW, .gspan = 12, .desc = desc_of(7), .table = TABLE, .only_new = true,
	};

	make_sleep();
	map(0, 16, 6);
	CHECK_EQ(touch(tree, address(0, 16)) & AV_PTE_ADDR, (6 + 0x100000ULL) << 12);
	CHECK_EQ(av_shadow_fill(&sh, tree, &f, full_pool()), 0);
	CHECK_EQ(touch(tree, address(0, 17)) & AV_PTE_ADDR, (7 + 0x100000ULL) << 12);
	CHECK_EQ(table_at(0)->asleep, 14);
	check_rmap();
	teardown();
}

/*
 * Pages that the host takes back or protects meanwhile do not come back, or not with the same
 * rights.
 */
static void test_host_and_sleep(void)
{
	unsigned int i;

	make_sleep();
	zap(116, 118);
	wrprotect(118);
	CHECK_EQ(table_at(0)->asleep, 14);
	for (i = 16; i < 32; i++)
		words[0][i] = desc_of(100 + i);
	CHECK_EQ(wake(0, 16), 14);
	CHECK_EQ(touch(tree, address(0, 16)), 0);
	CHECK_EQ(touch(tree, address(0, 17)), 0);
	CHECK(touch(tree, address(0, 18)) & AV_PTE_RDONLY);
	CHECK(!(touch(tree, address(0, 19)) & AV_PTE_RDONLY));
	teardown();
}

/* Once the table has been used again without them they are forgotten. */
static void test_sleep_ends(void)
{
	make_sleep();
	tlbi(AV_TLBI_ASID, 0, 0, 1);
	CHECK_EQ(sh.nr_pts > 0, 1);
	words[0][16] = desc_of(116);
	fault(0, 0);
	CHECK_EQ(table_at(0)->asleep, 0);
	CHECK(touch(tree, address(0, 16)));
	CHECK_EQ(touch(tree, address(0, 17)), 0);
	teardown();
}

/* A block takes the place of a table that has nothing else, and with it they go. */
static void test_block_over_sleep(void)
{
	make_sleep();
	tlbi(AV_TLBI_VA, 0, PAGE - 1, 1);
	CHECK_EQ(table_at(0)->live, 0);
	CHECK(av_shadow_takes_block(tree, 0));
	CHECK_EQ(fill(tree, 0, 512, 2, RW, 21, false), 0);
	CHECK(touch(tree, address(0, 20)));
	check_rmap();
	teardown();
}

/* A range that has only such entries has nothing to flush; a larger leaf's reach stays known. */
static void test_invalidate_sleep(void)
{
	unsigned int flushes;

	make_sleep();
	flushes = flush_pages + flush_trees + flush_alls;
	tlbi(AV_TLBI_VA, address(0, 16), address(0, 32) - 1, 1);
	CHECK_EQ(flush_pages + flush_trees + flush_alls, flushes);
	CHECK_EQ(table_at(0)->asleep, 16);
	CHECK_EQ(fill(tree, address(0, 64), 64, 3, RW, 16, false), 0);
	tlbi(AV_TLBI_VA, 0, PAGE - 1, 1);
	tlbi(AV_TLBI_VA, address(0, 64), address(0, 65) - 1, 1);
	CHECK_EQ(table_at(0)->live, 0);
	CHECK_EQ(table_at(0)->gspan, 16);
	teardown();
}

/* A process with pages in tables 0 and 1 is gone. */
static u64 end_process(void)
{
	u64 serial = tree->serial;

	tlbi(AV_TLBI_ASID, 0, 0, tree->key.asid);
	av_tree_put(&sh, tree);
	av_tree_retire(&sh, tree);
	check_rmap();
	return serial;
}

static void test_heir(void)
{
	struct av_tree *first;
	u64 serial;

	begin();
	map(0, 0, 5);
	map(0, 1, 6);
	map(0, 2, 7);
	map(1, 0, 8);
	touch(tree, address(0, 1));
	first = tree;
	serial = end_process();
	CHECK_EQ(sh.nr_trees, 1);
	CHECK(sh.spare == first);
	tree = get(0x2000, false, 0, 2);
	CHECK(tree == first && tree->serial != serial && !sh.spare);
	CHECK_EQ(sh.nr_trees, 1);
	CHECK_EQ(touch(tree, address(0, 0)), 0);
	words[0][1] = desc_of(9);
	words[0][2] = 0;
	fault(0, 0);
	CHECK(touch(tree, address(0, 0)));
	CHECK_EQ(touch(tree, address(0, 1)), 0);
	CHECK_EQ(touch(tree, address(0, 2)), 0);
	/* It answers to its new name, and to that alone. */
	tlbi(AV_TLBI_VA, 0, PAGE - 1, 1);
	CHECK(touch(tree, address(0, 0)));
	tlbi(AV_TLBI_VA, 0, PAGE - 1, 2);
	CHECK_EQ(touch(tree, address(0, 0)), 0);
	CHECK(get(0x1000, false, 0, 1) != tree);
	teardown();
}

/* Tables that one process did not use do not wait for the one after it. */
static void test_unused_tables_go(void)
{
	u32 tables;

	begin();
	map(0, 0, 5);
	map(1, 0, 8);
	tables = sh.nr_pts;
	end_process();
	CHECK(!av_shadow_reap(&sh, NULL));
	CHECK_EQ(sh.nr_pts, tables);
	tree = get(0x2000, false, 0, 2);
	fault(0, 0);
	end_process();
	CHECK(!av_shadow_reap(&sh, NULL));
	CHECK_EQ(sh.nr_pts, tables - 1);
	tree = get(0x3000, false, 0, 3);
	fault(0, 0);
	fault(1, 0);
	CHECK_EQ(entries_agreed, 2);
	teardown();
}

/* One tree waits; another kind of tree does not get it; whoever has its name does. */
static void test_who_inherits(void)
{
	struct av_tree *first, *second;
	struct av_tree_key key;
	struct av_regime r = regime(0x5000, 0x5000, 5);

	begin();
	map(0, 0, 5);
	first = tree;
	second = tree = get(0x2000, false, 0, 2);
	fault(0, 0);
	end_process();
	tree = first;
	end_process();
	CHECK_EQ(sh.nr_trees, 1);
	CHECK(sh.spare == first);
	av_shadow_reap(&sh, NULL);
	CHECK(get(0x3000, true, 1, 3) != first);
	r.sctlr |= AV_SCTLR_WXN;
	av_tree_key(&sh, &r, false, 0, &key);
	CHECK(av_tree_get(&sh, &key, full_pool()) != first);
	r.sctlr &= ~AV_SCTLR_WXN;
	r.mair = 0xff;
	av_tree_key(&sh, &r, false, 0, &key);
	CHECK(av_tree_get(&sh, &key, full_pool()) != first);
	r.mair = 0;
	r.tcr++;
	av_tree_key(&sh, &r, false, 0, &key);
	CHECK(av_tree_get(&sh, &key, full_pool()) != first);
	CHECK(sh.spare == first);
	CHECK(get(0x1000, false, 0, 1) == first);
	CHECK(!sh.spare);
	CHECK(get(0x2000, false, 0, 2) != first);
	(void)second;
	teardown();
}

/* An invalidation that reaches it, and whoever makes room, take it away. */
static void test_spare_goes(void)
{
	unsigned int how;

	for (how = 0; how < 3; how++) {
		begin();
		map(0, 0, 5);
		end_process();
		CHECK(sh.spare == tree);
		if (how == 0)
			tlbi(AV_TLBI_ASID, 0, 0, 1);
		else if (how == 1)
			tlbi(AV_TLBI_ALL, 0, 0, 0);
		else
			reclaim_all();
		CHECK(!sh.spare);
		while (av_shadow_reap(&sh, NULL))
			;
		CHECK_EQ(sh.nr_trees, 0);
		tree = get(0x2000, false, 0, 2);
		fault(0, 0);
		CHECK_EQ(entries_agreed, 0);
		teardown();
	}
}

/* A part of the host's invalidation of everything, which begins with so much work. True: go on. */
static bool drop_part(struct av_tlbi_walk *w, u32 work)
{
	struct av_gather g;
	bool more;

	av_gather_init(&g, &sh);
	g.work = work;
	more = av_shadow_tlbi(&sh, w, &g);
	av_gather_finish(&g);
	check_tlb();
	return more;
}

/*
 * The host drops everything, in parts, while one process exits, before it or in its midst, and
 * another begins: nothing of the first one's is left for the second.
 */
static void test_host_drops_all(void)
{
	unsigned int midst, reaped;

	for (midst = 0; midst < 2; midst++) {
		struct av_tlbi_walk w = { .op = { .scope = AV_TLBI_ALL } };

		begin();
		map(0, 0, 5);
		map(0, 1, 6);
		if (!midst)
			end_process();
		CHECK_EQ(!sh.spare, midst);
		av_shadow_forbid_heirs(&sh);
		CHECK(!sh.spare);
		CHECK(drop_part(&w, AV_WORK));
		if (midst)
			end_process();
		CHECK(!sh.spare);
		tree = get(0x2000, false, 0, 2);
		CHECK(!av_tree_inherits(tree));
		while (drop_part(&w, 0))
			;
		av_shadow_permit_heirs(&sh);
		fault(0, 0);
		CHECK(touch(tree, address(0, 0)));
		CHECK_EQ(touch(tree, address(0, 1)), 0);
		CHECK_EQ(entries_agreed, 0);
		/* From now on, again. */
		end_process();
		CHECK(sh.spare == tree);
		for (reaped = 0; av_shadow_reap(&sh, NULL); reaped++)
			CHECK(reaped < MAX_PTS);
		CHECK_EQ(sh.nr_trees, 1);
		teardown();
	}
}

/* To look for what to pass on of a process with very many blocks would take too long. */
static void test_large_process(void)
{
	const u64 gib = 1ULL << 30;
	unsigned int gibs, i;

	for (gibs = 3; gibs <= 40; gibs += 37) {
		begin();
		for (i = 0; i < gibs * 512; i++)
			CHECK_EQ(fill(tree, gib + i * L3_BYTES, i % 8 * 512, 2, RW, 21, false), 0);
		end_process();
		CHECK_EQ(sh.spare == tree, gibs == 3);
		CHECK_EQ(sh.nr_trees, gibs == 3);
		while (av_shadow_reap(&sh, NULL))
			;
		check_rmap();
		teardown();
	}
}

/* A kernel's tables between two processes are found to be idle also in an inherited tree. */
static void test_idle_heir(void)
{
	unsigned int i;

	begin();
	map(0, 0, 5);
	end_process();
	for (i = 2; i < 4; i++) {
		CHECK_EQ(sh.idle_base, AV_NO_BASE);
		tree = get(0x9000, false, 0, i);
		av_tree_put(&sh, tree);
		av_tree_note_idle(&sh, tree);
		av_tree_retire(&sh, tree);
	}
	CHECK_EQ(sh.idle_base, 0x9000);
	teardown();
}

int main(void)
{
	RUN(test_sleep_and_wake);
	RUN(test_filled_over);
	RUN(test_host_and_sleep);
	RUN(test_sleep_ends);
	RUN(test_block_over_sleep);
	RUN(test_invalidate_sleep);
	RUN(test_heir);
	RUN(test_unused_tables_go);
	RUN(test_who_inherits);
	RUN(test_spare_goes);
	RUN(test_host_drops_all);
	RUN(test_large_process);
	RUN(test_idle_heir);
	return TESTS_DONE();
}
