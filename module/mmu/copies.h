/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copies of the pages that virtual EL1 executes.
 *
 * In a tree of AV_MODE_EL1_COPIES what can be executed is a copy of the
 * guest's page, patched (mmu/patch.h) and mapped to be executed only: no
 * instruction of the guest's own runs there. Its data is read and written
 * where it is. One page is never both at one address; each flip is a hidden
 * fault.
 *
 * A copy is made when a frame is first executed, and kept until the frame
 * changes: no entry of the shadow tables lets a guest write to a frame that has
 * one (AV_FRAME_COPIED), and what the host or the VMM's slots do to the frame
 * drops it. What the VMM writes by its own mapping of the memory is not seen;
 * where a VMM has reason to (it resets or restores a vCPU, or sets
 * breakpoints), all are dropped.
 *
 * Locks: mmu_lock for all that is here, but av_copies_prepare().
 */
#ifndef AV_MMU_COPIES_H
#define AV_MMU_COPIES_H

#include "mmu/memory.h"

/* Copies of a VM: the oldest goes for a new one. Enough for a large kernel's text and modules. */
#define AV_COPIES_MIN		256
#define AV_COPIES_MAX		8192
/* And one for so many pages of its memory. */
#define AV_PAGES_PER_COPY	8

struct av_copy {
	struct hlist_node hash;		/* by gfn */
	struct list_head node;		/* the oldest first */
	u64 *code;			/* a page */
	u64 gfn;
	u64 va;				/* where it was executed first … */
	bool aliased;			/* … and elsewhere too: no more sites (mmu/annex.h) */
	bool has_sites;			/* in its code */
	u64 nr;				/* of the VM's, in the order that they were made */
};

/* Set one aside for a fault; may sleep. 0 or -ENOMEM. */
int av_copies_prepare(struct av_vcpu *vcpu);
void av_copies_unprepare(struct av_vcpu *vcpu);

/*
 * *pa is the frame's copy, made from its page if there is none, to be executed at
 * va. 0; -EAGAIN: there was much to do, the access comes again.
 */
int av_copy_get(struct av_vcpu *vcpu, struct av_slot *slot, u64 gfn, u64 va,
		struct page *from, u64 *pa);

/* Has the frame a copy, and was that made to be executed at va? */
bool av_copy_made_for(struct av_vm *vm, u64 gfn, u64 va);

/* Is that frame's copy what is executed at va, and was it nowhere else? */
bool av_copy_only_at(struct av_vm *vm, const struct av_tree *tree, u64 va, u64 gfn);

bool av_copied(const struct av_slot *slot, u64 gfn);

/* Is that frame's copy what is executed at va? */
bool av_copy_at(struct av_vm *vm, const struct av_tree *tree, u64 va, u64 gfn);

/* Drop what is mapped of a frame, and its copy. True while there is more to do. */
bool av_copy_drop(struct av_vm *vm, struct av_slot *slot, u64 gfn);

/*
 * Nothing of these frames is mapped any more, and that is flushed. Returns the
 * first one that is left, for want of time, or end.
 */
u64 av_copies_forget(struct av_vm *vm, struct av_slot *slot, u64 gfn, u64 end);

/* The same of a slot that is on its way out, a part. True while there is more. */
bool av_copies_forget_slot(struct av_vm *vm, struct av_slot *slot);

/* The module has written to a frame by the VMM's mapping. Takes the lock. */
void av_copy_written(struct av_vm *vm, struct av_slot *slot, u64 gfn);

/* Drop the oldest one, or begin to: false when there is none. */
bool av_copies_shrink(struct av_vm *vm);

void av_copies_init(struct av_vm *vm);
/* Nobody runs the VM any more. Without the lock. */
void av_copies_free(struct av_vm *vm);

#endif /* AV_MMU_COPIES_H */
