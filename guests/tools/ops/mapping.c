// SPDX-License-Identifier: GPL-2.0
/* Mappings that come, go, move and change their rights, and files in the page cache. */
#define _GNU_SOURCE
#include "ops.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static void run_map_page(uint64_t loops)
{
	ops_map_and_write(loops, OPS_PAGE);
}

static void run_map_64k(uint64_t loops)
{
	ops_map_and_write(loops, OPS_MIB / 16);
}

static void run_map_1m(uint64_t loops)
{
	ops_map_and_write(loops, OPS_MIB);
}

static void get_page(void)
{
	ops_get_area(OPS_PAGE);
}

static void get_1m(void)
{
	ops_get_area(OPS_MIB);
}

/* There and back, touched each time. */
static void run_move(uint64_t loops)
{
	size_t size = ops_area.size;
	char *other = ops_map(size);
	char *from = ops_area.at, *to = other;
	char *swap;

	loops *= 2;
	while (loops--) {
		ops_must(mremap(from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to,
			 "mremap");
		ops_write(to, size);
		swap = from;
		from = to;
		to = swap;
	}
	/* The last one went back: `other` is not mapped any more. */
}

static void run_grow(uint64_t loops)
{
	char *at;

	while (loops--) {
		at = ops_map(OPS_PAGE);
		ops_write(at, OPS_PAGE);
		at = mremap(at, OPS_PAGE, 16 * OPS_PAGE, MREMAP_MAYMOVE);
		ops_must(at != MAP_FAILED, "mremap");
		ops_write(at, 16 * OPS_PAGE);
		ops_unmap(at, 16 * OPS_PAGE);
	}
}

static void run_protect(uint64_t loops)
{
	while (loops--) {
		ops_must(!mprotect(ops_area.at, ops_area.size, PROT_READ), "mprotect");
		ops_read(ops_area.at, ops_area.size);
		ops_must(!mprotect(ops_area.at, ops_area.size, PROT_READ | PROT_WRITE), "mprotect");
		ops_write(ops_area.at, ops_area.size);
	}
}

static void run_lock(uint64_t loops)
{
	while (loops--)
		ops_must(!mlock(ops_area.at, ops_area.size) &&
			 !munlock(ops_area.at, ops_area.size), "mlock");
}

static void run_mincore(uint64_t loops)
{
	static unsigned char pages[4 * OPS_MIB / OPS_PAGE];

	while (loops--)
		ops_must(!mincore(ops_area.at, ops_area.size, pages), "mincore");
}

static void run_pagemap(uint64_t loops)
{
	static uint64_t entries[4 * OPS_MIB / OPS_PAGE];
	off_t at = (off_t)((uintptr_t)ops_area.at / OPS_PAGE * sizeof(*entries));
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	while (loops--)
		ops_must(pread(fd, entries, sizeof(entries), at) == (ssize_t)sizeof(entries),
			 "/proc/self/pagemap");
	close(fd);
}

static void run_brk(uint64_t loops)
{
	char *at;

	while (loops--) {
		at = sbrk(OPS_MIB);
		ops_must(at != (void *)-1, "sbrk");
		ops_write(at, OPS_MIB);
		ops_must(sbrk(-(intptr_t)OPS_MIB) != (void *)-1, "sbrk");
	}
}

static void run_shared(uint64_t loops)
{
	char *at;

	while (loops--) {
		at = mmap(NULL, OPS_MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		ops_must(at != MAP_FAILED, "cannot map shared memory");
		ops_write(at, OPS_MIB);
		ops_unmap(at, OPS_MIB);
	}
}

static int file = -1;

static void make_file(void)
{
	file = memfd_create("ops", MFD_CLOEXEC);
	get_1m();
	ops_must(file >= 0 && pwrite(file, ops_area.at, OPS_MIB, 0) == (ssize_t)OPS_MIB,
		 "cannot write 1 MiB");
}

static void drop_file(void)
{
	ops_drop_area();
	close(file);
}

static void run_file_read(uint64_t loops)
{
	while (loops--)
		ops_must(pread(file, ops_area.at, OPS_MIB, 0) == (ssize_t)OPS_MIB, "pread");
}

static void run_file_write(uint64_t loops)
{
	while (loops--)
		ops_must(pwrite(file, ops_area.at, OPS_MIB, 0) == (ssize_t)OPS_MIB, "pwrite");
}

/* The file's pages are given back and come anew. */
static void run_file_new(uint64_t loops)
{
	while (loops--)
		ops_must(!ftruncate(file, 0) &&
			 pwrite(file, ops_area.at, OPS_MIB, 0) == (ssize_t)OPS_MIB, "ftruncate");
}

static void map_file(uint64_t loops, int protection, int flags)
{
	char *at;

	while (loops--) {
		at = mmap(NULL, OPS_MIB, protection, flags, file, 0);
		ops_must(at != MAP_FAILED, "cannot map a file");
		if (protection & PROT_WRITE)
			ops_write(at, OPS_MIB);
		else
			ops_read(at, OPS_MIB);
		ops_unmap(at, OPS_MIB);
	}
}

static void run_file_map(uint64_t loops)
{
	map_file(loops, PROT_READ, MAP_SHARED);
}

static void run_file_cow(uint64_t loops)
{
	map_file(loops, PROT_READ | PROT_WRITE, MAP_PRIVATE);
}

const struct lat_row ops_mapping[] = {
	{ "map-page", NULL, run_map_page, NULL, 100 },
	{ "map-64k", NULL, run_map_64k, NULL, 50 },
	{ "map-1m", NULL, run_map_1m, NULL, 10 },
	{ "move-4m", ops_get_4m, run_move, ops_drop_area, 4 },
	{ "grow", NULL, run_grow, NULL, 20 },
	{ "protect-page", get_page, run_protect, ops_drop_area, 100 },
	{ "protect-4m", ops_get_4m, run_protect, ops_drop_area, 4 },
	{ "lock-1m", get_1m, run_lock, ops_drop_area, 10 },
	{ "mincore-4m", ops_get_4m, run_mincore, ops_drop_area, 10 },
	{ "pagemap-4m", ops_get_4m, run_pagemap, ops_drop_area, 10 },
	{ "brk-1m", NULL, run_brk, NULL, 10 },
	{ "shared-1m", NULL, run_shared, NULL, 10 },
	{ "file-read-1m", make_file, run_file_read, drop_file, 10 },
	{ "file-write-1m", make_file, run_file_write, drop_file, 10 },
	{ "file-new-1m", make_file, run_file_new, drop_file, 5 },
	{ "file-map-1m", make_file, run_file_map, drop_file, 10 },
	{ "file-cow-1m", make_file, run_file_cow, drop_file, 5 },
	{ 0 },
};
