/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a hidden fault fills: the rights of its page, and which neighbours come along with which
 * rights. The fast and the slow way (mmu/fault/) decide by these functions, and differ in how
 * they get descriptors and host pages. Pure, and inline: the fast way makes no call.
 */
#ifndef AV_MMU_PLAN_H
#define AV_MMU_PLAN_H

#include "mmu/shadow/shadow.h"
#include "mmu/slots/slots.h"

/*
 * The rights that a tree grants. With the MMU on, a tree that both exception levels share does
 * not permit execution of pages that EL1 may execute: EL1 with copies must not run there. For
 * all leaves of a table (av_walk_leaf_rights()), and for one.
 */
static inline u64 av_tree_leaf_rights(const struct av_tree *tree, u64 el1, u64 el0)
{
	switch (tree->key.mode) {
	case AV_MODE_EL1:
	case AV_MODE_EL1_COPIES:
		return el1;
	case AV_MODE_EL0:
		return el0;
	default:
		return tree->key.sctlr ? el0 & ~(el1 & AV_LEAVES * AV_X) : el0;
	}
}

static inline u8 av_tree_rights(const struct av_tree *tree, const struct av_walk *walk)
{
	return av_tree_leaf_rights(tree, walk->el1, walk->el0);
}

/* The same for a table whose leaves are filled as data, if instructions come from copies. */
static inline u64 av_plan_table(const struct av_tree *tree, const struct av_walk_table *table)
{
	u64 rights = av_tree_leaf_rights(tree, table->rights[1], table->rights[0]);

	return tree->key.mode == AV_MODE_EL1_COPIES ? rights & ~(AV_LEAVES * AV_X) : rights;
}

/*
 * Rights for an entry of a slot's page. Read-only slots are never writable; logged pages become
 * writable one by one, when they are written.
 */
static inline u8 av_slot_rights(const struct av_slot *slot, u8 rights, bool written)
{
	u32 flags = READ_ONCE(slot->flags);

	if (unlikely(flags) && (flags & AV_SLOT_READONLY ||
				(flags & AV_SLOT_LOG_DIRTY && !written)))
		rights &= ~AV_W;
	return rights;
}

/* With copies: an instruction accesses its own page. No entry can permit that. */
static __always_inline bool av_plan_own_page(const struct av_tree *tree, u64 va, u64 pc)
{
	return tree->key.mode == AV_MODE_EL1_COPIES && (va ^ pc) < AV_PAGE_SIZE;
}

/*
 * Under mmu_lock: reduce rights to those that a frame's known page is filled with for an access,
 * without logging it. 0: use the slow way.
 */
static __always_inline u8 av_plan_known(const struct av_slot *slot, const struct av_piece *piece,
					unsigned int n, u8 rights, u8 access)
{
	rights = av_frame_rights(piece, n, rights);
	/* Logging the page may make the vCPU exit to the VMM. */
	if (access & ~rights || (rights & AV_W && av_slot_logged(slot)))
		return 0;
	return rights;
}

/* Guest pages filled at one fault: the aligned group around the page. */
#define AV_AROUND		16

/* The first page of the group that contains va. */
static inline u64 av_around(u64 va)
{
	return va & ~(AV_AROUND * AV_PAGE_SIZE - 1);
}

/* Pages of a group to be filled: those without an entry, except the annex's register page. */
static __always_inline u32 av_plan_wanted(u64 first, u32 present, u64 annex)
{
	u64 n = (annex - first) >> AV_PAGE_SHIFT;
	u32 wanted = GENMASK(AV_AROUND - 1, 0) & ~present;

	return annex && unlikely(n < AV_AROUND) ? wanted & ~BIT(n) : wanted;
}

/* The page at fault, in its table: what its neighbours must be like. */
struct av_plan {
	const struct av_tree *tree;
	const struct av_slot *slot;	/* of its frame */
	const struct av_walk_table *table;
	u64 rights;			/* av_plan_table() */
	u64 desc;
	bool copy;			/* it is filled with a copy, to be executed */
};

/* Bits in which a neighbour must agree with the page at fault. */
#define AV_PLAN_ALIKE	(AV_DESC_NG | AV_DESC_CONT)

/* With copies: one is code, the other data. Code is rarely read. */
static __always_inline bool av_plan_other_kind(const struct av_tree *tree, u8 el1, bool copy)
{
	return tree->key.mode == AV_MODE_EL1_COPIES && !(el1 & AV_X) == copy;
}

/*
 * Rights for a neighbour by its descriptor, if its frame is in the slot. 0: do not fill it. It is
 * filled for reading: nobody has written to it.
 */
static __always_inline u8 av_plan_neighbour(const struct av_plan *p, u64 desc)
{
	if ((desc ^ p->desc) & AV_PLAN_ALIKE || desc & p->table->beyond || !(desc & AV_DESC_AF))
		return 0;
	if (av_plan_other_kind(p->tree, av_walk_leaf_rights(p->table->rights[1], desc), p->copy))
		return 0;
	return p->copy ? AV_X :
			 av_slot_rights(p->slot, av_walk_leaf_rights(p->rights, desc), false);
}

#endif /* AV_MMU_PLAN_H */
