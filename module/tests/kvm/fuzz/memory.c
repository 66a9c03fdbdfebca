// SPDX-License-Identifier: GPL-2.0
/*
 * A VMM's changes to the memory behind its slots while guests use it. A page that was taken from
 * the guest belongs to the host: if the guest still writes to it, that is a failure, which canary()
 * and frozen() detect.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fuzz.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

struct area *any_area(struct actor *a)
{
	/* The first one has the guest's program. */
	return &a->w->area[one_in(a, 3) ? 0 : pick(a, NR_AREAS)];
}

char *any_part(struct actor *a, struct area *area, size_t *size)
{
	static const size_t sizes[] = { 1, 1, 1, 2, 4, 8, 16, 16, 32, 64, 64, 512 };
	size_t pages = sizes[pick(a, ARRAY_SIZE(sizes))], first = pick(a, AREA_SIZE / PAGE);

	/* Mostly memory that guests use all the time. */
	if (!one_in(a, 4))
		first = first % HOT_PAGES + (area == &a->w->area[0] ? HOT_FIRST : 0);
	if (first + pages > AREA_SIZE / PAGE)
		first = AREA_SIZE / PAGE - pages;
	*size = pages * PAGE;
	return area->at + first * PAGE;
}

void *any_buffer(struct actor *a)
{
	struct area *area = any_area(a);
	size_t size;
	char *part = any_part(a, area, &size);

	return one_in(a, 4) && area->kind == PRIVATE ? part : a->buffer;
}

static void advise(struct actor *a)
{
	static const int advices[] = {
		MADV_DONTNEED, MADV_DONTNEED, MADV_REMOVE, MADV_COLD, MADV_PAGEOUT, MADV_FREE,
		MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_COLLAPSE, MADV_MERGEABLE, MADV_UNMERGEABLE,
		MADV_POPULATE_READ, MADV_POPULATE_WRITE, MADV_DONTFORK, MADV_DOFORK,
	};
	struct area *area = any_area(a);
	size_t size;
	char *at = any_part(a, area, &size);

	pthread_rwlock_rdlock(&area->lock);
	judge(a, madvise(at, size, advices[pick(a, ARRAY_SIZE(advices))]));
	pthread_rwlock_unlock(&area->lock);
}

static void protect(struct actor *a)
{
	static const int rights[] = {
		PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE,
		PROT_READ | PROT_WRITE | PROT_EXEC,
	};
	struct area *area = any_area(a);
	size_t size;
	char *at = any_part(a, area, &size);

	pthread_rwlock_rdlock(&area->lock);
	judge(a, mprotect(at, size, rights[pick(a, ARRAY_SIZE(rights))]));
	pthread_rwlock_unlock(&area->lock);
}

/* Put memory where some was, of the area's own kind: a file's pages are mapped once. */
static void remap_part(struct actor *a, struct area *area, char *at, size_t size)
{
	static const int flags[] = { MAP_PRIVATE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS,
				     MAP_SHARED };
	off_t offset = area->kind == FILE_BACKED ? at - area->at : 0;

	if (mmap(at, size, PROT_READ | PROT_WRITE, flags[area->kind] | MAP_FIXED, area->file,
		 offset) != MAP_FAILED)
		a->done = true;
}

static void unmap(struct actor *a)
{
	struct area *area = any_area(a);
	size_t size;
	char *at = any_part(a, area, &size);
	unsigned int delay = pick(a, 2) * pick(a, 2000);

	pthread_rwlock_wrlock(&area->lock);
	/* Nobody else's mapping may be placed here meanwhile. */
	judge(a, mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
		 MAP_FAILED ? -1 : 0);
	usleep(delay);
	remap_part(a, area, at, size);
	pthread_rwlock_unlock(&area->lock);
}

/*
 * The same pages elsewhere for a moment; then back. The area is never without
 * a mapping, whose place another thread's could take.
 */
static void move(struct actor *a)
{
	struct area *area = any_area(a);
	size_t size;
	char *at = any_part(a, area, &size), *there;
	unsigned int delay = pick(a, 1000);

	pthread_rwlock_wrlock(&area->lock);
	there = mremap(at, size, size, MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
	usleep(delay);
	if (there != MAP_FAILED) {
		if (mremap(there, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at)
			a->done = true;
		else
			munmap(there, size);
	}
	pthread_rwlock_unlock(&area->lock);
}

/* The VMM writes: a device, into data, code and tables alike; or the program as it was. */
static void scribble(struct actor *a)
{
	struct area *area = any_area(a);
	bool junk = one_in(a, 3);
	size_t size;
	char *at = any_part(a, area, &size);
	off_t from = pick(a, JUNK_SIZE / PAGE) * PAGE;

	pthread_rwlock_rdlock(&area->lock);
	if (junk)
		judge(a, pread(a->w->junk, at, size < 64 ? size : 64, from));
	else if (area == &a->w->area[0])
		judge(a, pread(a->w->image, at, size, at - area->at));
	else
		judge(a, pread(a->w->junk, at, size, from));
	pthread_rwlock_unlock(&area->lock);
}

static void resize_file(struct actor *a)
{
	struct area *area = any_area(a);
	size_t size;
	off_t at = any_part(a, area, &size) - area->at;
	unsigned int delay = pick(a, 1000);

	if (area->kind != FILE_BACKED)
		return;
	pthread_rwlock_rdlock(&area->lock);
	if (one_in(a, 2)) {
		judge(a, fallocate(area->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at,
				   size));
	} else {
		judge(a, ftruncate(area->file, at));
		usleep(delay);
		judge(a, ftruncate(area->file, AREA_SIZE));
	}
	pthread_rwlock_unlock(&area->lock);
}

static void pin(struct actor *a)
{
	struct area *area = any_area(a);
	size_t size;
	char *at = any_part(a, area, &size);

	judge(a, one_in(a, 2) ? mlock(at, size) : munlock(at, size));
}

/* The host's shrinkers, and all pages young again. */
static void press(struct actor *a)
{
	static const char *const files[] = {
		"/proc/sys/vm/drop_caches", "/proc/sys/vm/compact_memory", "/proc/self/clear_refs",
	};
	int fd = open(files[pick(a, ARRAY_SIZE(files))], O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	judge(a, write(fd, "2", 1));
	close(fd);
}

/*
 * Memory that comes when this thread says so: whoever touches it, a vCPU or an
 * ioctl with locks held, waits until then, or until it is killed.
 */
static void late(struct actor *a)
{
	struct area *area = any_area(a);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register where = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_zeropage zero = { 0 };
	size_t size;
	unsigned int delay;
	int fd;

	where.range.start = (u64)any_part(a, area, &size);
	where.range.len = zero.range.len = size;
	zero.range.start = where.range.start;
	delay = pick(a, 4000);
	fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	/* Before there is anything to wait for: who has the lock may touch the memory. */
	pthread_rwlock_rdlock(&area->lock);
	if (!ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &where)) {
		madvise((void *)where.range.start, size, MADV_DONTNEED);
		usleep(delay);
		judge(a, ioctl(fd, UFFDIO_ZEROPAGE, &zero));
	}
	/* Who still waits finds what is there without it. */
	close(fd);
	pthread_rwlock_unlock(&area->lock);
}

/* ---- pages that a guest must not write to any more ------------------------------------- */

/* Give pages back to the host, get some of its free ones, and see them stay as they are. */
static void canary(struct actor *a)
{
	struct area *area = any_area(a);
	size_t size, i;
	char *at = any_part(a, area, &size);
	unsigned int delay = pick(a, 10000);
	u64 *own;

	pthread_rwlock_wrlock(&area->lock);
	judge(a, madvise(at, size, area->kind == PRIVATE ? MADV_DONTNEED : MADV_REMOVE));
	own = mmap(NULL, size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (own == MAP_FAILED)
		goto unlock;
	for (i = 0; i < size / 8; i++)
		own[i] = 0xca11a81e00000000ULL + i;
	usleep(delay);
	for (i = 0; i < size / 8; i++) {
		if (own[i] != 0xca11a81e00000000ULL + i) {
			complain("seed %llu: a page that was taken from the guest was written: %llx",
				 (unsigned long long)a->w->seed, (unsigned long long)own[i]);
			break;
		}
	}
	munmap(own, size);
unlock:
	pthread_rwlock_unlock(&area->lock);
}

/* A sum over the contents; false if they cannot be read. */
static bool sum_of(const char *at, size_t size, u64 *sum)
{
	static __thread u64 page[PAGE / 8];
	int pipes[2];
	size_t n, i;
	bool good = true;

	if (pipe2(pipes, O_CLOEXEC | O_NONBLOCK))
		return false;
	*sum = 0;
	for (n = 0; n < size && good; n += PAGE) {
		good = write(pipes[1], at + n, PAGE) == PAGE && read(pipes[0], page, PAGE) == PAGE;
		for (i = 0; i < PAGE / 8 && good; i++)
			*sum = *sum * 31 + page[i];
	}
	close(pipes[0]);
	close(pipes[1]);
	return good;
}

/* Write-protected memory stays as it is. */
static void frozen(struct actor *a)
{
	struct area *area = any_area(a);
	u64 before = 0, after = 0;
	size_t size;
	char *at = any_part(a, area, &size);
	unsigned int delay = pick(a, 10000);

	pthread_rwlock_wrlock(&area->lock);
	judge(a, mprotect(at, size, PROT_READ));
	if (sum_of(at, size, &before)) {
		usleep(delay);
		if (sum_of(at, size, &after) && before != after)
			complain("seed %llu: write-protected memory was written",
				 (unsigned long long)a->w->seed);
	}
	mprotect(at, size, PROT_READ | PROT_WRITE);
	pthread_rwlock_unlock(&area->lock);
}

const struct op memory_ops[] = {
	{ "madvise",	20, advise },
	{ "mprotect",	10, protect },
	{ "unmap",	12, unmap },
	{ "mremap",	6, move },
	{ "scribble",	12, scribble },
	{ "file_size",	6, resize_file },
	{ "mlock",	3, pin },
	{ "pressure",	2, press },
	{ "late",		6, late },
	{ "canary",	12, canary },
	{ "frozen",	6, frozen },
	{ }
};
