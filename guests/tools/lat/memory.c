// SPDX-License-Identifier: GPL-2.0
/* Mapping, first touch and protection. */
#define _GNU_SOURCE
#include "lat.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES 64
#define PAGE 4096
/* Pages of the file, and the distance of the pages that `mmap` writes. */
#define FILE_PAGES 256
#define FILE_STEP 4

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

static int file = -1;

static void make_file(void)
{
	char bytes[PAGE];
	int i;

	memset(bytes, 1, sizeof(bytes));
	file = memfd_create("lat", MFD_CLOEXEC);
	for (i = 0; i < FILE_PAGES; i++)
		if (write(file, bytes, sizeof(bytes)) != sizeof(bytes))
			lat_fail("cannot make a file of 256 pages");
}

static void drop_file(void)
{
	close(file);
}

static volatile char *map_file(void)
{
	void *at = mmap(NULL, FILE_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	if (at == MAP_FAILED)
		lat_fail("cannot map a file");
	return at;
}

/* Each loop touches the page 97 pages after the last one, wrapping around in the file. */
static void run_page_fault(uint64_t loops)
{
	volatile char *at;
	uint64_t i;

	for (; loops; loops -= i) {
		at = map_file();
		for (i = 0; i < loops && i < FILE_PAGES; i++)
			(void)at[i * 97 % FILE_PAGES * PAGE];
		munmap((void *)at, FILE_PAGES * PAGE);
	}
}

static void run_mmap(uint64_t loops)
{
	volatile char *at;
	int i;

	while (loops--) {
		at = map_file();
		for (i = 0; i < FILE_PAGES; i += FILE_STEP)
			at[i * PAGE] = 1;
		munmap((void *)at, FILE_PAGES * PAGE);
	}
}

const struct lat_row lat_memory[] = {
	{ "map-touch-unmap", NULL, run_map, NULL, 50 },
	{ "protection-fault", map_page, run_protect, unmap_page, 200 },
	{ "page-fault", make_file, run_page_fault, drop_file, 2 * FILE_PAGES },
	{ "mmap", make_file, run_mmap, drop_file, 10 },
	{ 0 },
};
