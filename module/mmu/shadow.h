/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The shadow tables: a TLB in software, shared by a VM's vCPUs.
 *
 * Pure code. Memory, the real TLB and the memory slots come through struct
 * av_shadow_ops. The caller holds one lock (vm->mmu_lock) around every call;
 * nothing here sleeps.
 *
 * Rules:
 *  - An entry may be missing at any time: a hidden fault brings it back. So
 *    invalidating too much is always right, and no guest table is watched.
 *  - An entry is a 4 KiB page (level 3) or a 2 MiB block (level 2) of the
 *    host's, whatever the guest's own leaf was. The guest invalidates by leaf:
 *    each table remembers the largest guest leaf below it (gspan), and a TLBI
 *    of one address drops all that such a leaf may have filled.
 *  - An entry never changes its output address in place: it is cleared and
 *    the TLB flushed first. Rights may change in place; taking some away
 *    flushes.
 *  - A table page is given back only when no table points to it and the TLB
 *    has been flushed since (struct av_gather keeps it until then).
 *  - Each entry is on the reverse map of its guest frame.
 *
 * Trees. A tree is what one TTBR sees in one mode. TTBR0: one tree serves
 * virtual EL1 and EL0 (AV_MODE_SHARED, rights of EL0) until EL1 needs
 * something that EL0 may not do; from then on EL1 has one of its own
 * (av_tree.split). TTBR1: one for each level. TTBR1's trees hold global
 * entries only and serve every ASID, until the guest maps something non-global
 * there; from then on each ASID has its own (av_shadow.high_tagged).
 */
#ifndef AV_MMU_SHADOW_H
#define AV_MMU_SHADOW_H

#include "lib/av_types.h"
#include "lib/list.h"
#include "mmu/walk.h"
#include "mmu/tlbi.h"

#define AV_ENTRIES		512
#define AV_ROOT_LEVEL		0
#define AV_PAGE_SHIFT		12
#define AV_BLOCK_SHIFT		21
#define AV_BLOCK_PAGES		(1U << (AV_BLOCK_SHIFT - AV_PAGE_SHIFT))

/* The top 2 MiB of the upper half belong to the switch, not to the guest. */
#define AV_WINDOW_BASE		(~0ULL << AV_BLOCK_SHIFT)

/* Guest frame numbers fit in 31 bits: 43 bits of IPA. */
#define AV_GFN_BITS		31

/*
 * A reverse map head, one a guest page, in its slot: the first entry that
 * maps the page, and the caller's own flag.
 */
#define AV_RMAP_FLAG		BIT(31)
#define AV_RMAP_ENTRY		GENMASK(30, 0)

enum av_mode {
	AV_MODE_SHARED,		/* TTBR0, both levels */
	AV_MODE_EL0,		/* TTBR1 as EL0 sees it */
	AV_MODE_EL1,
};

#define AV_ASID_ANY		0x10000

struct av_tree_key {
	u64 base;		/* TTBR_EL1.BADDR */
	u64 tcr;		/* the fields that bear on this half */
	u64 mair;
	u32 asid;		/* or AV_ASID_ANY */
	u8 high, mode;
	u8 sctlr;		/* bit 0 M, bit 1 WXN */
};

struct av_pt;

/* Beside each entry of a table: its child, or its place on the reverse map. */
union av_aux {
	struct av_pt *child;
	struct {
		u32 next;
		u32 prev;	/* or AV_RMAP_FLAG | gfn for the first one */
	};
};

/* A table page of a tree. The allocator gives pte and aux zeroed. */
struct av_pt {
	u64 *pte;
	union av_aux *aux;
	u64 pa;			/* of pte */

	struct av_list node;	/* av_tree.pts, or av_gather.dead */
	struct av_tree *tree;
	u64 va;			/* of its first entry */
	u32 id;			/* index in av_shadow.by_id */
	u16 live;		/* leaves in this table */
	u8 level;
	u8 gspan;		/* log2 of the largest guest leaf here or below */
	bool fixed;		/* root and way to the window: lives with the tree */
};

struct av_tree {
	struct av_tree_key key;
	u64 serial;
	struct av_pt *root;
	struct av_list hash;	/* av_shadow.trees */
	struct av_list lru;	/* av_shadow.lru, the coldest first */
	struct av_list pts;
	u32 nr_pts;
	u32 users;		/* vCPUs that have it loaded */
	bool has_global;
	bool split;
};

struct av_shadow_ops {
	/* A zeroed table or tree that the caller set aside earlier, or NULL. */
	struct av_pt *(*alloc_pt)(void *ctx);
	/* Takes a table back; its entries are all clear unless it is a fixed one. */
	void (*free_pt)(void *ctx, struct av_pt *pt);
	struct av_tree *(*alloc_tree)(void *ctx);
	void (*free_tree)(void *ctx, struct av_tree *tree);
	/* Make written entries visible to the table walkers. */
	void (*publish)(void *ctx);
	/* Flush one page of every ASID, or everything, on all CPUs; waits. */
	void (*flush_page)(void *ctx, u64 va);
	void (*flush_all)(void *ctx);
	/* The reverse map head of a guest page; NULL when it is in no slot. */
	u32 *(*rmap)(void *ctx, u32 gfn);
};

#define AV_TREE_BUCKETS		64

struct av_shadow {
	const struct av_shadow_ops *ops;
	void *ctx;
	u64 window_pa;		/* the level 3 table under AV_WINDOW_BASE */
	u8 attr_normal;		/* AttrIndx of Normal write-back memory */

	struct av_pt **by_id;	/* [max_pts]; a free one holds the next free id */
	u32 max_pts, nr_pts, free_id;

	/* By half and ASID; the last bucket of each is AV_ASID_ANY's. */
	struct av_list trees[2][AV_TREE_BUCKETS + 1];
	struct av_list lru;
	u32 nr_trees;
	/* Of each half, trees of one ASID: all, and those that hold global entries. */
	u32 nr_tagged[2], nr_tagged_global[2];
	u64 next_serial;
	bool high_tagged;
};

/* What an operation has cleared and not yet flushed. */
#define AV_GATHER_PAGES		16
struct av_gather {
	struct av_shadow *sh;
	struct av_list dead;
	u64 va[AV_GATHER_PAGES];
	u8 nr;
	bool all;
};

/* One entry to install. */
struct av_fill {
	u64 va;			/* aligned to the entry */
	u64 pa;
	u32 gfn;
	u8 level;		/* 3: page, 2: block */
	u8 rights;		/* AV_R | AV_W | AV_X */
	u8 gspan;		/* av_walk.span */
	bool global;
	bool only_new;		/* leave what is there */
};

/*
 * Set up over an array for max_pts tables. Every table that exists counts
 * against it; when it is reached av_shadow_fill() says -ENOSPC.
 */
void av_shadow_init(struct av_shadow *sh, const struct av_shadow_ops *ops, void *ctx,
		    struct av_pt **by_id, u32 max_pts);
/* Move to a larger array; returns the old one. */
struct av_pt **av_shadow_grow(struct av_shadow *sh, struct av_pt **by_id, u32 max_pts);
/* Drop every tree; no vCPU may have one loaded. */
void av_shadow_destroy(struct av_shadow *sh);

void av_gather_init(struct av_gather *g, struct av_shadow *sh);
/* Flush and give back. Every gather ends with this. */
void av_gather_finish(struct av_gather *g);

/* The key of a half in a mode; asid as av_regime_asid(). */
void av_tree_key(const struct av_shadow *sh, const struct av_regime *r, bool high, int el,
		 struct av_tree_key *key);
bool av_tree_key_equal(const struct av_tree_key *a, const struct av_tree_key *b);
/*
 * Find or make, and take a reference. NULL when there is no memory set aside,
 * or no room (av_shadow_reclaim() makes some).
 */
struct av_tree *av_tree_get(struct av_shadow *sh, const struct av_tree_key *key);
void av_tree_put(struct av_shadow *sh, struct av_tree *tree);
/* Drop what a tree holds; the tree too when nobody has it loaded. */
void av_tree_drop(struct av_shadow *sh, struct av_tree *tree, struct av_gather *g);
/*
 * Free the coldest trees until at least nr tables were given back; trees that
 * are loaded are emptied when nothing else is left and hard is set.
 */
u32 av_shadow_reclaim(struct av_shadow *sh, u32 nr, bool hard);

/*
 * Install. 0; -ENOMEM no table was set aside; -ENOSPC the budget is reached;
 * -ESTALE a non-global page for a tree that serves every ASID: sh->high_tagged
 * is now set, load again; -EINVAL the address is the switch's.
 */
int av_shadow_fill(struct av_shadow *sh, struct av_tree *tree, const struct av_fill *f);

/* The entry that translates va now, for tests and tracing; 0 when there is none. */
u64 av_shadow_lookup(const struct av_tree *tree, u64 va, int *level);

/* Which of the n pages from va on, within one level 3 table, have a leaf: a bit each. */
u32 av_shadow_present(const struct av_tree *tree, u64 va, unsigned int n);

/* Drop what the guest's invalidation names, and what it might cover. */
void av_shadow_tlbi(struct av_shadow *sh, const struct av_tlbi *op);

/* By guest frame, [gfn, end): drop; take write rights away; take AF away (was any set?). */
void av_shadow_zap_gfns(struct av_shadow *sh, u32 gfn, u32 end, struct av_gather *g);
void av_shadow_wrprotect_gfn(struct av_shadow *sh, u32 gfn, struct av_gather *g);
bool av_shadow_age_gfn(struct av_shadow *sh, u32 gfn, bool clear, struct av_gather *g);

/* Internal to the pure part. */
void av_tree_set_global(struct av_shadow *sh, struct av_tree *tree, bool global);
void av_rmap_add(struct av_shadow *sh, u32 gfn, struct av_pt *pt, u32 idx);
void av_rmap_del(struct av_shadow *sh, struct av_pt *pt, u32 idx);
void av_gather_entry(struct av_gather *g, const struct av_pt *pt, u32 idx);
void av_shadow_clear(struct av_pt *pt, u32 idx, struct av_gather *g);
void av_shadow_zap_range(struct av_tree *tree, u64 start, u64 last, struct av_gather *g);
struct av_pt *av_pt_new(struct av_shadow *sh, struct av_tree *tree, int level, u64 va);
void av_pt_dead(struct av_shadow *sh, struct av_pt *pt, struct av_gather *g);

/* log2 of the bytes that one entry of a table at this level covers. */
static inline int av_level_shift(int level)
{
	return AV_PAGE_SHIFT + 9 * (3 - level);
}

#define AV_PTE_VALID		BIT_ULL(0)
#define AV_PTE_TABLE		BIT_ULL(1)	/* or page, at level 3 */
#define AV_PTE_ATTR		GENMASK_ULL(4, 2)
#define AV_PTE_USER		BIT_ULL(6)
#define AV_PTE_RDONLY		BIT_ULL(7)
#define AV_PTE_SH_INNER		FIELD_PREP(GENMASK_ULL(9, 8), 3)
#define AV_PTE_AF		BIT_ULL(10)
#define AV_PTE_NG		BIT_ULL(11)
#define AV_PTE_ADDR		GENMASK_ULL(47, 12)
/* Set where AV_PTE_RDONLY is not: a writable page by the rules of S1PIE too. */
#define AV_PTE_DBM		BIT_ULL(51)
#define AV_PTE_PXN		BIT_ULL(53)
#define AV_PTE_UXN		BIT_ULL(54)

static inline bool av_pte_is_leaf(const struct av_pt *pt, u32 idx)
{
	u64 pte = pt->pte[idx];

	return pte & AV_PTE_VALID && (pt->level == 3 || !(pte & AV_PTE_TABLE));
}

#endif /* AV_MMU_SHADOW_H */
