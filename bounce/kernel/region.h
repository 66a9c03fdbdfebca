/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory of the pool, segment by segment (core/slots.h), and pages beside it that are
 * shared one by one. Made at load and given back at unload; in between it only answers where
 * an offset or an address is, in constant time and any context.
 *
 * What is shared is zero when it becomes so, and zeroed once it is private again: the VMM sees
 * nothing but what was bounced, and nobody in the guest gets what the VMM wrote.
 */
#ifndef AV_KERNEL_REGION_H
#define AV_KERNEL_REGION_H

#include <linux/atomic.h>
#include <linux/types.h>

#include "slots.h"

struct av_region {
	bool sharing;		/* by hypercall; else the VMM sees all memory anyway */
	u32 segments;
	void **segment;		/* where each begins */
	u32 *index;		/* a segment's number + 1 by its physical address, 0: none */
	u64 first, span;	/* addresses in units of segments: the lowest's; how many have one */
	phys_addr_t top;	/* the pool's highest byte */
	atomic64_t lost;	/* pages that could not be unshared: nobody gets them again */
};

/* 0 or an errno, with a sentence in the log. bytes: whole segments. */
int av_region_make(struct av_region *region, u64 bytes, bool sharing);
void av_region_free(struct av_region *region);

static inline void *av_region_at(const struct av_region *region, u64 offset)
{
	return region->segment[offset >> AV_SEGMENT_SHIFT] + (offset & (AV_SEGMENT_BYTES - 1));
}

/* The offset of an address in the pool, or AV_NO_BUFFER. */
static inline u64 av_region_offset(const struct av_region *region, phys_addr_t phys)
{
	u64 at = (phys >> AV_SEGMENT_SHIFT) - region->first;

	if (at >= region->span || !region->index[at])
		return AV_NO_BUFFER;
	return ((u64)(region->index[at] - 1) << AV_SEGMENT_SHIFT) + (phys & (AV_SEGMENT_BYTES - 1));
}

/* Whole pages, physically contiguous, zero, shared; NULL if there are none. */
void *av_region_pages(struct av_region *region, size_t bytes, gfp_t gfp);
void av_region_free_pages(struct av_region *region, void *pages, size_t bytes);

/* One page, which is RAM. */
int av_region_share(struct av_region *region, phys_addr_t page);
int av_region_unshare(struct av_region *region, phys_addr_t page);

#endif /* AV_KERNEL_REGION_H */
