// SPDX-License-Identifier: GPL-2.0
/*
 * Kept tables against a model, at random: guests change their descriptors, fault, invalidate by
 * ASID, by address and all, and end and begin processes; the host drops frames and protects them.
 * Every translation of the shadow was filled, or found to agree, since the last invalidation that
 * reached it, and has not changed since.
 */
#include "check.h"
#include "require.h"
#include "mmu/shadow/resync.h"
#include "shadow_world.h"

#define NR_TREES	3
#define NR_TABLES	4	/* of level 3, in a tree */
#define NR_PAGES	(NR_TABLES * AV_ENTRIES)
#define PAGE		0x1000ULL
#define MEMORY		0x100000ULL	/* the guest's tables */

#define VALID		3ULL
#define AF		BIT_ULL(10)
#define NG		BIT_ULL(11)
#define RDONLY		AV_PTE_RDONLY
#define UXN		AV_PTE_UXN

enum state { NONE, LINKED, KEPT, ASLEEP };

static u64 memory[NR_TREES][NR_PAGES];	/* as the guest has them now */

static struct {
	struct av_tree *tree;
	u64 base;
	u8 limits[NR_TABLES];
	bool kept[NR_TABLES];		/* not reached since */
	bool used[NR_TABLES];		/* since the tree has its key */
	struct { u64 key; u32 gfn; u8 rights, state; } page[NR_PAGES];
} model[NR_TREES];

static bool unreadable;
static u64 seed;
static unsigned long entries_woken, trees_inherited, tables_renewed[2];

static u32 rnd(u32 n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % n;
}

/* Most events are at the tables' beginnings. */
static int random_page(void)
{
	return rnd(NR_TABLES) * AV_ENTRIES + rnd(rnd(4) ? 48 : AV_ENTRIES);
}

/* Tables of a tree are far from each other, except the first two. */
static u64 address(int p)
{
	static const u64 base[NR_TABLES] = { 0x40000000, 0x40200000, 0x7000000000, 0x700000000000 };

	return base[p / AV_ENTRIES] + p % AV_ENTRIES * PAGE;
}

static int read_words(u64 ipa, u64 *to, unsigned int n)
{
	u64 at = (ipa - MEMORY) / 8;

	if (unreadable || ipa < MEMORY || at + n > NR_TREES * NR_PAGES)
		return -1;
	memcpy(to, &memory[0][0] + at, n * 8);
	return 0;
}

static u64 random_desc(void)
{
	return (u64)rnd(NR_GFNS) << 12 | AF | NG | AV_PTE_USER | VALID |
	       (rnd(2) ? RDONLY : 0) | (rnd(2) ? UXN : 0) | (u64)rnd(4) << 55;
}

static void random_change(void)
{
	int t = rnd(NR_TREES);
	u64 *desc = &memory[t][random_page()];

	switch (rnd(12)) {
	case 0:
		*desc = 0;
		break;
	case 1:
		*desc &= ~AF;
		break;
	case 2:
		t = rnd(NR_TREES);
		model[t].limits[rnd(NR_TABLES)] = rnd(3) ? 0 : rnd(16);
		break;
	case 3:
		*desc &= ~RDONLY;
		break;
	default:
		*desc = *desc && rnd(2) ? *desc | RDONLY : random_desc();
	}
}

/* A page's entry is compared with the guest's: linked, or its fate if the guest has none. */
static void compare(int t, int p, enum state otherwise)
{
	typeof(&model[t].page[p]) page = &model[t].page[p];
	u64 now = av_walk_key(memory[t][p], model[t].limits[p / AV_ENTRIES]);

	page->state = now & AV_PTE_VALID ? NONE : otherwise;
	if (page->state == ASLEEP || !(now & VALID) || !page->key)
		return;
	if (now != page->key) {
		if (now != (page->key | RDONLY))
			return;
		page->rights &= AV_R;
		page->key = now;
	}
	page->state = LINKED;
}

/* The table is linked once more: which of its entries are there? */
static void relink(int t, int table, u64 key)
{
	int p;

	model[t].used[table] = true;
	if (!model[t].kept[table])
		return;
	model[t].kept[table] = false;
	for (p = table * AV_ENTRIES; p < (table + 1) * AV_ENTRIES; p++) {
		typeof(&model[t].page[p]) page = &model[t].page[p];

		if (!key || unreadable)
			page->state = NONE;
		else if (page->state == KEPT)
			compare(t, p, ASLEEP);
		else if (page->state == ASLEEP)
			compare(t, p, NONE);
	}
}

/* Wake a group of a table that is linked, as a fault does. */
static void wake(int t, int p)
{
	struct av_pt *pt = av_shadow_table(model[t].tree, address(p));
	unsigned int live, woken;
	int i;

	if (!pt)
		return;
	live = pt->live;
	woken = av_resync_wake(&sh, pt, address(p), 16, &memory[t][p],
			       model[t].limits[p / AV_ENTRIES]);
	CHECK_EQ(pt->live, live + woken);
	entries_woken += woken;
	for (i = p; i < p + 16; i++)
		if (model[t].page[i].state == ASLEEP)
			compare(t, i, ASLEEP);
}

static void forget_missing(void)
{
	int t, p;

	for (t = 0; t < NR_TREES; t++)
		for (p = 0; p < NR_PAGES; p++)
			if (model[t].page[p].state == LINKED &&
			    !av_shadow_lookup(model[t].tree, address(p), NULL))
				model[t].page[p].state = NONE;
}

static void fill_page(int t, int p)
{
	int table = p / AV_ENTRIES;
	u64 desc = memory[t][p], key;
	typeof(&model[t].page[p]) page = &model[t].page[p];
	u8 rights;
	bool more;

	if ((desc & (VALID | AF)) != (VALID | AF))
		return;
	rights = AV_R | (desc & RDONLY ? 0 : AV_W) | (desc & UXN ? 0 : AV_X);
	unreadable = rnd(50) == 0;
	key = rnd(50) ? av_walk_key(desc, model[t].limits[table]) : 0;
	relink(t, table, key);
	page->gfn = desc >> 12 & (NR_GFNS - 1);
	page->rights = rights;
	page->key = key;
	page->state = LINKED;
	if (fill_by(model[t].tree, address(p), page->gfn, rights, key,
		    MEMORY + (t * NR_PAGES + table * AV_ENTRIES) * 8ULL) == -ENOSPC) {
		av_shadow_reclaim(&sh, true, NULL, &more);
		forget_missing();
	}
	unreadable = false;
}

static void keep(int t, bool kept)
{
	int p;

	for (p = 0; p < NR_PAGES; p++)
		if (!kept)
			model[t].page[p].state = NONE;
		else if (model[t].page[p].state == LINKED)
			model[t].page[p].state = KEPT;
	for (p = 0; p < NR_TABLES; p++)
		model[t].kept[p] |= kept;
}

/* For av_tree_resync(): some of the guest's tables are not found. */
static enum av_found_table find(const struct av_resync *how, u64 va, struct av_fill *f)
{
	int t = (typeof(&model[0]))how->arg - model, table;

	for (table = 0; table < NR_TABLES; table++)
		if (address(table * AV_ENTRIES) == va)
			break;
	REQUIRE(table < NR_TABLES);
	f->table = MEMORY + (t * NR_PAGES + table * AV_ENTRIES) * 8ULL;
	f->desc = av_walk_key(VALID, model[t].limits[table]);
	return rnd(6) ? AV_TABLE_FOUND : rnd(2) ? AV_TABLE_NONE : AV_TABLE_LATER;
}

static struct av_resync renewal(int t, bool kept)
{
	return (struct av_resync) {
		.tree = model[t].tree, .kept = kept, .find = find, .arg = &model[t],
	};
}

/* Those tables that are linked were compared just now: all others are kept. */
static void renewed(int t, bool kept)
{
	int table;

	for (table = 0; table < NR_TABLES; table++)
		if (av_shadow_table(model[t].tree, address(table * AV_ENTRIES))) {
			tables_renewed[kept]++;
			relink(t, table, VALID);
		}
}

/* A TLBI of the ASID, by a vCPU that may or may not walk the guest's tables. */
static void invalidate(int t)
{
	struct av_resync how = renewal(t, false);

	renewing = rnd(2) ? &how : NULL;
	unreadable = rnd(50) == 0;
	tlbi(AV_TLBI_ASID, 0, 0, t + 1);
	keep(t, keep_tables);
	if (renewing)
		renewed(t, false);
	renewing = NULL;
	unreadable = false;
}

static void host(u32 gfn, u32 n)
{
	u32 end = min(gfn + n, (u32)NR_GFNS);
	bool drop = rnd(2);
	int t, p;

	if (drop)
		zap(gfn, end);
	else
		wrprotect(gfn);
	for (t = 0; t < NR_TREES; t++)
		for (p = 0; p < NR_PAGES; p++) {
			typeof(&model[t].page[p]) page = &model[t].page[p];

			if (drop && page->gfn >= gfn && page->gfn < end)
				page->state = NONE;
			else if (!drop && page->gfn == gfn)
				page->rights &= ~AV_W;
		}
}

/* The guest has nothing for a while where its table is used again, and then most of what it had. */
static void random_gap(void)
{
	int t = rnd(NR_TREES), p = random_page() & ~15, i;
	u64 had[16];

	memcpy(had, &memory[t][p], sizeof(had));
	for (i = 0; i < 16; i++)
		if (rnd(8))
			memory[t][p + i] = 0;
	keep_tables = true;
	invalidate(t);
	fill_page(t, p / AV_ENTRIES * AV_ENTRIES + rnd(AV_ENTRIES));
	for (i = 0; i < 16; i++)
		if (rnd(4))
			memory[t][p + i] = had[i] | (rnd(4) ? 0 : RDONLY);
	if (!rnd(4))
		host(had[rnd(16)] >> 12 & (NR_GFNS - 1), 1);
	wake(t, p);
}

/* A process ends, and another begins, which may have its tree. */
static void random_process(void)
{
	int t = rnd(NR_TREES), p;
	struct av_tree *tree = model[t].tree;
	u64 serial = tree->serial;

	keep_tables = true;
	tlbi(AV_TLBI_ASID, 0, 0, t + 1);
	keep(t, true);
	av_tree_put(&sh, tree);
	av_tree_retire(&sh, tree);
	if (rnd(4) == 0)
		while (av_shadow_reap(&sh, &pool))
			;
	/* Sometimes the same process continues. */
	model[t].base += rnd(8) ? 0x10000 : 0;
	model[t].tree = get(model[t].base, false, 1, t + 1);
	REQUIRE(model[t].tree);
	if (model[t].tree != tree) {
		keep(t, false);
		return;
	}
	if (tree->serial == serial)
		return;
	trees_inherited++;
	for (p = 0; p < NR_PAGES; p++)
		if (!model[t].used[p / AV_ENTRIES])
			model[t].page[p].state = NONE;
	memset(model[t].used, 0, sizeof(model[t].used));
	/* The module renews nothing while the host takes pages away. */
	if (!sh.no_heirs && rnd(2)) {
		struct av_resync how = renewal(t, true);
		u32 work = 0;

		CHECK(av_tree_inherits(model[t].tree) == !!model[t].tree->root->live);
		av_tree_resync(&sh, model[t].tree, &how, &work);
		CHECK(work <= AV_ENTRIES);
		renewed(t, true);
	}
}

static void random_tlbi(void)
{
	int t = rnd(NR_TREES), p = random_page(), n = rnd(3) ? 1 : rnd(AV_ENTRIES), i;
	u32 what = rnd(10);

	if (what < 5) {
		keep_tables = rnd(8);
		invalidate(t);
	} else if (what == 5 && !rnd(4)) {
		tlbi(AV_TLBI_ALL, 0, 0, 0);
		for (t = 0; t < NR_TREES; t++)
			keep(t, false);
	} else {
		n = min(n, AV_ENTRIES - p % AV_ENTRIES);
		tlbi(AV_TLBI_VA, address(p), address(p) + n * PAGE - 1, t + 1);
		for (i = p; i < p + n; i++)
			if (model[t].page[i].state == LINKED)
				model[t].page[i].state = NONE;
	}
}

/*
 * The host takes all frames from gfn on: it drops everything, in parts. In between processes begin
 * and end, and nothing is filled.
 */
static void host_drops_all(u32 gfn)
{
	struct av_tlbi_walk w = { .op = { .scope = AV_TLBI_ALL } };
	struct av_gather g;
	bool more = true;
	int t, p;

	av_shadow_forbid_heirs(&sh);
	while (more) {
		av_gather_init(&g, &sh);
		g.work = rnd(2) ? AV_WORK : 0;
		more = av_shadow_tlbi(&sh, &w, &g);
		av_gather_finish(&g);
		if (rnd(2))
			random_process();
		else
			random_tlbi();
	}
	av_shadow_permit_heirs(&sh);
	forget_missing();
	for (t = 0; t < NR_TREES; t++)
		for (p = 0; p < NR_PAGES; p++)
			if (model[t].page[p].gfn >= gfn)
				model[t].page[p].state = NONE;
}

static void check_model(unsigned long *found, unsigned long *had)
{
	int t, p;

	check_rmap();
	for (t = 0; t < NR_TREES; t++)
		for (p = 0; p < NR_PAGES; p++) {
			typeof(&model[t].page[p]) page = &model[t].page[p];
			u64 pte = touch(model[t].tree, address(p));

			*had += page->state == LINKED;
			*found += page->state == LINKED && pte;
			if (!pte)
				continue;
			CHECK_EQ(page->state, LINKED);
			CHECK_EQ((pte & AV_PTE_ADDR) >> 12, page->gfn + 0x100000);
			CHECK_EQ(!(pte & AV_PTE_RDONLY), !!(page->rights & AV_W));
			CHECK_EQ(!(pte & AV_PTE_UXN), !!(page->rights & AV_X));
		}
}

static void test_random(void)
{
	unsigned long found = 0, had = 0, agreed = 0;
	int round, i, t;

	for (round = 0; round < 30; round++) {
		setup();
		guest_words = read_words;
		seed = round + 1;
		memset(model, 0, sizeof(model));
		memset(memory, 0, sizeof(memory));
		for (t = 0; t < NR_TREES; t++)
			model[t].tree = get(model[t].base = 0x1000 * t, false, 1, t + 1);
		for (i = 0; i < NR_TREES * NR_PAGES; i++)
			memory[i / NR_PAGES][i % NR_PAGES] = random_desc();
		for (i = 0; i < 3000; i++) {
			u32 what = rnd(100);

			if (what < 70)
				fill_page(rnd(NR_TREES), random_page());
			else if (what < 90)
				random_change();
			else if (what < 95)
				random_tlbi();
			else if (what < 96)
				random_gap();
			else if (what == 96 && !rnd(4))
				random_process();
			else if (what == 97 && !rnd(16))
				host_drops_all(rnd(NR_GFNS));
			else
				host(rnd(NR_GFNS), rnd(30));
			check_tlb();
			if (i % 100 == 0)
				check_model(&found, &had);
		}
		agreed += entries_agreed;
		teardown();
	}
	/* A shadow that keeps nothing would pass the rest. */
	CHECK(had > 10000);
	CHECK(found * 100 > had * 95);
	CHECK(agreed > 10000);
	CHECK(entries_woken > 500);
	CHECK(trees_inherited > 100);
	CHECK(tables_renewed[0] > 1000 && tables_renewed[1] > 50);
}

int main(void)
{
	RUN(test_random);
	return TESTS_DONE();
}
