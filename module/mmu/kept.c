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

/* Drop a leaf that no walker has reached since it was flushed. */
static void forget(struct av_shadow *sh, struct av_pt *pt, u32 idx)
{
	av_shadow_take(sh, pt, idx);
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

	if (!pt->desc || !(key & AV_PTE_VALID))
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

/* Those entries of a group that the guest has no more go; how many stay. */
static unsigned int compare_group(struct av_shadow *sh, struct av_pt *pt, u32 first, u32 used,
				  const u64 *words, u8 limits)
{
	unsigned int n = 0;

	for (; used; used &= used - 1) {
		u32 i = __builtin_ctz(used);

		if (agrees(pt, first + i, av_walk_key(READ_ONCE(words[i]), limits)))
			n++;
		else
			forget(sh, pt, first + i);
	}
	return n;
}

static unsigned int compare(struct av_shadow *sh, struct av_pt *pt, const struct av_fill *f)
{
	u8 limits = FIELD_GET(AV_KEY_LIMITS, f->desc);
	/* What cannot be read agrees with nothing. */
	static const u64 none[GROUP];
	const u64 *words = NULL;
	u64 copy[GROUP];
	unsigned int n = 0;
	u32 idx, used;

	for (idx = av_pt_next(pt, 0); idx < AV_ENTRIES; idx = av_pt_next(pt, idx + GROUP)) {
		idx = ALIGN_DOWN(idx, GROUP);
		used = av_pt_group(pt, pt->va + idx * AV_PAGE_SIZE, GROUP);
		if (f->desc)
			words = sh->ops->look(sh->ctx, f->table + idx * sizeof(*words), copy, GROUP);
		n += compare_group(sh, pt, idx, used, words ?: none, limits);
	}
	return n;
}

u32 av_kept_refresh(struct av_shadow *sh, struct av_pt *pt, const struct av_fill *f)
{
	u32 before = pt->live;

	if (pt->gen == pt->tree->gen)
		return 0;
	pt->gen = pt->tree->gen;
	if (pt->level < 3)
		keep_children(sh, pt);
	else
		sh->ops->relinked(sh->ctx, compare(sh, pt, f));
	if (!pt->live)
		pt->gspan = 0;
	return before - pt->live;
}
