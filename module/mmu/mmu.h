/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mmu/ for the rest of the module.
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
