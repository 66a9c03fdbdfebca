/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fake kernel for tests of dma.c and region.c: the parts that they use, on a machine with
 * RAM_PAGES pages. All <linux/…> headers that they include lead here (core.mk). dma_world.h has the
 * VMM: what it sees of that RAM, and does to it.
 */
#ifndef AV_FAKE_GUEST_H
#define AV_FAKE_GUEST_H

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "av_types.h"

#define PAGE_SHIFT	12
#define PAGE_SIZE	4096UL
#define PAGE_ALIGN(x)	ALIGN(x, PAGE_SIZE)
#define PAGE_ALIGNED(x)	IS_ALIGNED(x, PAGE_SIZE)
#define PFN_PHYS(n)	((phys_addr_t)(n) << PAGE_SHIFT)
#define PHYS_PFN(p)	((u64)(p) >> PAGE_SHIFT)

typedef u64 phys_addr_t;
typedef u64 dma_addr_t;
#define gfp_t unsigned int
typedef struct { u64 prot; } pgprot_t;
typedef struct { s64 counter; } atomic64_t;

#define GFP_KERNEL	1U
#define __GFP_ZERO	2U
#define __GFP_NOWARN	4U

static inline void atomic64_add(s64 n, atomic64_t *v)
{
	v->counter += n;
}

static inline void atomic64_inc(atomic64_t *v)
{
	v->counter++;
}

static inline void atomic64_dec(atomic64_t *v)
{
	v->counter--;
}

static inline s64 atomic64_read(const atomic64_t *v)
{
	return v->counter;
}

/* ---- pages: each is a separate folio -------------------------------------------------- */

#define RAM_PAGES	8192UL
#define RAM_PHYS	0x40000000ULL

struct inode {
	unsigned int i_mode;
};

struct address_space {
	struct inode *host;
};

struct folio {
	void *mapping;	/* the low bits: 1 anonymous, 3 merged by KSM */
	bool slab;
	u32 refs;
};

struct page {
	struct folio folio;
};

extern u8 *ram;
extern struct page ram_pages[RAM_PAGES];
/* Current RCU readers, and an event just before the next section begins. */
extern u32 rcu_depth;
extern void (*rcu_before)(void);

static inline void *phys_to_virt(phys_addr_t phys)
{
	return ram + (phys - RAM_PHYS);
}

static inline phys_addr_t virt_to_phys(const void *virt)
{
	return (const u8 *)virt - ram + RAM_PHYS;
}

static inline bool pfn_valid(u64 frame)
{
	return frame >= PHYS_PFN(RAM_PHYS) && frame < PHYS_PFN(RAM_PHYS) + RAM_PAGES;
}

static inline struct page *pfn_to_page(u64 frame)
{
	return &ram_pages[frame - PHYS_PFN(RAM_PHYS)];
}

static inline u64 page_to_pfn(const struct page *page)
{
	return page - ram_pages + PHYS_PFN(RAM_PHYS);
}

#define pfn_to_kaddr(n)		phys_to_virt(PFN_PHYS(n))
#define phys_to_page(p)		pfn_to_page(PHYS_PFN(p))
#define page_to_phys(p)		PFN_PHYS(page_to_pfn(p))
#define virt_to_page(v)		phys_to_page(virt_to_phys(v))
#define page_address(p)		phys_to_virt(page_to_phys(p))

static inline struct folio *page_folio(struct page *page)
{
	return &page->folio;
}

static inline bool folio_test_slab(const struct folio *folio)
{
	return folio->slab;
}

static inline bool folio_test_anon(const struct folio *folio)
{
	return (unsigned long)folio->mapping & 1;
}

static inline bool folio_test_ksm(const struct folio *folio)
{
	return ((unsigned long)folio->mapping & 3) == 3;
}

static inline void get_page(struct page *page)
{
	page->folio.refs++;
}

static inline void rcu_read_lock(void)
{
	if (rcu_before)
		rcu_before();
	rcu_depth++;
}

static inline void rcu_read_unlock(void)
{
	rcu_depth--;
}

/* Interrupts, as wide.h turns them off. */
extern bool irqs_are_off;

#define local_irq_save(flags)		((flags) = irqs_are_off, irqs_are_off = true)
#define local_irq_restore(flags)	(irqs_are_off = (flags))

void *alloc_pages_exact(size_t bytes, gfp_t gfp);
void free_pages_exact(void *pages, size_t bytes);
unsigned long __get_free_pages(gfp_t gfp, unsigned int order);
void free_pages(unsigned long pages, unsigned int order);

static inline void *kvcalloc(size_t n, size_t size, gfp_t gfp)
{
	return calloc(n, size);
}

static inline void kvfree(void *p)
{
	free(p);
}

/* ---- messages, CPUs ------------------------------------------------------------------ */

static inline void fake_say(const char *format, ...)
{
}

#define pr_err			fake_say
#define pr_err_ratelimited	fake_say
#define pr_warn			fake_say
#define pr_info			fake_say
#define cond_resched()		do { } while (0)

#define DECLARE_PER_CPU(type, name)	extern type name
#define DEFINE_PER_CPU(type, name)	type name
#define this_cpu_add(what, n)		((what) += (n))
#define raw_smp_processor_id()		0
#define num_possible_cpus()		2

typedef u32 __le32;
#define le32_to_cpu(x)			(x)

#define __init
#define __exit

struct list_head {
	struct list_head *next, *prev;
};

/* ---- DMA ------------------------------------------------------------------------------- */

enum dma_data_direction {
	DMA_BIDIRECTIONAL, DMA_TO_DEVICE, DMA_FROM_DEVICE, DMA_NONE,
};

#define DMA_MAPPING_ERROR	(~(dma_addr_t)0)
#define DMA_ATTR_SKIP_CPU_SYNC	BIT(5)
#define DMA_ATTR_MMIO		BIT(10)

#define min_not_zero(a, b)	({ u64 _a = (a), _b = (b); !_a ? _b : !_b ? _a : min(_a, _b); })

#define KERNEL_VERSION(a, b, c)	(((a) << 16) + ((b) << 8) + (c))
#define LINUX_VERSION_CODE	KERNEL_VERSION(6, 19, 0)
#define IS_ENABLED(CONFIG_option)	1

struct bus_type;

struct device_driver {
	const char *name;
	const struct bus_type *bus;
};

struct device {
	u64 *dma_mask;
	u64 coherent_dma_mask, bus_dma_limit;
	const struct dma_map_ops *dma_ops;
	struct device *parent;
	struct device_driver *driver;
	bool iommu, skip_sync;
	u32 min_align_mask;
	u32 refs;
};

static inline const char *dev_name(const struct device *dev)
{
	return "device";
}

static inline const struct dma_map_ops *get_dma_ops(struct device *dev)
{
	return dev->dma_ops;
}

/* Device addresses differ from physical ones, so that nobody confuses them. */
#define DMA_OFFSET	0x1000000000ULL

static inline dma_addr_t phys_to_dma(struct device *dev, phys_addr_t phys)
{
	return phys + DMA_OFFSET;
}

static inline phys_addr_t dma_to_phys(struct device *dev, dma_addr_t dma)
{
	return dma - DMA_OFFSET;
}

struct scatterlist {
	struct page *page;
	unsigned int offset, length, dma_length;
	dma_addr_t dma_address;
};

struct sg_table {
	struct scatterlist *sgl;
};

#define for_each_sg(list, sg, count, i)	\
	for (i = 0, sg = (list); i < (count); i++, sg++)
#define sg_dma_address(sg)	((sg)->dma_address)
#define sg_dma_len(sg)		((sg)->dma_length)
#define sg_phys(sg)		(page_to_phys((sg)->page) + (sg)->offset)

static inline int sg_alloc_table(struct sg_table *table, unsigned int n, gfp_t gfp)
{
	table->sgl = calloc(n, sizeof(*table->sgl));
	return table->sgl ? 0 : -ENOMEM;
}

static inline void sg_set_page(struct scatterlist *sg, struct page *page, unsigned int length,
			       unsigned int offset)
{
	*sg = (struct scatterlist){ .page = page, .length = length, .offset = offset };
}

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_pgoff;
	pgprot_t vm_page_prot;
};

static inline unsigned long vma_pages(const struct vm_area_struct *vma)
{
	return (vma->vm_end - vma->vm_start) >> PAGE_SHIFT;
}

int remap_pfn_range(struct vm_area_struct *vma, unsigned long at, unsigned long frame,
		    unsigned long bytes, pgprot_t prot);

struct dma_map_ops {
	void *(*alloc)(struct device *dev, size_t size, dma_addr_t *dma, gfp_t gfp,
		       unsigned long attrs);
	void (*free)(struct device *dev, size_t size, void *virt, dma_addr_t dma,
		     unsigned long attrs);
	struct page *(*alloc_pages_op)(struct device *dev, size_t size, dma_addr_t *dma,
				       enum dma_data_direction dir, gfp_t gfp);
	void (*free_pages)(struct device *dev, size_t size, struct page *page, dma_addr_t dma,
			   enum dma_data_direction dir);
	int (*mmap)(struct device *dev, struct vm_area_struct *vma, void *virt, dma_addr_t dma,
		    size_t size, unsigned long attrs);
	int (*get_sgtable)(struct device *dev, struct sg_table *table, void *virt, dma_addr_t dma,
			   size_t size, unsigned long attrs);
	dma_addr_t (*map_phys)(struct device *dev, phys_addr_t phys, size_t size,
			       enum dma_data_direction dir, unsigned long attrs);
	void (*unmap_phys)(struct device *dev, dma_addr_t dma, size_t size,
			   enum dma_data_direction dir, unsigned long attrs);
	int (*map_sg)(struct device *dev, struct scatterlist *list, int count,
		      enum dma_data_direction dir, unsigned long attrs);
	void (*unmap_sg)(struct device *dev, struct scatterlist *list, int count,
			 enum dma_data_direction dir, unsigned long attrs);
	void (*sync_single_for_cpu)(struct device *dev, dma_addr_t dma, size_t size,
				    enum dma_data_direction dir);
	void (*sync_single_for_device)(struct device *dev, dma_addr_t dma, size_t size,
				       enum dma_data_direction dir);
	void (*sync_sg_for_cpu)(struct device *dev, struct scatterlist *list, int count,
				enum dma_data_direction dir);
	void (*sync_sg_for_device)(struct device *dev, struct scatterlist *list, int count,
				   enum dma_data_direction dir);
	int (*dma_supported)(struct device *dev, u64 mask);
	size_t (*max_mapping_size)(struct device *dev);
};

#include "bus.h"

#endif /* AV_FAKE_GUEST_H */
