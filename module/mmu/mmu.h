/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mmu/ for the rest of the module, and a map of its rooms. A room uses those below it only
 * (layers.toml has which ones). The rest of the module sees a room's face.h, by this header.
 *
 *	vm.c		life of a VM's and a vCPU's state
 *	access.c	guest memory by physical address, for devices and the VMM
 *	host_ops.c	services of the host for the shadow tables
 *
 *	fault/		fills hidden faults. fast.c: by the walk cache, at a light exit; slow.c: on
 *			the full exit path; around.c: neighbours; block.c: 2 MiB at once; fill.h:
 *			shared code
 *	host/		the host's side of a VM's memory: memslot.c, notifier.c, shrink.c
 *	tlbi/		ops.c: trapped TLBIs
 *	roots/		the trees that a vCPU runs on. root.c: loads them; root_cache.c: the last
 *			ones, with copies of their roots; ttbr_cache.c: TTBR0 and TTBR1 to roots and
 *			ASID; window.c: moves the window
 *	code/		code in copies. copies.c: of pages; annex.c: registers without traps;
 *			patch_sites.c: instructions that are replaced
 *	guest/		reads by the guest's tables. walk_cache.c: the last level-3 tables;
 *			fetch.c: instructions; at.c: AT; resync_loaded.c: kept tables compared at
 *			once; switcher_tables.c: tables that the window reads
 *	dirty/		dirty.c: logs; dirty_ring.c: rings; protect.c: write protection in parts
 *	memory/		host pages behind guest frames. memory.c: looks them up, reads and writes
 *			them; pfn_cache.c: remembers those that the host has returned
 *	gmem/		guest_memfd. gmem.c: protected VMs'; gmem_plain.c: plain VMs'; private.c:
 *			in slots, sealed, shared; page_state.c: the owner of a page (pure)
 *	base/		types.h: the state of a VM and a vCPU; base.h: the lock and the sequence
 *			numbers; memcache.c: preallocated tables; reap.c: frees tables; regime.c:
 *			the guest's translation registers; plain.c: runs code in place, without
 *			copies; hidden.c: the state of a hidden fault
 *	abort/		classify.c: what an abort means; plan.h: what a hidden fault fills (pure)
 *	stub/		patch.h: instructions in copies; stub.c: code of stubs; annex_find.c: where
 *			they fit (pure)
 *	shadow/		the shadow tables. shadow.c, tree.c, rmap.c: filled; invalidate.c, tlbi.c:
 *			by TLBI; resync.c: compared again; gather.c, reclaim.c: flushed and given
 *			back; position.c: of the window (pure)
 *	slots/		slots.c: sets of slots; gfn_info.c: state of frames; ring.c: dirty rings
 *			(pure)
 *	walk/		walk.c: walks the guest's tables (pure)
 *
 * The run loop, for each entry:
 *
 *	av_mmu_load(vcpu)		may sleep; chooses the shadow trees
 *	local_irq_disable()
 *	av_mmu_prepare_entry(vcpu, &e)	roots and ASIDs for the switch
 *	... enter, exit, local_irq_enable()
 *
 * Invalidations empty a tree that a vCPU has loaded, but never free it before the vCPU loads
 * another. So what av_mmu_prepare_entry() returns is valid as long as the vCPU runs with it.
 *
 * An abort ends in an answer (vm/answer.h), which cpu/ carries out.
 */
#ifndef AV_MMU_MMU_H
#define AV_MMU_MMU_H

#include <linux/types.h>

#include "mmu/base/regime.h"
#include "mmu/base/types.h"
#include "mmu/code/face.h"
#include "mmu/dirty/face.h"
#include "mmu/fault/face.h"
#include "mmu/gmem/face.h"
#include "mmu/guest/face.h"
#include "mmu/host/face.h"
#include "mmu/roots/face.h"
#include "mmu/tlbi/face.h"
#include "vm/vcpu.h"

/* Set up vm->mmu. May sleep. 0 or an errno, with nothing left to undo. */
int av_mmu_vm_init(struct av_vm *vm);
/* After the last vCPU was destroyed, when nobody can reach the VM. May sleep. */
void av_mmu_vm_destroy(struct av_vm *vm);

/* Number of pages and 2 MiB blocks that the shadow tables map. May sleep. */
void av_mmu_count_leaves(struct av_vm *vm, u64 *pages, u64 *blocks);
/*
 * Call before the first vCPU is freed. Stops the host's notifier and shrinker, which flush what
 * vCPUs have cached, and unmaps all guest memory for good. May sleep.
 */
void av_mmu_vm_stop(struct av_vm *vm);
/* May sleep. 0 or -ENOMEM. */
int av_mmu_vcpu_init(struct av_vcpu *vcpu);
void av_mmu_vcpu_destroy(struct av_vcpu *vcpu);

/* Access guest memory by physical address, in the VMM's context. -EFAULT: no memory there. */
int av_gpa_read(struct av_vm *vm, u64 gpa, void *buf, unsigned int len);
int av_gpa_write(struct av_vm *vm, u64 gpa, const void *buf, unsigned int len);
/* Is there memory at gpa, and, with write, is it writable? */
bool av_gpa_is_ram(struct av_vm *vm, u64 gpa, bool write);

#endif /* AV_MMU_MMU_H */
