// SPDX-License-Identifier: GPL-2.0
/* The world around the shadow tables: memory, slots and a TLB that remembers. */
#include <stdio.h>
#include <stdlib.h>

#include "shadow_world.h"

/* An invariant: broken, there is no going on. */
#define REQUIRE(cond) do {							\
	if (!(cond)) {								\
		fprintf(stderr, "%s:%d: %s: required %s\n", __FILE__, __LINE__,	\
			__func__, #cond);					\
		abort();							\
	}									\
} while (0)

#define TLB_SIZE	4096

struct av_shadow sh;
static u32 rmap[NR_GFNS];
int spare;
unsigned int flush_alls, flush_pages;
static unsigned int allocated, trees_allocated;
bool flushed_since_write;

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

	REQUIRE(flushed_since_write);
	REQUIRE(pt->live == 0);
	/* One that is not fixed may be used again as it is. */
	for (i = 0; i < AV_ENTRIES && !pt->fixed; i++) {
		REQUIRE(pt->pte[i] == 0);
		REQUIRE(!pt->aux[i].child);
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

void setup(void)
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

void teardown(void)
{
	unsigned int i;

	av_shadow_destroy(&sh);
	free(sh.by_id);
	REQUIRE(allocated == 0);
	REQUIRE(trees_allocated == 0);
	REQUIRE(sh.nr_pts == 0);
	for (i = 0; i < NR_GFNS; i++)
		REQUIRE((rmap[i] & AV_RMAP_ENTRY) == 0);
}

/* Look va up as the hardware would, and keep the answer. */
u64 touch(struct av_tree *tree, u64 va)
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

void check_tlb(void)
{
	const u64 denies = AV_PTE_RDONLY | AV_PTE_UXN;
	unsigned int i;

	for (i = 0; i < TLB_SIZE; i++) {
		u64 now;

		if (!tlb[i].tree)
			continue;
		REQUIRE(tlb[i].tree != (void *)-1);
		now = av_shadow_lookup(tlb[i].tree, tlb[i].va, NULL);
		REQUIRE(now);
		REQUIRE(!((now ^ tlb[i].pte) & (AV_PTE_ADDR | AV_PTE_TABLE)));
		/* The TLB grants no more than the table. */
		REQUIRE((now & denies & ~tlb[i].pte) == 0);
		REQUIRE((tlb[i].pte & AV_PTE_USER & ~now) == 0);
	}
}

/* Every live leaf is on exactly one reverse map chain, and nothing else is. */
void check_rmap(void)
{
	unsigned long leaves = 0, named = 0;
	struct av_tree *tree, *tmp;
	struct av_pt *pt, *ptmp;
	u32 i, n, name, prev;

	av_list_for_each(tree, tmp, &sh.lru, lru)
		av_list_for_each(pt, ptmp, &tree->pts, node) {
			for (i = 0, n = 0; i < AV_ENTRIES; i++)
				n += av_pte_is_leaf(pt, i);
			REQUIRE(pt->live == n);
			REQUIRE(sh.by_id[pt->id] == pt);
			leaves += n;
		}
	for (i = 0; i < NR_GFNS; i++) {
		prev = AV_RMAP_FLAG | i;
		for (name = rmap[i] & AV_RMAP_ENTRY; name; name = pt->aux[n].next) {
			pt = sh.by_id[name / AV_ENTRIES];
			n = name % AV_ENTRIES;
			REQUIRE(av_pte_is_leaf(pt, n));
			REQUIRE(pt->aux[n].prev == prev);
			REQUIRE(((pt->pte[n] & AV_PTE_ADDR) >> 12) == i + 0x100000);
			prev = name;
			named++;
		}
	}
	REQUIRE(named == leaves);
}

struct av_regime regime(u64 ttbr0, u64 ttbr1, u16 asid)
{
	return (struct av_regime) {
		.sctlr = AV_SCTLR_M, .tcr = 16 | 16 << 16 | AV_TCR_AS | AV_TCR_A1,
		.ttbr0 = ttbr0, .ttbr1 = ttbr1 | (u64)asid << 48, .ipa_bits = 40,
	};
}

struct av_tree *get(u64 base, bool high, int el, u16 asid)
{
	struct av_regime r = regime(base, base, asid);
	struct av_tree_key key;

	av_tree_key(&sh, &r, high, el, &key);
	return av_tree_get(&sh, &key);
}

int fill(struct av_tree *tree, u64 va, u32 gfn, int level, u8 rights, u8 span, bool global)
{
	struct av_fill f = {
		.va = va, .pa = (u64)(gfn + 0x100000) << 12, .gfn = gfn, .level = level,
		.rights = rights, .gspan = span, .global = global,
	};

	flushed_since_write = false;
	return av_shadow_fill(&sh, tree, &f);
}

void tlbi(int scope, u64 va, u64 last, u16 asid)
{
	struct av_tlbi op = { .scope = scope, .high = va >> 55 & 1, .asid = asid,
			      .start = va, .last = last };

	flushed_since_write = false;
	av_shadow_tlbi(&sh, &op);
	check_tlb();
	check_rmap();
}

