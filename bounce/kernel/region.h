/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory of the pool, in segments (core/slots.h), and separate shared pages. The pool is
 * allocated at load and freed at unload; in between it only translates offsets and addresses, in
 * constant time and any context.
 *
 * Memory is zero when it becomes shared, and is cleared once it is private again: the VMM sees only
 * what was bounced, and nobody in the guest gets what the VMM wrote.
 */
#ifndef AV_KERNEL_REGION_H
#define AV_KERNEL_REGION_H

#include <linux/atomic.h>
#include <linux/types.h>

#include "slots.h"

struct av_region {
	bool sharing;		/* by hypercall; if not, the VMM sees all memory anyway */
	u32 segments;
	void **segment;		/* the address of each */
	u32 *index;		/* segment number + 1, by physical address; 0: none */
	u64 first, span;	/* range of index, in segments: first address and length */
	phys_addr_t top;	/* the highest address of the pool */
	atomic64_t lost;	/* pages that could not be unshared: never used again */
};

/* Returns 0, or a negative errno and logs why. bytes: a multiple of a segment. */
int av_region_make(struct av_region *region, u64 bytes, bool sharing);
void av_region_free(struct av_region *region);

static inline void *av_region_at(const struct av_region *region, u64 offset)
{
	return region->segment[offset >> AV_SEGMENT_SHIFT] + (offset & (AV_SEGMENT_BYTES - 1));
}

/* Returns the offset in the pool of a physical address, or AV_NO_BUFFER. */
static inline u64 av_region_offset(const struct av_region *region, phys_addr_t phys)
{
	u64 at = (phys >> AV_SEGMENT_SHIFT) - region->first;

	if (at >= region->span || !region->index[at])
		return AV_NO_BUFFER;
	return ((u64)(region->index[at] - 1) << AV_SEGMENT_SHIFT) + (phys & (AV_SEGMENT_BYTES - 1));
}

/* Allocate physically contiguous, zeroed, shared pages; NULL on failure. Free them. */
void *av_region_pages(struct av_region *region, size_t bytes, gfp_t gfp);
void av_region_free_pages(struct av_region *region, void *pages, size_t bytes);

/* One page, which must be RAM. Return 0 or a negative errno. */
int av_region_share(struct av_region *region, phys_addr_t page);
int av_region_unshare(struct av_region *region, phys_addr_t page);

#endif /* AV_KERNEL_REGION_H */
