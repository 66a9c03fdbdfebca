// SPDX-License-Identifier: GPL-2.0
/* The host's memory and what is allocated of it: rules in host_world.h. */
#include <stdlib.h>

#include "host_world.h"
#include "switch/wide.h"

/* Single pages first, then blocks. */
#define SINGLES		12288
#define BLOCKS		8
#define PAGES		(SINGLES + BLOCKS * BLOCK_PAGES)
#define RAM		0x100000000ULL

static u8 ram[PAGES][PAGE_SIZE] __aligned(4096);
static struct page pages[PAGES];
static unsigned int next_page;
static bool block_used[BLOCKS];

struct page fake_zero_page;
struct shrinker fake_shrinker;
/* Tables of 48 bits; entries are inner shareable. */
struct av_host_tables av_host_tables = { .t0sz = AV_TSZ_48, .t1sz = AV_TSZ_48, .shareable = 0x300 };
int host_allocs;

static unsigned int allocated;

/* ---- pages ------------------------------------------------------------------- */

/* A page of the module's: its address is its physical address, so that sanitizers watch it. */
struct own_page {
	struct page page;
	u8 *at;
	struct own_page *next;
};

static struct own_page *own_pages[1024];

/* What points to the module's page at an address, or to NULL. */
static struct own_page **find_own(u64 at)
{
	struct own_page **own = &own_pages[at / PAGE_SIZE % ARRAY_SIZE(own_pages)];

	while (*own && (u64)(*own)->at != (at & PAGE_MASK))
		own = &(*own)->next;
	return own;
}

static bool is_ram(const struct page *page)
{
	return page >= pages && page < pages + PAGES;
}

u8 *host_memory_of(const struct page *page)
{
	return is_ram(page) ? ram[page - pages] : container_of(page, struct own_page, page)->at;
}

u64 fake_page_to_phys(const struct page *page)
{
	return is_ram(page) ? RAM + (page - pages) * PAGE_SIZE : (u64)host_memory_of(page);
}

struct page *fake_phys_to_page(u64 pa)
{
	struct own_page *own;

	if (pa - RAM < sizeof(ram))
		return &pages[(pa - RAM) / PAGE_SIZE];
	own = *find_own(pa);
	return own ? &own->page : NULL;
}

void *fake_phys_to_virt(u64 pa)
{
	REQUIRE(fake_phys_to_page(pa));
	return (void *)((uintptr_t)(host_memory_of(fake_phys_to_page(pa)) + pa % PAGE_SIZE) |
			FAKE_KERNEL_HALF);
}

u64 fake_virt_to_phys(const volatile void *at)
{
	u64 offset = (u8 *)fake_kva(at) - ram[0];

	return offset < sizeof(ram) ? RAM + offset : (u64)fake_kva(at);
}

struct page *fake_virt_to_page(const void *at)
{
	return fake_phys_to_page(fake_virt_to_phys(at));
}

/* The page that is dirty or not for all pages of a block. */
static struct page *head_of(struct page *page)
{
	unsigned int n = page - pages;

	return !is_ram(page) || n < SINGLES ? page : &pages[n - (n - SINGLES) % BLOCK_PAGES];
}

void fake_set_dirty(struct page *page)
{
	head_of(page)->dirty = true;
}

bool page_dirty(const struct page *page)
{
	return head_of((struct page *)page)->dirty;
}

/* In turn, so that a page that was given back is somebody else's only later. */
struct page *host_new_page(void)
{
	unsigned int n;

	for (n = 0; n < SINGLES; n++) {
		struct page *page = &pages[next_page++ % SINGLES];

		if (page->used || page->refs)
			continue;
		*page = (struct page) { .used = true };
		memset(host_memory_of(page), 0, PAGE_SIZE);
		return page;
	}
	return NULL;
}

void host_give_page(struct page *page)
{
	page->used = false;
}

/* Of a block that was split, the module may still hold a page. */
static bool block_free(unsigned int b)
{
	unsigned int i;

	for (i = 0; i < BLOCK_PAGES; i++)
		if (pages[SINGLES + b * BLOCK_PAGES + i].refs)
			return false;
	return !block_used[b];
}

struct page *host_new_block(void)
{
	struct page *first;
	unsigned int b, i;

	for (b = 0; b < BLOCKS && !block_free(b); b++)
		;
	if (b == BLOCKS)
		return NULL;
	block_used[b] = true;
	first = &pages[SINGLES + b * BLOCK_PAGES];
	for (i = 0; i < BLOCK_PAGES; i++)
		first[i] = (struct page) { .used = true };
	memset(host_memory_of(first), 0, PMD_SIZE);
	return first;
}

void host_give_block(struct page *first)
{
	block_used[(first - pages - SINGLES) / BLOCK_PAGES] = false;
}

/* ---- allocations ---------------------------------------------------------------- */

void *fake_alloc(size_t size, gfp_t how)
{
	void *mem;

	if (how & GFP_KERNEL)
		fake_may_sleep();
	if (!host_allocs)
		return NULL;
	host_allocs -= host_allocs > 0;
	mem = aligned_alloc(size % PAGE_SIZE ? 16 : PAGE_SIZE, ALIGN(max(size, 1UL), 16));
	memset(mem, 0, size);
	allocated++;
	return mem;
}

void fake_free(const void *mem)
{
	if (!mem)
		return;
	REQUIRE(allocated);
	allocated--;
	free((void *)mem);
}

unsigned long fake_alloc_page(gfp_t how)
{
	struct own_page *own = fake_alloc(sizeof(*own), how), **to;

	if (!own)
		return 0;
	/* Its parts do not fail one by one: as for the module, there is one allocation. */
	own->at = aligned_alloc(PAGE_SIZE, PAGE_SIZE);
	memset(own->at, 0, PAGE_SIZE);
	own->page.module = true;
	to = find_own((u64)own->at);
	*to = own;
	return (unsigned long)own->at;
}

void fake_free_page(unsigned long va)
{
	struct own_page **from, *own;

	if (!va)
		return;
	from = find_own(va);
	own = *from;
	REQUIRE(own && va == (unsigned long)own->at && !own->page.refs && !own->page.locked);
	*from = own->next;
	free(own->at);
	fake_free(own);
}

void fake_put_page(struct page *page)
{
	REQUIRE(page->refs || page->module);
	if (page->refs)
		page->refs--;
	else
		fake_free_page(fake_page_to_phys(page));
}

unsigned long host_shrink(unsigned long wanted)
{
	struct shrink_control sc = { .nr_to_scan = wanted };
	unsigned long freed;

	if (fake_shrinker.count_objects(&fake_shrinker, &sc) == SHRINK_EMPTY)
		return 0;
	freed = fake_shrinker.scan_objects(&fake_shrinker, &sc);
	return freed == SHRINK_STOP ? 0 : freed;
}

/* ---- begin and end ----------------------------------------------------------------- */

void host_memory_start(void)
{
	memset(pages, 0, sizeof(pages));
	memset(block_used, 0, sizeof(block_used));
	next_page = 0;
	host_allocs = -1;
}

void host_memory_end(void)
{
	unsigned int i;

	REQUIRE(!allocated);
	for (i = 0; i < PAGES; i++)
		REQUIRE(!pages[i].refs);
}
