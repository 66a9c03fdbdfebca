/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory slots: which guest frames are memory, and what KVM lets a VMM change.
 *
 * Pure code. A slot set is sorted by frame, and once more by id, and never
 * changed once it is published: a change makes another. What hangs on a slot
 * (frames, dirty bitmap) is the kernel side's, see mmu/memslot.c.
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

struct av_slot {
	u64 base_gfn;
	u64 npages;
	u64 hva;
	u32 id;
	u32 flags;
	bool dying;		/* being deleted or moved: fill nothing more */
	struct av_frames frames;
	unsigned long *dirty;	/* one bit a page while the log is on */
};

struct av_slots {
	u32 nr, room;
	u64 npages;		/* of all slots */
	struct av_slot *slot[];	/* twice room: by base_gfn, ascending; then by id */
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
 * What does this request ask for? 0 and *change, *old (the slot of that id),
 * or KVM's errno. Whether hva is the VMM's to give is for the caller to see.
 */
int av_slot_check(const struct av_slots *slots, const struct av_region *req, u8 ipa_bits,
		  enum av_slot_change *change, struct av_slot **old);

/* The slot that holds gfn, or NULL. */
struct av_slot *av_slot_find(const struct av_slots *slots, u64 gfn);
struct av_slot *av_slot_by_id(const struct av_slots *slots, u32 id);

/* Fill next, whose room is one slot more than old has, from old: without drop, with add. */
void av_slots_replace(const struct av_slots *old, const struct av_slot *drop,
		      struct av_slot *add, struct av_slots *next);

#endif /* AV_MMU_SLOTS_H */
