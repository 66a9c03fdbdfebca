/* SPDX-License-Identifier: GPL-2.0 */
/* Per-VM and per-vCPU state of mmu/: vm->mmu and vcpu->mmu point here. */
#ifndef AV_MMU_TYPES_H
#define AV_MMU_TYPES_H

#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/types.h>

#include "mmu/abort/classify.h"
#include "mmu/shadow/limits.h"
#include "mmu/shadow/shadow.h"
#include "mmu/slots/ring.h"
#include "mmu/slots/slots.h"
#include "switch/types.h"
#include "vm/regfile.h"

/* Tables preallocated for one fill: three levels below the root, plus a new root's. */
#define AV_POOL_PTS		8
/* Pages for av_pt.desc: one for the fill, some for light exits. */
#define AV_POOL_DESCS		4
/* Most freed tables that a vCPU keeps for the next process. */
#define AV_POOL_MAX		64

/* Most IPA bits that the reverse map can name, rounded down to a PARange size. */
#define AV_IPA_BITS_MAX		42

/* Size of place_asids[]. Most entries are 0, so most searches for a tree end there. */
#define AV_PLACE_ASIDS		64

/* Guest tables that a vCPU remembers. */
#define AV_WALK_CACHES		8

/* A guest page and the host page behind it. */
struct av_candidate {
	u64 va;
	u64 gfn;
	u64 desc;		/* for av_fill.desc */
	struct page *page;
	u8 rights;		/* that the tree may grant; AV_W only if the host permits */
};

struct av_copy;
struct av_granule;
struct av_vm;

/* Pages of stubs (mmu/code/annex.h). */
#define AV_ANNEX_PAGES		15

struct av_annex {
	/* Its address. Written under mmu_lock, like all fields that are read without it. */
	struct av_annex_place at;
	u64 stubs;		/* address of the stubs in rows; kept when the annex ends */
	unsigned int pages;	/* pages of code */
	bool ready;		/* sites may be made: nothing else is mapped there any more */
	bool once;		/* the VM has had an annex */
	struct av_granule *rows;	/* one per granule of all code pages; freed with the VM */
	unsigned int tries;	/* to find a place; only a hint, no lock */
	unsigned int aways;	/* consecutive checks that failed; also a hint */
	/* under mmu_lock */
	bool ending;
	u32 *code[AV_ANNEX_PAGES];
	unsigned int used;	/* granules in use */
	DECLARE_HASHTABLE(sites, 9);
	u32 nr_sites;
};

/*
 * Sequence numbers of invalidations. host: by the host. tree: by the guest, in the tree of an
 * address. va: by the guest, by address in one half; they void global entries even of trees that
 * had none at the time.
 */
struct av_seq {
	u64 host, tree, va;
	u64 tables;	/* by the guest, of more than leaves, in the tree: av_tree_seq_tables() */
};

struct av_vm_mmu {
	struct av_vm *vm;

	/* Under mmu_lock. */
	struct av_shadow shadow;
	unsigned long invalidate_start, invalidate_end;
	unsigned int in_progress;	/* open notifier ranges */

	/*
	 * Incremented under mmu_lock by the host's invalidations: notifier and slot changes.
	 * The guest's are counted in each tree (av_tree.seq). A fault reads both without the
	 * lock before its walk, and compares them under the lock before the fill. Remembered
	 * walks (fetch, device) compare them without the lock.
	 */
	u64 seq;

	/* RCU by vm->srcu. Written under slots_lock and mmu_lock. */
	struct av_slots __rcu *slots;
	/* Under mmu_lock: rmap_head()'s last slot, or NULL. Goes with shadow.last_part. */
	struct av_slot *last_slot;
	unsigned int vcpus;		/* that the limits were raised for; under slots_lock */
	const struct av_slot *shared_last;	/* sealed VM: slot of the last shared page */

	/*
	 * guest/switcher_tables.h, under mmu_lock: the number of mapped tables of all vCPUs; may a
	 * vCPU use one; no table is mapped any more
	 */
	u32 nr_shown;
	bool shown_any, shown_off;

	struct mmu_notifier notifier;
	bool registered;		/* with the host: notifier and shrinker may be called */
	struct list_head list;		/* in the shrinker's list of VMs */
	/* mmu/code/copies.h; under mmu_lock */
	DECLARE_HASHTABLE(copies, 9);
	struct list_head copies_by_age;
	u32 nr_copies;
	u64 copies_made;
	struct av_annex annex;
	/* KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2 */
	u64 manual_protect;
	/* Size of each vCPU's dirty ring, 0: none. Under vm->lock, before there are vCPUs. */
	u32 ring_bytes;
	bool ring_bitmap;		/* KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP; under slots_lock */
};

/* Address of a guest page: the VMM's or the kernel's (mmu/memory/memory.h). */
struct av_mem_page {
	unsigned long hva;
};

/* The page from which an instruction was fetched last. */
struct av_fetch {
	struct av_seq seq;
	u64 va;
	struct av_mem_page page;
	int el;
	bool valid;
};

/*
 * A level-3 table of the guest, with the state that an abort in its 2 MiB needs
 * (mmu/guest/walk_cache.h). Under mmu_lock, valid for the tree with that serial while the sequence
 * numbers are current and no notifier range is open.
 */
struct av_walk_cache {
	u64 serial;
	u64 seq_tables, seq;
	struct av_walk_table at;
	u64 rights;			/* rights of the table's leaves that the tree may grant */
	struct av_mem_page words;	/* the table: av_mem_words(); 0: a block instead */
	struct av_gfn_info_part part;	/* frames of the page filled last, or none … */
	struct av_slot *slot;		/* … and their slot */
	/* The shadow table for the same 2 MiB while shape is the shadow's; or NULL. */
	u64 shape;
	struct av_pt *pt;
};

/* Small size: found by a shift. */
static_assert(sizeof(struct av_walk_cache) == 128);

/* Trees and context that a mode last ran with. Valid until a place or the context is reused. */
struct av_mode_trees {
	u64 serial[2];			/* of the trees, low and high; 0: none */
	u8 place[2];			/* of each tree, index in trees[] */
	u8 context;
};

#define AV_PAIR_MODES	3

/* The modes of a pair of TTBRs. Valid while the other registers of the regime do not change. */
struct av_ttbr_pair {
	u64 ttbr0, ttbr1;
	u64 regimes;			/* av_vcpu_mmu.regimes at the time */
	u64 used;			/* last use, by av_vcpu_mmu.uses */
	unsigned int with;		/* another pair with the same ttbr1, or this one */
	struct av_mode_trees mode[AV_PAIR_MODES];	/* virtual EL0; EL1; EL1 from copies */
};

/*
 * A context: the pairs that were shown to the window with it, a bit each; its neighbours in the
 * order of last use; and whether one of its trees has lost its place: then it is recycled before
 * others.
 */
struct av_mmu_context {
	u64 pairs;
	u8 before, after;
	bool left;
};

static_assert(AV_SRF_ROOTS <= 64 && AV_VCPU_TREES <= 32, "bits of an u64, of an u32");
static_assert(AV_NR_CONTEXTS < BIT(8), "before and after");

/* What has changed since the last load: the exception level; registers, too. */
#define AV_STALE_MODE	BIT(0)
#define AV_STALE_REGS	BIT(1)

/* The level-3 table of a tree's 2 MiB, valid while shape is the shadow's. */
struct av_code_table {
	u64 block;		/* address / 2 MiB */
	u64 serial, shape;
	const struct av_pt *pt;	/* NULL: unknown */
};

#define AV_CODE_TABLES	8

struct av_vcpu_mmu {
	/* Only the vCPU's own thread uses these. */
	u8 stale;			/* AV_STALE_*: to be handled before the next entry */
	u64 regimes;			/* counts changes of registers other than TTBRs, from 1 */
	struct av_ttbr_pair pairs[AV_SRF_ROOTS];
	unsigned int pair;		/* index of the pair in use */
	u64 uses;			/* counts uses of pairs */
	/*
	 * For av_ttbr_cache_show(): may the window use pairs; pairs to show again, a bit each;
	 * regimes and copies at the last call; for each place, the pairs shown with it, a bit each.
	 */
	bool want_roots, shown_copies;
	bool want_shown;		/* may the window read guest tables? */
	u64 to_show;
	u64 shown_regimes;
	u64 place_pairs[AV_VCPU_TREES];
	/* For a tree of the low half: the contexts that it was last used with, by mode. */
	u8 place_context[AV_VCPU_TREES][AV_PAIR_MODES];
	struct av_mmu_context contexts[AV_NR_CONTEXTS + 1];	/* the last one heads the list */
	u64 ttbr1[2];			/* by exception level, with the ASID; 0: not ready */
	struct av_regime regime;	/* as loaded */
	int el;
	struct av_tree *tree[2];	/* loaded, low and high; trees[] has the references */

	struct av_tree *trees[AV_VCPU_TREES];
	u8 place_asids[AV_PLACE_ASIDS];	/* number of trees[], by ASID modulo this */
	unsigned int next_tree;
	u32 place_tagged;		/* a bit per tree of a single ASID … */
	u32 place_behind;		/* … and per tree that is behind (shadow/position.h) */
	u8 el0_place;			/* of av_ttbr_cache_foresee_el0()'s last tree */
	u32 in_use;		/* a bit per tree: loaded since next_place() last passed over it */
	struct av_root roots[AV_VCPU_TREES];	/* of trees[]; a page each, from its first use */
	struct av_root *root[2];		/* of tree[] */
	struct av_memcache pool;			/* av_memcache_fill() */
	/* Of the current light exit or fault. On the stack they would be zeroed each time. */
	struct av_gather gather;
	struct av_zapped zapped;
	struct av_classified resolved;
	struct av_candidate candidates[1 + AV_AROUND];
	u64 words[AV_AROUND];		/* descriptors of a group, copied by av_mem_look() */

	struct av_ring ring;		/* pages written by this vCPU */

	bool learn;	/* a light exit did not know a table's page: av_mem_learn() at the next fault */
	struct av_walk_cache near[AV_WALK_CACHES];
	/*
	 * guest/switcher_tables.h, under mmu_lock: the table by which the guest took its last true
	 * fault; the pages that the window maps
	 */
	const struct av_walk_cache *last_true;
	u64 shown[AV_SRF_TABLES];

	struct av_fetch fetch;
	struct av_device_page device;
	struct av_seq device_seq;	/* device is valid while this is current */

	struct av_copy *spare_copy;
	/* Of mmu/fault/read_code.c. */
	u64 last_read;
	unsigned int reads_in_a_row;
	struct av_code_table code_tables[AV_CODE_TABLES];
	/*
	 * Running without copies (plain.h): plain, the number of traps for which that continues;
	 * plain_next, half of the number for the next time; plain_since, the count of traps handled
	 * in the window when plain was last updated.
	 */
	u64 plain_since;
	bool want_copies, copies;	/* virtual EL1 may run from copies; does so */
	bool settled;			/* PC left a stub for settled_pc: av_mmu_stub_failed() */
	u64 settled_pc;
	u64 stubs;			/* address of the stubs at the last entry with copies */
	u16 plain, plain_next, good_loads;
	bool back;			/* plain has ended, and no copy was executed since */
};

#endif /* AV_MMU_TYPES_H */
