// SPDX-License-Identifier: GPL-2.0
/*
 * The shadow tables against a model.
 *
 * Random fills, invalidations and reclaims are made on the tables and on a
 * model that remembers, for each tree and page, what was filled and not yet
 * invalidated. A fake TLB caches whatever can be looked up, until it is
 * flushed. After each step:
 *  - what the shadow translates, the model has, with the same page and rights;
 *  - the TLB holds nothing that the shadow does not grant any more;
 *  - every leaf is on its frame's reverse map, and nothing else is;
 *  - no table was given back before the TLB was flushed.
 * What an operation need not drop is checked by name in the tests above it.
 */
#include <stdlib.h>

#include "check.h"
#include "mmu/shadow.h"

#define NR_GFNS		4096
#define MAX_PTS		400
#define TLB_SIZE	4096
#define WINDOW_PA	0x7ff000ULL

static struct av_shadow sh;
static u32 rmap[NR_GFNS];
static int spare;		/* tables alloc_pt may still give; negative: any */
static unsigned int allocated, trees_allocated, flush_alls, flush_pages;
static bool flushed_since_write;

static struct {
	struct av_tree *tree;
	u64 va, pte;
} tlb[TLB_SIZE];
static unsigned int tlb_next;

static struct av_pt *alloc_pt(void *ctx)
{
	struct av_pt *pt;

	if (!spare)
		return NULL;
	spare--;
	pt = calloc(1, sizeof(*pt));
	pt->pte = aligned_alloc(4096, 4096);
	memset(pt->pte, 0, 4096);
	pt->aux = calloc(AV_ENTRIES, sizeof(*pt->aux));
	pt->pa = (u64)(uintptr_t)pt->pte;
	allocated++;
	return pt;
}

static void free_pt(void *ctx, struct av_pt *pt)
{
	unsigned int i;

	CHECK(flushed_since_write);
	CHECK_EQ(pt->live, 0);
	/* One that is not fixed may be used again as it is. */
	for (i = 0; i < AV_ENTRIES && !pt->fixed; i++) {
		CHECK_EQ(pt->pte[i], 0);
		CHECK(!pt->aux[i].child);
	}
	free(pt->pte);
	free(pt->aux);
	free(pt);
	allocated--;
}

static struct av_tree *alloc_tree(void *ctx)
{
	trees_allocated++;
	return calloc(1, sizeof(struct av_tree));
}

static void free_tree(void *ctx, struct av_tree *tree)
{
	unsigned int i;

	trees_allocated--;
	/* Its entries may stay in the TLB until the flush that is to come. */
	for (i = 0; i < TLB_SIZE; i++)
		if (tlb[i].tree == tree)
			tlb[i].tree = (void *)-1;
	free(tree);
}

static void publish(void *ctx)
{
}

static void flush_page(void *ctx, u64 va)
{
	unsigned int i;

	flush_pages++;
	for (i = 0; i < TLB_SIZE; i++)
		if (tlb[i].va == (va & ~0xfffULL) ||
		    (tlb[i].pte && !(tlb[i].pte & AV_PTE_TABLE) &&
		     tlb[i].va >> AV_BLOCK_SHIFT == va >> AV_BLOCK_SHIFT))
			memset(&tlb[i], 0, sizeof(tlb[i]));
	flushed_since_write = true;
}

static void flush_all(void *ctx)
{
	flush_alls++;
	memset(tlb, 0, sizeof(tlb));
	flushed_since_write = true;
}

static u32 *rmap_head(void *ctx, u32 gfn)
{
	return gfn < NR_GFNS ? &rmap[gfn] : NULL;
}

static const struct av_shadow_ops ops = {
	.alloc_pt = alloc_pt, .free_pt = free_pt, .alloc_tree = alloc_tree,
	.free_tree = free_tree, .publish = publish, .flush_page = flush_page,
	.flush_all = flush_all, .rmap = rmap_head,
};

static void setup(void)
{
	memset(rmap, 0, sizeof(rmap));
	memset(tlb, 0, sizeof(tlb));
	spare = -1;
	flush_alls = 0;
	flush_pages = 0;
	av_shadow_init(&sh, &ops, NULL, calloc(MAX_PTS, sizeof(struct av_pt *)), MAX_PTS);
	sh.window_pa = WINDOW_PA;
	sh.attr_normal = 0;
}

static void teardown(void)
{
	unsigned int i;

	av_shadow_destroy(&sh);
	free(sh.by_id);
	CHECK_EQ(allocated, 0);
	CHECK_EQ(trees_allocated, 0);
	CHECK_EQ(sh.nr_pts, 0);
	for (i = 0; i < NR_GFNS; i++)
		CHECK_EQ(rmap[i] & AV_RMAP_ENTRY, 0);
}

/* Look va up as the hardware would, and keep the answer. */
static u64 touch(struct av_tree *tree, u64 va)
{
	u64 pte = av_shadow_lookup(tree, va, NULL);

	if (pte && pte & AV_PTE_AF) {
		tlb[tlb_next].tree = tree;
		tlb[tlb_next].va = va & ~0xfffULL;
		tlb[tlb_next].pte = pte;
		tlb_next = (tlb_next + 1) % TLB_SIZE;
	}
	flushed_since_write = false;
	return pte;
}

static void check_tlb(void)
{
	const u64 denies = AV_PTE_RDONLY | AV_PTE_UXN;
	unsigned int i;

	for (i = 0; i < TLB_SIZE; i++) {
		u64 now;

		if (!tlb[i].tree)
			continue;
		CHECK(tlb[i].tree != (void *)-1);
		if (tlb[i].tree == (void *)-1)
			continue;
		now = av_shadow_lookup(tlb[i].tree, tlb[i].va, NULL);
		CHECK(now);
		CHECK_EQ(now & (AV_PTE_ADDR | AV_PTE_TABLE),
			 tlb[i].pte & (AV_PTE_ADDR | AV_PTE_TABLE));
		/* The TLB grants no more than the table. */
		CHECK_EQ(now & denies & ~tlb[i].pte, 0);
		CHECK_EQ(tlb[i].pte & AV_PTE_USER & ~now, 0);
	}
}

/* Every live leaf is on exactly one reverse map chain, and nothing else is. */
static void check_rmap(void)
{
	unsigned long leaves = 0, named = 0;
	struct av_tree *tree, *tmp;
	struct av_pt *pt, *ptmp;
	u32 i, n, name, prev;

	av_list_for_each(tree, tmp, &sh.lru, lru)
		av_list_for_each(pt, ptmp, &tree->pts, node) {
			for (i = 0, n = 0; i < AV_ENTRIES; i++)
				n += av_pte_is_leaf(pt, i);
			CHECK_EQ(pt->live, n);
			CHECK(sh.by_id[pt->id] == pt);
			leaves += n;
		}
	for (i = 0; i < NR_GFNS; i++) {
		prev = AV_RMAP_FLAG | i;
		for (name = rmap[i] & AV_RMAP_ENTRY; name; name = pt->aux[n].next) {
			pt = sh.by_id[name / AV_ENTRIES];
			n = name % AV_ENTRIES;
			CHECK(av_pte_is_leaf(pt, n));
			CHECK_EQ(pt->aux[n].prev, prev);
			CHECK_EQ((pt->pte[n] & AV_PTE_ADDR) >> 12, i + 0x100000);
			prev = name;
			named++;
		}
	}
	CHECK_EQ(named, leaves);
}

static struct av_regime regime(u64 ttbr0, u64 ttbr1, u16 asid)
{
	return (struct av_regime) {
		.sctlr = AV_SCTLR_M, .tcr = 16 | 16 << 16 | AV_TCR_AS | AV_TCR_A1,
		.ttbr0 = ttbr0, .ttbr1 = ttbr1 | (u64)asid << 48, .ipa_bits = 40,
	};
}

static struct av_tree *get(u64 base, bool high, int el, u16 asid)
{
	struct av_regime r = regime(base, base, asid);
	struct av_tree_key key;

	av_tree_key(&sh, &r, high, el, &key);
	return av_tree_get(&sh, &key);
}

static int fill(struct av_tree *tree, u64 va, u32 gfn, int level, u8 rights, u8 span, bool global)
{
	struct av_fill f = {
		.va = va, .pa = (u64)(gfn + 0x100000) << 12, .gfn = gfn, .level = level,
		.rights = rights, .gspan = span, .global = global,
	};

	flushed_since_write = false;
	return av_shadow_fill(&sh, tree, &f);
}

static void tlbi(int scope, u64 va, u64 last, u16 asid)
{
	struct av_tlbi op = { .scope = scope, .high = va >> 55 & 1, .asid = asid,
			      .start = va, .last = last };

	flushed_since_write = false;
	av_shadow_tlbi(&sh, &op);
	check_tlb();
	check_rmap();
}

#define KVA	0xffff800010000000ULL

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
	/* More rights in place, without a flush; fewer with one. */
	CHECK_EQ(fill(low, 0x400000, 7, 3, AV_R | AV_W | AV_X, 12, false), 0);
	CHECK_EQ(flush_pages + flush_alls, 0);
	touch(low, 0x400000);
	CHECK_EQ(fill(low, 0x400000, 7, 3, AV_R, 12, false), 0);
	CHECK_EQ(flush_pages, 1);
	check_tlb();
	/* Another page at the same place: flushed between. */
	touch(low, 0x400000);
	CHECK_EQ(fill(low, 0x400000, 8, 3, AV_R, 12, false), 0);
	CHECK_EQ(flush_pages, 2);
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
	CHECK_EQ(fill(high, AV_WINDOW_BASE, 5, 3, AV_R, 12, true), -EINVAL);
	CHECK_EQ(fill(high, ~0xfffULL, 5, 3, AV_R, 12, true), -EINVAL);
	CHECK_EQ(fill(high, AV_WINDOW_BASE - 0x1000, 5, 3, AV_R, 12, true), 0);
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
	/* A neighbour does not replace what is there. */
	fill(tree, 0x405000, 9, 3, AV_R | AV_W, 12, false);
	touch(tree, 0x405000);
	CHECK_EQ(av_shadow_fill(&sh, tree, &f), 0);
	CHECK_EQ(touch(tree, 0x405000) & AV_PTE_ADDR, 0x100009000);
	fill(tree, 0x800000, 512, 2, AV_R, 21, false);
	CHECK_EQ(av_shadow_present(tree, 0x8f0000, 16), 0xffff);
	check_rmap();
	teardown();
}

/* The window is in every high tree, before and after anything happens to it. */
static void check_window(struct av_tree *tree)
{
	struct av_pt *pt = tree->root;

	while (pt->level < 2) {
		CHECK_EQ(pt->pte[511] & 3, 3);
		CHECK_EQ(pt->pte[511] & AV_PTE_ADDR, pt->aux[511].child->pa);
		pt = pt->aux[511].child;
	}
	CHECK_EQ(pt->pte[511], WINDOW_PA | 3);
}

static void test_window(void)
{
	struct av_tree *tree;

	setup();
	tree = get(0x1000, true, 1, 1);
	check_window(tree);
	fill(tree, AV_WINDOW_BASE - 0x1000, 5, 3, AV_R, 12, true);
	fill(tree, KVA, 5, 3, AV_R, 12, true);
	tlbi(AV_TLBI_VAA, AV_WINDOW_BASE - 0x10000000, ~0ULL, 0);
	check_window(tree);
	CHECK_EQ(touch(tree, AV_WINDOW_BASE - 0x1000), 0);
	CHECK(touch(tree, KVA));
	tlbi(AV_TLBI_ALL, 0, 0, 0);
	check_window(tree);
	CHECK_EQ(touch(tree, KVA), 0);
	/* It was loaded: emptied, kept, and good for more. */
	CHECK_EQ(fill(tree, KVA, 5, 3, AV_R, 12, true), 0);
	CHECK(av_shadow_reclaim(&sh, 1000, true) > 0);
	check_window(tree);
	CHECK_EQ(touch(tree, KVA), 0);
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
	a->users--;
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

static void test_blocks(void)
{
	struct av_tree *tree;
	struct av_gather g;

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
	av_gather_init(&g, &sh);
	CHECK(av_shadow_age_gfn(&sh, 700, false, &g));
	CHECK(!av_shadow_age_gfn(&sh, 1024, false, &g));
	av_shadow_zap_gfns(&sh, 700, 701, &g);
	av_gather_finish(&g);
	CHECK_EQ(touch(tree, 0x300000), 0);
	check_tlb();
	check_rmap();
	/* Logging takes it apart. */
	CHECK_EQ(fill(tree, 0x200000, 512, 2, AV_R | AV_W, 21, false), 0);
	touch(tree, 0x300000);
	av_gather_init(&g, &sh);
	av_shadow_wrprotect_gfn(&sh, 1000, &g);
	av_gather_finish(&g);
	CHECK_EQ(touch(tree, 0x300000), 0);
	check_tlb();
	teardown();
}

static void test_dirty_and_age(void)
{
	struct av_tree *a, *b;
	struct av_gather g;
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
	av_gather_init(&g, &sh);
	av_shadow_wrprotect_gfn(&sh, 9, &g);
	av_gather_finish(&g);
	check_tlb();
	for (i = 0; i < 40; i++)
		CHECK(touch(a, 0x1000 * i) & AV_PTE_RDONLY);
	CHECK(!(touch(b, 0x6000) & AV_PTE_RDONLY));
	av_gather_init(&g, &sh);
	CHECK(av_shadow_age_gfn(&sh, 9, true, &g));
	CHECK(!av_shadow_age_gfn(&sh, 9, true, &g));
	CHECK(!av_shadow_age_gfn(&sh, 9, false, &g));
	CHECK(av_shadow_age_gfn(&sh, 10, false, &g));
	av_gather_finish(&g);
	/* A fault makes it young again. */
	fill(b, 0x5000, 9, 3, AV_R, 12, false);
	av_gather_init(&g, &sh);
	CHECK(av_shadow_age_gfn(&sh, 9, true, &g));
	av_gather_finish(&g);
	check_rmap();
	teardown();
}

static void test_budget(void)
{
	struct av_tree *trees[200], *tree;
	int i, ret = 0, n = 0;

	setup();
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
	CHECK_EQ(av_shadow_reclaim(&sh, 10, false), 0);
	av_tree_put(&sh, trees[0]);
	av_tree_put(&sh, trees[1]);
	CHECK_EQ(av_shadow_reclaim(&sh, 1, false), 4);
	CHECK(av_shadow_reclaim(&sh, 10, true) >= 10);
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
	free(av_shadow_grow(&sh, calloc(MAX_PTS + 10, sizeof(struct av_pt *)), MAX_PTS + 10));
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
	teardown();
}

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

	if (ret == -ENOSPC) {
		av_shadow_reclaim(&sh, 20, true);
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
	struct av_gather g;
	int t, p;

	flushed_since_write = false;
	av_gather_init(&g, &sh);
	av_shadow_zap_gfns(&sh, gfn, end, &g);
	av_gather_finish(&g);
	for (t = 0; t < NR_TREES; t++)
		for (p = 0; p < NR_PAGES; p++)
			if (model[t].page[p].gfn >= gfn && model[t].page[p].gfn < end)
				model[t].page[p].valid = false;
}

static void random_protect(void)
{
	u32 gfn = rnd(NR_GFNS);
	struct av_gather g;
	int t, p;

	av_gather_init(&g, &sh);
	av_shadow_wrprotect_gfn(&sh, gfn, &g);
	av_gather_finish(&g);
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
	RUN(test_fill);
	RUN(test_present);
	RUN(test_window);
	RUN(test_spans);
	RUN(test_asids);
	RUN(test_high_tagging);
	RUN(test_blocks);
	RUN(test_dirty_and_age);
	RUN(test_budget);
	RUN(test_keys);
	RUN(test_random);
	return TESTS_DONE();
}
