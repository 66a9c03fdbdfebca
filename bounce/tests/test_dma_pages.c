// SPDX-License-Identifier: GPL-2.0
/*
 * Pages that mode hybrid shares at run time: only pages of users, only while a device has them
 * mapped, and the VMM sees nothing beside them.
 */
#include "check.h"
#include "dice.h"
#include "dma_world.h"

#define POOL	(4UL << 20)
#define MASK	(~0ULL)

static const struct dma_map_ops *const ops = &av_dma_ops;
static u32 pool_pages;
static struct inode regular = { S_IFREG }, block = { S_IFBLK };
static struct address_space file = { &regular }, bdev = { &block }, truncated;

#define ANON	((void *)((char *)&file + 1))
#define MOVABLE	((void *)((char *)&file + 2))
#define KSM	((void *)((char *)&file + 3))

static struct device *begin(void)
{
	world_begin(AV_MODE_HYBRID, POOL, true);
	pool_pages = world_shared();
	return world_device(0, MASK);
}

static u8 *pages_of(u32 count, u8 byte, void *mapping)
{
	u8 *pages = world_pages(count, byte);
	u32 i;

	for (i = 0; i < count; i++)
		virt_to_page(pages + i * PAGE_SIZE)->folio.mapping = mapping;
	return pages;
}

static dma_addr_t map(struct device *dev, void *virt, size_t size, enum dma_data_direction dir)
{
	return ops->map_phys(dev, virt_to_phys(virt), size, dir, 0);
}

static bool in_place(dma_addr_t dma, const void *virt)
{
	return dma == phys_to_dma(NULL, virt_to_phys(virt));
}

static void whose_pages(void)
{
	static void *const mappings[] = { NULL, ANON, MOVABLE, KSM, &file, &bdev, &truncated };
	static const bool shares[] = { false, true, false, false, true, false, false };
	struct device *dev = begin();
	u32 i;

	for (i = 0; i < ARRAY_SIZE(mappings); i++) {
		u8 *page = pages_of(1, SENT, mappings[i]);
		dma_addr_t dma = map(dev, page, PAGE_SIZE, DMA_TO_DEVICE);

		REQUIRE(dma != DMA_MAPPING_ERROR);
		CHECK_EQ(in_place(dma, page), shares[i]);
		CHECK_EQ(world_shared() - pool_pages, shares[i]);
		world_seen(dma, PAGE_SIZE);
		ops->unmap_phys(dev, dma, PAGE_SIZE, DMA_TO_DEVICE, 0);
		CHECK_EQ(world_shared(), pool_pages);
		/* A kernel object in a page that was a user's. */
		virt_to_page(page)->folio.slab = true;
		dma = map(dev, page, PAGE_SIZE, DMA_TO_DEVICE);
		CHECK(!in_place(dma, page));
		ops->unmap_phys(dev, dma, PAGE_SIZE, DMA_TO_DEVICE, 0);
	}
	CHECK_EQ(av_counts.direct, 2);
	CHECK_EQ(av_counts.senseless, 0);
	world_end();
}

static struct page *truncate_page;

/* Before the section began the file was truncated and its inode freed. */
static void truncate_it(void)
{
	free(truncate_page->folio.mapping);
	truncate_page->folio.mapping = NULL;
	rcu_before = NULL;
}

static void a_file_that_goes_meanwhile(void)
{
	struct device *dev = begin();
	struct address_space *mapping = malloc(sizeof(*mapping));
	u8 *page = pages_of(1, SENT, mapping);
	dma_addr_t dma;

	*mapping = file;
	truncate_page = virt_to_page(page);
	rcu_before = truncate_it;
	dma = map(dev, page, PAGE_SIZE, DMA_TO_DEVICE);
	CHECK(!rcu_before && !in_place(dma, page));
	ops->unmap_phys(dev, dma, PAGE_SIZE, DMA_TO_DEVICE, 0);
	world_end();
}

/* Not a byte beside the buffer, in front of it, behind it or between its pages. */
static void whole_pages_only(void)
{
	struct device *dev = begin();
	u8 *pages = pages_of(3, SECRET, ANON);
	dma_addr_t dma;

	memset(pages, SENT, PAGE_SIZE);
	dma = map(dev, pages, PAGE_SIZE - 1, DMA_TO_DEVICE);
	CHECK(!in_place(dma, pages));
	ops->unmap_phys(dev, dma, PAGE_SIZE - 1, DMA_TO_DEVICE, 0);
	memset(pages + 1, SENT, PAGE_SIZE);
	dma = map(dev, pages + 1, PAGE_SIZE, DMA_TO_DEVICE);
	CHECK(!in_place(dma, pages + 1));
	CHECK_EQ(world_sees(SECRET), 0);
	ops->unmap_phys(dev, dma, PAGE_SIZE, DMA_TO_DEVICE, 0);
	/* One of them is the kernel's. */
	memset(pages, SENT, 3 * PAGE_SIZE);
	virt_to_page(pages + PAGE_SIZE)->folio.mapping = NULL;
	dma = map(dev, pages, 3 * PAGE_SIZE, DMA_TO_DEVICE);
	CHECK(!in_place(dma, pages));
	ops->unmap_phys(dev, dma, 3 * PAGE_SIZE, DMA_TO_DEVICE, 0);
	/* The driver keeps using it while it is mapped. */
	dma = ops->map_phys(dev, virt_to_phys(pages), PAGE_SIZE, DMA_TO_DEVICE,
			    DMA_ATTR_SKIP_CPU_SYNC);
	CHECK(!in_place(dma, pages));
	ops->unmap_phys(dev, dma, PAGE_SIZE, DMA_TO_DEVICE, 0);
	CHECK_EQ(av_counts.direct, 0);
	world_end();
}

/* The VMM must not see the page's contents if the device only writes it. */
static void a_page_to_be_written(void)
{
	struct device *dev = begin();
	u8 *page = pages_of(2, SECRET, &file);
	dma_addr_t dma = map(dev, page, 2 * PAGE_SIZE, DMA_FROM_DEVICE);

	CHECK(in_place(dma, page));
	CHECK_EQ(world_sees(SECRET), 0);
	memset(world_seen(dma, 2 * PAGE_SIZE), ANSWER, 2 * PAGE_SIZE);
	ops->sync_single_for_cpu(dev, dma, 2 * PAGE_SIZE, DMA_FROM_DEVICE);
	ops->unmap_phys(dev, dma, 2 * PAGE_SIZE, DMA_FROM_DEVICE, 0);
	CHECK_EQ(page[0], ANSWER);
	CHECK_EQ(page[2 * PAGE_SIZE - 1], ANSWER);
	CHECK_EQ(world_shared(), pool_pages);
	world_end();
}

/*
 * Shared until the last of two devices is done; data that one sends stays when another is to write.
 */
static void a_page_that_two_devices_have(void)
{
	struct device *dev = begin(), *other = world_device(1, MASK);
	u8 *page = pages_of(1, SENT, ANON);
	dma_addr_t a = map(dev, page, PAGE_SIZE, DMA_TO_DEVICE);
	dma_addr_t b = map(other, page, PAGE_SIZE, DMA_FROM_DEVICE);

	CHECK(in_place(a, page) && in_place(b, page));
	CHECK_EQ(page[77], SENT);
	CHECK_EQ(world_shared(), pool_pages + 1);
	ops->unmap_phys(dev, a, PAGE_SIZE, DMA_TO_DEVICE, 0);
	CHECK_EQ(world_shared(), pool_pages + 1);
	ops->unmap_phys(other, b, PAGE_SIZE, DMA_FROM_DEVICE, 0);
	CHECK_EQ(world_shared(), pool_pages);
	CHECK_EQ(av_counts.senseless, 0);
	world_end();
}

/* Twice, too many, by a device without mappings: no page of another mapping becomes private. */
static void unmapping_what_is_not_mapped(void)
{
	struct device *dev = begin(), *other = world_device(1, MASK);
	u8 *pages = pages_of(4, SENT, ANON);
	dma_addr_t first = map(dev, pages, PAGE_SIZE, DMA_TO_DEVICE);
	dma_addr_t dma = map(dev, pages + PAGE_SIZE, 2 * PAGE_SIZE, DMA_TO_DEVICE);

	ops->unmap_phys(dev, dma, 3 * PAGE_SIZE, DMA_TO_DEVICE, 0);
	ops->unmap_phys(dev, dma + 1, PAGE_SIZE, DMA_TO_DEVICE, 0);
	ops->unmap_phys(dev, dma, PAGE_SIZE + 1, DMA_TO_DEVICE, 0);
	ops->unmap_phys(dev, dma, 2 * AV_SEGMENT_BYTES, DMA_TO_DEVICE, 0);
	ops->unmap_phys(dev, dma, (1UL << 44) + 2 * PAGE_SIZE, DMA_TO_DEVICE, 0);
	ops->unmap_phys(dev, dma, 0, DMA_TO_DEVICE, 0);
	ops->unmap_phys(other, dma, 2 * PAGE_SIZE, DMA_TO_DEVICE, 0);
	CHECK_EQ(av_counts.senseless, 7);
	CHECK_EQ(world_shared(), pool_pages + 3);
	CHECK_EQ(atomic64_read(&world_owner(dev)->outside), 2);
	ops->unmap_phys(dev, dma, 2 * PAGE_SIZE, DMA_TO_DEVICE, 0);
	CHECK_EQ(world_shared(), pool_pages + 1);
	ops->unmap_phys(dev, dma, 2 * PAGE_SIZE, DMA_TO_DEVICE, 0);
	CHECK_EQ(av_counts.senseless, 8);
	ops->unmap_phys(dev, first, PAGE_SIZE, DMA_TO_DEVICE, 0);
	CHECK_EQ(world_shared(), pool_pages);
	world_end();
}

/* The table is full, the hypervisor refuses one of several, the device does not reach them. */
static void bounced_instead(void)
{
	struct device *dev = begin(), *near;
	u8 *pages = pages_of(640, SENT, ANON);
	dma_addr_t dma[640];
	u32 i, direct = 0;

	near = world_device(1, phys_to_dma(NULL, av_bounce.region.top));
	for (i = 0; i < 640; i++) {
		dma[i] = map(dev, pages + i * PAGE_SIZE, PAGE_SIZE, DMA_TO_DEVICE);
		REQUIRE(dma[i] != DMA_MAPPING_ERROR);
		direct += in_place(dma[i], pages + i * PAGE_SIZE);
	}
	CHECK(direct >= 300 && direct <= 64 * AV_SHARE_WAYS);
	CHECK_EQ(world_shared(), pool_pages + direct);
	for (i = 0; i < 640; i++)
		ops->unmap_phys(dev, dma[i], PAGE_SIZE, DMA_TO_DEVICE, 0);
	never_shared = PHYS_PFN(virt_to_phys(pages)) + 2;
	dma[0] = map(dev, pages, 4 * PAGE_SIZE, DMA_TO_DEVICE);
	CHECK(!in_place(dma[0], pages));
	CHECK_EQ(world_shared(), pool_pages);
	ops->unmap_phys(dev, dma[0], 4 * PAGE_SIZE, DMA_TO_DEVICE, 0);
	never_shared = 0;
	dma[0] = map(near, pages, PAGE_SIZE, DMA_TO_DEVICE);
	CHECK(dma[0] != DMA_MAPPING_ERROR && !in_place(dma[0], pages));
	ops->unmap_phys(near, dma[0], PAGE_SIZE, DMA_TO_DEVICE, 0);
	CHECK_EQ(world_shared(), pool_pages);
	world_end();
}

static void a_page_that_is_not_taken_back(void)
{
	struct device *dev = begin();
	u8 *page = pages_of(1, SENT, ANON);
	dma_addr_t dma = map(dev, page, PAGE_SIZE, DMA_TO_DEVICE);

	never_back = PHYS_PFN(virt_to_phys(page));
	ops->unmap_phys(dev, dma, PAGE_SIZE, DMA_TO_DEVICE, 0);
	CHECK_EQ(virt_to_page(page)->folio.refs, 1);
	CHECK_EQ(atomic64_read(&av_bounce.region.lost), 1);
	world_end();
}

struct held {
	dma_addr_t dma;
	u8 *virt;
	size_t size;
	u8 dir;
};

/* Any mappings at once, of secrets beside what is sent: the VMM sees none of those, ever. */
static void at_random(void)
{
	struct device *dev = begin();
	struct dice d = dice_of(11);
	struct held held[48] = {};
	u32 i, k, direct = 0;

	for (k = 0; k < ARRAY_SIZE(held); k++)
		held[k].virt = pages_of(8, SECRET, k % 3 ? ANON : NULL);
	for (i = 0; i < 4000; i++) {
		struct held *h = &held[dice_below(&d, ARRAY_SIZE(held))];
		u8 *at = h->virt;

		if (h->size) {
			ops->unmap_phys(dev, h->dma, h->size, h->dir, 0);
			memset(h->virt, SECRET, 8 * PAGE_SIZE);
			h->size = 0;
			continue;
		}
		h->dir = dice_below(&d, 2) ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
		h->size = PAGE_SIZE * (1 + dice_below(&d, 8));
		if (dice_below(&d, 2))
			h->size = 1 + dice_below(&d, h->size);
		if (h->dir == DMA_TO_DEVICE)
			memset(at, SENT, h->size);
		h->dma = map(dev, at, h->size, h->dir);
		REQUIRE(h->dma != DMA_MAPPING_ERROR);
		direct += in_place(h->dma, at);
		if (i % 16 == 0)
			CHECK_EQ(world_sees(SECRET), 0);
	}
	for (k = 0; k < ARRAY_SIZE(held); k++)
		if (held[k].size)
			ops->unmap_phys(dev, held[k].dma, held[k].size, held[k].dir, 0);
	CHECK(direct > 300 && av_pool_use(&av_bounce.pool).given > 300);
	CHECK_EQ(av_counts.senseless, 0);
	CHECK_EQ(world_shared(), pool_pages);
	world_end();
}

int main(void)
{
	RUN(whose_pages);
	RUN(a_file_that_goes_meanwhile);
	RUN(whole_pages_only);
	RUN(a_page_to_be_written);
	RUN(a_page_that_two_devices_have);
	RUN(unmapping_what_is_not_mapped);
	RUN(bounced_instead);
	RUN(a_page_that_is_not_taken_back);
	RUN(at_random);
	return TESTS_DONE();
}
