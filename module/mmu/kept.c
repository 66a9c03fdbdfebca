// SPDX-License-Identifier: GPL-2.0
/*
 * Tables that an invalidation of an ASID keeps.
 *
 * A guest that forks invalidates the parent's ASID, for it has taken the right to write
 * from most of its pages, and goes on with the same tables. What the shadow has of them
 * is kept: unlinked and flushed, not wiped. At the first fault in its 2 MiB a table is
 * compared with what the guest has there now, and linked with the entries that agree.
 * So the time goes by what the guest uses again, not by what it had.
 *
 * Kept is a table whose entry above has its address, but not AV_PTE_VALID. Below it
 * entries stay as they are: the tree has a new generation, and a table of an older one is
 * made good, one table a level and fault, when it is linked. What is linked in a table of
 * the tree's generation is of that generation too.
 *
 * Why the entries that stay are right:
 *  - An entry comes from the tree's key, the guest's descriptor and the limits above it
 *    (av_walk_key()), the slot and the host's page. The key is compared. Slot and host
 *    go by the reverse map, which has the entries of kept tables as it has any: so has
 *    what takes rights away for the dirty log or for copies.
 *  - Descriptors are read under the lock, in the table that a walk has led to which no
 *    invalidation of more than leaves has voided; else there would be no fill. What the
 *    guest changes before an invalidation has been carried out is read here, or the
 *    invalidation finds the table linked and drops it. So none that goes by address
 *    has to look into tables that are kept, whether it is done in one part or in many.
 *  - Of an invalidation of an ASID in parts, the first one moves the generation. Whatever
 *    is of that generation later on was read after it had begun.
 *
 * Asleep is a leaf that is kept in a table that is linked: it has its address, but not
 * AV_PTE_VALID. So are those where the guest has nothing when the table is compared: a child
 * gets its parent's pages of files one by one. A fault compares those around it once more
 * (av_kept_wake()); when the table itself is compared for the next time, the rest of them go.
 * They are right for the same reasons: no walker has had them since they were flushed, and
 * they stay on the reverse map.
 *
 * A tree whose process is gone goes to the next one of its kind, with another key and serial
 * (av_tree_retire()): parents have many children that are much like each other. Of what its
 * entries come from its key has base and ASID new, which are in no entry; all else of it is the
 * same, and all that it has is compared. Tables that one process did not use are not for
 * the next.
 */
#include "mmu/entry.h"

static void keep_entry(struct av_pt *pt, u32 idx)
{
	av_pt_set(pt, idx, pt->pte[idx] & ~AV_PTE_VALID);
}

bool av_tree_keep(struct av_tree *tree, struct av_gather *g, bool begin, u64 *next)
{
	struct av_pt *root = tree->root;
	u32 idx = begin ? 0 : av_pt_index(*next, AV_ROOT_LEVEL);

	*next = 0;
	tree->gen += begin;
	for (idx = av_pt_next(root, idx); idx < AV_ENTRIES; idx = av_pt_next(root, idx + 1)) {
		const struct av_pt *child = av_pt_child(root, idx);

		/* Linked since this began, or kept before. */
		if (!child || child->gen == tree->gen)
			continue;
		if (av_gather_spent(g)) {
			*next = child->va;
			return true;
		}
		keep_entry(root, idx);
		g->sh->shape++;
		g->work += 1 + tree->users;
		av_gather_tree(g, tree);
	}
	return false;
}

/* Doom the kept tables below that were not linked since that generation. */
static void prune(struct av_shadow *sh, struct av_pt *pt, u64 since)
{
	u32 idx;

	for (idx = av_pt_next(pt, 0); idx < AV_ENTRIES; idx = av_pt_next(pt, idx + 1)) {
		struct av_pt *child = av_pt_below(pt, idx);

		if (!child)
			continue;
		if (child->gen >= since) {
			if (child->level < 3)
				prune(sh, child, since);
			continue;
		}
		av_pt_set(pt, idx, 0);
		pt->aux[idx].child = NULL;
		pt->live--;
		sh->shape++;
		av_list_add_tail(&child->node, &sh->doomed);
	}
}

void av_kept_prune(struct av_shadow *sh, struct av_tree *tree)
{
	prune(sh, tree->root, tree->first_gen);
}

/* Drop a leaf that no walker has reached since it was flushed. */
static void forget(struct av_shadow *sh, struct av_pt *pt, u32 idx)
{
	av_shadow_take(sh, pt, idx);
}

void av_kept_forget(struct av_shadow *sh, struct av_pt *pt, u32 idx)
{
	av_shadow_take(sh, pt, idx);
	pt->live++;
	pt->asleep--;
}

/* Blocks are few, and fault back in. */
static void keep_children(struct av_shadow *sh, struct av_pt *pt)
{
	u32 idx;

	for (idx = av_pt_next(pt, 0); idx < AV_ENTRIES; idx = av_pt_next(pt, idx + 1)) {
		if (av_pte_is_leaf(pt, idx))
			forget(sh, pt, idx);
		else
			keep_entry(pt, idx);
	}
}

/*
 * Has the guest the same leaf there? Or has it only taken the right to write from it, as
 * from all that a process has when it forks: then that is done here, too. Who may execute
 * a page may depend on who may write it.
 */
static bool agrees(struct av_pt *pt, u32 idx, u64 key)
{
	u64 differs;

	if (!(key & AV_PTE_VALID))
		return false;
	differs = pt->desc[idx] ^ key;
	if (likely(!differs))
		return true;
	if (differs != AV_PTE_RDONLY || !(key & AV_PTE_RDONLY))
		return false;
	pt->desc[idx] = key;
	WRITE_ONCE(pt->pte[idx],
		   (pt->pte[idx] & ~AV_PTE_DBM) | AV_PTE_RDONLY | AV_PTE_UXN);
	return true;
}

/* Descriptors that are read at once. */
#define GROUP	16

static __always_inline void put_to_sleep(struct av_pt *pt, u32 idx)
{
	WRITE_ONCE(pt->pte[idx], pt->pte[idx] & ~AV_PTE_VALID);
	pt->asleep++;
	pt->live--;
}

static __always_inline void wake(struct av_pt *pt, u32 idx)
{
	WRITE_ONCE(pt->pte[idx], pt->pte[idx] | AV_PTE_VALID | AV_PTE_AF);
	pt->asleep--;
	pt->live++;
}

/* once: it goes also where the guest has nothing. */
static __always_inline void compare_asleep(struct av_shadow *sh, struct av_pt *pt, u32 idx,
					   u64 key, bool once)
{
	if (agrees(pt, idx, key))
		wake(pt, idx);
	else if (once || key & AV_PTE_VALID)
		av_kept_forget(sh, pt, idx);
}

/* What is neither the same nor the same but to be written to. */
static noinline void compare_other(struct av_shadow *sh, struct av_pt *pt, u32 idx, u64 key)
{
	if (!(pt->pte[idx] & AV_PTE_VALID))
		compare_asleep(sh, pt, idx, key, true);
	else if (!(key & AV_PTE_VALID))
		put_to_sleep(pt, idx);
	else
		forget(sh, pt, idx);
}

/*
 * Compare those entries of a table that no walker reaches which have a bit in used, from first
 * on. Where the guest has nothing the entry falls asleep, until the next time: a process that
 * has just forked gets its pages one by one. Most entries are as they were.
 */
static __always_inline void compare_used(struct av_shadow *sh, struct av_pt *pt, u32 first,
					 u64 used, const u64 *words, u8 limits)
{
	for (; used; used &= used - 1) {
		u32 i = __builtin_ctzll(used), idx = first + i;
		u64 key = av_walk_key(READ_ONCE(words[i]), limits);

		if (unlikely(!(pt->pte[idx] & AV_PTE_VALID)) || !agrees(pt, idx, key))
			compare_other(sh, pt, idx, key);
	}
}

unsigned int av_kept_wake(struct av_shadow *sh, struct av_pt *pt, u64 va, unsigned int n,
			  const u64 *words, u8 limits)
{
	u32 first = av_pt_index(va, 3), left = av_pt_group(pt, va, n), live = pt->live;

	for (; left; left &= left - 1) {
		u32 i = __builtin_ctz(left);

		if (!(pt->pte[first + i] & AV_PTE_VALID))
			compare_asleep(sh, pt, first + i,
				       av_walk_key(READ_ONCE(words[i]), limits), false);
	}
	av_tree_fills(sh, pt->tree);
	return pt->live - live;
}

/* Nothing of the table can be compared. */
static void compare_none(struct av_shadow *sh, struct av_pt *pt)
{
	u32 idx;

	for (idx = av_pt_next(pt, 0); idx < AV_ENTRIES; idx = av_pt_next(pt, idx + 1)) {
		if (av_pte_is_asleep(pt, idx))
			av_kept_forget(sh, pt, idx);
		else
			forget(sh, pt, idx);
	}
}

/* The guest's table is read through a copy, a group at a time. */
static void compare_groups(struct av_shadow *sh, struct av_pt *pt, const struct av_fill *f,
			   u8 limits)
{
	const u64 *words;
	u64 copy[GROUP];
	u32 idx, used;

	for (idx = av_pt_next(pt, 0); idx < AV_ENTRIES; idx = av_pt_next(pt, idx + GROUP)) {
		idx = ALIGN_DOWN(idx, GROUP);
		used = av_pt_group(pt, pt->va + idx * AV_PAGE_SIZE, GROUP);
		words = sh->ops->look(sh->ctx, f->table + idx * sizeof(*words), copy, GROUP);
		if (unlikely(!words)) {
			compare_none(sh, pt);
			return;
		}
		compare_used(sh, pt, idx, used, words, limits);
	}
}

static void compare(struct av_shadow *sh, struct av_pt *pt, const struct av_fill *f)
{
	const u64 *words = sh->ops->look(sh->ctx, f->table, NULL, AV_ENTRIES);
	u8 limits = FIELD_GET(AV_KEY_LIMITS, f->desc);
	u32 idx;

	if (unlikely(!words)) {
		compare_groups(sh, pt, f, limits);
		return;
	}
	for (idx = 0; idx < AV_ENTRIES; idx += 64)
		compare_used(sh, pt, idx, pt->used[idx / 64], words + idx, limits);
}

u32 av_kept_refresh(struct av_shadow *sh, struct av_pt *pt, const struct av_fill *f)
{
	u32 before = pt->live;

	if (pt->gen == pt->tree->gen)
		return 0;
	pt->gen = pt->tree->gen;
	if (pt->level < 3) {
		keep_children(sh, pt);
	} else {
		if (f->desc && pt->desc)
			compare(sh, pt, f);
		else
			compare_none(sh, pt);
		sh->ops->relinked(sh->ctx, pt->live);
	}
	if (!pt->live && !pt->asleep)
		pt->gspan = 0;
	return before > pt->live ? before - pt->live : 0;
}
