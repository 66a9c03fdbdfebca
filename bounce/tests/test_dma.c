// SPDX-License-Identifier: GPL-2.0
/*
 * The DMA operations by hand, in a guest whose VMM reads and writes shared memory: mapping, syncing
 * and unmapping, and calls that make no sense. The VMM never sees memory that nobody sends.
 */
#include "check.h"
#include "dma_world.h"
#include "wide.h"

#define POOL	(4UL << 20)
#define MASK	(~0ULL)

static const struct dma_map_ops *const ops = &av_dma_ops;

static dma_addr_t map(struct device *dev, void *virt, size_t size, enum dma_data_direction dir)
{
	return ops->map_phys(dev, virt_to_phys(virt), size, dir, 0);
}

static void unmap(struct device *dev, dma_addr_t dma, size_t size, enum dma_data_direction dir)
{
	ops->unmap_phys(dev, dma, size, dir, 0);
}

/* Bytes from `at` on that are not `byte`. */
static size_t others(const void *at, size_t size, u8 byte)
{
	size_t i, count = 0;

	for (i = 0; i < size; i++)
		count += ((const u8 *)at)[i] != byte;
	return count;
}

static bool bounced(dma_addr_t dma)
{
	return av_region_offset(&av_bounce.region, dma_to_phys(NULL, dma)) != AV_NO_BUFFER;
}

/*
 * Sizes around all boundaries, at an odd address of the driver's: data arrives, and nothing else.
 */
static void there_and_back(enum av_mode mode)
{
	static const u32 sizes[] = {
		1, 2, 7, 100, 2047, 2048, 2049, 4095, 4096, 4097, 32768, 100000, AV_SEGMENT_BYTES,
	};
	struct device *dev;
	struct av_use use;
	u32 i;

	world_begin(mode, POOL, true);
	dev = world_device(0, MASK);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		u8 *out = world_pages(66, SECRET), *in = world_pages(66, SECRET);
		u32 size = sizes[i];
		dma_addr_t a, b;

		world_scribble();
		memset(out + 5, SENT, size);
		a = map(dev, out + 5, size, DMA_TO_DEVICE);
		b = map(dev, in + 9, size, DMA_FROM_DEVICE);
		REQUIRE(a != DMA_MAPPING_ERROR && b != DMA_MAPPING_ERROR);
		CHECK_EQ(others(world_seen(a, size), size, SENT), 0);
		/* Not what an earlier mapping left there. */
		CHECK_EQ(others(world_seen(b, size), size, 0), 0);
		CHECK_EQ(world_sees(SECRET), 0);
		memset(world_seen(a, size), EVIL, size);
		memset(world_seen(b, size), ANSWER, size);
		unmap(dev, a, size, DMA_TO_DEVICE);
		unmap(dev, b, size, DMA_FROM_DEVICE);
		CHECK_EQ(others(out + 5, size, SENT), 0);
		CHECK_EQ(others(in + 9, size, ANSWER), 0);
		CHECK_EQ(others(in, 9, SECRET) + others(in + 9 + size, 200, SECRET), 0);
		CHECK_EQ(others(out, 5, SECRET) + others(out + 5 + size, 200, SECRET), 0);
	}
	use = av_pool_use(&av_bounce.pool);
	CHECK_EQ(use.given, 2 * ARRAY_SIZE(sizes));
	CHECK_EQ(use.used, 0);
	CHECK_EQ(av_counts.senseless + av_counts.exhausted, 0);
	world_end();
}

static void in_every_mode(void)
{
	enum av_mode mode;

	for (mode = 0; mode < AV_MODES; mode++)
		there_and_back(mode);
}

static void with_what_cpus_can(void)
{
	u32 can;

	for (can = 1; can < 4; can++) {
		av_wide = (struct av_wide){ .copy = can & 1, .clear = can & 2 };
		in_every_mode();
		CHECK_EQ(!wide_copied, !av_wide.copy);
		CHECK_EQ(!wide_cleared, !av_wide.clear);
		CHECK(!irqs_are_off);
	}
	av_wide = (struct av_wide){};
}

static void send(struct device *dev, void *virt, size_t size)
{
	unmap(dev, map(dev, virt, size, DMA_TO_DEVICE), size, DMA_TO_DEVICE);
}

/* Vector registers are used where they pay: for much at a time, or one of many. */
static void what_is_copied_wide(void)
{
	struct device *dev;
	dma_addr_t dma[3], small[3];
	u64 wide = PAGE_SIZE + 256;
	u8 *pages;
	u32 i;

	world_begin(AV_MODE_SPLIT_CACHE, POOL, true);
	av_wide.copy = true;
	dev = world_device(0, MASK);
	pages = world_pages(8, SENT);
	for (i = 0; i < 3; i++)
		send(dev, pages, PAGE_SIZE);
	CHECK_EQ(wide_copied, 0);
	send(dev, pages, PAGE_SIZE + 300);
	CHECK_EQ(wide_copied, wide);
	/* The first of three is alone, both ways. */
	for (i = 0; i < 3; i++) {
		small[i] = map(dev, pages, 16, DMA_TO_DEVICE);
		dma[i] = map(dev, pages + i * PAGE_SIZE, PAGE_SIZE, DMA_BIDIRECTIONAL);
	}
	CHECK_EQ(wide_copied, wide += 2 * PAGE_SIZE);
	for (i = 0; i < 3; i++) {
		unmap(dev, small[i], 16, DMA_TO_DEVICE);
		unmap(dev, dma[i], PAGE_SIZE, DMA_BIDIRECTIONAL);
	}
	CHECK_EQ(wide_copied, wide += 2 * PAGE_SIZE);
	/* So does each one after a small one in the other direction. */
	for (i = 0; i < 3; i++)
		dma[i] = map(dev, pages + i * PAGE_SIZE, PAGE_SIZE, DMA_FROM_DEVICE);
	for (i = 0; i < 3; i++) {
		unmap(dev, dma[i], PAGE_SIZE, DMA_FROM_DEVICE);
		send(dev, pages, 16);
	}
	CHECK_EQ(wide_copied, wide);
	av_wide = (struct av_wide){};
	world_end();
}

static void sizes_and_directions_that_cannot_be(void)
{
	struct device *dev;
	void *page;

	world_begin(AV_MODE_HYBRID, POOL, true);
	dev = world_device(0, MASK);
	page = world_pages(70, SECRET);
	CHECK_EQ(map(dev, page, 0, DMA_TO_DEVICE), DMA_MAPPING_ERROR);
	CHECK_EQ(map(dev, page, AV_SEGMENT_BYTES + 1, DMA_TO_DEVICE), DMA_MAPPING_ERROR);
	CHECK_EQ(map(dev, page, 1UL << 40, DMA_TO_DEVICE), DMA_MAPPING_ERROR);
	CHECK_EQ(map(dev, page, 16, DMA_NONE), DMA_MAPPING_ERROR);
	CHECK_EQ(ops->map_phys(dev, virt_to_phys(page), 16, DMA_TO_DEVICE, DMA_ATTR_MMIO),
		 DMA_MAPPING_ERROR);
	CHECK_EQ(ops->map_phys(dev, RAM_PHYS - PAGE_SIZE, 16, DMA_TO_DEVICE, 0), DMA_MAPPING_ERROR);
	CHECK_EQ(av_counts.too_large, 6);
	CHECK_EQ(world_sees(SECRET), 0);
	world_end();
}

/* A part from the middle, over the boundary of two slots, and not a byte more. */
static void syncs(void)
{
	struct device *dev;
	dma_addr_t dma;
	u8 *page;

	world_begin(AV_MODE_SLOTS, POOL, true);
	dev = world_device(0, MASK);
	page = world_pages(3, SENT);
	dma = map(dev, page, 9000, DMA_BIDIRECTIONAL);
	memset(world_seen(dma, 9000), ANSWER, 9000);
	ops->sync_single_for_cpu(dev, dma + 2000, 100, DMA_FROM_DEVICE);
	CHECK_EQ(others(page + 2000, 100, ANSWER), 0);
	CHECK_EQ(others(page, 2000, SENT) + others(page + 2100, 7000, SENT), 0);
	memset(page + 4000, 0x11, 300);
	ops->sync_single_for_device(dev, dma + 4000, 200, DMA_TO_DEVICE);
	CHECK_EQ(others(world_seen(dma + 4000, 200), 200, 0x11), 0);
	CHECK_EQ(others(world_seen(dma + 4200, 4800), 4800, ANSWER), 0);
	/* The other direction is nothing. */
	ops->sync_single_for_cpu(dev, dma, 9000, DMA_TO_DEVICE);
	ops->sync_single_for_device(dev, dma, 9000, DMA_FROM_DEVICE);
	CHECK_EQ(others(page, 2000, SENT) + others(world_seen(dma, 4000), 4000, ANSWER), 0);
	/* More than is mapped from there on. */
	memset(page + 9000, 0x22, 500);
	ops->sync_single_for_cpu(dev, dma + 8999, 400, DMA_FROM_DEVICE);
	CHECK_EQ(others(page + 8999, 1, ANSWER) + others(page + 9000, 500, 0x22), 0);
	CHECK_EQ(av_counts.senseless, 0);
	ops->sync_single_for_cpu(dev, dma + 9000, 1, DMA_FROM_DEVICE);
	CHECK_EQ(av_counts.senseless, 1);
	ops->unmap_phys(dev, dma, 9000, DMA_BIDIRECTIONAL, DMA_ATTR_SKIP_CPU_SYNC);
	CHECK_EQ(others(page + 5000, 3000, SENT), 0);
	/* Nothing is mapped any more. */
	ops->sync_single_for_cpu(dev, dma, 1, DMA_FROM_DEVICE);
	CHECK_EQ(av_counts.senseless, 2);
	world_end();
}

/* The driver's first direction counts: a mapping for reading gives the VMM no way to write. */
static void the_direction_is_the_mappings(void)
{
	struct device *dev;
	dma_addr_t dma;
	u8 *page;

	world_begin(AV_MODE_AREAS, POOL, true);
	dev = world_device(0, MASK);
	page = world_pages(1, SENT);
	dma = map(dev, page, 600, DMA_TO_DEVICE);
	memset(world_seen(dma, 600), EVIL, 600);
	ops->sync_single_for_cpu(dev, dma, 600, DMA_BIDIRECTIONAL);
	unmap(dev, dma, 600, DMA_FROM_DEVICE);
	CHECK_EQ(others(page, PAGE_SIZE, SENT), 0);

	memset(page, SECRET, PAGE_SIZE);
	dma = map(dev, page, 600, DMA_FROM_DEVICE);
	ops->sync_single_for_device(dev, dma, 600, DMA_BIDIRECTIONAL);
	CHECK_EQ(world_sees(SECRET), 0);
	unmap(dev, dma, 600, DMA_TO_DEVICE);
	CHECK_EQ(others(page, 600, 0), 0);
	CHECK_EQ(others(page + 600, PAGE_SIZE - 600, SECRET), 0);
	world_end();
}

/* A driver that syncs itself releases data to the device later: until then nothing. */
static void what_is_synced_later_is_not_sent_before(void)
{
	struct device *dev;
	dma_addr_t dma;
	u8 *page;

	world_begin(AV_MODE_SPLIT_CACHE, POOL, true);
	dev = world_device(0, MASK);
	page = world_pages(2, SECRET);
	dma = ops->map_phys(dev, virt_to_phys(page), 2 * PAGE_SIZE, DMA_BIDIRECTIONAL,
			    DMA_ATTR_SKIP_CPU_SYNC);
	CHECK_EQ(others(world_seen(dma, 2 * PAGE_SIZE), 2 * PAGE_SIZE, 0), 0);
	CHECK_EQ(world_sees(SECRET), 0);
	memset(page + 64, SENT, 1500);
	ops->sync_single_for_device(dev, dma + 64, 1500, DMA_BIDIRECTIONAL);
	CHECK_EQ(world_sees(SENT), 1500);
	CHECK_EQ(world_sees(SECRET), 0);
	unmap(dev, dma, 2 * PAGE_SIZE, DMA_BIDIRECTIONAL);
	world_end();
}

/* Twice, from the middle, by another device, with another size. */
static void unmapping_what_is_not_mapped(void)
{
	struct device *dev, *other;
	u8 *page;
	dma_addr_t dma;

	world_begin(AV_MODE_SPLIT_CACHE, POOL, true);
	dev = world_device(0, MASK);
	other = world_device(1, MASK);
	page = world_pages(4, SECRET);
	dma = map(dev, page, 10000, DMA_FROM_DEVICE);
	memset(world_seen(dma, 10000), ANSWER, 10000);
	unmap(other, dma, 10000, DMA_FROM_DEVICE);
	ops->sync_single_for_cpu(other, dma, 10000, DMA_FROM_DEVICE);
	unmap(dev, dma + 1, 10000, DMA_FROM_DEVICE);
	unmap(dev, dma + AV_SLOT_BYTES, 10000, DMA_FROM_DEVICE);
	unmap(dev, DMA_OFFSET + virt_to_phys(page), 10000, DMA_FROM_DEVICE);
	unmap(dev, 0, 10000, DMA_FROM_DEVICE);
	unmap(dev, DMA_MAPPING_ERROR, 10000, DMA_FROM_DEVICE);
	CHECK_EQ(av_counts.senseless, 7);
	CHECK_EQ(av_pool_use(&av_bounce.pool).used, 1);
	CHECK_EQ(others(page, 4 * PAGE_SIZE, SECRET), 0);
	/* More than was mapped: the mapped part is copied, and all of it is free. */
	unmap(dev, dma, 4 * PAGE_SIZE, DMA_FROM_DEVICE);
	CHECK_EQ(others(page, 10000, ANSWER), 0);
	CHECK_EQ(others(page + 10000, 4 * PAGE_SIZE - 10000, SECRET), 0);
	unmap(dev, dma, 10000, DMA_FROM_DEVICE);
	CHECK_EQ(av_counts.senseless, 8);
	/* As coherent memory, which it is not. */
	dma = map(dev, page, 4096, DMA_FROM_DEVICE);
	ops->free(dev, 4096, page, dma, 0);
	CHECK_EQ(av_counts.senseless, 9);
	unmap(dev, dma, 4096, DMA_FROM_DEVICE);
	CHECK_EQ(av_counts.senseless, 9);
	memset(page, ANSWER, 10000);
	CHECK_EQ(av_pool_owned(&av_bounce.pool, world_owner(dev)->number), 0);
	/* Less: the rest stays as it was. */
	dma = map(dev, page, 10000, DMA_FROM_DEVICE);
	unmap(dev, dma, 10, DMA_FROM_DEVICE);
	CHECK_EQ(others(page, 10, 0) + others(page + 10, 9990, ANSWER), 0);
	world_end();
}

/* One of a list finds no buffer: those before it are free again, and nothing is copied. */
static void a_list_that_does_not_fit(void)
{
	struct scatterlist list[8] = {};
	struct device *dev;
	u8 *pages;
	u32 i;

	world_begin(AV_MODE_AREAS, AV_SEGMENT_BYTES * 4, true);
	dev = world_device(0, MASK);
	world_owner(dev)->disk = true;
	pages = world_pages(64 * 8, SECRET);
	for (i = 0; i < 8; i++)
		list[i] = (struct scatterlist){
			.page = virt_to_page(pages + i * AV_SEGMENT_BYTES), .length = AV_SEGMENT_BYTES,
		};
	CHECK_EQ(ops->map_sg(dev, list, 8, DMA_FROM_DEVICE, 0), -ENOMEM);
	CHECK_EQ(av_counts.exhausted, 1);
	CHECK_EQ(others(pages, 8 * AV_SEGMENT_BYTES, SECRET), 0);
	CHECK_EQ(av_pool_owned(&av_bounce.pool, world_owner(dev)->number), 0);
	CHECK_EQ(ops->map_sg(dev, list, 4, DMA_FROM_DEVICE, 0), 4);
	for (i = 0; i < 4; i++)
		memset(world_seen(list[i].dma_address, list[i].length), ANSWER + i, list[i].length);
	ops->sync_sg_for_cpu(dev, list, 2, DMA_FROM_DEVICE);
	CHECK_EQ(others(pages + AV_SEGMENT_BYTES, AV_SEGMENT_BYTES, ANSWER + 1), 0);
	CHECK_EQ(others(pages + 2 * AV_SEGMENT_BYTES, AV_SEGMENT_BYTES, SECRET), 0);
	ops->unmap_sg(dev, list, 4, DMA_FROM_DEVICE, 0);
	for (i = 0; i < 4; i++)
		CHECK_EQ(others(pages + i * AV_SEGMENT_BYTES, AV_SEGMENT_BYTES, ANSWER + i), 0);
	CHECK_EQ(av_counts.senseless, 0);
	world_end();
}

/* From the pool, or larger: zeroed, whole pages, returned by the size of the allocation. */
static void coherent_memory(void)
{
	static const size_t sizes[] = { 1, 4096, 12000, AV_SEGMENT_BYTES, AV_SEGMENT_BYTES + 1 };
	struct device *dev, *near;
	u64 pool = 0;
	u32 i;

	world_begin(AV_MODE_SPLIT_CACHE, POOL, true);
	dev = world_device(0, MASK);
	near = world_device(1, DMA_OFFSET + RAM_PHYS - 1);
	pool = world_shared();
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t bytes = PAGE_ALIGN(sizes[i]);
		dma_addr_t dma;
		u8 *virt;

		world_scribble();
		virt = ops->alloc(dev, sizes[i], &dma, GFP_KERNEL, 0);
		REQUIRE(virt);
		CHECK(PAGE_ALIGNED(dma) && world_seen(dma, bytes) == virt);
		CHECK_EQ(others(virt, bytes, 0), 0);
		CHECK_EQ(bounced(dma), sizes[i] <= AV_SEGMENT_BYTES);
		memset(virt, EVIL, bytes);
		/* It is no streaming mapping, and no page that was mapped. */
		unmap(dev, dma, bytes, DMA_FROM_DEVICE);
		ops->sync_single_for_cpu(dev, dma, 1, DMA_FROM_DEVICE);
		CHECK_EQ(av_counts.senseless, (bounced(dma) ? 2 : 1));
		av_counts.senseless = 0;
		ops->free(dev, sizes[i], virt, dma, 0);
		CHECK_EQ(world_shared(), pool);
		/* What it held is not the next one's. */
		virt = ops->alloc(dev, sizes[i], &dma, GFP_KERNEL, 0);
		CHECK_EQ(others(virt, bytes, 0), 0);
		ops->free(dev, sizes[i], virt, dma, 0);
		CHECK(!ops->alloc(near, sizes[i], &dma, GFP_KERNEL, 0));
	}
	CHECK(!ops->alloc(dev, 0, &(dma_addr_t){ 0 }, GFP_KERNEL, 0));
	CHECK(!ops->alloc(dev, ~0UL, &(dma_addr_t){ 0 }, GFP_KERNEL, 0));
	CHECK_EQ(av_counts.senseless, 0);
	world_end();
}

static void masks(void)
{
	struct device *dev;

	world_begin(AV_MODE_SLOTS, POOL, true);
	dev = world_device(0, MASK);
	CHECK(ops->dma_supported(dev, DMA_OFFSET + av_bounce.region.top));
	CHECK(!ops->dma_supported(dev, DMA_OFFSET + av_bounce.region.top - 1));
	world_owner(dev)->most = 32768;
	CHECK_EQ(ops->max_mapping_size(dev), 32768);
	world_end();
}

/*
 * A network's buffers hold the VMM's last contents, never the driver's memory; a disk's are zero.
 */
static void what_is_not_zeroed(void)
{
	struct device *dev;
	dma_addr_t dma;
	u32 net;
	u8 *page;

	for (net = 0; net < 2; net++) {
		world_begin(AV_MODE_SPLIT_CACHE, POOL, true);
		dev = world_device(0, MASK);
		world_owner(dev)->by_length = net;
		page = world_pages(4, SECRET);
		world_scribble();
		dma = ops->map_phys(dev, virt_to_phys(page), 3 * PAGE_SIZE, DMA_FROM_DEVICE, 0);
		CHECK_EQ(others(world_seen(dma, 3 * PAGE_SIZE), 3 * PAGE_SIZE, net ? EVIL : 0), 0);
		CHECK_EQ(av_counts.zeroed, net ? 0 : 3 * PAGE_SIZE);
		CHECK_EQ(world_sees(SECRET), 0);
		ops->unmap_phys(dev, dma, 3 * PAGE_SIZE, DMA_FROM_DEVICE, 0);
		CHECK_EQ(others(page + 3 * PAGE_SIZE, PAGE_SIZE, SECRET), 0);
		world_end();
	}
}

/* Other waiting buffers take nothing of the part for disks' requests. */
static void disks_have_room(void)
{
	struct device *net, *disk;
	dma_addr_t dma[513];
	u32 i, n = 0;
	u8 *page;

	world_begin(AV_MODE_SLOTS, 1UL << 20, true);
	net = world_device(0, MASK);
	disk = world_device(1, MASK);
	world_owner(disk)->disk = true;
	page = world_pages(1, SENT);
	while ((dma[n] = ops->map_phys(net, virt_to_phys(page), 2048, DMA_FROM_DEVICE, 0)) !=
	       DMA_MAPPING_ERROR)
		n++;
	CHECK_EQ(n, 192);
	/* Their own sending has a part, too. */
	while ((dma[n] = ops->map_phys(net, virt_to_phys(page), 2048, DMA_TO_DEVICE, 0)) !=
	       DMA_MAPPING_ERROR)
		n++;
	CHECK_EQ(n, 256);
	while ((dma[n] = ops->map_phys(disk, virt_to_phys(page), 2048, DMA_FROM_DEVICE, 0)) !=
	       DMA_MAPPING_ERROR)
		n++;
	CHECK_EQ(n, 512);
	for (i = 0; i < n; i++)
		ops->unmap_phys(i < 256 ? net : disk, dma[i], 2048,
				i >= 192 && i < 256 ? DMA_TO_DEVICE : DMA_FROM_DEVICE, 0);
	CHECK_EQ(av_counts.senseless, 0);
	world_end();
}

/* User memory, and only whole pages of coherent memory. */
static void coherent_memory_of_user_space(void)
{
	struct vm_area_struct vma = { .vm_start = 0x10000, .vm_end = 0x12000 };
	struct device *dev;
	dma_addr_t dma;
	void *virt;

	world_begin(AV_MODE_SLOTS, POOL, true);
	dev = world_device(0, MASK);
	virt = ops->alloc(dev, 8000, &dma, GFP_KERNEL, 0);
	CHECK_EQ(ops->mmap(dev, &vma, virt, dma, 8000, 0), 0);
	vma.vm_pgoff = 1;
	CHECK_EQ(ops->mmap(dev, &vma, virt, dma, 8000, 0), -ENXIO);
	vma.vm_end = 0x11000;
	CHECK_EQ(ops->mmap(dev, &vma, virt, dma, 8000, 0), 0);
	vma.vm_pgoff = 2;
	CHECK_EQ(ops->mmap(dev, &vma, virt, dma, 8000, 0), -ENXIO);
	vma.vm_pgoff = ~0UL;
	CHECK_EQ(ops->mmap(dev, &vma, virt, dma, 8000, 0), -ENXIO);
	ops->free(dev, 8000, virt, dma, 0);
	world_end();
}

/* The VMM writes until the last moment: nobody gets that page, and give_pages() would notice. */
static void what_the_vmm_wrote_is_nobodys(void)
{
	struct device *dev;
	dma_addr_t dma;
	void *virt;

	world_begin(AV_MODE_SPLIT_CACHE, POOL, true);
	dev = world_device(0, MASK);
	writes_late = true;
	virt = ops->alloc(dev, AV_SEGMENT_BYTES + 1, &dma, GFP_KERNEL, 0);
	memset(virt, EVIL, AV_SEGMENT_BYTES);
	ops->free(dev, AV_SEGMENT_BYTES + 1, virt, dma, 0);
	CHECK_EQ(av_region_at(&av_bounce.region, 0) != NULL, true);
	world_end();
}

/* Some pages of a block cannot be shared, or unshared: then nobody gets any of it. */
static void blocks_that_are_not_shared(void)
{
	struct device *dev;
	dma_addr_t dma;
	void *virt;
	u32 pool;

	world_begin(AV_MODE_SLOTS, POOL, true);
	dev = world_device(0, MASK);
	pool = world_shared();
	virt = ops->alloc(dev, AV_SEGMENT_BYTES + 1, &dma, GFP_KERNEL, 0);
	ops->free(dev, AV_SEGMENT_BYTES + 1, virt, dma, 0);
	never_shared = PHYS_PFN(virt_to_phys(virt)) + 5;
	CHECK(!ops->alloc(dev, AV_SEGMENT_BYTES + 1, &dma, GFP_KERNEL, 0));
	CHECK_EQ(world_shared(), pool);
	never_back = never_shared;
	never_shared = 0;
	virt = ops->alloc(dev, AV_SEGMENT_BYTES + 1, &dma, GFP_KERNEL, 0);
	ops->free(dev, AV_SEGMENT_BYTES + 1, virt, dma, 0);
	CHECK_EQ(av_bounce.region.lost.counter, 65);
	CHECK_EQ(world_shared(), pool + 1);
	CHECK(ops->alloc(dev, AV_SEGMENT_BYTES + 1, &dma, GFP_KERNEL, 0) != virt);
	atomic64_dec(&world_owner(dev)->outside);
	world_end();
}

int main(void)
{
	RUN(in_every_mode);
	RUN(with_what_cpus_can);
	RUN(what_is_copied_wide);
	RUN(sizes_and_directions_that_cannot_be);
	RUN(syncs);
	RUN(the_direction_is_the_mappings);
	RUN(what_is_synced_later_is_not_sent_before);
	RUN(unmapping_what_is_not_mapped);
	RUN(a_list_that_does_not_fit);
	RUN(coherent_memory);
	RUN(masks);
	RUN(what_is_not_zeroed);
	RUN(disks_have_room);
	RUN(coherent_memory_of_user_space);
	RUN(what_the_vmm_wrote_is_nobodys);
	RUN(blocks_that_are_not_shared);
	return TESTS_DONE();
}
