/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest's own tables that the window may read, so that it can tell by itself whether an abort
 * from virtual EL0 is the guest's (switch/own_abort.S). A vCPU shows the level-3 tables in which its
 * guest took two faults in a row, a page each, at most AV_SRF_TABLES of them.
 *
 * What becomes reachable is memory that the guest has anyway, read-only and for EL1 only. A guest's
 * program could learn from it what its kernel's tables say on a core without CSV3, by the same
 * speculation that KPTI is for: so nothing is shown on a host with such a core.
 *
 * A table is shown by two things, both under mmu_lock: its page is mapped in the window, and
 * srf->tables[] says for which addresses and root.
 *  - The guest's TLBI of more than leaves, and a change of the vCPU's trees or regime, hide
 *    tables[]: what is mapped may be no table any more, but it is still the guest's page. The
 *    window looks at tables[] once more after it has read a descriptor.
 *  - The host takes memory back: pages are unmapped and flushed, before the host frees any. The
 *    DSB waits for reads that have used the old translation; a later one fails, and the window
 *    lets C answer (switch/vectors.S).
 */
#ifndef AV_MMU_SHOWN_H
#define AV_MMU_SHOWN_H

#include "mmu/base/base.h"

/* The window takes addresses of so many bits for ones that the guest has (switch/own_abort.S). */
#define AV_SHOWN_PA_BITS	40

/*
 * The guest has taken a fault at va, from virtual EL0, by near's table. Called by the vCPU's own
 * thread, under mmu_lock, while near is valid.
 */
void av_shown_note(struct av_vcpu *vcpu, const struct av_near *near, u64 va);

/* The vCPU's trees or its regime change. Called by its own thread. */
static inline void av_shown_hide(struct av_vcpu *vcpu)
{
	unsigned int n;

	for (n = 0; n < AV_SRF_TABLES; n++)
		WRITE_ONCE(vcpu->srf->tables[n].region, AV_NO_REGION);
}

/* A guest's TLBI: tables may have changed. Under mmu_lock. */
void av_shown_hide_all(struct av_vm *vm);

/* The host takes memory back, or changes slots: nothing is mapped when this returns. Under mmu_lock. */
void av_shown_revoke(struct av_vm *vm);

/*
 * vCPU idx is about to be created: does the window still have room for tables? If not, none is shown
 * any more, even if the vCPU is not created after all. Takes mmu_lock.
 */
void av_shown_make_room(struct av_vm *vm, unsigned int idx);

/*
 * The window is about to be at another position. Each flush of a table names all that are in use:
 * if they are many, no table is shown any more. Under mmu_lock.
 */
#define AV_SHOWN_POSITIONS	4
void av_shown_position(struct av_vm *vm);

/* A vCPU is being destroyed: nothing of it is mapped when this returns. Takes mmu_lock. */
void av_shown_end(struct av_vcpu *vcpu);

#endif /* AV_MMU_SHOWN_H */
