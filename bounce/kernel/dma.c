// SPDX-License-Identifier: GPL-2.0
/*
 * The DMA operations of a served device: they give it buffers of the pool or, in mode hybrid, share
 * whole pages while they are mapped.
 *
 * A buffer that the device writes is cleared first. Swiotlb copies the driver's memory into it
 * instead, so that bytes that the device does not write keep their value. That would show the VMM
 * memory that nobody meant to send. Without either, the driver could get the contents of an earlier
 * mapping, perhaps of another process: a failing disk reports only in the request's status that it
 * wrote nothing. Network buffers are not cleared: the driver reads only as many bytes as the device
 * says it wrote, and a VMM that lies about that could as well write what it saw in the pool.
 */
#include <linux/dma-direct.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/rcupdate.h>
#include <linux/scatterlist.h>
#include <linux/string.h>

#include "bounce.h"
#include "compat/dma_ops.h"
#include "wide.h"

DEFINE_PER_CPU(struct av_counts, av_counts);
struct av_wide av_wide;

static bool reaches(struct device *dev, u64 mask, dma_addr_t dma, size_t size)
{
	return dma + size - 1 <= min_not_zero(mask, dev->bus_dma_limit);
}

static u8 access_of(enum dma_data_direction dir)
{
	switch (dir) {
	case DMA_TO_DEVICE:
		return AV_DEVICE_READS;
	case DMA_FROM_DEVICE:
		return AV_DEVICE_WRITES;
	case DMA_BIDIRECTIONAL:
		return AV_DEVICE_READS | AV_DEVICE_WRITES;
	default:
		return 0;
	}
}

static void senseless(struct device *dev, const char *what, dma_addr_t dma)
{
	av_count(senseless, 1);
	pr_err_ratelimited("%s: %s of %pad, which is not mapped: ignored\n", dev_name(dev), what, &dma);
}

/* ---- whole pages ------------------------------------------------------------------- */

static int share_page(void *context, u64 frame, bool wipe)
{
	/*
	 * The VMM must not see the page's old contents; the driver expects only the device's bytes.
	 */
	if (wipe) {
		memset(pfn_to_kaddr(frame), 0, PAGE_SIZE);
		av_count(zeroed, PAGE_SIZE);
	}
	return av_region_share(context, PFN_PHYS(frame));
}

static int unshare_page(void *context, u64 frame)
{
	return av_region_unshare(context, PFN_PHYS(frame));
}

/* The page's user keeps it; the extra reference keeps it from being reused after that. */
static void page_is_stuck(void *context, u64 frame)
{
	struct av_region *region = context;

	get_page(pfn_to_page(frame));
	atomic64_inc(&region->lost);
	pr_err("the hypervisor does not take back the page %#llx that was shared: the VMM can read and write it until the VM ends; it is not reused after its user frees it\n",
	       frame);
}

const struct av_share_ops av_dma_share_ops = {
	.share = share_page, .unshare = unshare_page, .stuck = page_is_stuck,
};

/*
 * Does the page hold user data: anonymous memory, or a regular file's? While a page is shared the
 * VMM can write it, whatever the direction. So the kernel's own memory never qualifies: slab
 * objects, indirect descriptors, packets with their skb_shared_info, metadata buffers, the zero
 * page, which everyone uses, and pages merged by KSM.
 */
static bool is_users(struct page *page)
{
	struct folio *folio = page_folio(page);
	const struct address_space *mapping;
	const struct inode *host;
	bool users;

	if (folio_test_slab(folio))
		return false;
	/* The file may be truncated meanwhile; RCU keeps its inode. */
	rcu_read_lock();
	mapping = READ_ONCE(folio->mapping);
	if ((unsigned long)mapping & (sizeof(long) - 1)) {
		/* With low bits set it is not a file's mapping; they tell the kind. */
		users = folio_test_anon(folio) && !folio_test_ksm(folio);
	} else {
		host = mapping ? READ_ONCE(mapping->host) : NULL;
		users = host && S_ISREG(host->i_mode);
	}
	rcu_read_unlock();
	return users;
}

/*
 * May these pages be shared with the VMM? Only whole pages of users, and not if the driver keeps
 * using them while they are mapped, as drivers that sync by themselves do.
 */
static bool may_share(phys_addr_t phys, size_t size, unsigned long attrs)
{
	size_t at;

	if (av_bounce.pool.plan.mode != AV_MODE_HYBRID || !PAGE_ALIGNED(phys) ||
	    !PAGE_ALIGNED(size) || attrs & DMA_ATTR_SKIP_CPU_SYNC)
		return false;
	for (at = 0; at < size; at += PAGE_SIZE) {
		if (!pfn_valid(PHYS_PFN(phys + at)) || !is_users(phys_to_page(phys + at)))
			return false;
	}
	return true;
}

static struct av_device *device_of(struct device *dev)
{
	return container_of(get_dma_ops(dev), struct av_device, ops);
}

static dma_addr_t map_pages(struct device *dev, phys_addr_t phys, size_t size, u8 access)
{
	dma_addr_t dma = phys_to_dma(dev, phys);

	if (!reaches(dev, *dev->dma_mask, dma, size) ||
	    av_shares_get(&av_bounce.shares, PHYS_PFN(phys), size >> PAGE_SHIFT,
			  access == AV_DEVICE_WRITES))
		return DMA_MAPPING_ERROR;
	av_count(direct, 1);
	atomic64_inc(&device_of(dev)->outside);
	return dma;
}

static void unmap_pages(struct device *dev, dma_addr_t dma, size_t size)
{
	phys_addr_t phys = dma_to_phys(dev, dma);
	atomic64_t *outside = &device_of(dev)->outside;

	if (av_bounce.pool.plan.mode != AV_MODE_HYBRID || !PAGE_ALIGNED(phys) || !size ||
	    !PAGE_ALIGNED(size) || size > AV_SEGMENT_BYTES || !atomic64_read(outside) ||
	    av_shares_put(&av_bounce.shares, PHYS_PFN(phys), size >> PAGE_SHIFT))
		senseless(dev, "unmapping", dma);
	else
		atomic64_dec(outside);
}

/* ---- buffers of the pool ------------------------------------------------------------ */

/* A flag of av_device.last: the last buffer in that direction was large. */
#define LARGE	BIT(7)

/*
 * Was the device's last large buffer in the same direction, with no buffer in the other direction
 * since? Then more of them usually follow. Only a guess, so other CPUs may interfere.
 */
static __always_inline bool goes_on(struct av_device *device, size_t size, u8 way)
{
	u8 last = READ_ONCE(device->last);
	bool same = last == (way | LARGE);

	if (!same && (last != way || size >= AV_WIDE_LEAST))
		WRITE_ONCE(device->last, size < AV_WIDE_LEAST ? way : way | LARGE);
	return same;
}

static __always_inline void to_device(u64 offset, phys_addr_t orig, size_t size, bool more)
{
	av_copy(av_region_at(&av_bounce.region, offset), phys_to_virt(orig), size, more);
	av_count(to_device, size);
}

static __always_inline void from_device(phys_addr_t orig, u64 offset, size_t size, bool more)
{
	av_copy(phys_to_virt(orig), av_region_at(&av_bounce.region, offset), size, more);
	av_count(from_device, size);
}

static enum av_stay stay_of(const struct av_device *device, u8 access)
{
	if (device->disk)
		return AV_REQUEST;
	return access == AV_DEVICE_READS ? AV_SENT : AV_WAITS;
}

/*
 * attrs: with DMA_ATTR_SKIP_CPU_SYNC the driver syncs itself; until then nothing is for the device.
 */
static __always_inline dma_addr_t map_buffer(struct device *dev, phys_addr_t phys, size_t size,
					     u8 access, unsigned long attrs)
{
	struct av_device *device = device_of(dev);
	struct av_ask ask = {
		.orig = phys, .bytes = size, .align = 1, .owner = device->number,
		.access = access, .stay = stay_of(device, access),
	};
	u64 offset = av_pool_get(&av_bounce.pool, raw_smp_processor_id(), &ask);
	bool more = goes_on(device, size, AV_DEVICE_READS);

	if (offset == AV_NO_BUFFER) {
		av_count(exhausted, 1);
		return DMA_MAPPING_ERROR;
	}
	if (access & AV_DEVICE_READS && !(attrs & DMA_ATTR_SKIP_CPU_SYNC)) {
		to_device(offset, phys, size, more);
	} else if (!device->by_length) {
		av_clear(av_region_at(&av_bounce.region, offset), size);
		av_count(zeroed, size);
	}
	return phys_to_dma(dev, virt_to_phys(av_region_at(&av_bounce.region, offset)));
}

dma_addr_t av_dma_map(struct device *dev, phys_addr_t phys, size_t size,
		      enum dma_data_direction dir, unsigned long attrs)
{
	u8 access = access_of(dir);
	dma_addr_t dma;

	if (!size || size > AV_SEGMENT_BYTES || av_is_mmio(attrs) || !access ||
	    !av_has_page(phys)) {
		av_count(too_large, 1);
		return DMA_MAPPING_ERROR;
	}
	if (may_share(phys, size, attrs)) {
		dma = map_pages(dev, phys, size, access);
		/* Bounce if the table is full or the page cannot be shared. */
		if (dma != DMA_MAPPING_ERROR)
			return dma;
	}
	return map_buffer(dev, phys, size, access, attrs);
}

/* Is the address in the pool? Sets *offset. */
static __always_inline bool in_pool(struct device *dev, dma_addr_t dma, u64 *offset)
{
	*offset = av_region_offset(&av_bounce.region, dma_to_phys(dev, dma));
	return *offset != AV_NO_BUFFER;
}

/* Find this device's buffer at an offset. False: none, or another device's. */
static __always_inline bool find(struct device *dev, u64 offset, struct av_found *found)
{
	return !av_pool_find(&av_bounce.pool, offset, found) &&
	       found->owner == device_of(dev)->number;
}

/* The same for streaming mappings only: not coherent buffers. */
static __always_inline bool find_mapping(struct device *dev, u64 offset, struct av_found *found)
{
	return find(dev, offset, found) && found->orig != AV_NO_ORIG;
}

void av_dma_unmap(struct device *dev, dma_addr_t dma, size_t size, enum dma_data_direction dir,
		  unsigned long attrs)
{
	struct av_found found;
	u64 offset;
	bool more;

	if (!in_pool(dev, dma, &offset)) {
		unmap_pages(dev, dma, size);
		return;
	}
	if (!find_mapping(dev, offset, &found) || found.begin != offset) {
		senseless(dev, "unmapping", dma);
		return;
	}
	more = goes_on(device_of(dev), size, AV_DEVICE_WRITES);
	if (!(attrs & DMA_ATTR_SKIP_CPU_SYNC) && found.access & AV_DEVICE_WRITES)
		from_device(found.orig, offset, min_t(size_t, size, found.left), more);
	if (av_pool_put_found(&av_bounce.pool, &found))
		senseless(dev, "unmapping", dma);
}

static void sync(struct device *dev, dma_addr_t dma, size_t size, u8 access)
{
	struct av_found found;
	u64 offset;
	bool more;

	/* Shared pages need no sync. */
	if (!size || !in_pool(dev, dma, &offset))
		return;
	if (!find_mapping(dev, offset, &found)) {
		senseless(dev, "sync", dma);
		return;
	}
	size = min_t(size_t, size, found.left);
	if (!(found.access & access))
		return;
	more = goes_on(device_of(dev), size, access);
	if (access == AV_DEVICE_WRITES)
		from_device(found.orig, offset, size, more);
	else
		to_device(offset, found.orig, size, more);
}

static void sync_for_cpu(struct device *dev, dma_addr_t dma, size_t size,
			 enum dma_data_direction dir)
{
	if (dir != DMA_TO_DEVICE)
		sync(dev, dma, size, AV_DEVICE_WRITES);
}

static void sync_for_device(struct device *dev, dma_addr_t dma, size_t size,
			    enum dma_data_direction dir)
{
	if (dir != DMA_FROM_DEVICE)
		sync(dev, dma, size, AV_DEVICE_READS);
}

/* ---- lists --------------------------------------------------------------------------- */

static void unmap_list(struct device *dev, struct scatterlist *list, int count,
		       enum dma_data_direction dir, unsigned long attrs)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(list, sg, count, i)
		av_dma_unmap(dev, sg_dma_address(sg), sg_dma_len(sg), dir, attrs);
}

static int map_list(struct device *dev, struct scatterlist *list, int count,
		    enum dma_data_direction dir, unsigned long attrs)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(list, sg, count, i) {
		sg->dma_address = av_dma_map(dev, sg_phys(sg), sg->length, dir, attrs);
		if (sg->dma_address == DMA_MAPPING_ERROR) {
			/* The device has not been given anything yet: do not copy back. */
			unmap_list(dev, list, i, dir, attrs | DMA_ATTR_SKIP_CPU_SYNC);
			return -ENOMEM;
		}
		sg_dma_len(sg) = sg->length;
	}
	return count;
}

static void sync_list_for_cpu(struct device *dev, struct scatterlist *list, int count,
			      enum dma_data_direction dir)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(list, sg, count, i)
		sync_for_cpu(dev, sg_dma_address(sg), sg_dma_len(sg), dir);
}

static void sync_list_for_device(struct device *dev, struct scatterlist *list, int count,
				 enum dma_data_direction dir)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(list, sg, count, i)
		sync_for_device(dev, sg_dma_address(sg), sg_dma_len(sg), dir);
}

/* ---- coherent memory ------------------------------------------------------------------ */

/* More than the page allocator gives, so that no size overflows. */
#define MAX_COHERENT	(1UL << 30)

static void *alloc_in_pool(struct device *dev, size_t size)
{
	struct av_ask ask = {
		.orig = AV_NO_ORIG, .bytes = size, .align = PAGE_SIZE,
		.owner = device_of(dev)->number, .stay = AV_WAITS,
	};
	u64 offset;
	void *virt;

	if (size > AV_SEGMENT_BYTES)
		return NULL;
	offset = av_pool_get_slots(&av_bounce.pool, raw_smp_processor_id(), &ask);
	if (offset == AV_NO_BUFFER)
		return NULL;
	virt = av_region_at(&av_bounce.region, offset);
	memset(virt, 0, size);
	av_count(coherent, 1);
	return virt;
}

static void free_coherent(struct device *dev, size_t size, void *virt, dma_addr_t dma,
			  unsigned long attrs)
{
	struct av_found found;
	u64 offset;

	if (!in_pool(dev, dma, &offset)) {
		av_region_free_pages(&av_bounce.region, virt, PAGE_ALIGN(size));
		atomic64_dec(&device_of(dev)->outside);
		return;
	}
	if (!find(dev, offset, &found) || found.orig != AV_NO_ORIG || found.begin != offset ||
	    av_pool_put(&av_bounce.pool, offset))
		senseless(dev, "freeing", dma);
	else
		av_count(freed, 1);
}

static void *alloc_coherent(struct device *dev, size_t size, dma_addr_t *dma, gfp_t gfp,
			    unsigned long attrs)
{
	void *virt;

	if (!size || size > MAX_COHERENT)
		return NULL;
	size = PAGE_ALIGN(size);
	virt = alloc_in_pool(dev, size);
	if (!virt) {
		virt = av_region_pages(&av_bounce.region, size, gfp);
		if (!virt)
			return NULL;
		av_count(apart, 1);
		atomic64_inc(&device_of(dev)->outside);
	}
	*dma = phys_to_dma(dev, virt_to_phys(virt));
	if (reaches(dev, dev->coherent_dma_mask, *dma, size))
		return virt;
	free_coherent(dev, size, virt, *dma, attrs);
	return NULL;
}

static struct page *alloc_pages_coherent(struct device *dev, size_t size, dma_addr_t *dma,
					 enum dma_data_direction dir, gfp_t gfp)
{
	void *virt = alloc_coherent(dev, size, dma, gfp, 0);

	return virt ? virt_to_page(virt) : NULL;
}

static void free_pages_coherent(struct device *dev, size_t size, struct page *page, dma_addr_t dma,
				enum dma_data_direction dir)
{
	free_coherent(dev, size, page_address(page), dma, 0);
}

static int mmap_coherent(struct device *dev, struct vm_area_struct *vma, void *virt, dma_addr_t dma,
			 size_t size, unsigned long attrs)
{
	unsigned long pages = PAGE_ALIGN(size) >> PAGE_SHIFT;

	if (vma->vm_pgoff >= pages || vma_pages(vma) > pages - vma->vm_pgoff)
		return -ENXIO;
	return remap_pfn_range(vma, vma->vm_start, PHYS_PFN(virt_to_phys(virt)) + vma->vm_pgoff,
			       vma_pages(vma) << PAGE_SHIFT, vma->vm_page_prot);
}

static int get_sgtable(struct device *dev, struct sg_table *table, void *virt, dma_addr_t dma,
		       size_t size, unsigned long attrs)
{
	int ret = sg_alloc_table(table, 1, GFP_KERNEL);

	if (!ret)
		sg_set_page(table->sgl, virt_to_page(virt), PAGE_ALIGN(size), 0);
	return ret;
}

/* ---- limits ----------------------------------------------------------------------------- */

static int dma_reaches(struct device *dev, u64 mask)
{
	return phys_to_dma(dev, av_bounce.region.top) <= mask;
}

static size_t max_mapping_size(struct device *dev)
{
	return device_of(dev)->most;
}

const struct dma_map_ops av_dma_ops = {
	AV_MAP_OPS,
	.map_sg = map_list,
	.unmap_sg = unmap_list,
	.sync_single_for_cpu = sync_for_cpu,
	.sync_single_for_device = sync_for_device,
	.sync_sg_for_cpu = sync_list_for_cpu,
	.sync_sg_for_device = sync_list_for_device,
	.alloc = alloc_coherent,
	.free = free_coherent,
	.AV_ALLOC_PAGES_OP = alloc_pages_coherent,
	.free_pages = free_pages_coherent,
	.mmap = mmap_coherent,
	.get_sgtable = get_sgtable,
	.dma_supported = dma_reaches,
	.max_mapping_size = max_mapping_size,
};
