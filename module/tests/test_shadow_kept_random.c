// SPDX-License-Identifier: GPL-2.0
/*
 * Kept tables against a model, at random: guests change their descriptors, fault, and
 * invalidate by ASID, by address and all; the host drops frames and protects them. What
 * the shadow translates was filled or found to agree since the last invalidation that
 * reached it, and is as it was then.
 */
#include "check.h"
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

enum state { NONE, LINKED, KEPT };

static u64 memory[NR_TREES][NR_PAGES];	/* as the guest has them now */

static struct {
	struct av_tree *tree;
	u8 limits[NR_TABLES];
	struct { u64 key; u32 gfn; u8 rights, state; } page[NR_PAGES];
} model[NR_TREES];

static bool unreadable;
static u64 seed;

static u32 rnd(u32 n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % n;
}

/* Tables of a tree are far from each other, but for the first two. */
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
	u64 *desc = &memory[rnd(NR_TREES)][rnd(NR_PAGES)];
	int t;

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

/* The table is linked once more: what of it is there? */
static void relink(int t, int table, u64 key)
{
	int p;

	for (p = table * AV_ENTRIES; p < (table + 1) * AV_ENTRIES; p++) {
		typeof(&model[t].page[p]) page = &model[t].page[p];
		u64 now = av_walk_key(memory[t][p], model[t].limits[table]);

		if (page->state != KEPT)
			continue;
		page->state = NONE;
		if (!key || unreadable || !(now & VALID) || !page->key)
			continue;
		if (now != page->key) {
			if (now != (page->key | RDONLY))
				continue;
			page->rights &= AV_R;
			page->key = now;
		}
		page->state = LINKED;
	}
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

static void random_fill(void)
{
	int t = rnd(NR_TREES), p = rnd(NR_PAGES), table = p / AV_ENTRIES;
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
		if (model[t].page[p].state != NONE)
			model[t].page[p].state = kept ? KEPT : NONE;
}

static void random_tlbi(void)
{
	int t = rnd(NR_TREES), p = rnd(NR_PAGES), n = rnd(3) ? 1 : rnd(AV_ENTRIES), i;
	u32 what = rnd(10);

	if (what < 5) {
		keep_tables = rnd(8);
		tlbi(AV_TLBI_ASID, 0, 0, t + 1);
		keep(t, keep_tables);
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

static void random_host(void)
{
	u32 gfn = rnd(NR_GFNS), end = min(gfn + rnd(30), (u32)NR_GFNS);
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
			model[t].tree = get(0x1000 * t, false, 1, t + 1);
		for (i = 0; i < NR_TREES * NR_PAGES; i++)
			memory[i / NR_PAGES][i % NR_PAGES] = random_desc();
		for (i = 0; i < 3000; i++) {
			u32 what = rnd(100);

			if (what < 70)
				random_fill();
			else if (what < 90)
				random_change();
			else if (what < 96)
				random_tlbi();
			else
				random_host();
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
}

int main(void)
{
	RUN(test_random);
	return TESTS_DONE();
}
