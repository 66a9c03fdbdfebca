/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory slots: which guest frames are memory, and the changes that KVM permits.
 *
 * Pure code. A set of slots is three AVL trees: by frame, by id, and an interval tree by the VMM's
 * address. It never changes after it was published: a change copies the nodes on its path and
 * shares all others, so its cost hardly depends on the number of slots, and a reader may release
 * mmu_lock in the middle of a walk. A slot's frames and bitmaps belong to the kernel side, see
 * mmu/host/memslot.c.
 */
#ifndef AV_MMU_SLOTS_H
#define AV_MMU_SLOTS_H

#include "lib/av_types.h"
#include "mmu/slots/gfn_info.h"

/* KVM's limits for arm64. */
#define AV_SLOTS_MAX		32767
#define AV_SLOT_PAGES_MAX	((1ULL << 31) - 1)

/* KVM_MEM_* */
#define AV_SLOT_LOG_DIRTY	BIT(0)
#define AV_SLOT_READONLY	BIT(1)
#define AV_SLOT_GMEM		BIT(2)	/* a plain VM's: only created and deleted */

struct av_gmem;
struct file;
struct mm_struct;

struct av_slot {
	u64 base_gfn;
	u64 npages;
	u64 hva;
	u32 id;
	u32 flags;
	bool dying;		/* being deleted or moved: must not be filled from */
	/* A protected VM's slot: pages of a file, from gmem_first on; hva is not used. */
	struct av_gmem *gmem;
	u64 gmem_first;
	struct file *gmem_file;
	/* A plain VM's slot with a file, which is mapped at hva of this address space. */
	struct mm_struct *gmem_mm;
	struct av_gfn_info frames;
	/* While the log is on: one bit per page; NULL if the VM has no such log. */
	unsigned long *dirty;	/* written, and not reported since */
	unsigned long *ringed;	/* in a vCPU's dirty ring */
};

static inline bool av_slot_logged(const struct av_slot *slot)
{
	return READ_ONCE(slot->flags) & AV_SLOT_LOG_DIRTY;
}

struct av_slot_node {
	struct av_slot *slot;
	struct av_slot_node *kid[2];
	u64 key;		/* the slot's in this order */
	u64 top;		/* the VMM's last address in the slots here and below */
	u64 stamp;		/* of the set that it was made for */
	u8 height;
};

/* Slots of a protected VM are not in the order by the VMM's address. */
enum { AV_BY_GFN, AV_BY_HVA, AV_BY_ID, AV_NR_ORDERS };

struct av_slots {
	u32 nr;
	u64 stamp;		/* incremented for each new set of the VM */
	u64 npages;		/* of all slots */
	struct av_slot_node *root[AV_NR_ORDERS];
};

/* Greatest height of an AVL tree of AV_SLOTS_MAX nodes. */
#define AV_SLOT_HEIGHT		23

/*
 * The nodes of a change: spares from the caller; nodes of the old set that the new set does not
 * use. A removal changes up to three nodes per level, an insertion one.
 */
#define AV_SLOT_EDIT_MAX	(AV_NR_ORDERS * 4 * (AV_SLOT_HEIGHT + 1))

struct av_slot_edit {
	unsigned int spares, gone;
	struct av_slot_node *spare[AV_SLOT_EDIT_MAX], *old[AV_SLOT_EDIT_MAX];
};

/* A KVM_SET_USER_MEMORY_REGION. */
struct av_region {
	u32 slot, flags;
	u64 gpa, size, hva;
};

enum av_slot_change {
	AV_SLOT_NOTHING, AV_SLOT_CREATE, AV_SLOT_DELETE, AV_SLOT_MOVE, AV_SLOT_FLAGS,
};

/*
 * Check a request. 0, *change and *old (the slot with that id), or KVM's errno. The caller
 * checks that hva is in user space.
 */
int av_slot_check(const struct av_slots *slots, const struct av_region *req, u8 ipa_bits,
		  enum av_slot_change *change, struct av_slot **old);

/* The slot that contains gfn, or NULL. */
struct av_slot *av_slot_find(const struct av_slots *slots, u64 gfn);
struct av_slot *av_slot_by_id(const struct av_slots *slots, u32 id);

/* The first slot that ends after gfn, or NULL. With a slot's end: the next slot. */
struct av_slot *av_slot_from(const struct av_slots *slots, u64 gfn);

/* The next slot by frame, or NULL. */
static inline struct av_slot *av_slot_after(const struct av_slots *slots,
					    const struct av_slot *slot)
{
	return av_slot_from(slots, slot->base_gfn + slot->npages);
}

/* For the VMM's own calls: notifiers and others' calls use av_hva_next(). */
#define av_for_each_slot(slot, slots) \
	for ((slot) = av_slot_from(slots, 0); (slot); (slot) = av_slot_after(slots, slot))

/*
 * A walk of the slots that have memory in a range of the VMM's addresses, in the order of their
 * addresses. A step from one to the next visits at most twice as many nodes as the tree is high.
 * Several slots may have the same memory. Use it in a single srcu section.
 */
struct av_hva_walk {
	unsigned int visited;	/* nodes, for the caller to read and reset */
	u64 start;
	u64 last_key;		/* no slot behind this key begins in the range */
	unsigned int depth;
	/* Nodes to visit next; then, for each, the slots of greater addresses below it. */
	const struct av_slot_node *node[AV_SLOT_HEIGHT];
};

/* From start up to, but not including, end; start < end. */
void av_hva_begin(struct av_hva_walk *w, const struct av_slots *slots, u64 start, u64 end);
/* The next slot, or NULL. */
struct av_slot *av_hva_next(struct av_hva_walk *w);

/* False: no slot has memory at start or behind it. True: look. */
static inline bool av_hva_may_have(const struct av_slots *slots, u64 start)
{
	const struct av_slot_node *root = slots->root[AV_BY_HVA];

	return root && root->top >= start;
}

/* Most spare nodes that a change needs. */
unsigned int av_slots_need(const struct av_slots *old, bool drop, bool add);

/*
 * Make next from old, without drop and with add. edit provides spares and keeps those left
 * over; edit->old gets the nodes to free once nobody reads old.
 */
void av_slots_replace(const struct av_slots *old, const struct av_slot *drop,
		      struct av_slot *add, struct av_slots *next, struct av_slot_edit *edit);

/* Remove a node from a set that nobody reads. NULL: empty. An order has each slot once. */
struct av_slot_node *av_slots_take_apart(struct av_slots *slots, unsigned int order);

#endif /* AV_MMU_SLOTS_H */
