/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hardware's TLB: contexts, their ASIDs, and every TLBI that the module issues.
 *
 * A context is a pair of shadow trees with one ASID borrowed from the host. Each vCPU has a few
 * contexts of its own, so that recycling one disturbs no other vCPU. Trees belong to mmu/: they
 * are known here only by serial numbers, which a VM never reuses. Our TLB entries are never
 * global.
 *
 * A flush names trees. It reaches the contexts that have one of them, on all vCPUs of the VM,
 * and nothing of another VM or of the host. The exception is a page of a tree that many contexts
 * have: one TLBI flushes that page of every ASID, which costs others at most a table walk.
 *
 * Order. The vCPU writes a context's serials, then a barrier, then runs with the context. The
 * flusher writes shadow entries, then a barrier, then reads the serials. So either the flush
 * finds the context, or the vCPU's table walks find the entries already cleared.
 *
 * The contexts found by the last flushes of a tree are cached until any context changes: the vCPU
 * increments vsw->changes after the serials and before its barrier, the flusher reads it after
 * its own. A context keeps its ASID as long as it is counted in nr_contexts.
 */
#ifndef AV_SWITCH_TLB_H
#define AV_SWITCH_TLB_H

#include "switch/types.h"
#include "vm/vcpu.h"

/*
 * Give these trees, which have none, a context for the vCPU's next entries: unless reuse is set, a
 * new one if possible; otherwise the one that was offered last. May sleep unless reuse is set.
 * Returns 0, -ENOMEM, or -ENOSPC if there is no ASID for the vCPU's first context.
 */
int av_tlb_load(struct av_vcpu *vcpu, u64 serial0, u64 serial1, bool reuse);

/* Has the vCPU all contexts that it can get at present? */
bool av_tlb_complete(const struct av_vcpu *vcpu);

/* The number of contexts that a flush of the VM looks at. */
static inline unsigned int av_tlb_nr_contexts(const struct av_vm *vm)
{
	return atomic_read(&vm->sw->nr_contexts);
}

/* A context's ASID, at its place in TTBR1. */
static inline u64 av_tlb_asid_of(const struct av_vcpu_switch *csw, unsigned int context)
{
	return (u64)csw->context[context].asid.asid << 48;
}

/* Does a context still belong to this pair of trees? Called by the vCPU's own thread. */
static inline bool av_tlb_holds(const struct av_vcpu_switch *csw, unsigned int context,
				u64 serial0, u64 serial1)
{
	return csw->context[context].serial0 == serial0 &&
	       csw->context[context].serial1 == serial1;
}

/* Does a context have this tree? Called by the vCPU's own thread. */
static inline bool av_tlb_has(const struct av_vcpu_switch *csw, unsigned int context, u64 serial)
{
	return csw->context[context].serial0 == serial || csw->context[context].serial1 == serial;
}

/* Recycle this context next. Called by the vCPU's own thread. */
static inline void av_tlb_offer(struct av_vcpu_switch *csw, unsigned int context)
{
	csw->next_victim = context;
}

/* A flush: begin() after writing the entries, then any of these, then end(), which waits. */
void av_tlb_flush_begin(void);
/* Flush one page of a tree. Under mmu_lock. These functions return the number of TLBIs. */
unsigned int av_tlb_flush_page(struct av_vm *vm, u64 serial, u64 va);
/* The same as a whole flush, with begin and end. */
unsigned int av_tlb_flush_one(struct av_vm *vm, u64 serial, u64 va);
/* Flush all of a few trees. Under mmu_lock. */
unsigned int av_tlb_flush_trees(struct av_vm *vm, const u64 *serials, unsigned int nr);
/* Flush every context of the VM. */
unsigned int av_tlb_flush_vm(struct av_vm *vm);
/* Flush the ASIDs of the tables that are live on the way to a context and back. */
void av_tlb_flush_hops(struct av_vm *vm);
void av_tlb_flush_end(void);

/* Flush a page of the window, a private page or an address of the image, from all ASIDs. */
void av_tlb_flush_window(u64 va);
/* Flush what a VM's light exits have loaded from the image (switch/image.h). */
void av_tlb_flush_image(const struct av_vm_switch *vsw);

/* ---- asid.c ---------------------------------------------------------------- */

/* Module load: compute how many ASIDs the module may take. */
int av_asid_init(void);

/* Get the shares for a VM's ASIDs: the creating program's and user's. 0 or -ENOMEM. */
int av_asid_shares_get(struct av_asid_share **shares);
void av_asid_shares_put(struct av_asid_share **shares);

/*
 * Take an ASID and flush it. May sleep. shares: as above, or NULL for an ASID of the module's
 * own. -ENOMEM; -ENOSPC: the host has no ASID left, or a share is used up.
 */
int av_asid_get(struct av_asid *a, struct av_asid_share *const *shares);
/* Is there an ASID for a context that only saves flushes? Those leave half of each share. */
bool av_asid_spare(struct av_asid_share *const *shares);
/* Give back an ASID that nothing runs with any more, or that was never taken. May sleep. */
void av_asid_put(struct av_asid *a);

#endif /* AV_SWITCH_TLB_H */
