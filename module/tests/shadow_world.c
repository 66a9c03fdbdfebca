// SPDX-License-Identifier: GPL-2.0
/* The world around the shadow tables: memory, slots and a TLB that remembers. */
#include "mmu/shadow/again.h"
#include "mmu/shadow/limits.h"
#include "require.h"
#include "shadow_world.h"

#define TLB_SIZE	4096

struct av_shadow sh;
struct av_memcache pool;
static u32 rmap[NR_GFNS], block_rmap[NR_GFNS / AV_BLOCK_PAGES];
int spare;
unsigned int flush_alls, flush_pages, flush_trees, most_work, swept_again;
bool tlbi_leaves;
unsigned int tables_relinked, entries_agreed, tables_were_gone;
static unsigned int looks;	/* for words that are at hand */
guest_words_fn *guest_words;
const struct av_resync *renewing;
bool keep_tables;
static unsigned int allocated, trees_allocated;

/* What is cached: a leaf, and the tables on the way to it. */
static struct {
	struct av_tree *tree;	/* NULL: nothing */
	u64 serial, va, pte;
	struct av_pt *way[3];
} tlb[TLB_SIZE];
static unsigned int tlb_next;

static struct av_pt *alloc_pt(void)
{
	struct av_pt *pt = calloc(1, sizeof(*pt));

	pt->pte = aligned_alloc(4096, 4096);
	memset(pt->pte, 0, 4096);
	pt->aux = calloc(AV_ENTRIES, sizeof(*pt->aux));
	pt->pa = (u64)(uintptr_t)pt->pte;
	allocated++;
	return pt;
}

static void delete_pt(struct av_pt *pt)
{
	free(pt->pte);
	free(pt->aux);
	free(pt->desc);
	free(pt);
	allocated--;
}

static void free_pt(void *ctx, struct av_pt *pt, struct av_memcache *to)
{
	unsigned int i, j;

	REQUIRE(pt->live == 0);
	for (i = 0; i < AV_ENTRIES; i++) {
		REQUIRE(pt->pte[i] == 0);
		REQUIRE(!pt->aux[i].child);
		REQUIRE(!pt->used[i / 64]);
	}
	/* No walker knows the way to it. */
	for (i = 0; i < TLB_SIZE; i++)
		for (j = 0; j < 3 && tlb[i].tree; j++)
			REQUIRE(tlb[i].way[j] != pt);
	delete_pt(pt);
}

static void free_tree(void *ctx, struct av_tree *tree, struct av_memcache *to)
{
	unsigned int i;

	for (i = 0; i < TLB_SIZE; i++)
		REQUIRE(tlb[i].tree != tree);
	REQUIRE(av_list_empty(&tree->copies));
	free(tree);
	trees_allocated--;
}

static void used(void *ctx, int pages, int trees)
{
	spare -= spare > 0 && pages == AV_PT_PAGES;
}

static void tables_gone(void *ctx)
{
	tables_were_gone++;
}

static void relinked(void *ctx, unsigned int entries)
{
	tables_relinked++;
	entries_agreed += entries;
}

/* Without a copy the words are at hand every other time. */
static const u64 *look(void *ctx, u64 ipa, u64 *copy, unsigned int n)
{
	static u64 at_hand[AV_ENTRIES];

	REQUIRE(ipa % sizeof(*copy) == 0 && ipa % 4096 + n * sizeof(*copy) <= 4096);
	if (!copy)
		copy = looks++ % 2 ? at_hand : NULL;
	if (!copy)
		return NULL;
	return guest_words && !guest_words(ipa, copy, n) ? copy : NULL;
}

static void publish(void *ctx)
{
}

static void forget(unsigned int i)
{
	memset(&tlb[i], 0, sizeof(tlb[i]));
}

/* A leaf is dropped by its address, together with the cached walk to it, as on hardware. */
static void flush_page(u64 serial, u64 va)
{
	unsigned int i;

	flush_pages++;
	for (i = 0; i < TLB_SIZE; i++) {
		bool block = tlb[i].pte && !(tlb[i].pte & AV_PTE_TABLE);

		if (tlb[i].serial == serial &&
		    (tlb[i].va == (va & ~0xfffULL) ||
		     (block && tlb[i].va >> AV_BLOCK_SHIFT == va >> AV_BLOCK_SHIFT)))
			forget(i);
	}
}

static unsigned int flush(void *ctx, const struct av_flush *f)
{
	unsigned int i, j;

	for (i = 0; i < f->nr_pages; i++)
		flush_page(f->page[i].serial, f->page[i].va);
	for (j = 0; j < f->nr_trees; j++) {
		flush_trees++;
		for (i = 0; i < TLB_SIZE; i++)
			if (tlb[i].serial == f->tree[j])
				forget(i);
	}
	if (f->all) {
		flush_alls++;
		memset(tlb, 0, sizeof(tlb));
	}
	return f->nr_pages + f->nr_trees + f->all;
}

static u32 *rmap_head(void *ctx, u32 gfn, int level)
{
	if (gfn >= NR_GFNS)
		return NULL;
	return level == 3 ? &rmap[gfn] : &block_rmap[gfn / AV_BLOCK_PAGES];
}

static const struct av_shadow_ops ops = {
	.free_pt = free_pt, .free_tree = free_tree, .used = used, .publish = publish,
	.flush = flush, .rmap = rmap_head, .relinked = relinked, .look = look,
	.tables_gone = tables_gone,
};

/* What a vCPU sets aside before it fills, as far as there is. */
struct av_memcache *full_pool(void)
{
	while (pool.nr < 8 && (spare < 0 || (int)pool.nr < spare)) {
		av_list_add_tail(&alloc_pt()->node, &pool.pts);
		pool.nr++;
	}
	while (spare >= 0 && (int)pool.nr > spare) {
		struct av_pt *pt = av_list_entry(pool.pts.next, struct av_pt, node);

		av_list_del(&pt->node);
		delete_pt(pt);
		pool.nr--;
	}
	while (pool.nr_descs < 2) {
		u64 *desc = aligned_alloc(4096, 4096);

		memset(desc, 0xa5, 4096);
		desc[0] = (u64)(uintptr_t)pool.descs;
		pool.descs = desc;
		pool.nr_descs++;
	}
	if (!pool.tree) {
		pool.tree = calloc(1, sizeof(*pool.tree));
		trees_allocated++;
	}
	return &pool;
}

/* The bound on one call's work: a table more than the limit at which it stops. */
static void finish(struct av_gather *g)
{
	most_work = max(most_work, g->work);
	av_gather_finish(g);
}

void setup(void)
{
	const struct av_shadow_limits max = { .trees = AV_MIN_TREES, .pts = MAX_PTS };

	memset(rmap, 0, sizeof(rmap));
	memset(block_rmap, 0, sizeof(block_rmap));
	memset(tlb, 0, sizeof(tlb));
	memset(&pool, 0, sizeof(pool));
	av_list_init(&pool.pts);
	spare = -1;
	guest_words = NULL;
	tables_relinked = 0;
	entries_agreed = 0;
	flush_alls = 0;
	flush_pages = 0;
	flush_trees = 0;
	keep_tables = false;
	renewing = NULL;
	av_shadow_init(&sh, &ops, NULL, calloc(MAX_PTS, sizeof(struct av_pt *)), &max);
	sh.window_pa = WINDOW_PA;
	sh.memory = AV_PTE_SH_INNER;
}

void unload(struct av_tree *tree)
{
	while (tree->users)
		av_tree_put(&sh, tree);
}

void teardown(void)
{
	struct av_tree *tree, *tmp;
	unsigned int i;

	av_list_for_each(tree, tmp, &sh.loaded, lru)
		unload(tree);
	memset(tlb, 0, sizeof(tlb));
	reclaim_all();
	REQUIRE(sh.nr_trees == 0);
	free(sh.by_id);
	REQUIRE(sh.nr_descs == 0);
	spare = 0;
	full_pool();
	while (pool.nr_descs--) {
		u64 *desc = pool.descs;

		pool.descs = (u64 *)(uintptr_t)desc[0];
		free(desc);
	}
	free(pool.tree);
	trees_allocated -= !!pool.tree;
	REQUIRE(allocated == 0);
	REQUIRE(trees_allocated == 0);
	REQUIRE(sh.nr_pts == 0);
	for (i = 0; i < NR_GFNS; i++)
		REQUIRE(rmap[i] == 0 && !block_rmap[i / AV_BLOCK_PAGES]);
}

/* Everything that there is to be had, from loaded trees too. */
void reclaim_all(void)
{
	bool more = true;

	while (more)
		av_shadow_reclaim(&sh, true, NULL, &more);
}

/* Look va up as the hardware would, and keep the answer. */
u64 touch(struct av_tree *tree, u64 va)
{
	u64 pte = av_shadow_lookup(tree, va, NULL);

	struct av_pt *pt = tree->root;
	int level = 3;

	if (pte && pte & AV_PTE_AF) {
		av_shadow_lookup(tree, va, &level);
		forget(tlb_next);
		tlb[tlb_next].tree = tree;
		tlb[tlb_next].serial = tree->serial;
		tlb[tlb_next].va = va & ~0xfffULL;
		tlb[tlb_next].pte = pte;
		while (pt->level < level) {
			pt = av_pt_child(pt, av_pt_index(va, pt->level));
			tlb[tlb_next].way[pt->level - 1] = pt;
		}
		tlb_next = (tlb_next + 1) % TLB_SIZE;
	}
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
		now = av_shadow_lookup(tlb[i].tree, tlb[i].va, NULL);
		REQUIRE(now);
		REQUIRE(!((now ^ tlb[i].pte) & (AV_PTE_ADDR | AV_PTE_TABLE)));
		/* The TLB grants no more than the table. */
		REQUIRE((now & denies & ~tlb[i].pte) == 0);
		REQUIRE((tlb[i].pte & AV_PTE_USER & ~now) == 0);
	}
}

/*
 * The entries of a table and of all tables below it: counts agree, and linked tables have the
 * table's generation or a later one. Returns the number of leaves.
 */
static unsigned long asleep_seen;

static unsigned long check_table(struct av_pt *pt)
{
	unsigned long leaves = 0;
	u32 i, live = 0, asleep = 0;

	REQUIRE(sh.by_id[pt->id] == pt);
	REQUIRE(pt->gen <= pt->tree->gen);
	for (i = 0; i < AV_ENTRIES; i++) {
		struct av_pt *child = av_pt_below(pt, i);
		bool leaf = av_pte_is_leaf(pt, i);

		REQUIRE(!pt->pte[i] == !(pt->used[i / 64] & BIT_ULL(i % 64)));
		leaves += leaf || av_pte_is_asleep(pt, i);
		asleep += av_pte_is_asleep(pt, i);
		live += leaf || (child && !child->fixed);
		REQUIRE(!av_pt_child(pt, i) || child->gen >= pt->gen);
		if (child)
			leaves += check_table(child);
	}
	REQUIRE(pt->live == live && pt->asleep == asleep);
	asleep_seen += asleep;
	return leaves;
}

/* The entries on a head, which all map its frame. */
static unsigned long check_chain(u32 head, u32 gfn, int level)
{
	u32 name, n, prev = AV_RMAP_FLAG | gfn;
	unsigned long named = 0;
	struct av_pt *pt;

	for (name = head; name; name = pt->aux[n].next) {
		pt = sh.by_id[name / AV_ENTRIES];
		n = name % AV_ENTRIES;
		REQUIRE((av_pte_is_leaf(pt, n) || av_pte_is_asleep(pt, n)) && pt->level == level);
		REQUIRE(pt->aux[n].prev == prev);
		REQUIRE(((pt->pte[n] & AV_PTE_ADDR) >> 12) == gfn + 0x100000);
		prev = name;
		named++;
	}
	return named;
}

/* The counts by parts must equal the counts over everything. */
static void check_count(u64 pages, u64 blocks)
{
	struct av_leaves n = {};

	while (av_shadow_count(&sh, &n))
		;
	REQUIRE(n.pages == pages);
	REQUIRE(n.blocks == blocks);
}

/* Every live leaf is on exactly one reverse map chain, and nothing else is; copies are copies. */
void check_rmap(void)
{
	unsigned long leaves = 0, named = 0, blocks = 0;
	u32 loaded = 0, fixed = 0;
	struct av_root *copy, *ctmp;
	struct av_tree *tree, *tmp;
	struct av_pt *pt, *ptmp;
	u32 i;

	asleep_seen = 0;
	for (i = 0; i < 2; i++) {
		av_list_for_each(tree, tmp, i ? &sh.loaded : &sh.lru, lru) {
			leaves += check_table(tree->root);
			loaded += !!tree->users;
			fixed += !tree->users ? 0 : tree->key.high ? AV_TREE_PTS : 1;
			REQUIRE(!!tree->users == i);
			av_list_for_each(copy, ctmp, &tree->copies, node)
				REQUIRE(!memcmp(copy->pte, tree->root->pte, 4096));
		}
	}
	REQUIRE(loaded == sh.nr_loaded && fixed == sh.loaded_pts);
	av_list_for_each(pt, ptmp, &sh.doomed, node)
		leaves += check_table(pt);
	for (i = 0; i < NR_GFNS; i++) {
		named += check_chain(rmap[i], i, 3);
		if (i % AV_BLOCK_PAGES == 0)
			blocks += check_chain(block_rmap[i / AV_BLOCK_PAGES], i, 2);
	}
	REQUIRE(named + blocks == leaves);
	check_count(named - asleep_seen, blocks);
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
	key.window = high ? sh.window : 0;
	return av_tree_get(&sh, &key, full_pool());
}

void load_again(struct av_tree *tree)
{
	if (!tree->users)
		REQUIRE(av_tree_get(&sh, &tree->key, full_pool()) == tree);
}

int fill_by(struct av_tree *tree, u64 va, u32 gfn, u8 rights, u64 desc, u64 table)
{
	struct av_fill f = {
		.va = va, .pa = (u64)(gfn + 0x100000) << 12, .gfn = gfn, .level = 3,
		.rights = rights, .gspan = 12, .desc = desc, .table = table,
	};

	return av_shadow_fill(&sh, tree, &f, full_pool());
}

int fill(struct av_tree *tree, u64 va, u32 gfn, int level, u8 rights, u8 span, bool global)
{
	struct av_fill f = {
		.va = va, .pa = (u64)(gfn + 0x100000) << 12, .gfn = gfn, .level = level,
		.rights = rights, .gspan = span, .global = global,
	};

	return av_shadow_fill(&sh, tree, &f, full_pool());
}

bool tlbi_again(struct av_tlbi_page op)
{
	u64 serial = av_shadow_tlbi_again(&sh, op);

	if (serial && serial != AV_NOT_SWEPT)
		flush_page(serial, op.va);
	return serial != AV_NOT_SWEPT;
}

bool tlbi_page(struct av_tlbi_page op)
{
	struct av_zapped z;
	bool done = av_shadow_tlbi_page(&sh, op, &z);
	unsigned int i;

	for (i = 0; i < z.nr; i++)
		flush_page(z.serial[i], op.va);
	return done;
}

/* As the module does: at once where that can be. Every other time, for both are to be right. */
static bool at_once(const struct av_tlbi *op)
{
	static unsigned int turn;
	bool done;

	if (turn++ % 2 || op->last - op->start >= AV_PAGE_SIZE ||
	    (op->scope != AV_TLBI_VA && op->scope != AV_TLBI_VAA))
		return false;
	if (tlbi_again(page_op(op))) {
		swept_again++;
		check_tlb();
		return true;
	}
	done = tlbi_page(page_op(op));
	check_tlb();
	return done;
}

/* Changes with av_tree_seq_tables() of any tree. */
static u64 tables_of_all(void)
{
	struct av_tree *tree, *tmp;
	unsigned int half, i;
	u64 sum = 0;

	for (half = 0; half < 2; half++)
		for (i = 0; i <= AV_TREE_BUCKETS; i++)
			av_list_for_each(tree, tmp, &sh.trees[half][i], hash)
				sum += av_tree_seq_tables(&sh, tree);
	return sum;
}

/* Whoever remembers tables of the guest's has been told, in the same part of the TLBI. */
static void check_told(u64 tables, unsigned int told)
{
	REQUIRE(tables == tables_of_all() || told != tables_were_gone);
}

void tlbi(int scope, u64 va, u64 last, u16 asid)
{
	unsigned int told = tables_were_gone;
	u64 tables = tables_of_all();
	struct av_tlbi_walk w = {
		.keep = keep_tables,
		.renew = scope == AV_TLBI_ASID ? renewing : NULL,
		.op = { .scope = scope, .high = va >> 55 & 1, .leaf = tlbi_leaves, .asid = asid,
			.start = va, .last = last },
	};
	struct av_gather g;
	bool more = !at_once(&w.op);

	check_told(tables, told);
	while (more) {
		tables = tables_of_all();
		told = tables_were_gone;
		av_gather_init(&g, &sh);
		more = av_shadow_tlbi(&sh, &w, &g);
		finish(&g);
		check_tlb();
		check_told(tables, told);
	}
	check_rmap();
	while (av_shadow_reap(&sh, NULL))
		check_rmap();
}

bool tlbi_part(struct av_tlbi_walk *w, unsigned int work)
{
	struct av_gather g;
	bool more;

	av_gather_init(&g, &sh);
	g.work = AV_WORK - work;
	more = av_shadow_tlbi(&sh, w, &g);
	av_gather_finish(&g);
	check_tlb();
	check_rmap();
	return more;
}

void zap(u32 gfn, u32 end)
{
	struct av_gather g;
	bool more;

	while (gfn < end) {
		av_gather_init(&g, &sh);
		more = av_shadow_zap_gfn(&sh, gfn, &g);
		finish(&g);
		gfn += !more;
	}
}

void wrprotect(u32 gfn)
{
	struct av_gather g;
	bool more;

	do {
		av_gather_init(&g, &sh);
		more = av_shadow_wrprotect_gfn(&sh, gfn, &g);
		finish(&g);
	} while (more);
}

bool age(u32 gfn, bool clear)
{
	struct av_gather g;
	bool young;

	av_gather_init(&g, &sh);
	young = av_shadow_age_gfn(&sh, gfn, clear, &g);
	finish(&g);
	return young;
}
