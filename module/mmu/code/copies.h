/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copies of the pages that virtual EL1 executes.
 *
 * In a tree of AV_MODE_EL1_COPIES, every executable page is a patched copy of the guest's page
 * (mmu/stub/patch.h), mapped execute-only: none of the guest's own instructions run. Data is
 * accessed in the guest's page. An address never maps both; each change between code and data is a
 * hidden fault.
 *
 * A copy is made when a frame is first executed, and kept until the frame changes. No shadow
 * entry lets the guest write to a frame that has a copy (AV_FRAME_COPIED), and changes by the
 * host or to the VMM's slots drop the copy. Writes by the VMM through its own mapping are not
 * noticed: all copies are dropped where a VMM may have written (it resets or restores a vCPU,
 * or sets breakpoints).
 *
 * Locks: everything here is under mmu_lock, except av_copies_prepare() and functions that say
 * so.
 */
#ifndef AV_MMU_COPIES_H
#define AV_MMU_COPIES_H

#include "mmu/base/base.h"

/* Most copies per VM: enough for a large kernel's text and modules. Then the oldest is replaced. */
#define AV_COPIES_MIN		256
#define AV_COPIES_MAX		8192
/* Pages of memory per further copy. */
#define AV_PAGES_PER_COPY	8

struct av_copy {
	struct hlist_node hash;		/* by gfn */
	struct list_head node;		/* oldest first */
	u64 *code;			/* one page */
	const void *from;		/* the guest's page; the copy is dropped before it changes */
	u64 gfn;
	u64 va;				/* where it was executed first … */
	bool aliased;			/* … and also elsewhere: no more sites (annex.h) */
	bool has_sites;			/* its code has sites */
	u64 nr;				/* order of creation in the VM */
};

/* Preallocate a copy for a fault. May sleep. 0 or -ENOMEM. */
int av_copies_prepare(struct av_vcpu *vcpu);
void av_copies_unprepare(struct av_vcpu *vcpu);

/*
 * Get a copy of the frame to execute at va, made from the page if there is none; *pa is its
 * address. Returns 0, or -EAGAIN if there was much to do: the guest should fault again.
 */
int av_copy_get(struct av_vcpu *vcpu, struct av_slot *slot, u64 gfn, u64 va,
		struct page *from, u64 *pa);

/* Does the frame have a copy that was made for va? */
bool av_copy_made_for(struct av_vm *vm, u64 gfn, u64 va);

/* Is the frame's copy mapped at va, and was it never mapped elsewhere? */
bool av_copy_only_at(struct av_vm *vm, const struct av_tree *tree, u64 va, u64 gfn);

bool av_copied(const struct av_slot *slot, u64 gfn);

/* Is the frame's copy mapped at va? */
bool av_copy_at(struct av_vm *vm, const struct av_tree *tree, u64 va, u64 gfn);

/*
 * The copy that an executable entry of an AV_MODE_EL1_COPIES tree maps, by the entry's physical
 * address. NULL: the entry maps stubs.
 */
const struct av_copy *av_copy_mapped(u64 pa);

/* The code of the frame's copy, to write a site to; NULL: there is no copy. */
u64 *av_copy_code(struct av_vm *vm, u64 gfn);

/* Drop all entries of a frame, and its copy. True if there is more to do. */
bool av_copy_drop(struct av_vm *vm, struct av_slot *slot, u64 gfn);

/*
 * Forget the copies of frames whose entries have all been dropped and flushed. Returns the
 * first frame not done yet, or end.
 */
u64 av_copies_forget(struct av_vm *vm, struct av_slot *slot, u64 gfn, u64 end);

/* The same for some copies of a dying slot. True if there are more. */
bool av_copies_forget_slot(struct av_vm *vm, struct av_slot *slot);

/* The module has written to a frame through the VMM's mapping. Takes mmu_lock. */
void av_copy_written(struct av_vm *vm, struct av_slot *slot, u64 gfn);

/* Drop the oldest copy, or begin to. False: there is none. */
bool av_copies_shrink(struct av_vm *vm);

void av_copies_init(struct av_vm *vm);
/* Call when nobody can run the VM any more. Without mmu_lock. */
void av_copies_free(struct av_vm *vm);

#endif /* AV_MMU_COPIES_H */
