/* SPDX-License-Identifier: GPL-2.0 */
/* Differences of DMA operations between kernel versions, and nothing else. */
#ifndef AV_COMPAT_DMA_OPS_H
#define AV_COMPAT_DMA_OPS_H

#include <linux/dma-map-ops.h>
#include <linux/mm.h>
#include <linux/version.h>

/* Without this option the kernel ignores devices' own operations. It once had another name. */
static inline bool av_dma_ops_are_there(void)
{
	return IS_ENABLED(CONFIG_ARCH_HAS_DMA_OPS) || IS_ENABLED(CONFIG_DMA_OPS);
}

dma_addr_t av_dma_map(struct device *dev, phys_addr_t phys, size_t size,
		      enum dma_data_direction dir, unsigned long attrs);
void av_dma_unmap(struct device *dev, dma_addr_t dma, size_t size, enum dma_data_direction dir,
		  unsigned long attrs);

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)

#define AV_MAP_OPS	.map_phys = av_dma_map, .unmap_phys = av_dma_unmap

static inline bool av_is_mmio(unsigned long attrs)
{
	return attrs & DMA_ATTR_MMIO;
}

static inline bool av_has_page(phys_addr_t phys)
{
	return pfn_valid(PHYS_PFN(phys));
}

#else

static inline dma_addr_t av_dma_map_page(struct device *dev, struct page *page,
					 unsigned long offset, size_t size,
					 enum dma_data_direction dir, unsigned long attrs)
{
	return av_dma_map(dev, page_to_phys(page) + offset, size, dir, attrs);
}

#define AV_MAP_OPS	.map_page = av_dma_map_page, .unmap_page = av_dma_unmap

/* There, MMIO has a separate operation (map_resource), which the module lacks. */
static inline bool av_is_mmio(unsigned long attrs)
{
	return false;
}

/* The caller passed a page. */
static inline bool av_has_page(phys_addr_t phys)
{
	return true;
}

#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define AV_ALLOC_PAGES_OP	alloc_pages_op
#else
#define AV_ALLOC_PAGES_OP	alloc_pages
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
/* There, syncs are never skipped. */
static inline void dma_reset_need_sync(struct device *dev)
{
}
#endif

#endif /* AV_COMPAT_DMA_OPS_H */
