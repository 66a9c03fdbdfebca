// SPDX-License-Identifier: GPL-2.0
/* Shared memory: rules in region.h. */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "hyp.h"
#include "region.h"

#define SEGMENT_ORDER	(AV_SEGMENT_SHIFT - PAGE_SHIFT)

int av_region_share(struct av_region *region, phys_addr_t page)
{
	return region->sharing ? av_hyp_share(page) : 0;
}

int av_region_unshare(struct av_region *region, phys_addr_t page)
{
	return region->sharing ? av_hyp_unshare(page) : 0;
}

/*
 * Make pages private again and clear them afterwards: the VMM could write them until then. If one
 * stays shared, nobody may use any of the block. Returns false in that case.
 */
static bool unshare_all(struct av_region *region, void *virt, size_t bytes)
{
	size_t at;
	u64 lost = 0;

	for (at = 0; at < bytes; at += PAGE_SIZE)
		lost += !!av_region_unshare(region, virt_to_phys(virt + at));
	if (!lost) {
		memset(virt, 0, bytes);
		return true;
	}
	atomic64_add(bytes / PAGE_SIZE, &region->lost);
	pr_err("the hypervisor does not take back %llu of %zu pages at %pa that were shared: they stay unused until the VM ends\n",
	       lost, bytes / PAGE_SIZE, &(phys_addr_t){ virt_to_phys(virt) });
	return false;
}

/*
 * Share all pages, or none and return an errno. *lost: some could not be unshared again, so the
 * block is lost.
 */
static int share_all(struct av_region *region, void *virt, size_t bytes, bool *lost)
{
	size_t at;
	int ret;

	*lost = false;
	for (at = 0; at < bytes; at += PAGE_SIZE) {
		ret = av_region_share(region, virt_to_phys(virt + at));
		if (ret) {
			*lost = !unshare_all(region, virt, at);
			return ret;
		}
	}
	return 0;
}

void *av_region_pages(struct av_region *region, size_t bytes, gfp_t gfp)
{
	void *pages = alloc_pages_exact(bytes, gfp | __GFP_ZERO);
	bool lost;

	if (!pages || !share_all(region, pages, PAGE_ALIGN(bytes), &lost))
		return pages;
	if (!lost)
		free_pages_exact(pages, bytes);
	return NULL;
}

void av_region_free_pages(struct av_region *region, void *pages, size_t bytes)
{
	if (unshare_all(region, pages, PAGE_ALIGN(bytes)))
		free_pages_exact(pages, bytes);
}

static int add_segment(struct av_region *region)
{
	void *segment = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN,
						 SEGMENT_ORDER);
	phys_addr_t phys;
	bool lost;
	int ret;

	if (!segment) {
		pr_err("not enough memory for the pool: only %u KiB are there; load with a smaller pool=\n",
		       region->segments << (AV_SEGMENT_SHIFT - 10));
		return -ENOMEM;
	}
	phys = virt_to_phys(segment);
	ret = share_all(region, segment, AV_SEGMENT_BYTES, &lost);
	if (ret) {
		pr_err("the hypervisor does not share the pages at %pa with the VMM (%d)\n", &phys, ret);
		if (!lost)
			free_pages((unsigned long)segment, SEGMENT_ORDER);
		return ret;
	}
	region->segment[region->segments++] = segment;
	region->top = max_t(phys_addr_t, region->top, phys + AV_SEGMENT_BYTES - 1);
	return 0;
}

static u64 place_of(const void *segment)
{
	return virt_to_phys(segment) >> AV_SEGMENT_SHIFT;
}

/* A table of segments by physical address, from the lowest to the highest: 4 bytes per 256 KiB. */
static int make_index(struct av_region *region)
{
	u32 i;

	region->first = region->top >> AV_SEGMENT_SHIFT;
	for (i = 0; i < region->segments; i++)
		region->first = min_t(u64, region->first, place_of(region->segment[i]));
	region->span = (region->top >> AV_SEGMENT_SHIFT) - region->first + 1;
	region->index = kvcalloc(region->span, sizeof(*region->index), GFP_KERNEL);
	if (!region->index)
		return -ENOMEM;
	for (i = 0; i < region->segments; i++)
		region->index[place_of(region->segment[i]) - region->first] = i + 1;
	return 0;
}

int av_region_make(struct av_region *region, u64 bytes, bool sharing)
{
	u32 wanted = bytes >> AV_SEGMENT_SHIFT;
	int ret = 0;

	*region = (struct av_region){ .sharing = sharing };
	region->segment = kvcalloc(wanted, sizeof(*region->segment), GFP_KERNEL);
	if (!region->segment)
		return -ENOMEM;
	while (!ret && region->segments < wanted) {
		ret = add_segment(region);
		cond_resched();
	}
	ret = ret ?: make_index(region);
	if (ret)
		av_region_free(region);
	return ret;
}

void av_region_free(struct av_region *region)
{
	while (region->segments) {
		void *segment = region->segment[--region->segments];

		if (unshare_all(region, segment, AV_SEGMENT_BYTES))
			free_pages((unsigned long)segment, SEGMENT_ORDER);
		cond_resched();
	}
	kvfree(region->index);
	kvfree(region->segment);
	region->index = NULL;
	region->segment = NULL;
}
