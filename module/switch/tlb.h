/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hardware's TLB: contexts and their ASIDs, and every TLBI that the module
 * issues.
 *
 * A context is a pair of shadow trees run under one ASID of the host's. Each
 * vCPU has a few of its own, so that recycling one disturbs nobody else; trees
 * are mmu/'s business, and only serial numbers here, which a VM never uses
 * twice. TLB entries of ours are never global.
 *
 * A flush names trees: it reaches the contexts that have one, of all vCPUs of
 * the VM, and nothing of another VM or of the host.
 *
 * Order. A vCPU writes a context's serials, then a barrier, then runs under it.
 * The flusher writes entries, then a barrier, then reads the serials. So either
 * the flush finds the context, or the vCPU's walks find the entries already
 * cleared.
 *
 * What the last flush of a page found is of use as long as no context has changed:
 * the vCPU counts a change after the serials and before its barrier, the flusher
 * reads the count after its own. A context keeps its ASID while it is counted.
 */
#ifndef AV_SWITCH_TLB_H
#define AV_SWITCH_TLB_H

#include "switch/types.h"
#include "vm/vcpu.h"

/*
 * Find or make the context of these trees, for the vCPU's next entries. May
 * sleep. 0; -ENOMEM; -ENOSPC where the first one can have no ASID.
 */
int av_tlb_load(struct av_vcpu *vcpu, u64 serial0, u64 serial1);

/* A context's ASID where TTBR1 has it. */
static inline u64 av_tlb_asid_of(const struct av_vcpu_switch *csw, unsigned int context)
{
	return (u64)csw->context[context].asid.asid << 48;
}

/* Is a context still the one of these trees? The vCPU's own thread. */
static inline bool av_tlb_holds(const struct av_vcpu_switch *csw, unsigned int context,
				u64 serial0, u64 serial1)
{
	return csw->context[context].serial0 == serial0 &&
	       csw->context[context].serial1 == serial1;
}

/* Is it one of that tree? The vCPU's own thread. */
static inline bool av_tlb_has(const struct av_vcpu_switch *csw, unsigned int context, u64 serial)
{
	return csw->context[context].serial0 == serial || csw->context[context].serial1 == serial;
}

/* The context that is to be recycled next. The vCPU's own thread. */
static inline void av_tlb_offer(struct av_vcpu_switch *csw, unsigned int context)
{
	csw->next_victim = context;
}

/* A flush: begin after the entries were written, name what goes, end waits. */
void av_tlb_flush_begin(void);
/* Flush one page of a tree, under mmu_lock; returns the number of TLBI. */
unsigned int av_tlb_flush_page(struct av_vm *vm, u64 serial, u64 va);
/* The same from begin to end, and nothing else with it. */
unsigned int av_tlb_flush_one(struct av_vm *vm, u64 serial, u64 va);
/* The same for a few trees, in whole. */
unsigned int av_tlb_flush_trees(struct av_vm *vm, const u64 *serials, unsigned int nr);
/* Every context of the VM. */
unsigned int av_tlb_flush_vm(struct av_vm *vm);
/* Walk-cache entries of guest tables under the VM's hop ASID (guest_hop). */
unsigned int av_tlb_flush_hop(struct av_vm *vm);
void av_tlb_flush_end(void);

/* A page of the window or a private page, unmapped when its vCPU is destroyed: all ASIDs. */
void av_tlb_flush_window(u64 va);

/* ---- asid.c ---------------------------------------------------------------- */

/* Module load: set how many ASIDs the module may have. */
int av_asid_init(void);

/* Get the shares that count a VM's ASIDs: its creating program's and user's. -ENOMEM. */
int av_asid_shares_get(struct av_asid_share **shares);
void av_asid_shares_put(struct av_asid_share **shares);

/*
 * Take an ASID, flushed. shares: as above, or NULL for an ASID of the module's
 * own. -ENOSPC: the host has none to give, or a share is used up.
 */
int av_asid_get(struct av_asid *a, struct av_asid_share *const *shares);
/* Give an ASID back, under which nothing runs any more; also one that was never taken. */
void av_asid_put(struct av_asid *a);

#endif /* AV_SWITCH_TLB_H */
