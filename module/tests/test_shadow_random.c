// SPDX-License-Identifier: GPL-2.0
/*
 * The shadow tables against a model. Random fills, invalidations and reclaims are applied to both.
 * The model remembers, for each tree and page, what was filled and not yet invalidated: every
 * translation of the shadow must be in the model, with the same page and rights. test_shadow.c
 * checks by name that entries are kept; here, only that most are.
 */
#include "mmu/shadow/entry.h"
#include "check.h"
#include "shadow_world.h"

/* The model: the page that was filled at page p of tree t, 0 if it may not be there. */
#define NR_TREES	6
#define NR_PAGES	2560	/* five level 3 tables, the last one most often a block */
#define BLOCK		2048	/* its first page */

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

static void note(int t, int p, u32 gfn, u8 rights, u8 span, bool global)
{
	model[t].page[p].gfn = gfn;
	model[t].page[p].rights = rights;
	model[t].page[p].span = span;
	model[t].page[p].global = global;
	model[t].page[p].valid = true;
}

/* A block where there is one, nothing, or an empty table: it is there, or all of it as it was. */
static void random_block(void)
{
	u32 gfn = rnd(NR_GFNS / AV_BLOCK_PAGES) * AV_BLOCK_PAGES;
	bool global, takes, had = false;
	u8 rights = AV_R | rnd(8);
	int t = rnd(NR_TREES), p;
	u64 va = model[t].base + BLOCK * 0x1000ULL;

	for (p = 0; p < (int)AV_BLOCK_PAGES; p++) {
		int level;

		had |= av_shadow_lookup(model[t].tree, va + p * 0x1000ULL, &level) && level == 3;
	}
	takes = av_shadow_takes_block(model[t].tree, va + rnd(AV_BLOCK_SIZE));
	CHECK_EQ(takes, !had);
	global = t >= 4 || rnd(8) == 0;
	if (!takes || fill(model[t].tree, va, gfn, 2, rights, 21, global))
		return;
	for (p = 0; p < (int)AV_BLOCK_PAGES; p++)
		note(t, BLOCK + p, gfn + p, rights, 21, global);
}

/* The page takes the place of a block. */
static void forget_block(int t, int p)
{
	int level;

	if (p < BLOCK ||
	    !av_shadow_lookup(model[t].tree, model[t].base + p * 0x1000ULL, &level) || level == 3)
		return;
	for (p = BLOCK; p < NR_PAGES; p++)
		model[t].page[p].valid = false;
}

/* A fill of one page out of a guest leaf of some span; all leaves of a 2 MiB agree. */
static void random_fill(void)
{
	static const u8 spans[] = { 12, 12, 16, 21, 21 };
	int t = rnd(NR_TREES), p = rnd(rnd(40) ? BLOCK : NR_PAGES), high = t >= 4;
	u8 rights = AV_R | rnd(8), span = spans[p / 512];
	u32 gfn = rnd(NR_GFNS);
	bool global = high || rnd(8) == 0;
	bool more;
	int ret;

	forget_block(t, p);
	ret = fill(model[t].tree, model[t].base + p * 0x1000ULL, gfn, 3, rights, span, global);
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
	note(t, p, gfn, rights, span, global);
	if (rnd(3) == 0)
		random_neighbour(t, p);
}

/* n pages from p on of tree t's half, or all of an ASID, or of all. */
static void invalidate(int scope, int asid, int t, int p, int n)
{
	u64 start = model[t].base + p * 0x1000ULL;
	int i, q;

	tlbi_leaves = rnd(4);
	tlbi(scope, start, start + n * 0x1000ULL - 1, asid);
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

static void random_tlbi(void)
{
	int t = rnd(NR_TREES), p = rnd(NR_PAGES), n = rnd(4) ? 1 : rnd(600);
	int scope = rnd(40) ? AV_TLBI_VA + rnd(2) : rnd(2), asid = rnd(5) + 1;

	invalidate(scope, asid, t, p, min(n, NR_PAGES - p));
}

/* A kernel that writes through one page of its own: of a leaf of its size, or of a larger one. */
static void random_pokes(void)
{
	int p = rnd(4) ? rnd(4) : 3 * 512, t = 4 + rnd(2), times = 4 + rnd(12), level;
	u64 va = model[t].base + p * 0x1000ULL;
	u32 gfn = rnd(NR_GFNS);

	for (; times; times--) {
		if (rnd(4) && !fill(model[t].tree, va, gfn, 3, AV_R | AV_W, p < 4 ? 12 : 21, true))
			note(t, p, gfn, AV_R | AV_W, p < 4 ? 12 : 21, true);
		if (!rnd(4))
			random_fill();
		if (!rnd(4))
			t = 4 + rnd(2);
		invalidate(AV_TLBI_VAA, 0, t, p, 1);
		for (t = 4; t < NR_TREES; t++)
			CHECK_EQ(av_shadow_lookup(model[t].tree, va, &level), 0);
		t = 4 + rnd(2);
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
 * An invalidation has dropped all that it must; existing entries are as they were filled.
 * Over-invalidation within a tree's neighbours is allowed, so a page of the model may be missing,
 * but not always: *kept counts. A block is dropped with each of its frames.
 */
static unsigned long in_blocks;

static void check_model(unsigned long *kept, unsigned long *had)
{
	int t, p;

	for (t = 0; t < NR_TREES; t++)
		for (p = 0; p < NR_PAGES; p++) {
			typeof(&model[t].page[p]) page = &model[t].page[p];
			u64 pte = touch(model[t].tree, model[t].base + p * 0x1000ULL), in = 0;

			*had += page->valid && p < BLOCK;
			*kept += page->valid && p < BLOCK && pte;
			if (!pte)
				continue;
			CHECK(page->valid);
			if (!(pte & AV_PTE_TABLE)) {
				in = p % AV_BLOCK_PAGES;
				in_blocks++;
			}
			CHECK_EQ(((pte & AV_PTE_ADDR) >> 12) + in, page->gfn + 0x100000);
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

			if (what < 87)
				random_fill();
			else if (what < 90)
				random_block();
			else if (what < 94)
				random_tlbi();
			else if (what < 95)
				random_pokes();
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
	CHECK(in_blocks > 10000);
	CHECK(swept_again > 200);
}
int main(void)
{
	RUN(test_random);
	return TESTS_DONE();
}
