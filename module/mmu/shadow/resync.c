// SPDX-License-Identifier: GPL-2.0
/*
 * Kept tables: a TLBI by ASID does not discard them. They are compared with the guest's tables
 * before they are used again, as KVM for x86 does with its unsync pages.
 *
 * A guest that forks removes the write permission from most pages of the parent, invalidates the
 * parent's ASID, and continues with the same tables. So the shadow tables are kept: unlinked and
 * flushed, not cleared. At the first fault in its 2 MiB, a kept table is compared with the guest's
 * table and linked again with the entries that agree. So the cost depends on the memory that the
 * guest uses again, not on all that it had mapped.
 *
 * Kept: the entry above the table has the table's address, but not AV_PTE_VALID. Entries below
 * stay unchanged: the TLBI increments the tree's generation, and a table of an older generation
 * is compared when it is linked, one table per level and fault. All linked tables below a table
 * of the tree's generation have that generation, too.
 *
 * Why the entries that remain are correct:
 *  - An entry depends on the tree's key, the guest's descriptor and the limits of the tables
 *    above it (av_walk_key()), the slot and the host page. av_walk_key() is compared. Slots and
 *    host pages change by the reverse map, which has kept entries like any others; the same is
 *    true of write protection for the dirty log and for copies. Where the host drops everything,
 *    kept tables are unlinked as well.
 *  - Descriptors are read under mmu_lock, in a guest table found by a walk that no invalidation
 *    of more than leaves has voided; otherwise there is no fill. A change that the guest makes
 *    before an invalidation is carried out is either read here, or the invalidation finds the
 *    table linked and drops its entries. So invalidations by address can skip kept tables,
 *    whether they are done in one part or many.
 *  - If a TLBI by ASID is done in parts, the first part increments the generation. So whatever
 *    has that generation later was read after the TLBI began.
 *
 * A TLBI by address of all that a table maps keeps the table too, if the guest seems to have moved
 * its own (moved.c). Its generation is 0 then, which no tree has.
 *
 * Asleep: a leaf that is kept in a linked table. It has its address, but not AV_PTE_VALID.
 * Entries fall asleep if the guest has nothing there when the table is compared: a child gets
 * its parent's file pages one by one. A fault compares the sleeping entries around it again
 * (av_resync_wake()). When the table is next compared, entries still asleep are dropped. Sleeping
 * entries are correct for the same reasons: no walker has reached them since the flush, and
 * they are on the reverse map.
 *
 * A tree whose process has exited is passed on to the next process of its kind with a new key
 * and serial (av_tree_retire()): a parent has many children that resemble each other. Only base
 * and ASID of the key change, on which no entry depends; and all entries are compared. Tables
 * that were not compared or filled for one process are not passed on. No tree is passed on while
 * the host drops everything in parts (av_shadow_forbid_heirs()).
 *
 * At once: where the guest's tables can be walked without waiting, a few tables are compared right
 * away and not at their next faults (av_tree_resync()). In a TLBI these are linked tables, and they
 * stay linked. Walkers may use them, and entries that are being dropped, but the whole tree is
 * flushed before the TLBI ends and mmu_lock is released. For a new process they are tables that it
 * inherits, which nobody can reach yet.
 */
#include "mmu/shadow/entry.h"
#include "mmu/shadow/moved.h"
#include "mmu/shadow/resync.h"

static void keep_entry(struct av_pt *pt, u32 idx)
{
	av_pt_set(pt, idx, pt->pte[idx] & ~AV_PTE_VALID);
}

void av_resync_keep(struct av_pt *pt, u32 idx, struct av_gather *g)
{
	g->work++;
	if (!(pt->pte[idx] & AV_PTE_VALID))
		return;
	keep_entry(pt, idx);
	av_pt_below(pt, idx)->gen = 0;
	g->sh->shape++;
	av_gather_tree(g, pt->tree);
}

bool av_tree_keep(struct av_tree *tree, struct av_gather *g, const struct av_resync *renew,
		  bool begin, u64 *next)
{
	struct av_pt *root = tree->root;
	u32 idx = begin ? 0 : av_pt_index(*next, AV_ROOT_LEVEL);

	*next = 0;
	tree->gen += begin;
	tree->abandoned |= begin;
	if (begin && renew && renew->tree == tree && av_tree_resync(g->sh, tree, renew, &g->work))
		av_gather_tree(g, tree);
	for (idx = av_pt_next(root, idx); idx < AV_ENTRIES; idx = av_pt_next(root, idx + 1)) {
		const struct av_pt *child = av_pt_child(root, idx);

		/* Linked since the TLBI began, or kept before. */
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

/*
 * Most entries that a prune looks at, some 25 instructions each: a process may have had gigabytes
 * of blocks, and interrupts may be off.
 */
#define PRUNE_MOST	2048

/*
 * Doom the kept tables below pt that were not linked since generation since. False: there are too
 * many entries. The tables that were looked at are pruned.
 */
static bool prune(struct av_shadow *sh, struct av_pt *pt, u64 since, u32 *most)
{
	u32 idx, left = pt->live;

	if (left > *most)
		return false;
	*most -= left;
	/* Do not look for more behind the last entry. */
	for (idx = 0; left; idx++, left--) {
		struct av_pt *child;

		idx = av_pt_next(pt, idx);
		if (idx == AV_ENTRIES)
			break;
		child = av_pt_below(pt, idx);
		if (!child)
			continue;
		if (child->gen >= since) {
			if (child->level < 3 && !prune(sh, child, since, most))
				return false;
			continue;
		}
		av_pt_set(pt, idx, 0);
		pt->aux[idx].child = NULL;
		pt->live--;
		sh->shape++;
		av_list_add_tail(&child->node, &sh->doomed);
	}
	return true;
}

bool av_resync_prune(struct av_shadow *sh, struct av_tree *tree)
{
	u32 most = PRUNE_MOST;

	return prune(sh, tree->root, tree->first_gen, &most);
}

/* Drop a leaf that no walker can reach, or before a flush of the whole tree: it needs none. */
static void forget(struct av_shadow *sh, struct av_pt *pt, u32 idx)
{
	av_shadow_take(sh, pt, idx);
}

void av_resync_forget(struct av_shadow *sh, struct av_pt *pt, u32 idx)
{
	av_shadow_take(sh, pt, idx);
	pt->live++;
	pt->asleep--;
}

/* For a table of levels above 3. Its blocks, 512 at most, are dropped: they fault back in. */
static void keep_children(struct av_shadow *sh, struct av_pt *pt)
{
	u32 idx, left = pt->live;

	for (idx = 0; left; idx++, left--) {
		idx = av_pt_next(pt, idx);
		if (idx == AV_ENTRIES)
			break;
		if (av_pte_is_leaf(pt, idx))
			forget(sh, pt, idx);
		else
			keep_entry(pt, idx);
	}
}

/*
 * Does the guest have the same leaf? If it only removed the write permission, as a fork does
 * for all of a process, remove it here too, and accept the entry. Permission to execute goes as
 * well: it may depend on permission to write.
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

/* Number of descriptors read at once. */
#define GROUP	16

/* The caller counts it. */
static __always_inline void put_to_sleep(struct av_pt *pt, u32 idx)
{
	WRITE_ONCE(pt->pte[idx], pt->pte[idx] & ~AV_PTE_VALID);
}

/* The caller counts it. */
static __always_inline void wake(struct av_pt *pt, u32 idx)
{
	WRITE_ONCE(pt->pte[idx], pt->pte[idx] | AV_PTE_VALID | AV_PTE_AF);
}

static __always_inline void count_woken(struct av_pt *pt, unsigned int n)
{
	pt->asleep -= n;
	pt->live += n;
}

/*
 * True: the entry is woken, for the caller to count. once: drop the entry even if the guest has
 * nothing there.
 */
static __always_inline bool compare_asleep(struct av_shadow *sh, struct av_pt *pt, u32 idx,
					   u64 key, bool once)
{
	if (agrees(pt, idx, key)) {
		wake(pt, idx);
		return true;
	}
	if (once || key & AV_PTE_VALID)
		av_resync_forget(sh, pt, idx);
	return false;
}

/* For entries that are asleep, or that the guest has replaced. */
static noinline void compare_other(struct av_shadow *sh, struct av_pt *pt, u32 idx, u64 key)
{
	if (!(pt->pte[idx] & AV_PTE_VALID))
		count_woken(pt, compare_asleep(sh, pt, idx, key, true));
	else
		forget(sh, pt, idx);
}

/*
 * Does the guest have the leaves of four neighbours? limits is av_walk_key()'s field. The words
 * read here decide only the answer: if it is no, each descriptor is read once more, and that one
 * counts.
 */
static __always_inline bool four_agree(const u64 *desc, const u64 *words, u64 limits)
{
	u64 differ = (READ_ONCE(words[0]) ^ desc[0]) | (READ_ONCE(words[1]) ^ desc[1]) |
		     (READ_ONCE(words[2]) ^ desc[2]) | (READ_ONCE(words[3]) ^ desc[3]);
	u64 some = desc[0] | desc[1] | desc[2] | desc[3];
	u64 all = desc[0] & desc[1] & desc[2] & desc[3];
	u64 other = (some ^ (limits | AV_PTE_VALID)) | (all ^ (limits | AV_PTE_VALID));

	return !((differ & ~AV_KEY_IGNORED) | (other & (AV_KEY_IGNORED | AV_PTE_VALID)));
}

/* The bits that are set in all four neighbours. */
static __always_inline u64 four_have(const u64 *pte)
{
	return pte[0] & pte[1] & pte[2] & pte[3];
}

static __always_inline u64 four_any(const u64 *pte)
{
	return pte[0] | pte[1] | pte[2] | pte[3];
}

/* A bit for each first of four neighbours that are all in used; fours are aligned. */
static __always_inline u64 fours_of(u64 used)
{
	return used & (used >> 1) & (used >> 2) & (used >> 3) & 0x1111111111111111ULL;
}

/*
 * Those of used that four_agree() does not find to agree, or that may be asleep. Code is mapped in
 * runs, and most of it has not changed.
 */
static __always_inline u64 not_alike(const struct av_pt *pt, u32 first, u64 used,
				     const u64 *words, u8 limits)
{
	u64 fours = fours_of(used);

	for (; fours; fours &= fours - 1) {
		u32 i = __builtin_ctzll(fours);

		if (pt->asleep && !(four_have(&pt->pte[first + i]) & AV_PTE_VALID))
			continue;
		if (four_agree(&pt->desc[first + i], words + i, FIELD_PREP(AV_KEY_LIMITS, limits)))
			used &= ~(0xfULL << i);
	}
	return used;
}

/*
 * Compare those entries of a table that have a bit in used, from first on. If the guest has nothing
 * there, the entry falls asleep until the next time, because a process that has just forked gets
 * its pages one by one. Most entries have not changed.
 */
static __always_inline void compare_used(struct av_shadow *sh, struct av_pt *pt, u32 first,
					 u64 used, const u64 *words, u8 limits)
{
	unsigned int slept = 0;

	for (; used; used &= used - 1) {
		u32 i = __builtin_ctzll(used), idx = first + i;
		u64 key = av_walk_key(READ_ONCE(words[i]), limits);

		if (unlikely(!(pt->pte[idx] & AV_PTE_VALID))) {
			compare_other(sh, pt, idx, key);
		} else if (!(key & AV_PTE_VALID)) {
			put_to_sleep(pt, idx);
			slept++;
		} else if (!agrees(pt, idx, key)) {
			compare_other(sh, pt, idx, key);
		}
	}
	pt->asleep += slept;
	pt->live -= slept;
}

unsigned int av_resync_wake(struct av_shadow *sh, struct av_pt *pt, u64 va, unsigned int n,
			    const u64 *words, u8 limits)
{
	u32 first = av_pt_index(va, 3), left = av_pt_group(pt, va, n);
	unsigned int woken = 0;
	u64 fours;

	for (fours = fours_of(left); fours; fours &= fours - 1) {
		u32 i = __builtin_ctzll(fours), idx = first + i;

		if (four_any(&pt->pte[idx]) & AV_PTE_VALID ||
		    !four_agree(&pt->desc[idx], words + i, FIELD_PREP(AV_KEY_LIMITS, limits)))
			continue;
		wake(pt, idx);
		wake(pt, idx + 1);
		wake(pt, idx + 2);
		wake(pt, idx + 3);
		left &= ~(0xfU << i);
		woken += 4;
	}
	for (; left; left &= left - 1) {
		u32 i = __builtin_ctz(left);

		if (!(pt->pte[first + i] & AV_PTE_VALID))
			woken += compare_asleep(sh, pt, first + i,
						av_walk_key(READ_ONCE(words[i]), limits), false);
	}
	count_woken(pt, woken);
	av_tree_fills(sh, pt->tree);
	return woken;
}

/* The table cannot be compared: drop everything. */
static void compare_none(struct av_shadow *sh, struct av_pt *pt)
{
	u32 idx;

	for (idx = av_pt_next(pt, 0); idx < AV_ENTRIES; idx = av_pt_next(pt, idx + 1)) {
		if (av_pte_is_asleep(pt, idx))
			av_resync_forget(sh, pt, idx);
		else
			forget(sh, pt, idx);
	}
}

/* Compare with a guest table that must be read through a copy, one group at a time. */
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
	for (idx = 0; idx < AV_ENTRIES; idx += 64) {
		u64 used = not_alike(pt, idx, pt->used[idx / 64], words + idx, limits);

		compare_used(sh, pt, idx, used, words + idx, limits);
	}
}

u32 av_resync_refresh(struct av_shadow *sh, struct av_pt *pt, const struct av_fill *f)
{
	u32 before = pt->live;

	if (pt->gen == pt->tree->gen)
		return 0;
	pt->gen = pt->tree->gen;
	if (pt->level < 3) {
		keep_children(sh, pt);
	} else {
		if (f->desc && pt->desc) {
			compare(sh, pt, f);
			av_moved_note(sh, pt, f);
		} else {
			compare_none(sh, pt);
		}
		sh->ops->relinked(sh->ctx, pt->live);
	}
	if (!pt->live && !pt->asleep)
		pt->gspan = 0;
	return before > pt->live ? before - pt->live : 0;
}

/*
 * Limit of av_tree_resync()'s work, in units of about ten instructions: short enough with
 * interrupts off. Each table, and each block, costs a visit before any table beside it is looked
 * at, even if nothing is done with it. Comparing a table of pages costs more, and one unit per
 * entry.
 */
#define RENEW_MOST	1500
#define RENEW_VISIT	10
#define RENEW_FIND	60

/* Units in one unit of AV_WORK. */
#define RENEW_WORK	20

struct renewal {
	struct av_shadow *sh;
	const struct av_resync *how;
	u32 left;		/* units */
	bool found;		/* the guest has a table … */
	bool over;		/* … or lacks even the first that was in use: its process exits */
	bool touched;		/* tables were compared or unlinked, or entries dropped */
};

static bool afford(struct renewal *r, u32 units)
{
	if (units > r->left)
		return false;
	r->left -= units;
	return true;
}

/* Compare the table of pages if the guest has it. False: it must not be linked. */
static bool renew_pages(struct renewal *r, struct av_pt *pt)
{
	u32 entries = pt->live + pt->asleep;
	struct av_fill f = {};

	if (!pt->desc || !entries || !afford(r, RENEW_FIND + entries))
		return false;
	switch (r->how->find(r->how, pt->va, &f)) {
	case AV_TABLE_FOUND:
		r->found = true;
		av_resync_refresh(r->sh, pt, &f);
		return true;
	case AV_TABLE_NONE:
		r->over = !r->found && !r->how->kept;
		return false;
	default:
		return false;
	}
}

/*
 * Compare tables below pt, and unlink the others. False: none is linked now, or it is over, or
 * there are too many: then pt must not be linked.
 */
static bool renew_below(struct renewal *r, struct av_pt *pt)
{
	u32 idx, left = pt->live;
	bool linked = false;

	if (!afford(r, RENEW_VISIT * left))
		return false;
	for (idx = 0; left; idx++, left--) {
		struct av_pt *child;

		idx = av_pt_next(pt, idx);
		if (idx == AV_ENTRIES)
			break;
		if (av_pte_is_leaf(pt, idx)) {
			forget(r->sh, pt, idx);
			r->touched = true;
			continue;
		}
		child = av_pt_below(pt, idx);
		if ((r->how->kept || pt->pte[idx] & AV_PTE_VALID) &&
		    (child->level == 3 ? renew_pages(r, child) : renew_below(r, child))) {
			av_pt_set(pt, idx, pt->pte[idx] | AV_PTE_VALID);
			r->touched = linked = true;
			continue;
		}
		if (r->over)
			return false;
		keep_entry(pt, idx);
		r->touched = true;
	}
	if (linked)
		pt->gen = pt->tree->gen;
	return linked;
}

/* True: some are linked. */
static bool renew_root(struct renewal *r, struct av_pt *root)
{
	bool linked = false;
	u32 idx;

	for (idx = av_pt_next(root, 0); idx < AV_ENTRIES; idx = av_pt_next(root, idx + 1)) {
		bool kept = !(root->pte[idx] & AV_PTE_VALID);

		if (r->over)
			break;
		if ((kept && !r->how->kept) || !renew_below(r, av_pt_below(root, idx)))
			continue;
		if (kept) {
			r->sh->ops->publish(r->sh->ctx);
			av_pt_set(root, idx, root->pte[idx] | AV_PTE_VALID);
		}
		linked = true;
	}
	return linked;
}

bool av_tree_resync(struct av_shadow *sh, struct av_tree *tree, const struct av_resync *how,
		    u32 *work)
{
	struct renewal r = { .sh = sh, .how = how, .left = RENEW_MOST };

	if (renew_root(&r, tree->root)) {
		/* Entries may have been woken. */
		av_tree_fills(sh, tree);
		tree->filled = true;
		tree->abandoned = false;
	}
	sh->shape += r.touched;
	*work += (RENEW_MOST - r.left) / RENEW_WORK;
	return r.touched;
}
