// SPDX-License-Identifier: GPL-2.0
/* Placement of the vGIC's frames. Pure; rules in layout.h. */
#include "irq/layout.h"

#define FRAME_ALIGN	0x10000ULL

void av_layout_init(struct av_vgic_layout *lay, u8 ipa_bits)
{
	memset(lay, 0, sizeof(*lay));
	lay->dist = AV_ADDR_UNDEF;
	lay->ipa_bits = ipa_bits;
}

int av_layout_check_range(u8 ipa_bits, u64 base, u64 size)
{
	if (!IS_ALIGNED(base, FRAME_ALIGN) || base + size < base)
		return -EINVAL;
	if (base >> ipa_bits || base + size > BIT_ULL(ipa_bits))
		return -E2BIG;
	return 0;
}

static u64 region_size(const struct av_redist_region *region, u32 nr_cpus)
{
	return (u64)(region->count ? region->count : nr_cpus) * AV_VGIC_REDIST_SIZE;
}

static bool overlap(u64 a, u64 a_size, u64 b, u64 b_size)
{
	return a + a_size > b && a < b + b_size;
}

static bool overlaps_regions(const struct av_vgic_layout *lay, u64 base, u64 size, u32 nr_cpus)
{
	unsigned int i;

	for (i = 0; i < lay->nr_regions; i++)
		if (overlap(base, size, lay->regions[i].base,
			    region_size(&lay->regions[i], nr_cpus)))
			return true;
	return false;
}

int av_layout_set_dist(struct av_vgic_layout *lay, u64 base)
{
	int r;

	if (lay->dist != AV_ADDR_UNDEF)
		return -EEXIST;
	r = av_layout_check_range(lay->ipa_bits, base, AV_VGIC_DIST_SIZE);
	if (!r)
		lay->dist = base;
	return r;
}

/* With nr_cpus vCPUs, are all frames in range and disjoint? */
static bool fits(const struct av_vgic_layout *lay, u32 nr_cpus)
{
	unsigned int i;

	for (i = 0; i < lay->nr_regions; i++)
		if (av_layout_check_range(lay->ipa_bits, lay->regions[i].base, region_size(&lay->regions[i], nr_cpus)))
			return false;
	return lay->dist == AV_ADDR_UNDEF ||
	       !overlaps_regions(lay, lay->dist, AV_VGIC_DIST_SIZE, nr_cpus);
}

static struct av_redist_region *free_region(struct av_vgic_layout *lay)
{
	unsigned int i;

	for (i = 0; i < lay->nr_regions; i++)
		if (!lay->regions[i].count || lay->regions[i].used < lay->regions[i].count)
			return &lay->regions[i];
	return NULL;
}

/* Place vCPUs up to nr_cpus, if the frames of the first `checked` ones are in range and disjoint. */
static int place(struct av_vgic_layout *lay, u32 nr_cpus, u32 checked)
{
	struct av_redist_region *region = free_region(lay);

	/* A vCPU without a slot is placed later, once a region has room. */
	if (lay->nr_placed >= nr_cpus || !region)
		return 0;
	if (!fits(lay, checked))
		return -EINVAL;
	for (; lay->nr_placed < nr_cpus && region; region = free_region(lay)) {
		if (!region->used)
			region->first = lay->nr_placed;
		region->used++;
		lay->nr_placed++;
	}
	return 0;
}

int av_layout_place(struct av_vgic_layout *lay, u32 nr_cpus)
{
	return place(lay, nr_cpus, nr_cpus);
}

int av_layout_add_cpu(struct av_vgic_layout *lay, u32 nr_cpus)
{
	return place(lay, nr_cpus, nr_cpus - 1);
}

void av_layout_unplace(struct av_vgic_layout *lay, u32 nr_cpus)
{
	unsigned int i;

	for (i = lay->nr_regions; i-- && lay->nr_placed > nr_cpus; ) {
		while (lay->regions[i].used && lay->nr_placed > nr_cpus) {
			lay->regions[i].used--;
			lay->nr_placed--;
		}
	}
}

/* May a region of this index and kind follow the existing ones? */
static int check_order(const struct av_vgic_layout *lay, u32 index, u32 count)
{
	if (!lay->nr_regions)
		return index ? -EINVAL : 0;
	if (!count)
		return lay->regions[lay->nr_regions - 1].count ? -EINVAL : -EEXIST;
	return index == lay->nr_regions ? 0 : -EINVAL;
}

int av_layout_add_region(struct av_vgic_layout *lay, u32 index, u64 base, u32 count, u32 nr_cpus)
{
	struct av_redist_region region = { .base = base, .count = count };
	u64 size = region_size(&region, nr_cpus);
	u32 placed = lay->nr_placed;
	int r;

	if (base + size < base)
		return -EINVAL;
	r = check_order(lay, index, count);
	if (r)
		return r;
	if (lay->nr_regions == AV_MAX_REGIONS)
		return -E2BIG;
	if (!count && lay->dist != AV_ADDR_UNDEF &&
	    overlap(base, size, lay->dist, AV_VGIC_DIST_SIZE))
		return -EINVAL;
	if (overlaps_regions(lay, base, size, nr_cpus))
		return -EINVAL;
	r = av_layout_check_range(lay->ipa_bits, base, size);
	if (r)
		return r;

	lay->regions[lay->nr_regions++] = region;
	r = av_layout_place(lay, nr_cpus);
	if (r) {
		av_layout_unplace(lay, placed);
		lay->nr_regions--;
	}
	return r;
}

int av_layout_check(const struct av_vgic_layout *lay, u32 nr_cpus)
{
	if (lay->nr_placed < nr_cpus || lay->dist == AV_ADDR_UNDEF)
		return -ENXIO;
	return fits(lay, nr_cpus) ? 0 : -EINVAL;
}

static const struct av_redist_region *region_of(const struct av_vgic_layout *lay, u32 cpu)
{
	unsigned int i;

	for (i = 0; i < lay->nr_regions; i++)
		if (cpu >= lay->regions[i].first && cpu - lay->regions[i].first < lay->regions[i].used)
			return &lay->regions[i];
	return NULL;
}

bool av_layout_is_last(const struct av_vgic_layout *lay, u32 cpu)
{
	const struct av_redist_region *region = region_of(lay, cpu);
	unsigned int i;
	u64 end;

	if (!region || cpu - region->first + 1 < region->used)
		return false;
	if (!region->count || region->used < region->count)
		return true;
	/* This vCPU is the last of a full region: is another region adjacent? */
	end = region->base + region_size(region, 0);
	for (i = 0; i < lay->nr_regions; i++)
		if (lay->regions[i].base == end && lay->regions[i].used)
			return false;
	return true;
}

enum av_frame av_layout_find(const struct av_vgic_layout *lay, u64 gpa, u32 *offset, u32 *cpu)
{
	unsigned int i;

	if (gpa - lay->dist < AV_VGIC_DIST_SIZE && lay->dist != AV_ADDR_UNDEF) {
		*offset = (u32)(gpa - lay->dist);
		return AV_FRAME_DIST;
	}
	for (i = 0; i < lay->nr_regions; i++) {
		const struct av_redist_region *region = &lay->regions[i];
		u64 at = gpa - region->base, slot = at / AV_VGIC_REDIST_SIZE;

		if (slot < region->used) {
			*offset = at % AV_VGIC_REDIST_SIZE;
			*cpu = region->first + (u32)array_index_nospec(slot, region->used);
			return AV_FRAME_REDIST;
		}
	}
	return AV_FRAME_NONE;
}
