/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory slots: the guest frames that are memory, and the changes that KVM
 * allows.
 *
 * Pure code. A set is two balanced (AVL) trees of its slots, by frame and by id,
 * and is never changed once it is published: a change copies the nodes on its way
 * and shares all others, so that it takes no longer with many slots than with few.
 * Frames and bitmaps, which hang on a slot, are the kernel side's, see
 * mmu/memslot.c.
 */
#ifndef AV_MMU_SLOTS_H
#define AV_MMU_SLOTS_H

#include "lib/av_types.h"
#include "mmu/frames.h"

/* KVM's numbers for arm64. */
#define AV_SLOTS_MAX		32767
#define AV_SLOT_PAGES_MAX	((1ULL << 31) - 1)

/* KVM_MEM_* */
#define AV_SLOT_LOG_DIRTY	BIT(0)
#define AV_SLOT_READONLY	BIT(1)

struct av_gmem;
struct file;

struct av_slot {
	u64 base_gfn;
	u64 npages;
	u64 hva;
	u32 id;
	u32 flags;
	bool dying;		/* being deleted or moved: fill nothing more */
	/* A protected VM's: its pages are a file's, from this one on, and hva is not used. */
	struct av_gmem *gmem;
	u64 gmem_first;
	struct file *gmem_file;
	struct av_frames frames;
	/* One bit a page while the log is on, each NULL where the VM has none such. */
	unsigned long *dirty;	/* written, and not handed out since */
	unsigned long *ringed;	/* in a vCPU's dirty ring */
};

static inline bool av_slot_logged(const struct av_slot *slot)
{
	return READ_ONCE(slot->flags) & AV_SLOT_LOG_DIRTY;
}

struct av_slot_node {
	struct av_slot *slot;
	struct av_slot_node *kid[2];
	u64 stamp;		/* of the set that it was made for */
	u8 height;
};

enum { AV_BY_GFN, AV_BY_ID, AV_NR_ORDERS };

struct av_slots {
	u32 nr;
	u64 stamp;		/* sets of a VM count upwards */
	u64 npages;		/* of all slots */
	struct av_slot_node *root[AV_NR_ORDERS];
};

/* AVL trees of AV_SLOTS_MAX are no higher. */
#define AV_SLOT_HEIGHT		23

/*
 * The nodes of a change: fresh ones from the caller, and those of the old set that the
 * new set does not use. A removal touches three a level, an insertion one.
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
 * Classify a request: 0 and *change, *old (the slot of that id), or KVM's
 * errno. The caller checks that hva is the VMM's to give.
 */
int av_slot_check(const struct av_slots *slots, const struct av_region *req, u8 ipa_bits,
		  enum av_slot_change *change, struct av_slot **old);

/* The slot that holds gfn, or NULL. */
struct av_slot *av_slot_find(const struct av_slots *slots, u64 gfn);
struct av_slot *av_slot_by_id(const struct av_slots *slots, u32 id);

/* The first slot that ends after gfn, or NULL; from the end of a slot, the next one. */
struct av_slot *av_slot_from(const struct av_slots *slots, u64 gfn);

/* The next slot by frame, or NULL. */
static inline struct av_slot *av_slot_after(const struct av_slots *slots,
					    const struct av_slot *slot)
{
	return av_slot_from(slots, slot->base_gfn + slot->npages);
}

#define av_for_each_slot(slot, slots) \
	for ((slot) = av_slot_from(slots, 0); (slot); (slot) = av_slot_after(slots, slot))

/* The most spare nodes that a change needs. */
unsigned int av_slots_need(const struct av_slots *old, bool drop, bool add);

/*
 * Make next from old: without drop, with add. The edit has the spares; those left over
 * are still in it, and edit->old has the nodes to be freed once nobody reads old.
 */
void av_slots_replace(const struct av_slots *old, const struct av_slot *drop,
		      struct av_slot *add, struct av_slots *next, struct av_slot_edit *edit);

/* Take a node off a set that nobody reads; NULL when the set is empty. Each slot comes once. */
struct av_slot_node *av_slots_take_apart(struct av_slots *slots, unsigned int order);

#endif /* AV_MMU_SLOTS_H */
