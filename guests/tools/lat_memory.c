// SPDX-License-Identifier: GPL-2.0
/* Mapping, first touch and protection. */
#define _GNU_SOURCE
#include "lat.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES 64
#define PAGE 4096

static volatile char *page;
static volatile uint64_t faults;

static void run_map(uint64_t loops)
{
	volatile char *at;
	int i;

	while (loops--) {
		at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED)
			lat_fail("cannot map 64 pages");
		for (i = 0; i < PAGES; i++)
			at[i * PAGE] = 1;
		munmap((void *)at, PAGES * PAGE);
	}
}

static void on_fault(int number)
{
	(void)number;
	faults++;
	mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE);
}

static void map_page(void)
{
	struct sigaction action = { .sa_handler = on_fault };

	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || sigaction(SIGSEGV, &action, NULL))
		lat_fail("cannot prepare a page to protect");
	*page = 1;
}

static void unmap_page(void)
{
	signal(SIGSEGV, SIG_DFL);
	munmap((void *)page, PAGE);
}

static void run_protect(uint64_t loops)
{
	uint64_t before = faults;
	uint64_t i;

	for (i = 0; i < loops; i++) {
		mprotect((void *)page, PAGE, PROT_READ);
		*page = 2;
	}
	if (faults - before != loops)
		lat_fail("a write to a protected page did not fault");
}

const struct lat_row lat_memory[] = {
	{ "map-touch-unmap", NULL, run_map, NULL, 50 },
	{ "protection-fault", map_page, run_protect, unmap_page, 200 },
	{ 0 },
};
