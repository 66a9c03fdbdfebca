// SPDX-License-Identifier: GPL-2.0
/*
 * The shadow tables against a model. Random fills, invalidations and reclaims
 * are made on the tables and on a model that remembers, for each tree and
 * page, what was filled and not yet invalidated: what the shadow translates,
 * the model has, with the same page and rights. What an operation need not
 * drop is checked by name in test_shadow.c, here only that most is kept.
 */
#include "check.h"
#include "shadow_world.h"

/* The model: what was filled at page p of tree t, 0 when it may not be there. */
#define NR_TREES	6
#define NR_PAGES	2048	/* four level 3 tables */

static struct {
	struct av_tree *tree;
	u64 base;
	struct { u32 gfn; u8 rights, span; bool valid, global; } page[NR_PAGES];
} model[NR_TREES];

static u64 seed;

static u32 rnd(u32 n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % n;
}

/* Another page for the table that page p of tree t was filled in. */
static void random_neighbour(int t, int p)
{
	struct av_pt *pt = av_shadow_table(model[t].tree, model[t].base + p * 0x1000ULL);
	int q = ALIGN_DOWN(p, 16) + rnd(16);
	u64 va = model[t].base + q * 0x1000ULL;
	u8 rights = AV_R | rnd(8);
	u32 gfn = rnd(NR_GFNS);

	if (!pt || !model[t].page[p].valid || av_pt_group(pt, va, 1))
		return;
	CHECK_EQ(av_shadow_lookup(model[t].tree, va, NULL), 0);
	av_shadow_add(&sh, pt, av_pt_index(va, 3), gfn, sh.ops->rmap(sh.ctx, gfn, 3),
		      av_leaf_desc(&sh, 3, rights) | (gfn + 0x100000ULL) << 12, 0);
	CHECK(av_shadow_lookup(model[t].tree, va, NULL));
	model[t].page[q] = model[t].page[p];
	model[t].page[q].gfn = gfn;
	model[t].page[q].rights = rights;
}

/* A fill of one page out of a guest leaf of some span; all leaves of a 2 MiB agree. */
static void random_fill(void)
{
	static const u8 spans[] = { 12, 12, 16, 21 };
	int t = rnd(NR_TREES), p = rnd(NR_PAGES), high = t >= 4;
	u8 rights = AV_R | rnd(8), span = spans[p / 512];
	u32 gfn = rnd(NR_GFNS);
	bool global = high || rnd(8) == 0;
	int ret = fill(model[t].tree, model[t].base + p * 0x1000ULL, gfn, 3, rights, span,
		       global);
	bool more;

	if (ret == -ENOSPC) {
		av_shadow_reclaim(&sh, true, NULL, &more);
		/* Whose entries went is not said: look. */
		for (t = 0; t < NR_TREES; t++)
			for (p = 0; p < NR_PAGES; p++)
				if (!av_shadow_lookup(model[t].tree,
						      model[t].base + p * 0x1000ULL, NULL))
					model[t].page[p].valid = false;
		return;
	}
	CHECK_EQ(ret, 0);
	model[t].page[p].gfn = gfn;
	model[t].page[p].rights = rights;
	model[t].page[p].span = span;
	model[t].page[p].global = global;
	model[t].page[p].valid = true;
	if (rnd(3) == 0)
		random_neighbour(t, p);
}

static void random_tlbi(void)
{
	int t = rnd(NR_TREES), p = rnd(NR_PAGES), n = rnd(4) ? 1 : rnd(600), i, q;
	int scope = rnd(40) ? AV_TLBI_VA + rnd(2) : rnd(2), asid = rnd(5) + 1;
	u64 start, last;

	n = min(n, NR_PAGES - p);
	start = model[t].base + p * 0x1000ULL;
	last = start + n * 0x1000ULL - 1;
	tlbi(scope, start, last, asid);
	for (i = 0; i < NR_TREES; i++)
		for (q = 0; q < NR_PAGES; q++) {
			typeof(&model[i].page[q]) page = &model[i].page[q];
			bool mine = i >= 4 || i + 1 == asid;
			int leaf, first;

			if (!page->valid)
				continue;
			leaf = 1 << (page->span - 12);
			first = ALIGN_DOWN(q, leaf);
			if (scope == AV_TLBI_ALL ||
			    (scope == AV_TLBI_ASID && i < 4 && mine) ||
			    (scope >= AV_TLBI_VA && (i >= 4) == (t >= 4) &&
			     first < p + n && first + leaf > p &&
			     (scope == AV_TLBI_VAA || mine || page->global)))
				page->valid = false;
		}
}

static void random_zap(void)
{
	u32 gfn = rnd(NR_GFNS), end = min(gfn + rnd(100), (u32)NR_GFNS);
	int t, p;

	zap(gfn, end);
	for (t = 0; t < NR_TREES; t++)
		for (p = 0; p < NR_PAGES; p++)
			if (model[t].page[p].gfn >= gfn && model[t].page[p].gfn < end)
				model[t].page[p].valid = false;
}

static void random_protect(void)
{
	u32 gfn = rnd(NR_GFNS);
	int t, p;

	wrprotect(gfn);
	for (t = 0; t < NR_TREES; t++)
		for (p = 0; p < NR_PAGES; p++)
			if (model[t].page[p].gfn == gfn)
				model[t].page[p].rights &= ~AV_W;
}

/*
 * What an invalidation must drop is gone; what is there is as it was filled.
 * Over-invalidation within a tree's neighbours is allowed, so a page that the
 * model has may be missing, but not always: *kept counts.
 */
static void check_model(unsigned long *kept, unsigned long *had)
{
	int t, p;

	for (t = 0; t < NR_TREES; t++)
		for (p = 0; p < NR_PAGES; p++) {
			typeof(&model[t].page[p]) page = &model[t].page[p];
			u64 pte = touch(model[t].tree, model[t].base + p * 0x1000ULL);

			*had += page->valid;
			*kept += page->valid && pte;
			if (!pte)
				continue;
			CHECK(page->valid);
			CHECK_EQ((pte & AV_PTE_ADDR) >> 12, page->gfn + 0x100000);
			CHECK_EQ(!(pte & AV_PTE_RDONLY), !!(page->rights & AV_W));
			CHECK_EQ(!(pte & AV_PTE_UXN), !!(page->rights & AV_X));
		}
}

static void test_random(void)
{
	unsigned long kept = 0, had = 0;
	int round, i, t;

	for (round = 0; round < 20; round++) {
		setup();
		seed = round + 1;
		memset(model, 0, sizeof(model));
		for (t = 0; t < NR_TREES; t++) {
			model[t].tree = get(0x1000 * t, t >= 4, 1, t + 1);
			model[t].base = t >= 4 ? KVA : 0x40000000;
		}
		for (i = 0; i < 1500; i++) {
			u32 what = rnd(100);

			if (what < 90)
				random_fill();
			else if (what < 95)
				random_tlbi();
			else if (what < 98)
				random_zap();
			else
				random_protect();
			check_tlb();
			if (i % 100 == 0) {
				check_rmap();
				check_model(&kept, &had);
			}
		}
		teardown();
	}
	/* A shadow that forgets everything would pass the rest. */
	CHECK(had > 10000);
	CHECK(kept * 100 > had * 85);
}
int main(void)
{
	RUN(test_random);
	return TESTS_DONE();
}
