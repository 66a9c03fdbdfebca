// SPDX-License-Identifier: GPL-2.0
/*
 * Tables that are compared at once (av_tree_resync() in resync.c): at a TLBI of the ASID, where
 * they stay linked, and for a process that inherits them.
 */
#include <stdlib.h>

#include "check.h"
#include "mmu/shadow/resync.h"
#include "shadow_world.h"

#define PAGE		0x1000ULL
#define L3_BYTES	(1ULL << 21)
#define TABLE		0x8000ULL	/* the guest's, one behind the other */
#define NR_TABLES	4

#define VALID		3ULL
#define AF		BIT_ULL(10)
#define NG		BIT_ULL(11)
#define RDONLY		AV_PTE_RDONLY
#define RW		(AV_R | AV_W)

static u64 words[NR_TABLES][AV_ENTRIES];
static bool gone[NR_TABLES];	/* the guest has no such table any more */
static bool later;		/* none can be found at once */
static unsigned int looked;
static struct av_tree *tree;
static struct av_resync how;

/* The last table is far from the others. */
static u64 address(unsigned int table, unsigned int n)
{
	return (table == NR_TABLES - 1 ? 1ULL << 40 : table * L3_BYTES) + n * PAGE;
}

static int read_words(u64 ipa, u64 *to, unsigned int n)
{
	u64 at = (ipa - TABLE) / 8;

	if (ipa < TABLE || at + n > NR_TABLES * AV_ENTRIES)
		return -1;
	memcpy(to, &words[0][0] + at, n * 8);
	return 0;
}

static enum av_found_table find(const struct av_resync *renew, u64 va, struct av_fill *f)
{
	unsigned int i;

	looked++;
	for (i = 0; i < NR_TABLES; i++)
		if (address(i, 0) == va && !gone[i]) {
			f->table = TABLE + i * PAGE;
			f->desc = av_walk_key(VALID, 0);
			return later ? AV_TABLE_LATER : AV_TABLE_FOUND;
		}
	return AV_TABLE_NONE;
}

static void begin(void)
{
	setup();
	memset(words, 0, sizeof(words));
	memset(gone, 0, sizeof(gone));
	later = false;
	guest_words = read_words;
	keep_tables = true;
	tree = get(0x1000, false, 1, 1);
	how = (struct av_resync) { .tree = tree, .find = find };
	renewing = &how;
	looked = 0;
}

static u64 desc_of(u32 gfn)
{
	return (u64)gfn << 12 | AF | NG | AV_PTE_USER | VALID;
}

/* The guest maps pages of a table, and they are filled; the hardware knows them. */
static void map(unsigned int table, unsigned int first, unsigned int n)
{
	unsigned int i;

	for (i = first; i < first + n; i++) {
		words[table][i] = desc_of(table * AV_ENTRIES + i);
		CHECK_EQ(fill_by(tree, address(table, i), table * AV_ENTRIES + i, RW,
				 av_walk_key(words[table][i], 0), TABLE + table * PAGE), 0);
		touch(tree, address(table, i));
	}
}

static void invalidate(void)
{
	flush_trees = flush_pages = flush_alls = 0;
	tlbi(AV_TLBI_ASID, 0, 0, 1);
}

static bool has(unsigned int table, unsigned int n)
{
	return touch(tree, address(table, n));
}

static void test_stays_linked(void)
{
	unsigned int i;

	begin();
	map(0, 0, 100);
	map(3, 7, 1);
	words[0][3] = 0;
	words[0][50] |= RDONLY;
	words[0][51] = desc_of(99);
	words[0][52] &= ~AF;
	invalidate();
	CHECK_EQ(flush_trees, 1);
	CHECK_EQ(flush_pages + flush_alls, 0);
	CHECK_EQ(tables_relinked, 2);
	CHECK(has(3, 7));
	for (i = 0; i < 100; i++)
		CHECK_EQ(has(0, i), i != 3 && i != 51 && i != 52);
	CHECK(touch(tree, address(0, 50)) & RDONLY && !(touch(tree, address(0, 49)) & RDONLY));
	/* One that the guest has not mapped for a while comes back with the next TLBI. */
	CHECK_EQ(av_shadow_table(tree, 0)->asleep, 1);
	words[0][3] = desc_of(3);
	invalidate();
	CHECK(has(0, 3));
	/* It was used since: its process lives. */
	CHECK(!tree->abandoned);
	teardown();
}

/* Runs of four are compared together: each of them counts, and what the tables above permit. */
static void test_runs(void)
{
	static const u64 changes[] = { VALID, AF, NG, AV_PTE_UXN, BIT_ULL(12), BIT_ULL(47), RDONLY };
	unsigned int i, c;

	for (i = 0; i < 12; i++)
		for (c = 0; c < ARRAY_SIZE(changes); c++) {
			begin();
			map(0, 2, 10);
			words[0][i] ^= changes[c];
			invalidate();
			CHECK_EQ(has(0, i), i >= 2 && changes[c] == RDONLY);
			if (i >= 2 && changes[c] == RDONLY)
				CHECK(touch(tree, address(0, i)) & RDONLY);
			CHECK(has(0, i == 11 ? 10 : 11) && has(0, i == 2 ? 3 : 2));
			teardown();
		}
	begin();
	map(0, 0, 8);
	av_shadow_table(tree, 0)->desc[5] |= FIELD_PREP(AV_KEY_LIMITS, 1);
	av_shadow_table(tree, 0)->desc[6] = 0;
	words[0][6] = 0;
	invalidate();
	CHECK(has(0, 4) && !has(0, 5) && !has(0, 6) && has(0, 7));
	teardown();
}

/* A process that exits: its first table is not there, and no other is looked for. */
static void test_exit(void)
{
	begin();
	map(0, 0, 8);
	map(1, 0, 8);
	map(3, 0, 8);
	memset(gone, true, sizeof(gone));
	invalidate();
	CHECK_EQ(looked, 1);
	CHECK_EQ(tables_relinked, 0);
	CHECK_EQ(flush_trees, 1);
	CHECK(!has(0, 0) && !has(1, 0) && !has(3, 0));
	CHECK(tree->abandoned);
	/* Some are kept, and compared when they are used. */
	memset(gone, false, sizeof(gone));
	map(1, 9, 1);
	CHECK(has(1, 0) && !has(0, 0));
	/* The guest has unmapped the second only. */
	map(0, 9, 1);
	gone[1] = true;
	invalidate();
	CHECK(has(0, 0) && !has(1, 0) && !has(3, 0));
	teardown();
}

/* If it cannot look now, the process may go on, and other tables may be found. */
static void test_later(void)
{
	begin();
	map(0, 0, 8);
	map(1, 0, 8);
	map(3, 0, 8);
	later = true;
	invalidate();
	CHECK_EQ(looked, 3);
	CHECK(!has(0, 0) && !has(1, 0) && !has(3, 0));
	teardown();
}

/* Work is bounded: the other tables are kept, and come back with a fault. */
static void test_many_entries(void)
{
	begin();
	map(0, 0, AV_ENTRIES / 2);
	map(1, 0, AV_ENTRIES);
	map(2, 0, AV_ENTRIES / 4);
	map(3, 0, AV_ENTRIES);
	invalidate();
	CHECK(has(0, 5) && has(1, 5) && has(2, 5) && !has(3, 5));
	CHECK_EQ(tables_relinked, 3);
	/* Nothing that is kept is renewed. */
	invalidate();
	CHECK(has(0, 5) && !has(3, 5));
	map(3, 7, 1);
	CHECK(has(3, 5));
	teardown();
}

/* Too many tables in one place: it goes as a whole, and none is looked for. */
static void test_many_tables(void)
{
	const u64 far = 1ULL << 40;
	unsigned int i;

	begin();
	map(0, 0, 2);
	for (i = 1; i < 200; i++) {
		CHECK_EQ(fill_by(tree, far + i * L3_BYTES, 1000 + i, RW,
				 av_walk_key(desc_of(1000 + i), 0), TABLE), 0);
		touch(tree, far + i * L3_BYTES);
	}
	invalidate();
	CHECK(has(0, 0) && !touch(tree, far + L3_BYTES));
	CHECK_EQ(looked, 1);
	CHECK_EQ(flush_trees, 1);
	CHECK(most_work < AV_WORK / 4);
	teardown();
}

/* A table whose entries are gone is not worth it. */
static void test_empty_tables(void)
{
	unsigned int i;

	begin();
	map(0, 0, 1);
	for (i = 1; i < 3; i++) {
		map(i, 9, 1);
		tlbi(AV_TLBI_VA, address(i, 9), address(i, 9) + PAGE - 1, 1);
	}
	looked = 0;
	invalidate();
	CHECK_EQ(looked, 1);
	CHECK(has(0, 0) && !av_shadow_table(tree, address(1, 0)));
	teardown();
}

/* What cannot be compared is unlinked: without descriptors, blocks, another tree. */
static void test_others(void)
{
	struct av_tree *other;

	begin();
	map(0, 0, 1);
	CHECK_EQ(fill(tree, address(1, 0), 600, 3, RW, 12, false), 0);
	CHECK_EQ(fill(tree, 16 * L3_BYTES, 1024, 2, RW, 21, false), 0);
	touch(tree, address(1, 0));
	touch(tree, 16 * L3_BYTES);
	invalidate();
	CHECK(has(0, 0) && !has(1, 0) && !touch(tree, 16 * L3_BYTES));
	CHECK_EQ(flush_trees, 1);
	other = get(0x2000, false, 1, 1);
	how.tree = other;
	invalidate();
	CHECK(!has(0, 0));
	av_tree_put(&sh, other);
	teardown();
}

/* Pointers to tables that are unlinked beside one that stays are void. */
static void test_shape(void)
{
	u64 shape;

	begin();
	map(0, 0, 1);
	map(1, 0, 1);
	gone[1] = true;
	shape = sh.shape;
	invalidate();
	CHECK(av_shadow_table(tree, address(0, 0)) && !av_shadow_table(tree, address(1, 0)));
	CHECK(sh.shape != shape);
	teardown();
}

static void test_inherited(void)
{
	struct av_root copy = { .pte = calloc(AV_ENTRIES, sizeof(u64)) };
	struct av_tree *parent;
	u32 work = 0;

	begin();
	map(0, 0, 20);
	map(1, 0, 20);
	map(3, 0, 20);
	memset(gone, true, sizeof(gone));
	invalidate();
	parent = tree;
	av_tree_put(&sh, tree);
	av_tree_retire(&sh, tree);
	tree = get(0x3000, false, 1, 2);
	CHECK(tree == parent && av_tree_inherits(tree));
	av_root_attach(&copy, tree);
	/* Of the first table it has most, of the last one nothing yet, the second is not there. */
	gone[0] = gone[3] = false;
	words[0][4] = desc_of(77);
	words[3][0] = 0;
	how = (struct av_resync) { .tree = tree, .kept = true, .find = find };
	CHECK(av_tree_resync(&sh, tree, &how, &work));
	CHECK(!av_tree_inherits(tree));
	CHECK(work >= 40 / 8);
	CHECK(has(0, 3) && !has(0, 4) && !has(1, 0) && !has(3, 0) && has(3, 1));
	CHECK_EQ(copy.pte[0], tree->root->pte[0]);
	CHECK_EQ(copy.pte[2], tree->root->pte[2]);
	CHECK(copy.pte[0] & 1 && copy.pte[2] & 1);
	check_rmap();
	av_root_detach(&copy, tree);
	free(copy.pte);
	teardown();
}

int main(void)
{
	RUN(test_stays_linked);
	RUN(test_runs);
	RUN(test_exit);
	RUN(test_later);
	RUN(test_many_entries);
	RUN(test_many_tables);
	RUN(test_empty_tables);
	RUN(test_others);
	RUN(test_shape);
	RUN(test_inherited);
	return TESTS_DONE();
}
