/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Per-VM and per-vCPU state of mmu/: vm->mmu and vcpu->mmu point here.
 */
#ifndef AV_MMU_TYPES_H
#define AV_MMU_TYPES_H

#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/types.h>

#include "mmu/resolve.h"
#include "mmu/ring.h"
#include "mmu/shadow.h"
#include "mmu/slots.h"
#include "switch/types.h"
#include "vm/regfile.h"

/* Tables set aside for one fill: three levels below a root, and a root's own. */
#define AV_POOL_PTS		8
/* Pages for what tables of level 3 were filled from: one for the fill, some for light.c. */
#define AV_POOL_DESCS		4
/* Tables given back that a vCPU keeps at most, for the next process. */
#define AV_POOL_MAX		64

/* IPA bits that the reverse map can name, rounded down to a size of PARange. */
#define AV_IPA_BITS_MAX		42

/* Table pages that a VM may always have; more with its memory. */
#define AV_MIN_PTS		2048

/* Guest pages for one more table; at most the tables that map 64 GiB. */
#define AV_PAGES_PER_PT		32
#define AV_MAX_PTS		BIT(15)

/* Trees that a vCPU keeps a reference on, to change between without the lock. */
#define AV_VCPU_TREES		8

/* Tables of the guest's that a vCPU remembers. */
#define AV_NEARS		8

/* Guest pages filled at one fault: the aligned group that the page is in. */
#define AV_AROUND		16

/* A guest page and the host's page behind it. */
struct av_candidate {
	u64 va;
	u64 gfn;
	u64 desc;		/* of an av_fill */
	struct page *page;
	u8 rights;		/* that the tree may grant, AV_W only by the host's leave */
	u8 span;
	bool global;
};

struct av_copy;
struct av_granule;
struct av_vm;

/* Pages of stubs (mmu/annex.h). */
#define AV_ANNEX_PAGES		15

struct av_annex {
	/* Where it is. Written under mmu_lock, as all that is read without it. */
	struct av_annex_place at;
	u64 stubs;		/* where the stubs of rows are; kept when the annex has ended */
	unsigned int pages;	/* of code */
	bool ready;		/* sites may be made: what was there is not mapped any more */
	bool once;		/* there was one */
	struct av_granule *rows;	/* of all code; stays until the VM goes */
	unsigned int tries;	/* to find one; a hint, without a lock */
	unsigned int aways;	/* looks in a row that did not find it: the same */
	/* mmu_lock */
	bool ending;
	u32 *code[AV_ANNEX_PAGES];
	unsigned int used;	/* of rows */
	DECLARE_HASHTABLE(sites, 9);
	u32 nr_sites;
};

/*
 * Sequence numbers of invalidations: the host's; the guest's that reached the
 * tree of an address; and the guest's by address in its half, which also reach
 * global entries of trees that had none yet.
 */
struct av_seq {
	u64 host, tree, va;
	u64 tables;	/* av_tree_seq_tables(): the guest's of more than leaves, in the tree */
};

struct av_vm_mmu {
	struct av_vm *vm;

	/* Under mmu_lock. */
	struct av_shadow shadow;
	unsigned long invalidate_start, invalidate_end;
	unsigned int in_progress;	/* notifier ranges open */

	/*
	 * Bumped under mmu_lock by the host's invalidations, notifier and slot
	 * changes. The guest's invalidations count in each tree (av_tree.seq). Both
	 * are read without the lock before a walk, and compared under it before the
	 * fill. For remembered walks (fetch, device) they are compared without the
	 * lock.
	 */
	u64 seq;

	/* srcu; written under slots_lock and mmu_lock. */
	struct av_slots __rcu *slots;
	/* Under mmu_lock, rmap_head()'s last: one of slots, or NULL. With shadow.last_part. */
	struct av_slot *last_slot;
	const struct av_slot *shared_last;	/* of a sealed VM, in which a page was shared last */
	u32 budget;			/* of table pages, equals shadow.max_pts */

	struct mmu_notifier notifier;
	bool registered;		/* with the host: notifier and shrinker may come */
	struct list_head list;		/* of VMs, for the shrinker */
	/* mmu/copies.h; mmu_lock */
	DECLARE_HASHTABLE(copies, 9);
	struct list_head copies_by_age;
	u32 nr_copies;
	u64 copies_made;
	struct av_annex annex;
	/* KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2 */
	u64 manual_protect;
	/* Of each vCPU's dirty ring, 0 for none; under vm->lock, and before there are vCPUs. */
	u32 ring_bytes;
	bool ring_bitmap;		/* KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP; slots_lock */
};

/* The VMM's address of a guest page, or the kernel's own: mmu/memory.h. */
struct av_mem_page {
	unsigned long hva;
};

/* The last page that an instruction was fetched from. */
struct av_fetch {
	struct av_seq seq;
	u64 va;
	struct av_mem_page page;
	int el;
	bool valid;
};

/*
 * A level 3 table of the guest's, and what belongs to it (near.c): under mmu_lock, right in
 * that tree as long as the sequence numbers are the VM's and nothing is in progress.
 */
struct av_near {
	u64 serial;
	u64 seq_tables, seq;
	struct av_walk_table at;
	u64 rights;			/* of its leaves, those that the tree may grant */
	struct av_mem_page words;	/* the table: av_mem_words(); 0: there is none, but a block */
	struct av_frames_part part;	/* of the page filled last, or none … */
	struct av_slot *slot;		/* … whose frames these are */
	/* The shadow's table there, as long as shape is the shadow's; or NULL. */
	u64 shape;
	struct av_pt *pt;
};

/* Looked up in a few instructions. */
static_assert(sizeof(struct av_near) == 128);

/*
 * The page of the guest's kernel that was filled last where the guest had just invalidated that very
 * page, as Linux does that patches its text: what it was filled with, right as long as near is what
 * it was then, of the same table (near.c). The guest's descriptor, the host's page and its state are
 * those then, or it is not used.
 */
struct av_refill {
	const struct av_near *near;	/* or NULL */
	u64 va, desc;
	struct av_slot *slot;
	struct av_piece *piece;		/* … and the frame's number in it */
	u64 page;			/* piece->page[n] then … */
	u64 pte, key;			/* the entry, and av_walk_key() of desc */
	u32 n, gfn;
	u8 state;			/* … and piece->state[n] */
	u8 rights;
};

/*
 * Trees and context that a mode was last run with, valid until places or
 * context are given to others.
 */
struct av_mode_trees {
	u64 serial[2];			/* of the trees, low and high; 0: none yet */
	u8 place[2];			/* of each, in trees[] */
	u8 context;
};

/* Modes of a pair of TTBRs, valid as long as the other registers do not change. */
struct av_ttbr_pair {
	u64 ttbr0, ttbr1;
	u64 regimes;			/* av_vcpu_mmu.regimes then */
	u64 used;			/* when it was last; by av_vcpu_mmu.uses */
	unsigned int with;		/* another one of the same ttbr1, or itself */
	struct av_mode_trees mode[3];	/* virtual EL0; EL1; EL1 from copies */
};

/* When a context was used last, and the pairs that the window was told of with it. */
struct av_mmu_context {
	u64 used;
	u8 pairs;
};

static_assert(AV_SRF_ROOTS <= 8 && AV_VCPU_TREES <= 8 && AV_NR_CONTEXTS <= 8, "bits of an u8");

/* Changes since the last load: the exception level; registers too. */
#define AV_STALE_MODE	BIT(0)
#define AV_STALE_REGS	BIT(1)

struct av_vcpu_mmu {
	/* All of the vCPU's own thread. */
	u8 stale;			/* AV_STALE_*: to look at before the next entry */
	u64 regimes;			/* counts changes of registers but the TTBRs, from 1 */
	struct av_ttbr_pair pairs[AV_SRF_ROOTS];
	unsigned int pair;		/* in use */
	u64 uses;			/* counts those of pairs and contexts */
	/*
	 * Pairs in the window, av_pairs_show(): wanted there; to be looked at, a bit each;
	 * regimes and copies at the last look; the pairs shown with a place, and a context.
	 */
	bool want_roots, shown_copies;
	u8 to_show;
	u64 shown_regimes;
	u8 place_pairs[AV_VCPU_TREES];
	struct av_mmu_context contexts[AV_NR_CONTEXTS];
	u64 ttbr1[2];			/* by level, with its ASID; 0: not at hand */
	struct av_regime regime;	/* as loaded */
	int el;
	struct av_tree *tree[2];	/* loaded, low and high; referenced by trees[] */

	struct av_tree *trees[AV_VCPU_TREES];
	unsigned int next_tree;
	u8 in_use;		/* a bit for each that was loaded since it was passed over last */
	struct av_root roots[AV_VCPU_TREES];	/* of trees[]; a page each from its first use */
	struct av_root *root[2];		/* of tree[] */
	struct av_pool pool;			/* av_pool_fill() */
	/* The light exit under way, and the fault; not on the stack, which is zeroed each time. */
	struct av_gather gather;
	struct av_resolved resolved;
	struct av_candidate candidates[1 + AV_AROUND];
	u64 words[AV_AROUND];		/* descriptors of a group, av_mem_look()'s copy */

	struct av_ring ring;		/* pages that it has written; dirty_ring.c */

	struct av_near near[AV_NEARS];
	struct av_refill refill;
	struct av_answer answer;		/* to a light exit */

	struct av_fetch fetch;
	struct av_device_page device;
	struct av_seq device_seq;	/* device is right as long as this is current */

	struct av_copy *spare_copy;
	/*
	 * Copies (root.c): not for so many traps (plain); the next time, for twice
	 * plain_next. plain_since: traps that had ended in the window, when plain was
	 * counted last.
	 */
	u64 plain_since;
	bool want_copies, copies;	/* virtual EL1 may run from copies; does so */
	bool settled;			/* PC was in a stub, and is here now; av_mmu_stub_failed() */
	u64 settled_pc;
	u64 stubs;			/* where they were at the last entry with copies */
	u16 plain, plain_next, good_loads;
	bool back;			/* plain has ended, and no copy was executed since */
};

#endif /* AV_MMU_TYPES_H */
