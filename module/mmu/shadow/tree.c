// SPDX-License-Identifier: GPL-2.0
/* Trees: keys, search, creation and removal, and vCPUs' copies of their roots. */
#include "mmu/shadow/moved.h"
#include "mmu/shadow/resync.h"
#include "mmu/shadow/position.h"

/* Fields of TCR_EL1 that affect the translation of a half. */
#define TCR_LOW		(AV_TCR_T0SZ | AV_TCR_EPD0 | AV_TCR_TG0 | AV_TCR_IPS | AV_TCR_TBI0 | \
			 AV_TCR_HPD0 | AV_TCR_E0PD0)
#define TCR_HIGH	(AV_TCR_T1SZ | AV_TCR_EPD1 | AV_TCR_TG1 | AV_TCR_IPS | AV_TCR_TBI1 | \
			 AV_TCR_HPD1 | AV_TCR_E0PD1)

#define LOW_BASE	0ULL
#define HIGH_BASE	GENMASK_ULL(63, 48)

void av_shadow_init(struct av_shadow *sh, const struct av_shadow_ops *ops, void *ctx,
		    struct av_pt **by_id, const struct av_shadow_limits *max)
{
	int half, i;

	memset(sh, 0, sizeof(*sh));
	sh->ops = ops;
	sh->ctx = ctx;
	sh->by_id = by_id;
	sh->max = *max;
	sh->next_serial = 1;
	/* Id 0 is never used, so that a reverse map name is never 0. */
	sh->fresh_id = 1;
	sh->idle_base = sh->idle_last = AV_NO_BASE;
	sh->idle_tries = AV_IDLE_TRIES;
	sh->barren_round = 1;
	sh->window = AV_WINDOW_HOME;
	av_list_init(&sh->doomed);
	av_list_init(&sh->lru);
	av_list_init(&sh->loaded);
	for (half = 0; half < 2; half++)
		for (i = 0; i <= AV_TREE_BUCKETS; i++)
			av_list_init(&sh->trees[half][i]);
}

struct av_pt **av_shadow_grow(struct av_shadow *sh, struct av_pt **by_id,
			      const struct av_shadow_limits *max)
{
	struct av_pt **old = sh->by_id;

	memcpy(by_id, old, sh->fresh_id * sizeof(*old));
	sh->by_id = by_id;
	sh->max = *max;
	return old;
}

/* An id for a table: a freed one, or a new one. The caller has checked the limits. */
static u32 take_id(struct av_shadow *sh)
{
	u32 id = sh->free_id;

	if (id)
		sh->free_id = (u32)(uintptr_t)sh->by_id[id];
	else
		id = sh->fresh_id++;
	return id;
}

void av_pt_free_id(struct av_shadow *sh, struct av_pt *pt)
{
	av_moved_forget(sh, pt);
	sh->by_id[pt->id] = (struct av_pt *)(uintptr_t)sh->free_id;
	sh->free_id = pt->id;
	sh->nr_pts--;
	sh->nr_descs -= !!pt->desc;
	pt->tree->nr_pts--;
}

/* The table with this id, or NULL: a free id's place holds the next free id. */
static const struct av_pt *pt_at(const struct av_shadow *sh, u32 id)
{
	const struct av_pt *pt = sh->by_id[id];

	return (uintptr_t)pt < sh->max.pts ? NULL : pt;
}

static u64 blocks_of(const struct av_pt *pt)
{
	u64 n = 0;
	u32 i;

	for (i = av_pt_next(pt, 0); i < AV_ENTRIES; i = av_pt_next(pt, i + 1))
		n += av_pte_is_leaf(pt, i);
	return n;
}

/* A table of pages has its count in live; a table of blocks must be searched. */
bool av_shadow_count(const struct av_shadow *sh, struct av_leaves *n)
{
	u32 work = 0;

	for (n->id = max(n->id, 1U); n->id < sh->fresh_id; n->id++) {
		const struct av_pt *pt = pt_at(sh, n->id);

		if (work >= 4 * AV_WORK)
			return true;
		work++;
		if (!pt || pt->level < 2)
			continue;
		if (pt->level == 3) {
			n->pages += pt->live;
			continue;
		}
		n->blocks += blocks_of(pt);
		work += AV_ENTRIES;
	}
	return false;
}

struct av_pt *av_pt_new(struct av_shadow *sh, struct av_tree *tree, int level, u64 va,
			struct av_memcache *pool)
{
	struct av_pt *pt = av_list_entry(pool->pts.next, struct av_pt, node);

	av_list_del(&pt->node);
	pool->nr--;
	pt->id = take_id(sh);
	sh->by_id[pt->id] = pt;
	sh->nr_pts++;
	pt->tree = tree;
	pt->level = level;
	pt->va = va;
	pt->live = 0;
	pt->asleep = 0;
	pt->gspan = 0;
	pt->fixed = false;
	pt->place = 0;
	pt->gen = tree->gen;
	tree->nr_pts++;
	sh->ops->used(sh->ctx, AV_PT_PAGES, 0);
	return pt;
}

void av_tree_key(const struct av_shadow *sh, const struct av_regime *r, bool high, int el,
		 struct av_tree_key *key)
{
	memset(key, 0, sizeof(*key));
	key->high = high;
	key->asid = AV_ASID_ANY;
	/* MMU off: one flat tree for both exception levels, with an empty high half. */
	if (!av_regime_mmu_on(r))
		return;
	key->base = (high ? r->ttbr1 : r->ttbr0) & AV_TTBR_BADDR;
	key->tcr = r->tcr & (high ? TCR_HIGH : TCR_LOW);
	key->mair = r->mair;
	key->sctlr = 1 | (r->sctlr & AV_SCTLR_WXN ? 2 : 0);
	if (high ? sh->high_tagged : key->base != READ_ONCE(sh->idle_base))
		key->asid = av_regime_asid(r);
	if (high)
		key->mode = el ? AV_MODE_EL1 : AV_MODE_EL0;
}

bool av_tree_key_equal(const struct av_tree_key *a, const struct av_tree_key *b)
{
	return a->base == b->base && a->tcr == b->tcr && a->mair == b->mair &&
	       a->asid == b->asid && a->high == b->high && a->mode == b->mode &&
	       a->sctlr == b->sctlr && a->owner == b->owner && a->window == b->window;
}

static struct av_list *bucket_of(struct av_shadow *sh, bool high, u32 asid)
{
	return &sh->trees[high][asid == AV_ASID_ANY ? AV_TREE_BUCKETS : asid % AV_TREE_BUCKETS];
}

static void link_fixed(struct av_pt *pt, u32 idx, struct av_pt *child)
{
	pt->aux[idx].child = child;
	av_pt_set(pt, idx, av_table_desc(child->pa));
	child->fixed = true;
}

static u32 fixed_tables(const struct av_tree_key *key)
{
	return key->high ? AV_TREE_PTS : 1;
}

/* A tree of the high half maps the window, from the start and for life. */
static void build_root(struct av_shadow *sh, struct av_tree *tree, struct av_memcache *pool)
{
	unsigned int window = tree->key.window;
	struct av_pt *l1, *l2;

	tree->root = av_pt_new(sh, tree, AV_ROOT_LEVEL, tree->key.high ? HIGH_BASE : LOW_BASE, pool);
	tree->root->fixed = true;
	if (!tree->key.high)
		return;
	l1 = av_pt_new(sh, tree, 1, AV_WINDOW_GIB & ~GENMASK_ULL(38, 0), pool);
	l2 = av_pt_new(sh, tree, 2, AV_WINDOW_GIB, pool);
	av_window_hang(l2->pte, window, sh->window_pa);
	av_pt_note_used(l2, window, true);
	link_fixed(l1, AV_WINDOW_INDEX, l2);
	link_fixed(tree->root, AV_WINDOW_INDEX, l1);
	sh->ops->publish(sh->ctx);
}

void av_tree_set_global(struct av_shadow *sh, struct av_tree *tree, bool global)
{
	if (tree->key.asid != AV_ASID_ANY && tree->has_global != global)
		sh->nr_tagged_global[tree->key.high] += global ? 1 : -1;
	tree->has_global = global;
}

static struct av_tree *new_tree(struct av_shadow *sh, const struct av_tree_key *key,
				struct av_memcache *pool)
{
	struct av_tree *tree = pool->tree;
	u32 tables = fixed_tables(key);

	if (!tree || pool->nr < tables || sh->nr_pts + tables >= sh->max.pts ||
	    sh->nr_trees >= sh->max.trees)
		return NULL;
	pool->tree = NULL;
	memset(tree, 0, sizeof(*tree));
	tree->key = *key;
	tree->serial = sh->next_serial++;
	tree->gen = 1;
	tree->clean = AV_CLEAN_NONE;
	av_list_init(&tree->copies);
	av_list_add_tail(&tree->lru, &sh->lru);
	av_list_add_tail(&tree->hash, bucket_of(sh, key->high, key->asid));
	sh->nr_trees++;
	sh->nr_tagged[key->high] += key->asid != AV_ASID_ANY;
	sh->swept[key->high].va = AV_CLEAN_NONE;
	sh->ops->used(sh->ctx, 0, 1);
	build_root(sh, tree, pool);
	return tree;
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

/* A tree with more tables is not passed on: most of them would be useless to the next process. */
#define SPARE_PTS	64

static bool may_serve_another(const struct av_tree *tree)
{
	const struct av_tree_key *key = &tree->key;

	return !key->high && key->mode == AV_MODE_SHARED && !tree->split &&
	       key->asid != AV_ASID_ANY && tree->nr_pts <= SPARE_PTS;
}

/* Do the two keys turn the same descriptor at the same address into the same entry? */
static bool same_kind(const struct av_tree_key *a, const struct av_tree_key *b)
{
	return a->tcr == b->tcr && a->mair == b->mair && a->high == b->high &&
	       a->mode == b->mode && a->sctlr == b->sctlr && a->owner == b->owner;
}

/* Take the tree that waits for the next process, if it fits the key. It has been flushed. */
static struct av_tree *take_spare(struct av_shadow *sh, const struct av_tree_key *key)
{
	struct av_tree *tree = sh->spare;

	if (!tree || key->asid == AV_ASID_ANY || !same_kind(&tree->key, key))
		return NULL;
	sh->spare = NULL;
	sh->swept[0].va = AV_CLEAN_NONE;
	tree->key = *key;
	tree->serial = sh->next_serial++;
	tree->first_gen = ++tree->gen;
	tree->abandoned = true;
	tree->clean = AV_CLEAN_NONE;
	tree->filled = false;
	av_list_del(&tree->hash);
	av_list_add_tail(&tree->hash, bucket_of(sh, key->high, key->asid));
	return tree;
}

struct av_tree *av_tree_get(struct av_shadow *sh, const struct av_tree_key *key,
			    struct av_memcache *pool)
{
	struct av_tree *tree = find(sh, key) ?: take_spare(sh, key) ?: new_tree(sh, key, pool);

	if (!tree)
		return NULL;
	if (tree == sh->spare)
		sh->spare = NULL;
	if (!tree->users++) {
		sh->nr_loaded++;
		sh->loaded_pts += fixed_tables(key);
	}
	av_list_del(&tree->lru);
	av_list_add_tail(&tree->lru, &sh->loaded);
	return tree;
}

void av_tree_put(struct av_shadow *sh, struct av_tree *tree)
{
	if (--tree->users)
		return;
	sh->nr_loaded--;
	sh->barren -= tree->barren_round == sh->barren_round;
	tree->barren_round = 0;
	sh->loaded_pts -= fixed_tables(&tree->key);
	av_list_del(&tree->lru);
	/* A tree that is behind is dropped first: av_shadow_drop_behind(). */
	av_list_add_tail(&tree->lru, unlikely(av_window_behind(sh, tree)) ? sh->lru.next : &sh->lru);
}

void av_root_attach(struct av_root *root, struct av_tree *tree)
{
	const struct av_pt *pt = tree->root;
	u32 i;

	for (i = av_pt_next(pt, 0); i < AV_ENTRIES; i = av_pt_next(pt, i + 1))
		WRITE_ONCE(root->pte[i], pt->pte[i]);
	av_list_add_tail(&root->node, &tree->copies);
}

void av_root_detach(struct av_root *root, const struct av_tree *tree)
{
	const struct av_pt *pt = tree->root;
	u32 i;

	for (i = av_pt_next(pt, 0); i < AV_ENTRIES; i = av_pt_next(pt, i + 1))
		WRITE_ONCE(root->pte[i], 0);
	av_list_del(&root->node);
}

/* Does the tree have no entries except those that lead to the last GiB, and the window? */
bool av_tree_empty(const struct av_tree *tree)
{
	const struct av_pt *pt = tree->root;

	/* The table of the last GiB has the window, but no entry that counts. */
	while (pt && !pt->live)
		pt = tree->key.high && pt->level < 2 ? av_pt_child(pt, AV_WINDOW_INDEX) : NULL;
	return !pt;
}

void av_tree_note_idle(struct av_shadow *sh, const struct av_tree *tree)
{
	const struct av_tree_key *key = &tree->key;

	if (key->high || key->mode != AV_MODE_SHARED || tree->split || key->asid == AV_ASID_ANY ||
	    (tree->root->live && tree->filled) || !sh->idle_tries)
		return;
	if (key->base == sh->idle_last && key->asid != sh->idle_asid)
		WRITE_ONCE(sh->idle_base, key->base);
	sh->idle_last = key->base;
	sh->idle_asid = key->asid;
}

void av_tree_needs_asid(struct av_shadow *sh, const struct av_tree *tree)
{
	if (tree->key.high) {
		sh->high_tagged = true;
	} else if (tree->key.base == sh->idle_base) {
		WRITE_ONCE(sh->idle_base, AV_NO_BASE);
		sh->idle_last = AV_NO_BASE;
		sh->idle_tries--;
	}
}

/* Remove a tree that no vCPU has loaded from all lists. It is freed with its last table. */
static void die(struct av_shadow *sh, struct av_tree *tree)
{
	struct av_swept *swept = &sh->swept[tree->key.high];

	av_tree_set_global(sh, tree, false);
	sh->nr_tagged[tree->key.high] -= tree->key.asid != AV_ASID_ANY;
	sh->nr_trees--;
	sh->shape++;
	if (swept->filled == tree || swept->own == tree)
		swept->va = AV_CLEAN_NONE;
	av_list_del(&tree->hash);
	av_list_del(&tree->lru);
	if (tree == sh->spare)
		sh->spare = NULL;
	tree->dead = true;
}

/* Does a tree have kept tables, and none that walkers can reach? */
static bool all_kept(const struct av_pt *root)
{
	u32 idx;

	for (idx = av_pt_next(root, 0); idx < AV_ENTRIES; idx = av_pt_next(root, idx + 1))
		if (root->pte[idx] & AV_PTE_VALID)
			return false;
	return root->live;
}

void av_tree_retire(struct av_shadow *sh, struct av_tree *tree)
{
	struct av_tree *before = sh->spare;

	if (tree->users || tree == before || !all_kept(tree->root))
		return;
	if (!sh->no_heirs && may_serve_another(tree) && av_resync_prune(sh, tree)) {
		sh->spare = tree;
		if (!before)
			return;
		tree = before;
	}
	die(sh, tree);
	/* Flushed when its tables were unlinked; no walker has been in the tree since. */
	av_list_add_tail(&tree->root->node, &sh->doomed);
}

bool av_tree_drop(struct av_shadow *sh, struct av_tree *tree, struct av_gather *g, u64 *next)
{
	u64 start = *next;

	*next = 0;
	if (av_shadow_zap_range(tree, max(start, tree->root->va), ~0ULL, g, next))
		return true;
	/* Other vCPUs may have filled the tree while the lock was not held. */
	if (!av_tree_empty(tree))
		return false;
	av_tree_set_global(sh, tree, false);
	if (!tree->users) {
		die(sh, tree);
		av_list_add_tail(&tree->root->node, &g->unlinked);
		av_gather_tree(g, tree);
	}
	return false;
}
