// SPDX-License-Identifier: GPL-2.0
/* Trees: naming, finding, making, dropping and reclaiming them. */
#include "mmu/shadow.h"

/* What of TCR_EL1 changes how a half translates. */
#define TCR_LOW		(AV_TCR_T0SZ | AV_TCR_EPD0 | AV_TCR_TG0 | AV_TCR_IPS | AV_TCR_TBI0 | \
			 AV_TCR_HPD0 | AV_TCR_E0PD0)
#define TCR_HIGH	(AV_TCR_T1SZ | AV_TCR_EPD1 | AV_TCR_TG1 | AV_TCR_IPS | AV_TCR_TBI1 | \
			 AV_TCR_HPD1 | AV_TCR_E0PD1)

#define LOW_BASE	0ULL
#define HIGH_BASE	GENMASK_ULL(63, 48)

static void push_free_ids(struct av_shadow *sh, u32 from, u32 to)
{
	/* Id 0 is never used: a reverse map name is never 0. */
	while (to-- > max(from, 1U)) {
		sh->by_id[to] = (struct av_pt *)(uintptr_t)sh->free_id;
		sh->free_id = to;
	}
}

void av_shadow_init(struct av_shadow *sh, const struct av_shadow_ops *ops, void *ctx,
		    struct av_pt **by_id, u32 max_pts)
{
	int half, i;

	memset(sh, 0, sizeof(*sh));
	sh->ops = ops;
	sh->ctx = ctx;
	sh->by_id = by_id;
	sh->max_pts = max_pts;
	sh->next_serial = 1;
	push_free_ids(sh, 0, max_pts);
	av_list_init(&sh->lru);
	for (half = 0; half < 2; half++)
		for (i = 0; i <= AV_TREE_BUCKETS; i++)
			av_list_init(&sh->trees[half][i]);
}

struct av_pt **av_shadow_grow(struct av_shadow *sh, struct av_pt **by_id, u32 max_pts)
{
	struct av_pt **old = sh->by_id;
	u32 from = sh->max_pts;

	memcpy(by_id, old, from * sizeof(*old));
	sh->by_id = by_id;
	sh->max_pts = max_pts;
	push_free_ids(sh, from, max_pts);
	return old;
}

struct av_pt *av_pt_new(struct av_shadow *sh, struct av_tree *tree, int level, u64 va)
{
	u32 id = sh->free_id;
	struct av_pt *pt;

	if (!id)
		return NULL;
	pt = sh->ops->alloc_pt(sh->ctx);
	if (!pt)
		return NULL;
	sh->free_id = (u32)(uintptr_t)sh->by_id[id];
	sh->by_id[id] = pt;
	sh->nr_pts++;
	pt->id = id;
	pt->tree = tree;
	pt->level = level;
	pt->va = va;
	pt->live = 0;
	pt->gspan = 0;
	pt->fixed = false;
	av_list_add_tail(&pt->node, &tree->pts);
	tree->nr_pts++;
	return pt;
}

/* An empty table that nothing points to: freed when the gather has flushed. */
void av_pt_dead(struct av_shadow *sh, struct av_pt *pt, struct av_gather *g)
{
	sh->by_id[pt->id] = (struct av_pt *)(uintptr_t)sh->free_id;
	sh->free_id = pt->id;
	sh->nr_pts--;
	pt->tree->nr_pts--;
	av_list_del(&pt->node);
	av_list_add_tail(&pt->node, &g->dead);
}

void av_tree_key(const struct av_shadow *sh, const struct av_regime *r, bool high, int el,
		 struct av_tree_key *key)
{
	memset(key, 0, sizeof(*key));
	key->high = high;
	key->asid = AV_ASID_ANY;
	/* The flat map is one tree, whoever looks; its upper half stays empty. */
	if (!av_regime_mmu_on(r))
		return;
	key->base = (high ? r->ttbr1 : r->ttbr0) & AV_TTBR_BADDR;
	key->tcr = r->tcr & (high ? TCR_HIGH : TCR_LOW);
	key->mair = r->mair;
	key->sctlr = 1 | (r->sctlr & AV_SCTLR_WXN ? 2 : 0);
	if (!high || sh->high_tagged)
		key->asid = av_regime_asid(r);
	if (high)
		key->mode = el ? AV_MODE_EL1 : AV_MODE_EL0;
}

bool av_tree_key_equal(const struct av_tree_key *a, const struct av_tree_key *b)
{
	return a->base == b->base && a->tcr == b->tcr && a->mair == b->mair &&
	       a->asid == b->asid && a->high == b->high && a->mode == b->mode &&
	       a->sctlr == b->sctlr;
}

static struct av_list *bucket_of(struct av_shadow *sh, bool high, u32 asid)
{
	return &sh->trees[high][asid == AV_ASID_ANY ? AV_TREE_BUCKETS : asid % AV_TREE_BUCKETS];
}

static void link_tables(struct av_shadow *sh, struct av_pt *pt, u32 idx, struct av_pt *child)
{
	pt->aux[idx].child = child;
	pt->pte[idx] = child->pa | AV_PTE_VALID | AV_PTE_TABLE;
	child->fixed = true;
}

/* The upper half's tree holds the window from its first moment. */
static bool build_root(struct av_shadow *sh, struct av_tree *tree)
{
	u64 base = tree->key.high ? HIGH_BASE : LOW_BASE;
	u64 top = AV_WINDOW_BASE;
	struct av_pt *l1, *l2;

	tree->root = av_pt_new(sh, tree, AV_ROOT_LEVEL, base);
	if (!tree->root)
		return false;
	tree->root->fixed = true;
	if (!tree->key.high)
		return true;
	l1 = av_pt_new(sh, tree, 1, top & ~GENMASK_ULL(38, 0));
	if (!l1)
		return false;
	l2 = av_pt_new(sh, tree, 2, top & ~GENMASK_ULL(29, 0));
	if (!l2) {
		l1->fixed = true;
		return false;
	}
	l2->pte[AV_ENTRIES - 1] = sh->window_pa | AV_PTE_VALID | AV_PTE_TABLE;
	link_tables(sh, l1, AV_ENTRIES - 1, l2);
	link_tables(sh, tree->root, AV_ENTRIES - 1, l1);
	sh->ops->publish(sh->ctx);
	return true;
}

static void free_tables(struct av_shadow *sh, struct av_tree *tree, bool fixed_too,
			struct av_gather *g)
{
	struct av_pt *pt, *tmp;

	av_list_for_each(pt, tmp, &tree->pts, node)
		if (fixed_too || !pt->fixed)
			av_pt_dead(sh, pt, g);
}

void av_tree_set_global(struct av_shadow *sh, struct av_tree *tree, bool global)
{
	if (tree->key.asid != AV_ASID_ANY && tree->has_global != global)
		sh->nr_tagged_global[tree->key.high] += global ? 1 : -1;
	tree->has_global = global;
}

static void free_tree(struct av_shadow *sh, struct av_tree *tree, struct av_gather *g)
{
	av_tree_set_global(sh, tree, false);
	sh->nr_tagged[tree->key.high] -= tree->key.asid != AV_ASID_ANY;
	av_list_del(&tree->hash);
	av_list_del(&tree->lru);
	free_tables(sh, tree, true, g);
	sh->nr_trees--;
	sh->ops->free_tree(sh->ctx, tree);
}

static struct av_tree *new_tree(struct av_shadow *sh, const struct av_tree_key *key)
{
	struct av_tree *tree = sh->ops->alloc_tree(sh->ctx);
	struct av_gather g;

	if (!tree)
		return NULL;
	memset(tree, 0, sizeof(*tree));
	tree->key = *key;
	tree->serial = sh->next_serial++;
	av_list_init(&tree->pts);
	av_list_add_tail(&tree->lru, &sh->lru);
	av_list_add_tail(&tree->hash, bucket_of(sh, key->high, key->asid));
	sh->nr_trees++;
	sh->nr_tagged[key->high] += key->asid != AV_ASID_ANY;
	if (build_root(sh, tree))
		return tree;
	av_gather_init(&g, sh);
	free_tree(sh, tree, &g);
	av_gather_finish(&g);
	return NULL;
}

static struct av_tree *find(struct av_shadow *sh, const struct av_tree_key *key)
{
	struct av_list *bucket = bucket_of(sh, key->high, key->asid);
	struct av_tree *tree, *tmp;

	av_list_for_each(tree, tmp, bucket, hash)
		if (av_tree_key_equal(&tree->key, key))
			return tree;
	return NULL;
}

struct av_tree *av_tree_get(struct av_shadow *sh, const struct av_tree_key *key)
{
	struct av_tree *tree = find(sh, key);

	if (!tree)
		tree = new_tree(sh, key);
	if (!tree)
		return NULL;
	tree->users++;
	av_list_del(&tree->lru);
	av_list_add_tail(&tree->lru, &sh->lru);
	return tree;
}

void av_tree_put(struct av_shadow *sh, struct av_tree *tree)
{
	tree->users--;
}

/* Clear every entry of a table that does not lead to the window. */
static void wipe(struct av_pt *pt, struct av_gather *g)
{
	u32 i;

	for (i = 0; i < AV_ENTRIES && (pt->live || pt->level < 3); i++) {
		if (!pt->pte[i])
			continue;
		if (av_pte_is_leaf(pt, i)) {
			av_shadow_clear(pt, i, g);
			continue;
		}
		/* A table entry without a child is the window itself. */
		if (!pt->aux[i].child || pt->aux[i].child->fixed)
			continue;
		WRITE_ONCE(pt->pte[i], 0);
		pt->aux[i].child = NULL;
	}
	pt->gspan = 0;
}

void av_tree_drop(struct av_shadow *sh, struct av_tree *tree, struct av_gather *g)
{
	struct av_pt *pt, *tmp;

	av_list_for_each(pt, tmp, &tree->pts, node)
		wipe(pt, g);
	av_tree_set_global(sh, tree, false);
	g->all = true;
	if (!tree->users) {
		free_tree(sh, tree, g);
		return;
	}
	free_tables(sh, tree, false, g);
}

u32 av_shadow_reclaim(struct av_shadow *sh, u32 nr, bool hard)
{
	u32 before = sh->nr_pts;
	struct av_tree *tree, *tmp;
	struct av_gather g;

	av_gather_init(&g, sh);
	av_list_for_each(tree, tmp, &sh->lru, lru)
		if (!tree->users && before - sh->nr_pts < nr)
			av_tree_drop(sh, tree, &g);
	if (hard) {
		av_list_for_each(tree, tmp, &sh->lru, lru)
			if (before - sh->nr_pts < nr)
				av_tree_drop(sh, tree, &g);
	}
	av_gather_finish(&g);
	return before - sh->nr_pts;
}

void av_shadow_destroy(struct av_shadow *sh)
{
	struct av_tree *tree, *tmp;
	struct av_gather g;

	av_gather_init(&g, sh);
	av_list_for_each(tree, tmp, &sh->lru, lru) {
		tree->users = 0;
		av_tree_drop(sh, tree, &g);
	}
	av_gather_finish(&g);
}

/* Does an invalidation by address and ASID reach this tree? */
static bool names_tree(const struct av_tree *tree, const struct av_tlbi *op)
{
	return op->scope == AV_TLBI_VAA || tree->key.asid == op->asid ||
	       tree->key.asid == AV_ASID_ANY || tree->has_global;
}

static void tlbi_bucket(struct av_list *bucket, const struct av_tlbi *op, struct av_gather *g)
{
	struct av_tree *tree, *tmp;

	av_list_for_each(tree, tmp, bucket, hash)
		if (names_tree(tree, op))
			av_shadow_zap_range(tree, op->start, op->last, g);
}

/* Most often one ASID's bucket will do, or none; global entries may be in any. */
static void tlbi_addresses(struct av_shadow *sh, const struct av_tlbi *op, struct av_gather *g)
{
	bool any_asid = op->scope == AV_TLBI_VAA || sh->nr_tagged_global[op->high];
	int i;

	tlbi_bucket(bucket_of(sh, op->high, AV_ASID_ANY), op, g);
	if (!sh->nr_tagged[op->high])
		return;
	if (!any_asid) {
		tlbi_bucket(bucket_of(sh, op->high, op->asid), op, g);
		return;
	}
	for (i = 0; i < AV_TREE_BUCKETS; i++)
		tlbi_bucket(&sh->trees[op->high][i], op, g);
}

/* Trees that serve every ASID hold global entries only, which stay. */
static void tlbi_asid(struct av_shadow *sh, u16 asid, struct av_gather *g)
{
	struct av_tree *tree, *tmp;
	int high;

	for (high = 0; high < 2; high++)
		av_list_for_each(tree, tmp, bucket_of(sh, high, asid), hash)
			if (tree->key.asid == asid)
				av_tree_drop(sh, tree, g);
}

void av_shadow_tlbi(struct av_shadow *sh, const struct av_tlbi *op)
{
	struct av_tree *tree, *tmp;
	struct av_gather g;

	av_gather_init(&g, sh);
	switch (op->scope) {
	case AV_TLBI_ALL:
		av_list_for_each(tree, tmp, &sh->lru, lru)
			av_tree_drop(sh, tree, &g);
		break;
	case AV_TLBI_ASID:
		tlbi_asid(sh, op->asid, &g);
		break;
	default:
		tlbi_addresses(sh, op, &g);
		break;
	}
	av_gather_finish(&g);
}
