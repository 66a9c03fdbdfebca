// SPDX-License-Identifier: GPL-2.0
/* The guest and the VMM: see dma_world.h. */
#include "dma_world.h"

#define DEVICES	4

struct av_bounce av_bounce;

u8 *ram;
struct page ram_pages[RAM_PAGES];
u32 rcu_depth;
void (*rcu_before)(void);
bool seen[RAM_PAGES], writes_late;
u64 never_shared, never_back;
u32 refused;
bool irqs_are_off;
u64 wide_copied, wide_cleared;

/* The kernel's pages are in the lower half, the drivers' in the upper one. */
static u32 driver_next;
static u8 taken[RAM_PAGES / 2];	/* blocks by their first page: pages */
static bool busy[RAM_PAGES / 2];
static struct av_device *owners[DEVICES];
static struct device devices[DEVICES];
static u64 masks[DEVICES];

static u64 page_of(u64 frame)
{
	REQUIRE(pfn_valid(frame));
	return frame - PHYS_PFN(RAM_PHYS);
}

int av_hyp_share(phys_addr_t phys)
{
	u64 page = page_of(PHYS_PFN(phys));

	REQUIRE(PAGE_ALIGNED(phys));
	if (PHYS_PFN(phys) == never_shared)
		return -EPERM;
	refused += seen[page];
	seen[page] = true;
	return 0;
}

int av_hyp_unshare(phys_addr_t phys)
{
	u64 page = page_of(PHYS_PFN(phys));

	REQUIRE(PAGE_ALIGNED(phys));
	refused += !seen[page];
	if (PHYS_PFN(phys) == never_back)
		return -EPERM;
	if (writes_late)
		memset(ram + page * PAGE_SIZE, EVIL, PAGE_SIZE);
	seen[page] = false;
	return 0;
}

bool av_hyp_present(const char **why)
{
	return true;
}

/* ---- the kernel's pages ------------------------------------------------------------------ */

static void *take_pages(u32 count, u32 align)
{
	u32 at, i;

	for (at = 0; at + count <= RAM_PAGES / 2; at += align) {
		for (i = 0; i < count && !busy[at + i]; i++)
			;
		if (i < count)
			continue;
		memset(busy + at, true, count);
		taken[at] = count;
		/* All callers ask for zeroes. */
		return memset(ram + at * PAGE_SIZE, 0, count * PAGE_SIZE);
	}
	return NULL;
}

/* The next owner finds nothing of the VMM's there, and the VMM nothing of the owner's. */
static void give_pages(void *pages, u32 count)
{
	u32 at = ((u8 *)pages - ram) / PAGE_SIZE, i;
	size_t byte;

	REQUIRE(at < RAM_PAGES / 2 && taken[at] == count);
	for (i = 0; i < count; i++)
		REQUIRE(!seen[at + i]);
	for (byte = 0; byte < count * PAGE_SIZE; byte++)
		REQUIRE(!((u8 *)pages)[byte]);
	memset(busy + at, false, count);
	memset(pages, SECRET, count * PAGE_SIZE);
	taken[at] = 0;
}

void *alloc_pages_exact(size_t bytes, gfp_t gfp)
{
	REQUIRE(gfp & __GFP_ZERO);
	return take_pages(PAGE_ALIGN(bytes) / PAGE_SIZE, 1);
}

void free_pages_exact(void *pages, size_t bytes)
{
	give_pages(pages, PAGE_ALIGN(bytes) / PAGE_SIZE);
}

unsigned long __get_free_pages(gfp_t gfp, unsigned int order)
{
	REQUIRE(gfp & __GFP_ZERO);
	return (unsigned long)take_pages(1U << order, 1U << order);
}

void free_pages(unsigned long pages, unsigned int order)
{
	give_pages((void *)pages, 1U << order);
}

int remap_pfn_range(struct vm_area_struct *vma, unsigned long at, unsigned long frame,
		    unsigned long bytes, pgprot_t prot)
{
	u64 i;

	REQUIRE(at == vma->vm_start && PAGE_ALIGNED(bytes));
	for (i = 0; i < bytes / PAGE_SIZE; i++)
		REQUIRE(seen[page_of(frame + i)]);
	return 0;
}

/* ---- a run -------------------------------------------------------------------------------- */

static struct av_share_set sets[64];

void world_begin(enum av_mode mode, u64 pool, bool sharing)
{
	struct av_plan plan;

	REQUIRE(ram || (ram = aligned_alloc(AV_SEGMENT_BYTES, RAM_PAGES * PAGE_SIZE)));
	memset(ram, SECRET, RAM_PAGES * PAGE_SIZE);
	memset(ram_pages, 0, sizeof(ram_pages));
	memset(&av_counts, 0, sizeof(av_counts));
	memset(sets, 0, sizeof(sets));
	memset(busy, 0, sizeof(busy));
	memset(seen, 0, sizeof(seen));
	never_shared = never_back = 0;
	refused = driver_next = 0;
	writes_late = false;
	wide_copied = wide_cleared = 0;
	REQUIRE(!av_plan_make(&plan, mode, pool, 2));
	av_bounce.meta = aligned_alloc(64, ALIGN(av_pool_meta_bytes(&plan), 64));
	memset(av_bounce.meta, 0, av_pool_meta_bytes(&plan));
	av_pool_init(&av_bounce.pool, &plan, av_bounce.meta);
	REQUIRE(!av_region_make(&av_bounce.region, plan.bytes, sharing));
	av_shares_init(&av_bounce.shares, &av_dma_share_ops, &av_bounce.region, sets, 6);
}

void world_end(void)
{
	u32 i;

	for (i = 0; i < DEVICES; i++) {
		if (!owners[i])
			continue;
		REQUIRE(!av_pool_owned(&av_bounce.pool, owners[i]->number));
		REQUIRE(!atomic64_read(&owners[i]->outside));
		free(owners[i]);
		owners[i] = NULL;
	}
	av_region_free(&av_bounce.region);
	free(av_bounce.meta);
	REQUIRE(!rcu_depth && !refused);
	for (i = 0; i < RAM_PAGES / 2 && !never_back; i++)
		REQUIRE(!busy[i] && !seen[i] && !seen[RAM_PAGES / 2 + i]);
}

struct device *world_device(u32 number, u64 mask)
{
	struct av_device made = {
		.ops = av_dma_ops, .dev = &devices[number], .number = number + 7,
		.most = AV_SEGMENT_BYTES,
	};
	struct av_device *owner = malloc(sizeof(made));

	REQUIRE(owner && !owners[number]);
	memcpy(owner, &made, sizeof(made));
	owners[number] = owner;
	masks[number] = mask;
	devices[number] = (struct device){
		.dma_mask = &masks[number], .coherent_dma_mask = mask, .dma_ops = &owner->ops,
	};
	return &devices[number];
}

struct av_device *world_owner(struct device *dev)
{
	return owners[dev - devices];
}

void *world_pages(u32 count, u8 byte)
{
	u8 *pages = ram + (RAM_PAGES / 2 + driver_next) * PAGE_SIZE;

	driver_next += count;
	REQUIRE(driver_next <= RAM_PAGES / 2);
	return memset(pages, byte, count * PAGE_SIZE);
}

void *world_seen(dma_addr_t dma, size_t size)
{
	phys_addr_t phys = dma_to_phys(NULL, dma);
	u64 frame;

	for (frame = PHYS_PFN(phys); frame <= PHYS_PFN(phys + size - 1); frame++)
		REQUIRE(seen[page_of(frame)]);
	return phys_to_virt(phys);
}

void world_scribble(void)
{
	u64 page;

	for (page = 0; page < RAM_PAGES; page++) {
		if (seen[page])
			memset(ram + page * PAGE_SIZE, EVIL, PAGE_SIZE);
	}
}

u64 world_sees(u8 byte)
{
	u64 page, i, count = 0;

	for (page = 0; page < RAM_PAGES; page++) {
		for (i = 0; seen[page] && i < PAGE_SIZE; i++)
			count += ram[page * PAGE_SIZE + i] == byte;
	}
	return count;
}

u32 world_shared(void)
{
	u32 page, count = 0;

	for (page = 0; page < RAM_PAGES; page++)
		count += seen[page];
	return count;
}
