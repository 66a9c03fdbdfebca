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
 *  - Each entry is on the reverse map of its guest frame, a block on that of
 *    its 2 MiB.
 *  - No call does work that grows with what a guest has mapped. An operation on
 *    whole tables unlinks the topmost of them and flushes the TLB (struct
 *    av_gather); the tables are doomed: out of every walker's reach.
 *    av_shadow_reap() takes them apart, a part a call, and only it gives a
 *    table back. A call's return value says whether work is left; the caller
 *    offers the lock and calls again.
 *  - Every flush names the trees that it is for (struct av_flush).
 *  - A TLBI of an ASID may keep tables: out of every walker's reach, and compared
 *    with the guest's before they are reached again (kept.c). Their entries stay on
 *    the reverse map, so that all that goes by frame finds them. So may single entries.
 *
 * Trees. A tree is one TTBR's view in one mode. TTBR0: one tree serves virtual
 * EL1 and EL0 (AV_MODE_SHARED, rights of EL0) until EL1 needs rights that EL0
 * may not have, or EL0 executes pages that EL1 may execute too; from then on
 * that level has one of its own (av_tree.split). TTBR1: one for each level, and
 * another for EL1 where it runs from copies of its code. TTBR1's trees hold
 * global entries only and serve every ASID, until the guest maps something
 * non-global there; from then on each ASID has its own (av_shadow.high_tagged). So does
 * TTBR0's of the tables that a kernel has there between two processes, by each ASID in
 * turn, and that map nothing (av_shadow.idle_base).
 *
 * Roots. No vCPU runs on a tree's own root table: each has a copy of it
 * (struct av_root), filled with the tree and cleared with it.
 */
#ifndef AV_MMU_SHADOW_H
#define AV_MMU_SHADOW_H

#include "lib/av_types.h"
#include "lib/list.h"
#include "mmu/frames.h"
#include "mmu/gather.h"
#include "mmu/walk.h"
#include "mmu/tlbi.h"
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
 * A reverse map head, one a guest page: the name of the first entry that maps
 * the page, 31 bits, or 0. The flag says that a frame is meant, not an entry.
 */
#define AV_RMAP_FLAG		BIT(31)

enum av_mode {
	AV_MODE_SHARED,		/* TTBR0, both levels */
	AV_MODE_EL0,		/* as EL0 sees it */
	AV_MODE_EL1,
	AV_MODE_EL1_COPIES,	/* as EL1 does, its code in copies (mmu/copies.h) */
};

#define AV_ASID_ANY		0x10000

struct av_tree_key {
	u64 base;		/* TTBR_EL1.BADDR */
	u64 tcr;		/* the fields that bear on this half */
	u64 mair;
	u32 asid;		/* or AV_ASID_ANY */
	u8 high, mode;
	u8 sctlr;		/* bit 0 M, bit 1 WXN */
	u16 owner;		/* one vCPU's (mmu/annex.h), or 0 */
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

/* A table page of a tree. The allocator gives pte and aux zeroed, and no desc. */
#define AV_PT_PAGES		2	/* pte and aux */
struct av_pt {
	u64 *pte;
	union av_aux *aux;
	u64 pa;			/* of pte */
	u64 *desc;		/* level 3: av_walk_key() of each entry, 0 where it has none; or NULL */

	struct av_list node;	/* av_shadow.doomed, av_gather.unlinked, or a pool's */
	struct av_tree *tree;
	u64 va;			/* of its first entry */
	u64 gen;		/* the tree's, when what is linked here was last made good */
	u32 id;			/* index in av_shadow.by_id */
	u16 live;		/* entries, but for those that lead to fixed tables, and … */
	u16 asleep;		/* … these, of level 3: av_pte_is_asleep() */
	u8 level;
	u8 gspan;		/* log2 of the largest guest leaf here or below */
	bool fixed;		/* root and way to the window: lives with the tree */
	u64 used[AV_ENTRIES / 64];	/* a bit for each entry that is not 0 */
};

/* A vCPU's copy of a tree's root table. */
struct av_root {
	u64 *pte;
	u64 pa;			/* of pte */
	struct av_list node;	/* av_tree.copies */
};

/* Addresses that the last few invalidations named: the n'th is at n % AV_RECENT. */
#define AV_RECENT		8
struct av_recent {
	u64 start, last;
};

/* No page's address. */
#define AV_CLEAN_NONE		1

struct av_tree {
	struct av_tree_key key;
	u64 serial;		/* never used twice; names it to the TLB's owner */
	u64 gen;		/* counts the invalidations that kept its tables … */
	u64 first_gen;		/* … and this was the first that it had with its key */
	u64 seq;		/* counts the invalidations that reached it … */
	struct av_recent recent[AV_RECENT];	/* … and these were the last */
	u64 seq_tables;		/* counts those of them that name more than leaves: av_tree_seq_tables() */
	u64 clean;		/* a page where it has nothing, or AV_CLEAN_NONE */
	struct av_pt *root;
	struct av_list copies;	/* struct av_root */
	struct av_list hash;	/* av_shadow.trees, by serial */
	struct av_list lru;	/* av_shadow.lru, the coldest first */
	u32 nr_pts;		/* tables, doomed ones too: it is freed after them */
	u32 users;		/* vCPUs that have it loaded */
	bool has_global;
	bool filled;		/* something was, since it has its key */
	u8 split;		/* of AV_MODE_SHARED, by level: it has a tree of its own */
	bool dead;		/* dropped, nobody finds it any more */
};

/* Tables and trees set aside for a call; the caller keeps the pool. */
struct av_pool {
	struct av_list pts;
	u32 nr;
	u64 *descs;		/* pages for av_pt.desc: the first word of each leads to the next */
	u32 nr_descs;
	struct av_tree *tree;
};

struct av_shadow_ops {
	/* Take back a table or a tree; pool may be NULL. A table's entries are all clear. */
	void (*free_pt)(void *ctx, struct av_pt *pt, struct av_pool *pool);
	void (*free_tree)(void *ctx, struct av_tree *tree, struct av_pool *pool);
	/* Pages of the pool, or trees, were taken. */
	void (*used)(void *ctx, int pages, int trees);
	/* A kept table was linked once more, with so many of its entries. */
	void (*relinked)(void *ctx, unsigned int entries);
	/*
	 * n words of the guest's memory, of one page: where they are, each to be read once, or
	 * else copied, each at once. NULL where they cannot be read, or without a copy cannot.
	 */
	const u64 *(*look)(void *ctx, u64 ipa, u64 *copy, unsigned int n);
	/* Make written entries visible to the table walkers. */
	void (*publish)(void *ctx);
	/* Flush on all CPUs and wait; returns the number of TLBI. */
	unsigned int (*flush)(void *ctx, const struct av_flush *f);
	/*
	 * The reverse map head of a guest page (level 3), or of the blocks that
	 * map the 2 MiB from gfn on (level 2). NULL when it is in no slot.
	 */
	u32 *(*rmap)(void *ctx, u32 gfn, int level);
};

/*
 * The page that a TLBI named last, in the trees of every ASID: none of them had it then, and
 * of those that were filled since, whatever the page, this is the last. A kernel that writes
 * through one page of its own, as Linux patches its text, invalidates it time after time.
 */
struct av_swept {
	u64 va;			/* or AV_CLEAN_NONE */
	struct av_tree *filled;	/* or NULL: none was */
	bool several;		/* others were, too */
	/* The level 3 table that the page is in, of one tree, as long as shape is the shadow's; or NULL. */
	struct av_pt *pt;
	u64 shape;
};

#define AV_TREE_BUCKETS		64

struct av_shadow {
	const struct av_shadow_ops *ops;
	void *ctx;
	u64 window_pa;		/* the level 3 table under AV_WINDOW_START */
	u8 attr_normal;		/* AttrIndx of Normal write-back memory */

	struct av_pt **by_id;	/* [max_pts]; a free one holds the next free id */
	u32 max_pts, nr_pts, free_id;
	u32 nr_descs;		/* av_pt.desc that are not NULL */
	u32 fresh_id;		/* ids from this one on were never used */
	struct av_list doomed;	/* tables: unlinked and flushed */
	/* The ops' to keep: frames that rmap() found last, or none. */
	struct av_frames_part last_part;

	/* By half and ASID; the last bucket of each is AV_ASID_ANY's. */
	struct av_list trees[2][AV_TREE_BUCKETS + 1];	/* oldest first */
	struct av_list lru;
	struct av_tree *spare;	/* av_tree_retire(), or NULL */
	u32 nr_trees;
	/* Trees of one ASID, by half: all, and those that hold global entries. */
	u32 nr_tagged[2], nr_tagged_global[2];
	u64 seq_va[2];		/* TLBI by address so far, of each half … */
	struct av_recent recent_va[2][AV_RECENT];	/* … and these were the last */
	u64 seq_asids;		/* invalidations so far of an ASID */
	struct av_swept swept[2];	/* by half */
	/*
	 * Counts tables that were taken out of the walkers' reach, and those that came to
	 * have a guest leaf in them that is larger than their entries.
	 */
	u64 shape;
	u64 next_serial;
	bool high_tagged;
	/*
	 * TTBR0's tables whose tree serves every ASID, until something is filled in that is
	 * not global. And of the tree that a vCPU let go last with nothing in it, tables and
	 * ASID: twice in a row the same tables, by another ASID, and they are these. How
	 * often that may yet turn out wrong.
	 */
	u64 idle_base, idle_last;
	u32 idle_asid;
	u8 idle_tries;
};

/* No TTBR_EL1.BADDR. */
#define AV_NO_BASE		(~0ULL)
#define AV_IDLE_TRIES		8

/*
 * The most trees of a VM: finding one looks at as many. More than the vCPUs can
 * have loaded at once.
 */
#define AV_MAX_TREES		4096

/* One entry to install. */
struct av_fill {
	u64 va;			/* aligned to the entry */
	u64 pa;
	u64 desc;		/* av_walk_key() of the guest's leaf; 0: it is of another kind */
	u64 table;		/* with desc: the guest's level 3 table that has it, an IPA */
	u32 *head;		/* of gfn's reverse map, where the caller has it; or NULL */
	u32 gfn;
	u8 level;		/* 3: page, 2: block */
	u8 rights;		/* AV_R | AV_W | AV_X */
	u8 gspan;		/* av_walk.span */
	bool global : 1;
	bool only_new : 1;	/* leave what is there */
};

/*
 * Set up over an array for max_pts tables. Every table that exists counts
 * against it; when it is reached av_shadow_fill() says -ENOSPC.
 */
void av_shadow_init(struct av_shadow *sh, const struct av_shadow_ops *ops, void *ctx,
		    struct av_pt **by_id, u32 max_pts);
/* Move to a larger array; returns the old one. */
struct av_pt **av_shadow_grow(struct av_shadow *sh, struct av_pt **by_id, u32 max_pts);

/* The key of a half in a mode; asid as av_regime_asid(). */
void av_tree_key(const struct av_shadow *sh, const struct av_regime *r, bool high, int el,
		 struct av_tree_key *key);
bool av_tree_key_equal(const struct av_tree_key *a, const struct av_tree_key *b);
/*
 * Find or make, and take a reference. NULL when the pool has not enough, or
 * there is no room (av_shadow_reclaim() makes some).
 */
struct av_tree *av_tree_get(struct av_shadow *sh, const struct av_tree_key *key,
			    struct av_pool *pool);
void av_tree_put(struct av_shadow *sh, struct av_tree *tree);
/*
 * Where nobody has loaded a tree and all that it has is kept, its process is most often
 * gone: the next one that needs a tree of its kind gets this, kept tables and all (kept.c).
 * One tree waits for that; of another the tables are doomed.
 */
void av_tree_retire(struct av_shadow *sh, struct av_tree *tree);

/* Note that a vCPU lets a tree go: was nothing ever used by its tables (av_shadow.idle_base)? */
void av_tree_note_idle(struct av_shadow *sh, const struct av_tree *tree);

/* Make root, all 0, a copy of the tree's root, kept up to date from then on. No walker has it in use. */
void av_root_attach(struct av_root *root, struct av_tree *tree);
/* Detach root from its tree, as if it never was attached: all 0. */
void av_root_detach(struct av_root *root, const struct av_tree *tree);

/*
 * Make room: take doomed tables apart, else drop from the coldest tree that
 * nobody has loaded, or with hard from the coldest one. Returns the tables
 * given back; *more says whether another call would find more to do.
 */
u32 av_shadow_reclaim(struct av_shadow *sh, bool hard, struct av_pool *pool, bool *more);

/* Take doomed tables apart, as many as one call may. True while there are more. */
bool av_shadow_reap(struct av_shadow *sh, struct av_pool *pool);
/* A few of them, where interrupts are off. */
void av_shadow_reap_few(struct av_shadow *sh, struct av_pool *pool);

/*
 * Install; the caller publishes (av_shadow_publish()) when it has installed
 * all that it wanted. 0; -ENOMEM the pool is empty; -ENOSPC the budget is
 * reached; -EAGAIN much was done on the way, call again; -ESTALE a non-global page for a
 * tree that serves every ASID: its key is another from now on, load again; -EINVAL the
 * address is the switch's.
 */
int av_shadow_fill(struct av_shadow *sh, struct av_tree *tree, const struct av_fill *f,
		   struct av_pool *pool);

/*
 * Counts the invalidations of tables that walks of a tree may have come through. Of an ASID
 * all tables go, also those of leaves that are global.
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

/* The level 3 table that va is in, or NULL. */
struct av_pt *av_shadow_table(const struct av_tree *tree, u64 va);

/* The entry that translates va now, for tests and tracing; 0 when there is none. */
u64 av_shadow_lookup(const struct av_tree *tree, u64 va, int *level);

/*
 * Would a block over va replace nothing but a block, or a table that is empty? Where a
 * guest's pages are as small as the host's, or have become so, pages are filled one by
 * one until all of them have gone.
 */
bool av_shadow_takes_block(const struct av_tree *tree, u64 va);

/*
 * What is mapped in pages and in blocks, counted when somebody asks: looks at a part of
 * the tables, from id on, and adds what they have. True while there are more.
 */
struct av_leaves {
	u32 id;
	u64 pages, blocks;
};

bool av_shadow_count(const struct av_shadow *sh, struct av_leaves *n);

/* A bit for each of the n pages from va on, within one level 3 table, that has a leaf. */
u32 av_shadow_present(const struct av_tree *tree, u64 va, unsigned int n);

/*
 * Wake those of a linked table's group of entries that the guest has again: words are its
 * descriptors, each read once, of the group from va on, limits those above them. Others stay
 * asleep where the guest has nothing, and go where it has another page. The caller publishes.
 * Returns how many there are more.
 */
unsigned int av_kept_wake(struct av_shadow *sh, struct av_pt *pt, u64 va, unsigned int n,
			  const u64 *words, u8 limits);

/* Progress of an invalidation of the guest's. Begin with all zero but op and keep. */
struct av_tlbi_walk {
	struct av_tlbi op;
	bool keep;		/* of an ASID: keep the tables of trees that are loaded */
	u64 newest;		/* trees from this serial on hold nothing that op names */
	u16 place;		/* which of av_shadow.trees[][], counted through */
	u64 done;		/* serial: trees there up to this one are done */
	u64 begun, va;		/* the tree that was begun, and where to go on in it */
	u64 kept;		/* the tree whose generation it has moved last */
};

/* Drop a part of the entries that op names or might cover. True while there is more. */
bool av_shadow_tlbi(struct av_shadow *sh, struct av_tlbi_walk *w, struct av_gather *g);

/*
 * The same for an op that names one page, where few trees may have it. False: there are
 * many, or a leaf is larger: nothing was done, or a part, which may be done again.
 */
bool av_shadow_tlbi_page(struct av_shadow *sh, struct av_tlbi_page op, struct av_gather *g);

/*
 * The level 3 table of the tree swept->filled that the page is in; NULL where there is none, or a
 * leaf of the guest's that is larger than an entry may have filled something on the way.
 */
struct av_pt *av_swept_table(struct av_shadow *sh, struct av_swept *swept);

/*
 * Is a leaf of 2^span bytes void that was read at va when seq was since? Yes, if
 * one of the invalidations after since named it, or not all of these are known any
 * more. seq and recent are a tree's, or those of its half.
 */
bool av_tlbi_voids(u64 seq, const struct av_recent *recent, u64 since, u64 va, u8 span);

/*
 * Drop a guest frame's entries; take their write rights away (or drop them,
 * where there are very many). True while the frame has more such entries:
 * finish the gather, begin another.
 */
bool av_shadow_zap_gfn(struct av_shadow *sh, u32 gfn, struct av_gather *g);
bool av_shadow_wrprotect_gfn(struct av_shadow *sh, u32 gfn, struct av_gather *g);
/* Drop the blocks over the 2 MiB that gfn is in, as av_shadow_zap_gfn(). */
bool av_shadow_zap_blocks(struct av_shadow *sh, u32 gfn, struct av_gather *g);
/* Was AF set in any entry? clear: take it away. Looks at some where a guest made very many. */
bool av_shadow_age_gfn(struct av_shadow *sh, u32 gfn, bool clear, struct av_gather *g);
/* The same in two, for callers that have the frame's head: its pages, and the blocks over it. */
bool av_shadow_age_head(struct av_shadow *sh, u32 head, bool clear, struct av_gather *g);
bool av_shadow_age_blocks(struct av_shadow *sh, u32 gfn, bool clear, struct av_gather *g);

/* Internal to the pure part. */
void av_tree_set_global(struct av_shadow *sh, struct av_tree *tree, bool global);
/* There is something of one ASID for a tree of all of them: from now on its key is another. */
void av_tree_needs_asid(struct av_shadow *sh, const struct av_tree *tree);
/* Take a leaf away; the flush is the gather's. */
void av_shadow_clear(struct av_pt *pt, u32 idx, struct av_gather *g);
void av_shadow_unlink(struct av_pt *pt, u32 idx, struct av_gather *g);
/* Write an entry that is no leaf, and in all copies where the table is a root. */
void av_pt_set(struct av_pt *pt, u32 idx, u64 val);
/*
 * Drop a part of [start, last] of a tree. True when there is more: *next is
 * where to go on.
 */
bool av_shadow_zap_range(struct av_tree *tree, u64 start, u64 last, struct av_gather *g, u64 *next);
struct av_pt *av_pt_new(struct av_shadow *sh, struct av_tree *tree, int level, u64 va,
			struct av_pool *pool);
/* Drop a part of all that a tree holds, as av_shadow_zap_range(); at last the tree, if unused. */
bool av_tree_drop(struct av_shadow *sh, struct av_tree *tree, struct av_gather *g, u64 *next);
bool av_tree_empty(const struct av_tree *tree);
/* kept.c: a part of a tree's tables, as av_tree_drop(); to make a kept one good again. */
static inline bool av_tree_keepable(const struct av_tree *tree)
{
	return tree->users && !tree->key.high;
}

bool av_tree_keep(struct av_tree *tree, struct av_gather *g, bool begin, u64 *next);
/* Returns how many entries it had that it has no more, but for those that are asleep. */
u32 av_kept_refresh(struct av_shadow *sh, struct av_pt *pt, const struct av_fill *f);
/* Doom those tables of a tree, all of whose are kept, that were of no use since it has its key. */
void av_kept_prune(struct av_shadow *sh, struct av_tree *tree);
/* Drop an entry that is asleep. */
void av_kept_forget(struct av_shadow *sh, struct av_pt *pt, u32 idx);
void av_pt_free_id(struct av_shadow *sh, struct av_pt *pt);

/* Is the budget of tables reached? */
static inline bool av_shadow_full(const struct av_shadow *sh)
{
	return !sh->free_id && sh->fresh_id >= sh->max_pts;
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
/* Set where AV_PTE_RDONLY is not: a writable page by the rules of S1PIE too. */
#define AV_PTE_DBM		BIT_ULL(51)
#define AV_PTE_PXN		BIT_ULL(53)
#define AV_PTE_UXN		BIT_ULL(54)

static inline bool av_pte_is_leaf(const struct av_pt *pt, u32 idx)
{
	u64 pte = pt->pte[idx];

	return pte & AV_PTE_VALID && (pt->level == 3 || !(pte & AV_PTE_TABLE));
}

/* Is it a leaf of level 3 that its table keeps, out of every walker's reach (kept.c)? */
static inline bool av_pte_is_asleep(const struct av_pt *pt, u32 idx)
{
	u64 pte = pt->pte[idx];

	return pt->level == 3 && pte && !(pte & AV_PTE_VALID);
}

/* The table below entry idx, linked or kept, or NULL for a leaf, nothing, or the window. */
static inline struct av_pt *av_pt_below(const struct av_pt *pt, u32 idx)
{
	if (pt->level == 3 || !(pt->pte[idx] & AV_PTE_TABLE))
		return NULL;
	return pt->aux[idx].child;
}

/* The same if it is linked. */
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

/* The first entry from idx on that is not 0, or AV_ENTRIES. */
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

/* A bit for each of the n pages from va on that a level 3 table has; n is a power of two, to 32. */
static inline u32 av_pt_group(const struct av_pt *pt, u64 va, unsigned int n)
{
	u32 idx = av_pt_index(va, 3);

	return pt->used[idx / 64] >> idx % 64 & GENMASK(n - 1, 0);
}

/* The same of those that have a leaf, and not one that is asleep. */
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

/* A leaf's descriptor, but for its address. */
static inline u64 av_leaf_desc(const struct av_shadow *sh, u8 level, u8 rights)
{
	return AV_PTE_VALID | AV_PTE_AF | AV_PTE_NG | AV_PTE_PXN | AV_PTE_SH_INNER |
	       FIELD_PREP(AV_PTE_ATTR, sh->attr_normal) | (level == 3 ? AV_PTE_TABLE : 0) |
	       (rights & AV_R ? AV_PTE_USER : 0) | (rights & AV_W ? AV_PTE_DBM : AV_PTE_RDONLY) |
	       (rights & AV_X ? 0 : AV_PTE_UXN);
}

#endif /* AV_MMU_SHADOW_H */
