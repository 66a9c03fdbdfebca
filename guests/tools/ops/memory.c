// SPDX-License-Identifier: GPL-2.0
/*
 * Memory: first touches, huge pages, copies on write, and what madvise() and userfaultfd do to it.
 * A value is of the whole size in the row's name.
 */
#define _GNU_SOURCE
#include "ops.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define HUGE_PAGE (2 * OPS_MIB)

static void run_touch_write(uint64_t loops)
{
	ops_map_and_write(loops, 4 * OPS_MIB);
}

static void run_touch_read(uint64_t loops)
{
	char *at;

	while (loops--) {
		at = ops_map(4 * OPS_MIB);
		ops_read(at, 4 * OPS_MIB);
		ops_unmap(at, 4 * OPS_MIB);
	}
}

static void run_touch_both(uint64_t loops)
{
	char *at;

	while (loops--) {
		at = ops_map(4 * OPS_MIB);
		ops_read(at, 4 * OPS_MIB);
		ops_write(at, 4 * OPS_MIB);
		ops_unmap(at, 4 * OPS_MIB);
	}
}

static void run_populate(uint64_t loops)
{
	char *at;

	while (loops--) {
		at = ops_map(4 * OPS_MIB);
		ops_must(!madvise(at, 4 * OPS_MIB, MADV_POPULATE_WRITE), "MADV_POPULATE_WRITE");
		ops_unmap(at, 4 * OPS_MIB);
	}
}

/* Memory of whole huge pages, each of them touched once. `first` is the first of them. */
static char *map_huge(size_t size, char **first)
{
	size_t whole = size + HUGE_PAGE, at;
	char *map = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ops_must(map != MAP_FAILED && !madvise(map, whole, MADV_HUGEPAGE), "MADV_HUGEPAGE");
	*first = map + (HUGE_PAGE - (uintptr_t)map % HUGE_PAGE) % HUGE_PAGE;
	for (at = 0; at < size; at += HUGE_PAGE)
		*(volatile char *)(*first + at) = 1;
	return map;
}

/* A kernel with little memory has none unless it is told to. One touch brings a whole one. */
static void want_huge(void)
{
	unsigned char pages[HUGE_PAGE / OPS_PAGE];
	char *first, *map;

	ops_tell("/sys/kernel/mm/transparent_hugepage/enabled", "madvise");
	map = map_huge(HUGE_PAGE, &first);
	ops_must(!mincore(first, HUGE_PAGE, pages) && pages[sizeof(pages) - 1] & 1,
		 "there is no huge page");
	ops_unmap(map, 2 * HUGE_PAGE);
}

static void touch_huge(uint64_t loops, size_t size)
{
	char *first;

	while (loops--)
		ops_unmap(map_huge(size, &first), size + HUGE_PAGE);
}

static void run_huge(uint64_t loops)
{
	touch_huge(loops, HUGE_PAGE);
}

static void run_huge_16m(uint64_t loops)
{
	touch_huge(loops, 16 * OPS_MIB);
}

/* Memory that is there already. */
static void get_16m(void)
{
	ops_get_area(16 * OPS_MIB);
}

static void advise(uint64_t loops, int advice, const char *name)
{
	while (loops--) {
		ops_must(!madvise(ops_area.at, ops_area.size, advice), name);
		ops_write(ops_area.at, ops_area.size);
	}
}

static void run_free(uint64_t loops)
{
	advise(loops, MADV_FREE, "MADV_FREE");
}

static void run_dontneed(uint64_t loops)
{
	advise(loops, MADV_DONTNEED, "MADV_DONTNEED");
}

static void run_cold(uint64_t loops)
{
	advise(loops, MADV_COLD, "MADV_COLD");
}

/* The pages lose their references, and are read again. */
static void run_clear_refs(uint64_t loops)
{
	while (loops--) {
		ops_tell("/proc/self/clear_refs", "1");
		ops_read(ops_area.at, ops_area.size);
	}
}

static void run_copy(uint64_t loops)
{
	while (loops--)
		memcpy(ops_area.at, ops_area.at + ops_area.size / 2, ops_area.size / 2);
}

static void in_child(void (*child)(void))
{
	pid_t pid = fork();
	int status;

	ops_must(pid >= 0, "cannot fork");
	if (!pid) {
		child();
		_exit(0);
	}
	ops_must(waitpid(pid, &status, 0) == pid && !status, "the child did not end well");
}

static void write_area(void)
{
	ops_write(ops_area.at, ops_area.size);
}

static void do_nothing(void)
{
}

static void run_child_cow(uint64_t loops)
{
	while (loops--)
		in_child(write_area);
}

static void run_large_fork(uint64_t loops)
{
	while (loops--)
		in_child(do_nothing);
}

/* The parent breaks the sharing while the child waits. */
static void run_parent_cow(uint64_t loops)
{
	int ends[2];
	char byte;
	pid_t pid;

	while (loops--) {
		ops_must(!pipe2(ends, O_CLOEXEC), "pipe2");
		pid = fork();
		ops_must(pid >= 0, "cannot fork");
		if (!pid) {
			close(ends[1]);
			_exit(read(ends[0], &byte, 1) != 0);
		}
		write_area();
		close(ends[1]);
		close(ends[0]);
		ops_must(waitpid(pid, NULL, 0) == pid, "waitpid");
	}
}

static int uffd = -1;

static void watch_faults(uint64_t mode, uint64_t features)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	struct uffdio_register range = { .mode = mode };

	ops_get_area(OPS_MIB / 4);
	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	range.range = (struct uffdio_range){ (uintptr_t)ops_area.at, ops_area.size };
	ops_must(uffd >= 0 && !ioctl(uffd, UFFDIO_API, &api) &&
		 !ioctl(uffd, UFFDIO_REGISTER, &range), "userfaultfd");
}

static void watch_missing(void)
{
	watch_faults(UFFDIO_REGISTER_MODE_MISSING, 0);
}

static void watch_writes(void)
{
	watch_faults(UFFDIO_REGISTER_MODE_WP, UFFD_FEATURE_PAGEFAULT_FLAG_WP);
}

static void leave_uffd(void)
{
	close(uffd);
	ops_drop_area();
}

/* A page is taken away, brought back and read. */
static void run_uffd_copy(uint64_t loops)
{
	static char page[OPS_PAGE] __attribute__((aligned(4096)));
	struct uffdio_copy copy;
	uint64_t i;

	for (i = 0; i < loops; i++) {
		char *at = ops_area.at + i * OPS_PAGE % ops_area.size;

		copy = (struct uffdio_copy){ .dst = (uintptr_t)at, .src = (uintptr_t)page,
					     .len = OPS_PAGE };
		ops_must(!madvise(at, OPS_PAGE, MADV_DONTNEED) && !ioctl(uffd, UFFDIO_COPY, &copy),
			 "UFFDIO_COPY");
		ops_read(at, OPS_PAGE);
	}
}

static void protect(char *at, uint64_t mode)
{
	struct uffdio_writeprotect wp = { { (uintptr_t)at, OPS_PAGE }, mode };

	ops_must(!ioctl(uffd, UFFDIO_WRITEPROTECT, &wp), "UFFDIO_WRITEPROTECT");
}

static void run_uffd_protect(uint64_t loops)
{
	uint64_t i;

	for (i = 0; i < loops; i++) {
		char *at = ops_area.at + i * OPS_PAGE % ops_area.size;

		protect(at, UFFDIO_WRITEPROTECT_MODE_WP);
		ops_read(at, OPS_PAGE);
		protect(at, 0);
		ops_write(at, OPS_PAGE);
	}
}

const struct lat_row ops_memory[] = {
	{ "touch-written-4m", NULL, run_touch_write, NULL, 4 },
	{ "touch-read-4m", NULL, run_touch_read, NULL, 4 },
	{ "touch-both-4m", NULL, run_touch_both, NULL, 4 },
	{ "populate-4m", NULL, run_populate, NULL, 4 },
	{ "huge-page", want_huge, run_huge, NULL, 4 },
	{ "huge-pages-16m", want_huge, run_huge_16m, NULL, 2 },
	{ "free-4m", ops_get_4m, run_free, ops_drop_area, 4 },
	{ "dontneed-4m", ops_get_4m, run_dontneed, ops_drop_area, 4 },
	{ "cold-4m", ops_get_4m, run_cold, ops_drop_area, 4 },
	{ "clear-refs-4m", ops_get_4m, run_clear_refs, ops_drop_area, 4 },
	{ "copy-2m", ops_get_4m, run_copy, ops_drop_area, 4 },
	{ "child-cow-16m", get_16m, run_child_cow, ops_drop_area, 1 },
	{ "parent-cow-16m", get_16m, run_parent_cow, ops_drop_area, 1 },
	{ "fork-16m", get_16m, run_large_fork, ops_drop_area, 4 },
	{ "uffd-copy", watch_missing, run_uffd_copy, leave_uffd, 64 },
	{ "uffd-protect", watch_writes, run_uffd_protect, leave_uffd, 64 },
	{ 0 },
};
