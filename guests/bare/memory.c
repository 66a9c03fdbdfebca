// SPDX-License-Identifier: GPL-2.0
/*
 * Fills all RAM except the image and the device tree with a pattern that names each address, then
 * reads it back. A page that is missing, duplicated or lost is a failure; its address is printed.
 */
#include "guest.h"

#define PAGE 4096UL
#define WORDS (PAGE / sizeof(u64))
#define MAX_REPORTS 8

static u64 seed;

static u64 pattern(u64 address)
{
	return (address ^ seed) * 0x9e3779b97f4a7c15UL;
}

static bool overlaps(u64 page, const struct region *region)
{
	return page < region->base + region->size && page + PAGE > region->base;
}

static bool in_use(u64 page)
{
	struct region image = { (u64)image_start, (u64)(image_end - image_start) };

	return overlaps(page, &image) || overlaps(page, &machine.fdt);
}

static void fill(u64 page)
{
	u64 *word = (u64 *)page;
	u64 value = pattern(page);
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		word[i] = value + i;
}

static bool verify(u64 page)
{
	const u64 *word = (const u64 *)page;
	u64 value = pattern(page);
	u64 wrong = 0;
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		wrong |= word[i] ^ (value + i);
	return !wrong;
}

static u64 each_page(const struct region *ram, bool filling)
{
	u64 page, done = 0;

	for (page = ram->base; page < ram->base + ram->size; page += PAGE) {
		if (in_use(page))
			continue;
		done++;
		if (filling)
			fill(page);
		else if (!verify(page) && failures() < MAX_REPORTS)
			check(false, "page %lx does not hold what was written", page);
	}
	return done;
}

void guest_main(void)
{
	u64 pages = 0, start, ticks;
	unsigned int i;

	mmu_enable();
	seed = read_sysreg(cntvct_el0);
	start = seed;
	for (i = 0; i < machine.ram_count; i++)
		each_page(&machine.ram[i], true);
	for (i = 0; i < machine.ram_count; i++)
		pages += each_page(&machine.ram[i], false);
	ticks = read_sysreg(cntvct_el0) - start;
	check(pages, "no memory to test");
	result("memory.verified", pages * PAGE, "bytes");
	result("memory.time", ticks, "ticks");
}
