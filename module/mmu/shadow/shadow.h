/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The shadow tables: a software TLB that the vCPUs of a VM share.
 *
 * Pure code: memory, the hardware's TLB and the memory slots are reached through struct
 * av_shadow_ops. The caller holds one lock (vm->mmu_lock) around every call. Nothing here
 * sleeps.
 *
 * Rules:
 *  - Any entry may be missing at any time: a hidden fault restores it. So invalidating too much
 *    is always correct, and guest tables need no write protection.
 *  - An entry is a 4 KiB page (level 3) or a 2 MiB block (level 2) of the host's, whatever the
 *    size of the guest's leaf. The guest invalidates leaves, so each table records the largest
 *    guest leaf in or below it (gspan), and a TLBI of one address drops all entries that such a
 *    leaf may have filled.
 *  - An entry never changes its output address in place: it is cleared and flushed first.
 *    Rights may change in place; removing rights requires a flush.
 *  - Each page entry is on the reverse map of its guest frame, each block on that of its 2 MiB.
 *  - No call does work that grows with what a guest has mapped. Operations on whole tables
 *    unlink the topmost table and flush the TLB (struct av_gather). The tables below are then
 *    doomed: no walker can reach them. av_shadow_reap() takes them apart, some per call; only
 *    it frees tables. The return value of a call says if work is left; the caller then lets
 *    others take the lock and calls again.
 *  - Every flush names the trees that it is for (struct av_flush).
 *  - A TLBI by ASID may keep tables. Walkers cannot reach a kept table, and it is compared with
 *    the guest's table before it is linked again (resync.c). Its entries stay on the reverse map,
 *    so that operations by frame find them. Single entries may be kept in the same way
 *    (asleep).
 *
 * Trees. A tree is one TTBR's view in one mode. TTBR0: one tree serves virtual EL1 and EL0
 * (AV_MODE_SHARED, EL0's rights), until EL1 needs rights that EL0 must not have, or EL0
 * executes pages that EL1 may execute too. From then on that exception level has its own tree
 * (av_tree.split). TTBR1: one tree per exception level, and another for EL1 when it runs from
 * copies of its code. TTBR1's trees hold only global entries and serve every ASID until the
 * guest maps a non-global page there; then each ASID gets its own (av_shadow.high_tagged). A
 * tree also serves every ASID if it belongs to the empty TTBR0 tables that a kernel uses
 * between two processes (av_shadow.idle_base). Each of TTBR1's trees has the window at one
 * position for life, and serves only vCPUs that have it there (mmu/shadow/position.h).
 *
 * Roots. No vCPU runs on a tree's own root table. Each has a copy (struct av_root), which is
 * filled and cleared together with the tree's root.
 */
#ifndef AV_MMU_SHADOW_H
#define AV_MMU_SHADOW_H

#include "lib/av_types.h"
#include "lib/list.h"
#include "mmu/shadow/gather.h"
#include "mmu/shadow/tlbi.h"
#include "mmu/slots/gfn_info.h"
#include "mmu/walk/walk.h"
#include "switch/window_desc.h"

#define AV_ENTRIES		512
#define AV_ROOT_LEVEL		0
#define AV_PAGE_SHIFT		12
#define AV_PAGE_SIZE		BIT(AV_PAGE_SHIFT)
#define AV_PAGE_MASK		(~(AV_PAGE_SIZE - 1))
#define AV_BLOCK_SHIFT		21
#define AV_BLOCK_PAGES		(1U << (AV_BLOCK_SHIFT - AV_PAGE_SHIFT))
#define AV_BLOCK_SIZE		BIT(AV_BLOCK_SHIFT)
#define AV_BLOCK_MASK		(~(AV_BLOCK_SIZE - 1))

/* Guest frame numbers fit in 31 bits: 43 bits of IPA. */
#define AV_GFN_BITS		31

/*
 * The head of a reverse map, one per guest page: the name of the first entry that maps the
 * page, in 31 bits, or 0. If the flag is set, the value is a frame number, not an entry's name.
 */
#define AV_RMAP_FLAG		BIT(31)

enum av_mode {
	AV_MODE_SHARED,		/* TTBR0, both exception levels */
	AV_MODE_EL0,		/* EL0's view */
	AV_MODE_EL1,
	AV_MODE_EL1_COPIES,	/* EL1's view, with its code in copies (mmu/code/copies.h) */
};

#define AV_ASID_ANY		0x10000

struct av_tree_key {
	u64 base;		/* TTBR_EL1.BADDR */
	u64 tcr;		/* the fields that affect this half */
	u64 mair;
	u32 asid;		/* or AV_ASID_ANY */
	u8 high, mode;
	u8 sctlr;		/* bit 0 M, bit 1 WXN */
	u16 owner;		/* vCPU that owns the tree (mmu/code/annex.h), or 0 */
	u16 window;		/* TTBR1: the window's position; else 0 */
};

struct av_pt;
struct av_resync;

/* For each entry of a table: the table below, or the entry's links on the reverse map. */
union av_aux {
	struct av_pt *child;
	struct {
		u32 next;
		u32 prev;	/* for the first entry: AV_RMAP_FLAG | gfn */
	};
};

/* A shadow table. The allocator returns pte and aux zeroed, and desc NULL. */
#define AV_PT_PAGES		2	/* pte and aux */
struct av_pt {
	u64 *pte;
	union av_aux *aux;
	u64 pa;			/* of pte */
	u64 *desc;		/* level 3: each entry's av_walk_key(), or 0; or NULL */
	u64 table;		/* level 3: the guest's table, where place is not 0 … */
	u16 place;		/* … 1 and the index in av_shadow.by_table (moved.c) */

	struct av_list node;	/* av_shadow.doomed, av_gather.unlinked, or a pool's */
	struct av_tree *tree;
	u64 va;			/* guest address of the first entry */
	u64 gen;		/* the tree's gen when this table was last compared */
	u32 id;			/* index in av_shadow.by_id */
	u16 live;		/* entries, except those for fixed tables … */
	u16 asleep;		/* … and level-3 leaves that are asleep, av_pte_is_asleep() */
	u8 level;
	u8 gspan;		/* log2 of the largest guest leaf in this table or below */
	bool fixed;		/* root, or on the way to the window: lives as long as the tree */
	u64 used[AV_ENTRIES / 64];	/* a bit per entry: it is not 0 */
};

/* A vCPU's copy of a tree's root table. */
struct av_root {
	u64 *pte;
	u64 pa;			/* of pte */
	struct av_list node;	/* av_tree.copies */
};

/* Address ranges of the last few invalidations: number n is at index n % AV_RECENT. */
#define AV_RECENT		8
struct av_recent {
	u64 start, last;
};

/* A value that is no page's address. */
#define AV_CLEAN_NONE		1

struct av_tree {
	struct av_tree_key key;
	u64 serial;		/* never reused; identifies the tree to switch/tlb.h */
	u64 gen;		/* counts invalidations that kept the tables … */
	u64 first_gen;		/* … its value when the tree got its key */
	u64 seq;		/* counts invalidations that reached the tree … */
	struct av_recent recent[AV_RECENT];	/* … and their ranges */
	u64 seq_tables;		/* counts those of more than leaves: av_tree_seq_tables() */
	u64 clean;		/* a page for which the tree has no entry, or AV_CLEAN_NONE */
	struct av_pt *root;
	struct av_list copies;	/* struct av_root */
	struct av_list hash;	/* av_shadow.trees, by serial */
	struct av_list lru;	/* av_shadow.lru or av_shadow.loaded */
	u32 nr_pts;		/* tables, doomed ones too: the tree is freed after them */
	u32 users;		/* vCPUs that have it loaded */
	u32 barren_round;	/* the last of av_shadow.barren_round that found it empty */
	bool has_global;
	bool filled;		/* an entry was filled since the tree got its key */
	bool abandoned;		/* gen was incremented, and nothing filled or linked since */
	u8 split;		/* AV_MODE_SHARED: exception levels that have their own tree */
	bool dead;		/* dropped: cannot be found any more */
};

/* Tables and trees preallocated for a call. The caller owns the pool. */
struct av_memcache {
	struct av_list pts;
	u32 nr;
	u64 *descs;		/* pages for av_pt.desc, linked by their first words */
	u32 nr_descs;
	struct av_tree *tree;
};

struct av_shadow_ops {
	/* Take back a table, with all entries clear, or a tree. pool may be NULL. */
	void (*free_pt)(void *ctx, struct av_pt *pt, struct av_memcache *pool);
	void (*free_tree)(void *ctx, struct av_tree *tree, struct av_memcache *pool);
	/* Pages (of the pool) and trees were used. */
	void (*used)(void *ctx, int pages, int trees);
	/* av_tree_seq_tables() has changed for some tree. */
	void (*tables_gone)(void *ctx);
	/* A kept table was linked again, with this many of its entries. */
	void (*relinked)(void *ctx, unsigned int entries);
	/*
	 * Read n words within one page of guest memory: returns their address, for one read of
	 * each, or copy, filled with one read of each. NULL if they cannot be read, or if copy
	 * is NULL and they can only be copied.
	 */
	const u64 *(*look)(void *ctx, u64 ipa, u64 *copy, unsigned int n);
	/* Make written entries visible to table walkers. */
	void (*publish)(void *ctx);
	/* Flush on all CPUs, and wait. Returns the number of TLBIs. */
	unsigned int (*flush)(void *ctx, const struct av_flush *f);
	/*
	 * The reverse map head of a guest page (level 3), or of the blocks for the 2 MiB from
	 * gfn on (level 2). NULL: gfn is in no slot.
	 */
	u32 *(*rmap)(void *ctx, u32 gfn, int level);
};

/*
 * The page of a one-page TLBI, usually of the last one. Such a TLBI reaches the trees of every ASID
 * and, where there are trees of single ASIDs too, at most one tree of its own ASID. Since then only
 * filled, the last tree of the half that got any entry, can have got an entry for the page. This
 * helps kernels that invalidate one page again and again: Linux patches its text through one of its
 * own pages, or changes a page's protection back and forth.
 */
struct av_swept {
	u64 va;			/* or AV_CLEAN_NONE */
	u64 named;		/* the page of the last op that was not recorded in va */
	bool every;		/* there were only trees of every ASID; else … */
	u32 asid;		/* … the TLBI's, and its tree, or NULL: none since has this ASID */
	struct av_tree *own;
	struct av_tree *filled;	/* or NULL: none was filled */
	bool several;		/* more than one tree was filled */
	/* Cached: the level-3 table for va in one tree, while shape is the shadow's; or NULL. */
	struct av_pt *pt;
	u64 shape;
};

#define AV_TREE_BUCKETS		64

/* Most fixed tables of a tree: the root, and in the high half those that lead to the window. */
#define AV_TREE_PTS		3

#define AV_BY_TABLE		128

/* Limits of a shadow. */
struct av_shadow_limits {
	u32 trees;		/* a search may look at all of them */
	u32 pts;		/* tables of all kinds … */
	u32 loaded_pts;		/* … of which this many are only for fixed tables of loaded trees */
};

struct av_shadow {
	const struct av_shadow_ops *ops;
	void *ctx;
	u64 window_pa;		/* the window's level-3 table */
	/* mmu/shadow/position.h: the window's position, and which positions the guest uses */
	u16 window;
	u64 touched[AV_WINDOW_POSITIONS / 64];
	u64 memory;		/* of leaves: AttrIndx of Normal write-back memory, and SH */

	struct av_shadow_limits max;
	struct av_pt **by_id;	/* [max.pts]; free places form a list of free ids */
	u32 nr_pts, free_id;
	u32 loaded_pts;		/* fixed tables of loaded trees */
	u32 nr_descs;		/* av_pt.desc pages in use */
	u32 fresh_id;		/* ids from here on were never used */
	struct av_list doomed;	/* unlinked and flushed tables */
	struct av_pt *by_table[AV_BY_TABLE];	/* moved.c */
	/* For the ops: the frames that rmap() found last, or none. */
	struct av_gfn_info_part last_part;

	/* By half and ASID. The last bucket of each half is for AV_ASID_ANY. */
	struct av_list trees[2][AV_TREE_BUCKETS + 1];	/* oldest first */
	struct av_list lru;	/* trees that no vCPU has loaded, least recently used first */
	struct av_list loaded;	/* the others, in the order in which reclaim takes from them */
	struct av_tree *spare;	/* see av_tree_retire(); or NULL */
	u32 no_heirs;		/* see av_shadow_forbid_heirs() */
	u32 nr_trees, nr_loaded;
	/* Loaded trees that reclaim found empty in this round. A tree that gets a table ends it. */
	u32 barren, barren_round;
	/* By half: trees of a single ASID; those of them with global entries. */
	u32 nr_tagged[2], nr_tagged_global[2];
	u64 seq_va[2];		/* number of TLBIs by address, by half … */
	struct av_recent recent_va[2][AV_RECENT];	/* … and their ranges */
	u64 seq_asids;		/* number of TLBIs by ASID */
	struct av_swept swept[2];	/* by half */
	/*
	 * Counts tables that were unlinked, and tables that got a guest leaf larger than their
	 * entries. Cached pointers to tables are valid while it does not change.
	 */
	u64 shape;
	u64 next_serial;
	bool high_tagged;
	/*
	 * idle_base: the TTBR0 tables whose tree serves every ASID, until a non-global page is
	 * filled. idle_last, idle_asid: tables and ASID of the last tree that a vCPU let go empty.
	 * If the same tables come twice in a row, with another ASID, they become idle_base.
	 * idle_tries: how often that may still turn out wrong.
	 */
	u64 idle_base, idle_last;
	u32 idle_asid;
	u8 idle_tries;
};

/* A value that is no TTBR_EL1.BADDR. */
#define AV_NO_BASE		(~0ULL)
#define AV_IDLE_TRIES		8

/* Start another round of looking for loaded trees that are empty. */
static inline void av_barren_anew(struct av_shadow *sh)
{
	sh->barren_round += !!sh->barren;
	sh->barren = 0;
}

/* One entry to install. */
struct av_fill {
	u64 va;			/* aligned to the entry's size */
	u64 pa;
	u64 desc;		/* av_walk_key() of a guest's level-3 leaf; 0: of another leaf */
	u64 table;		/* with desc: IPA of the guest's level-3 table */
	u32 *head;		/* gfn's reverse map head, if known; or NULL */
	u32 gfn;
	u8 level;		/* 3: page, 2: block */
	u8 rights;		/* AV_R | AV_W | AV_X */
	u8 gspan;		/* av_walk.span */
	bool global : 1;
	bool only_new : 1;	/* do not replace an existing entry */
};

/*
 * Set up a shadow with an array for max->pts tables. All tables count towards its limits, doomed
 * ones too: av_shadow_fill() returns -ENOSPC when they are reached.
 */
void av_shadow_init(struct av_shadow *sh, const struct av_shadow_ops *ops, void *ctx,
		    struct av_pt **by_id, const struct av_shadow_limits *max);
/* Switch to a larger array. Returns the old one, which the caller frees. */
struct av_pt **av_shadow_grow(struct av_shadow *sh, struct av_pt **by_id,
			      const struct av_shadow_limits *max);

/* The key for a half in a mode, without owner and window. Its ASID is that of av_regime_asid(). */
void av_tree_key(const struct av_shadow *sh, const struct av_regime *r, bool high, int el,
		 struct av_tree_key *key);
bool av_tree_key_equal(const struct av_tree_key *a, const struct av_tree_key *b);
/*
 * Find or make a tree, and take a reference: a vCPU loads it. NULL if the pool is short, or no
 * more tables or trees are allowed (av_shadow_reclaim() helps).
 */
struct av_tree *av_tree_get(struct av_shadow *sh, const struct av_tree_key *key,
			    struct av_memcache *pool);
void av_tree_put(struct av_shadow *sh, struct av_tree *tree);
/*
 * Call this for a tree that no vCPU has loaded. If all of its tables are kept, its process has
 * probably exited: the tree waits for the next process that needs one of its kind, and passes
 * on its kept tables (resync.c). One tree waits, if it is not large; others' tables are doomed.
 */
void av_tree_retire(struct av_shadow *sh, struct av_tree *tree);

/* A vCPU lets a tree go: note if its guest tables were never used (av_shadow.idle_base). */
void av_tree_note_idle(struct av_shadow *sh, const struct av_tree *tree);

/* Make root, all 0, a copy of the tree's root and keep it up to date. No walker may be using it. */
void av_root_attach(struct av_root *root, struct av_tree *tree);
/* Undo av_root_attach(): root is all 0 again. */
void av_root_detach(struct av_root *root, const struct av_tree *tree);

/*
 * Make room: take doomed tables apart, or else drop entries of the least recently used tree; if
 * hard is set, even of one that a vCPU has loaded. Returns the number of tables freed; *more:
 * another call may free more.
 */
u32 av_shadow_reclaim(struct av_shadow *sh, bool hard, struct av_memcache *pool, bool *more);

/* Take doomed tables apart, a bounded number per call. True if there are more. */
bool av_shadow_reap(struct av_shadow *sh, struct av_memcache *pool);
/* The same for very few tables, for callers with interrupts off. */
void av_shadow_reap_few(struct av_shadow *sh, struct av_memcache *pool);

/*
 * Install an entry. The caller calls av_shadow_publish() after the last one. 0; -ENOMEM: the
 * pool is empty; -ENOSPC: no more tables are allowed; -EAGAIN: much work was done on the way, call
 * again; -ESTALE: non-global page in a tree that serves every ASID: the tree's key has changed,
 * load again; -EINVAL: the tree has the window there.
 */
int av_shadow_fill(struct av_shadow *sh, struct av_tree *tree, const struct av_fill *f,
		   struct av_memcache *pool);

/*
 * Counts invalidations of guest tables that a walk for this tree may have used. A TLBI by ASID
 * invalidates all tables, even those that lead to global leaves.
 */
static inline u64 av_tree_seq_tables(const struct av_shadow *sh, const struct av_tree *tree)
{
	return READ_ONCE(tree->seq_tables) +
	       (tree->key.asid == AV_ASID_ANY ? READ_ONCE(sh->seq_asids) : 0);
}

static inline void av_shadow_publish(struct av_shadow *sh)
{
	sh->ops->publish(sh->ctx);
}

/* The level-3 table for va, or NULL. */
struct av_pt *av_shadow_table(const struct av_tree *tree, u64 va);

/* The entry for va, for tests and tracing; 0: none. */
u64 av_shadow_lookup(const struct av_tree *tree, u64 va, int *level);

/*
 * Would a block at va replace only a block or an empty table? If the guest's pages are or have
 * become as small as the host's, pages are filled one by one until all of them are gone. The table
 * beside the window has no blocks: to drop all of a tree then takes a step per table.
 */
bool av_shadow_takes_block(const struct av_tree *tree, u64 va);

/*
 * Count pages and blocks, on request: looks at some tables, from id on, and adds theirs. True
 * if there are more tables.
 */
struct av_leaves {
	u32 id;
	u64 pages, blocks;
};

bool av_shadow_count(const struct av_shadow *sh, struct av_leaves *n);

/* A bit for each of n pages from va on, all in one level-3 table: it has a leaf. */
u32 av_shadow_present(const struct av_tree *tree, u64 va, unsigned int n);

/* Progress of a guest's invalidation. Start with all 0 except op, keep and renew. */
struct av_tlbi_walk {
	struct av_tlbi op;
	bool keep;		/* by ASID: keep the tables of loaded trees */
	const struct av_resync *renew;	/* and compare those in use (resync.h), or NULL */
	u64 newest;		/* trees with this serial or later hold nothing that op names */
	u16 place;		/* index of the current list in av_shadow.trees[][] */
	u64 done;		/* trees in that list up to this serial are done */
	u64 begun, va;		/* tree under way, and where to continue in it */
	u64 kept;		/* the last tree whose gen was incremented */
};

/* Drop some of the entries that op names or may cover. True if there are more. */
bool av_shadow_tlbi(struct av_shadow *sh, struct av_tlbi_walk *w, struct av_gather *g);

/* Trees that lost an entry for one page. The caller flushes the page in each of them. */
#define AV_ZAPPED_TREES		4
struct av_zapped {
	unsigned int nr;
	u64 serial[AV_ZAPPED_TREES];
};

/*
 * The same for an op that names one page. False if there are many trees or a larger leaf:
 * nothing or only a part is done, and doing it again does no harm.
 */
bool av_shadow_tlbi_page(struct av_shadow *sh, struct av_tlbi_page op, struct av_zapped *z);

/*
 * The level-3 table of swept->filled that has the page. NULL: there is none, or a guest leaf
 * larger than an entry may have filled something on the way.
 */
struct av_pt *av_swept_table(struct av_shadow *sh, struct av_swept *swept);

/*
 * Is a leaf of 2^span bytes stale, if it was read at va when the sequence number was since? Yes, if
 * an invalidation after that named it, or if not all of these are recorded any more. seq and recent
 * are those of a tree or of a half.
 */
bool av_tlbi_voids(u64 seq, const struct av_recent *recent, u64 since, u64 va, u8 span);

/*
 * Drop a guest frame's entries; or remove their write rights (or drop them, if there are very
 * many). True if the frame has more: finish the gather, begin another, call again.
 */
bool av_shadow_zap_gfn(struct av_shadow *sh, u32 gfn, struct av_gather *g);
bool av_shadow_wrprotect_gfn(struct av_shadow *sh, u32 gfn, struct av_gather *g);
/* Drop the blocks over gfn's 2 MiB, as av_shadow_zap_gfn(). */
bool av_shadow_zap_blocks(struct av_shadow *sh, u32 gfn, struct av_gather *g);
/* Does any entry have AF set? clear: clear AF. Looks at a limited number of entries. */
bool av_shadow_age_gfn(struct av_shadow *sh, u32 gfn, bool clear, struct av_gather *g);
/* In two steps, for callers that have the frame's head: its pages, and the blocks over it. */
bool av_shadow_age_head(struct av_shadow *sh, u32 head, bool clear, struct av_gather *g);
bool av_shadow_age_blocks(struct av_shadow *sh, u32 gfn, bool clear, struct av_gather *g);

/* Internal to the pure part. */
void av_tree_set_global(struct av_shadow *sh, struct av_tree *tree, bool global);
/* A page of one ASID belongs in a tree of every ASID: change the key. */
void av_tree_needs_asid(struct av_shadow *sh, const struct av_tree *tree);
/* Drop a leaf; the gather flushes. */
void av_shadow_clear(struct av_pt *pt, u32 idx, struct av_gather *g);
void av_shadow_unlink(struct av_pt *pt, u32 idx, struct av_gather *g);
/* Write an entry that is not a leaf; if the table is a root, in all copies too. */
void av_pt_set(struct av_pt *pt, u32 idx, u64 val);
/*
 * Drop some entries in [start, last] of a tree. True if there are more; *next is where to
 * continue.
 */
bool av_shadow_zap_range(struct av_tree *tree, u64 start, u64 last, struct av_gather *g, u64 *next);
struct av_pt *av_pt_new(struct av_shadow *sh, struct av_tree *tree, int level, u64 va,
			struct av_memcache *pool);
/* Drop some of a tree's entries, as av_shadow_zap_range(); at last the tree, if it is unused. */
bool av_tree_drop(struct av_shadow *sh, struct av_tree *tree, struct av_gather *g, u64 *next);
bool av_tree_empty(const struct av_tree *tree);
void av_pt_free_id(struct av_shadow *sh, struct av_pt *pt);

/*
 * May no more tables be filled? The remaining ones are for loaded trees. Of max.pts ids, 0 is never
 * used.
 */
static inline bool av_shadow_full(const struct av_shadow *sh)
{
	u32 left = sh->max.loaded_pts - min(sh->loaded_pts, sh->max.loaded_pts);

	return sh->nr_pts + left + 1 >= sh->max.pts;
}

/* log2 of the bytes that one entry of a table at this level covers. */
static inline int av_level_shift(int level)
{
	return AV_PAGE_SHIFT + 9 * (3 - level);
}

#define AV_PTE_ATTR		GENMASK_ULL(4, 2)
#define AV_PTE_USER		BIT_ULL(6)
#define AV_PTE_RDONLY		BIT_ULL(7)
#define AV_PTE_SH_INNER		FIELD_PREP(GENMASK_ULL(9, 8), 3)
#define AV_PTE_AF		BIT_ULL(10)
#define AV_PTE_NG		BIT_ULL(11)
#define AV_PTE_ADDR		GENMASK_ULL(47, 12)
/* Set if AV_PTE_RDONLY is not: makes a page writable under S1PIE, too. */
#define AV_PTE_DBM		BIT_ULL(51)
#define AV_PTE_PXN		BIT_ULL(53)
#define AV_PTE_UXN		BIT_ULL(54)

static inline bool av_pte_is_leaf(const struct av_pt *pt, u32 idx)
{
	u64 pte = pt->pte[idx];

	return pte & AV_PTE_VALID && (pt->level == 3 || !(pte & AV_PTE_TABLE));
}

/* Is it a sleeping level-3 leaf: its table keeps it, but no walker can use it (resync.c)? */
static inline bool av_pte_is_asleep(const struct av_pt *pt, u32 idx)
{
	u64 pte = pt->pte[idx];

	return pt->level == 3 && pte && !(pte & AV_PTE_VALID);
}

/* The table below entry idx, linked or kept; NULL for a leaf, no entry, or the window. */
static inline struct av_pt *av_pt_below(const struct av_pt *pt, u32 idx)
{
	if (pt->level == 3 || !(pt->pte[idx] & AV_PTE_TABLE))
		return NULL;
	return pt->aux[idx].child;
}

/* The same, only if it is linked. */
static inline struct av_pt *av_pt_child(const struct av_pt *pt, u32 idx)
{
	return pt->pte[idx] & AV_PTE_VALID ? av_pt_below(pt, idx) : NULL;
}

static inline void av_pt_note_used(struct av_pt *pt, u32 idx, bool used)
{
	if (used)
		pt->used[idx / 64] |= BIT_ULL(idx % 64);
	else
		pt->used[idx / 64] &= ~BIT_ULL(idx % 64);
}

/* The first entry from idx on that is not 0; AV_ENTRIES: none. */
static inline u32 av_pt_next(const struct av_pt *pt, u32 idx)
{
	u32 i = idx / 64;
	u64 word;

	if (idx >= AV_ENTRIES)
		return AV_ENTRIES;
	for (word = pt->used[i] >> idx % 64 << idx % 64; !word; word = pt->used[i])
		if (++i == AV_ENTRIES / 64)
			return AV_ENTRIES;
	return i * 64 + __builtin_ctzll(word);
}

static inline u32 av_pt_index(u64 va, int level)
{
	return (va >> av_level_shift(level)) & (AV_ENTRIES - 1);
}

/* Is the entry not 0? */
static inline bool av_pt_has(const struct av_pt *pt, u32 idx)
{
	return pt->used[idx / 64] >> idx % 64 & 1;
}

/* A bit for each of n pages from va on with an entry in a level-3 table; n: power of two, to 32. */
static inline u32 av_pt_group(const struct av_pt *pt, u64 va, unsigned int n)
{
	u32 idx = av_pt_index(va, 3);

	return pt->used[idx / 64] >> idx % 64 & GENMASK(n - 1, 0);
}

/* The same for leaves that are not asleep. */
static inline u32 av_pt_present(const struct av_pt *pt, u64 va, unsigned int n)
{
	u32 used = av_pt_group(pt, va, n), left, idx = av_pt_index(va, 3);

	if (likely(!pt->asleep))
		return used;
	for (left = used; left; left &= left - 1)
		if (!(pt->pte[idx + __builtin_ctz(left)] & AV_PTE_VALID))
			used &= ~(left & -left);
	return used;
}

/* A leaf's descriptor without its address. */
static inline u64 av_leaf_desc(const struct av_shadow *sh, u8 level, u8 rights)
{
	return AV_PTE_VALID | AV_PTE_AF | AV_PTE_NG | AV_PTE_PXN | sh->memory |
	       (level == 3 ? AV_PTE_TABLE : 0) |
	       (rights & AV_R ? AV_PTE_USER : 0) | (rights & AV_W ? AV_PTE_DBM : AV_PTE_RDONLY) |
	       (rights & AV_X ? 0 : AV_PTE_UXN);
}

#endif /* AV_MMU_SHADOW_H */
