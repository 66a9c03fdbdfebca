/* SPDX-License-Identifier: GPL-2.0 */
/* How many shadow tables and trees a VM may have. Pure. */
#ifndef AV_MMU_LIMITS_H
#define AV_MMU_LIMITS_H

#include "mmu/shadow/shadow.h"

/* Trees that a vCPU keeps a reference on, to switch between them without mmu_lock. */
#define AV_VCPU_TREES		32

/* Tables that every VM may fill; one more for this many guest pages; the most, for 64 GiB. */
#define AV_MIN_PTS		2048
#define AV_PAGES_PER_PT		32
#define AV_MAX_PTS		BIT(15)

/* Trees that every VM may have, most of them loaded by no vCPU. */
#define AV_MIN_TREES		4096

/*
 * The limits of a VM with this many vCPUs and guest pages. They never keep a vCPU from loading a
 * tree: if all vCPUs load as many as they can, each tree still has its fixed tables, there is a
 * table for each to fill, and there are trees left that nobody loads, which can be dropped.
 */
static inline struct av_shadow_limits av_vm_limits(unsigned int vcpus, u64 npages)
{
	u32 loaded = vcpus * AV_VCPU_TREES;
	struct av_shadow_limits limits = {
		.trees = max_t(u32, AV_MIN_TREES, loaded + AV_VCPU_TREES),
		.loaded_pts = loaded * AV_TREE_PTS,
	};

	limits.pts = limits.loaded_pts + loaded +
		     min_t(u64, AV_MIN_PTS + npages / AV_PAGES_PER_PT, AV_MAX_PTS);
	return limits;
}

#endif /* AV_MMU_LIMITS_H */
