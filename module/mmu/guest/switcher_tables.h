/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Guest tables that the window may read, to tell by itself whether an abort from virtual EL0 is the
 * guest's own (switch/own_abort.S). A vCPU shows the level-3 tables in which its guest took two
 * faults in a row: one page each, at most AV_SRF_TABLES.
 *
 * The window then maps memory that the guest has anyway, read-only and for EL1 only. On a core
 * without CSV3, a guest's program could use speculation to read its kernel's tables there, as KPTI
 * is meant to prevent. So nothing is shown on a host with such a core.
 *
 * Showing a table takes two steps, both under mmu_lock: its page is mapped in the window, and
 * srf->tables[] gets its addresses and root.
 *
 * The guest's TLBI of more than leaves, and a change of the vCPU's trees or regime, hide tables[].
 * The mapped page may be no table any more, but it is still the guest's page. The window checks
 * tables[] again after it has read a descriptor.
 *
 * When the host takes memory back, the pages are unmapped and flushed before the host frees any.
 * The DSB waits for reads that used the old translation; a later read fails, and the window lets C
 * answer (switch/vectors.S).
 */
#ifndef AV_MMU_SWITCHER_TABLES_H
#define AV_MMU_SWITCHER_TABLES_H

#include "mmu/base/base.h"

/* The window leaves descriptors with longer addresses to C (switch/own_abort.S). */
#define AV_SHOWN_PA_BITS	40

/*
 * The guest has taken a fault at va, from virtual EL0, by the table in near. Called by the vCPU's
 * own thread, under mmu_lock, while near is valid.
 */
void av_sw_tables_note(struct av_vcpu *vcpu, const struct av_walk_cache *near, u64 va);

/* The vCPU's trees or its regime change. Called by its own thread. */
static inline void av_sw_tables_hide(struct av_vcpu *vcpu)
{
	unsigned int n;

	for (n = 0; n < AV_SRF_TABLES; n++)
		WRITE_ONCE(vcpu->srf->tables[n].region, AV_NO_REGION);
}

/* A guest's TLBI: tables may have changed. Under mmu_lock. */
void av_sw_tables_hide_all(struct av_vm *vm);

/*
 * The host takes memory back, or changes slots: no page is mapped when this returns. Under
 * mmu_lock.
 */
void av_sw_tables_revoke(struct av_vm *vm);

/*
 * vCPU idx is about to be created: does the window still have room for tables? If not, none is shown
 * any more, even if the vCPU is not created after all. Takes mmu_lock.
 */
void av_sw_tables_make_room(struct av_vm *vm, unsigned int idx);

/*
 * The window is about to move. Each flush of a table covers every position in use, so if there are
 * many, no table is shown any more. Under mmu_lock.
 */
#define AV_SHOWN_POSITIONS	4
void av_sw_tables_position(struct av_vm *vm);

/* A vCPU is being destroyed: nothing of it is mapped when this returns. Takes mmu_lock. */
void av_sw_tables_end(struct av_vcpu *vcpu);

#endif /* AV_MMU_SWITCHER_TABLES_H */
