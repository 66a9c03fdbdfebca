/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a vGIC's frames are in the guest's physical memory: one distributor,
 * and regions of redistributors that vCPUs fill in the order of their
 * creation, so that a region's slots hold vCPUs of consecutive indices.
 * KVM's rules and errnos for setting them, piece by piece and in any order.
 *
 * Pure. Written before the first vCPU runs (vm->config_lock), read-only after.
 */
#ifndef AV_IRQ_LAYOUT_H
#define AV_IRQ_LAYOUT_H

#include "irq/vgic.h"

#define AV_ADDR_UNDEF		(~0ULL)
#define AV_MAX_REGIONS		AV_VGIC_MAX_CPUS

struct av_redist_region {
	u64 base;
	u32 count;		/* of slots; 0: the only region, as many as vCPUs */
	u32 used;		/* slots taken … */
	u32 first;		/* … by the vCPUs from this index on */
};

struct av_vgic_layout {
	u64 dist;
	u8 ipa_bits;
	u32 nr_placed;		/* vCPUs that have a slot */
	u32 nr_regions;
	struct av_redist_region regions[AV_MAX_REGIONS];
};

void av_layout_init(struct av_vgic_layout *lay, u8 ipa_bits);

/* Frames at base, so large: aligned, and in an IPA space so wide? -EINVAL, -E2BIG. */
int av_layout_check_range(u8 ipa_bits, u64 base, u64 size);

/* KVM_VGIC_V3_ADDR_TYPE_DIST */
int av_layout_set_dist(struct av_vgic_layout *lay, u64 base);

/*
 * KVM_VGIC_V3_ADDR_TYPE_REDIST (count 0, index 0) and _REDIST_REGION; then
 * gives the nr_cpus vCPUs that there are their slots. Nothing changes on error.
 */
int av_layout_add_region(struct av_vgic_layout *lay, u32 index, u64 base, u32 count,
			 u32 nr_cpus);

/* Slots for vCPUs up to nr_cpus, as far as there are regions. -EINVAL: an overlap. */
int av_layout_place(struct av_vgic_layout *lay, u32 nr_cpus);

/* The last vCPU to be placed, of index nr_cpus, does not come: back to nr_cpus. */
void av_layout_unplace(struct av_vgic_layout *lay, u32 nr_cpus);

/* Is all there to run? 0, -ENXIO, -EINVAL. */
int av_layout_check(const struct av_vgic_layout *lay, u32 nr_cpus);

/* GICR_TYPER.Last of the vCPU with this index. */
bool av_layout_is_last(const struct av_vgic_layout *lay, u32 cpu);

enum av_frame { AV_FRAME_NONE, AV_FRAME_DIST, AV_FRAME_REDIST };

/* The frame at gpa, the offset in it, and the redistributor's vCPU. */
enum av_frame av_layout_find(const struct av_vgic_layout *lay, u64 gpa, u32 *offset, u32 *cpu);

#endif /* AV_IRQ_LAYOUT_H */
