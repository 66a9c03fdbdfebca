/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Addresses of a vGIC's frames in guest physical memory: one distributor, and
 * regions of redistributors. vCPUs fill the regions in order of creation, so a
 * region holds vCPUs of consecutive indices. The VMM sets the addresses in any
 * order, with KVM's rules and errnos.
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
	u32 count;		/* slots; 0: the only region, with one slot per vCPU */
	u32 used;		/* number of slots taken … */
	u32 first;		/* … by vCPUs from this index on */
};

struct av_vgic_layout {
	u64 dist;
	u8 ipa_bits;
	u32 nr_placed;		/* vCPUs that have a slot */
	u32 nr_regions;
	struct av_redist_region regions[AV_MAX_REGIONS];
};

void av_layout_init(struct av_vgic_layout *lay, u8 ipa_bits);

/* Is the range aligned (-EINVAL) and inside the IPA space (-E2BIG)? */
int av_layout_check_range(u8 ipa_bits, u64 base, u64 size);

/* KVM_VGIC_V3_ADDR_TYPE_DIST */
int av_layout_set_dist(struct av_vgic_layout *lay, u64 base);

/*
 * KVM_VGIC_V3_ADDR_TYPE_REDIST (count 0, index 0) and _REDIST_REGION. Places
 * the present nr_cpus vCPUs too. On error nothing has changed.
 */
int av_layout_add_region(struct av_vgic_layout *lay, u32 index, u64 base, u32 count,
			 u32 nr_cpus);

/* Place vCPUs up to nr_cpus while there are slots. -EINVAL: frames overlap. */
int av_layout_place(struct av_vgic_layout *lay, u32 nr_cpus);

/*
 * Place a new vCPU, the nr_cpus'th. As in KVM, a region without a count grows for it unchecked:
 * av_layout_check() finds an overlap at the first run. -EINVAL: frames overlapped before.
 */
int av_layout_add_cpu(struct av_vgic_layout *lay, u32 nr_cpus);

/* Undo av_layout_place(): only the first nr_cpus vCPUs stay placed. */
void av_layout_unplace(struct av_vgic_layout *lay, u32 nr_cpus);

/* Can vCPUs run? -ENXIO: an address is missing; -EINVAL: frames overlap. */
int av_layout_check(const struct av_vgic_layout *lay, u32 nr_cpus);

/* GICR_TYPER.Last of the vCPU with this index. */
bool av_layout_is_last(const struct av_vgic_layout *lay, u32 cpu);

enum av_frame { AV_FRAME_NONE, AV_FRAME_DIST, AV_FRAME_REDIST };

/* The frame at gpa, the offset in it, and the index of the redistributor's vCPU. */
enum av_frame av_layout_find(const struct av_vgic_layout *lay, u64 gpa, u32 *offset, u32 *cpu);

#endif /* AV_IRQ_LAYOUT_H */
