// SPDX-License-Identifier: GPL-2.0
/*
 * The host's total work for a VM when it takes back a page of the VMM. The VM may have very many
 * slots, all or none of them on that page, and its guest may have mapped the page very often. There
 * is no meter, whose work would count too. For comparison, it measures the host's own reverse map.
 * The rows run on KVM as well.
 *
 *	SLOTS=n		number of slots of one page each (default 32,760)
 *	ENTRIES=n	number of entries that map one page (default 262,144)
 *	MAPS=n		number of mappings of one page in one process (default 60,000)
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bounds.h"

#define PAGE	0x1000UL
#define GPA	0x200000000ULL
#define SLOTS	32760
#define FIRST	3		/* slot that is not the mapper's */

/* The cost of an operation is the least of this many: the others include a timer tick. */
#define TIMES	9

static u64 now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static u64 drop(void *page)
{
	u64 from = now();

	if (madvise(page, PAGE, MADV_DONTNEED))
		die("MADV_DONTNEED");
	return now() - from;
}

/* Pages of a file: to free a page would cost now this and now that. */
static void *file_pages(size_t n)
{
	int fd = memfd_create("pages", 0);
	void *memory;

	if (fd < 0 || ftruncate(fd, n * PAGE))
		die("memfd_create of %zu pages", n);
	memory = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		die("mmap of %zu pages", n);
	close(fd);
	return memory;
}

/* The least of some drops of a page, which the guest has mapped (m) or only the VMM. */
static u64 least(char *page, struct mapper *m, u64 va)
{
	u64 least = ~0ULL, took;
	int i;

	for (i = 0; i < TIMES; i++) {
		*(volatile char *)page = 1;
		if (m)
			mapper_touch(m, va, PAGE, PAGE);
		took = drop(page);
		if (took < least)
			least = took;
	}
	return least;
}

/*
 * Slots apart from each other, a page each: one page between them, which is in none; one in a
 * slot; one in a slot that the guest has mapped.
 */
void bounds_notify_apart(void)
{
	u32 n = setting("SLOTS", SLOTS), i;
	char *memory = file_pages(2 * n);
	char *middle = memory + n / 2 * 2 * PAGE;
	struct mapper m;

	result("notify.no_vm", least(middle, NULL, 0), "instructions");
	new_mapper(&m, ONE_FRAME, false);
	for (i = 0; i < n; i++)
		mapper_slot(&m, FIRST + i, GPA + i * PAGE, memory + i * 2 * PAGE, PAGE);
	mapper_block(&m, 0, GPA);
	result("notify.no_slot", least(middle + PAGE, NULL, 0), "instructions");
	result("notify.slot", least(middle, NULL, 0), "instructions");
	result("notify.mapped", least(middle, &m, MAPPER_VA + n / 2 * PAGE), "instructions");
	free_mapper(&m);
	munmap(memory, 2 * n * PAGE);
}

/* Every slot on one page, which the guest has mapped by each of them; another page. */
void bounds_notify_aliases(void)
{
	u32 n = setting("SLOTS", SLOTS), i;
	char *memory = file_pages(2);
	struct mapper m;

	new_mapper(&m, ONE_FRAME, false);
	memory[0] = 1;
	for (i = 0; i < n; i++)
		mapper_slot(&m, FIRST + i, GPA + i * PAGE, memory, PAGE);
	mapper_block(&m, 0, GPA);
	result("notify.beside_aliases", least(memory + PAGE, NULL, 0), "instructions");
	result("notify.unused_aliases", drop(memory), "instructions");
	memory[0] = 1;
	mapper_touch(&m, MAPPER_VA, n * PAGE, PAGE);
	result("notify.aliases", drop(memory), "instructions");
	free_mapper(&m);
	munmap(memory, 2 * PAGE);
}

/* One frame that very many entries map. */
void bounds_notify_frame(void)
{
	struct mapper m;

	new_mapper(&m, ONE_FRAME, true);
	mapper_touch(&m, MAPPER_VA, setting("ENTRIES", 1 << 18) * PAGE, PAGE);
	result("entries", read_stat(m.stats, "shadow_fill"), "count");
	result("notify.frame", drop(m.frames), "instructions");
	/* What is left of the entries costs no more. */
	mapper_touch(&m, MAPPER_VA, PAGE, PAGE);
	result("notify.frame_again", drop(m.frames), "instructions");
	free_mapper(&m);
}

/* 512 frames that are one page of the VMM's, each with its share of very many entries. */
void bounds_notify_frames(void)
{
	struct mapper m;
	u32 i;

	new_mapper(&m, EACH_ITS_OWN, true);
	mapper_slot(&m, 1, MAPPER_FRAMES, m.frames, 0);
	for (i = 0; i < 512; i++)
		mapper_slot(&m, FIRST + i, MAPPER_FRAMES + i * PAGE, m.frames, PAGE);
	mapper_touch(&m, MAPPER_VA, setting("ENTRIES", 1 << 18) * PAGE, PAGE);
	result("entries", read_stat(m.stats, "shadow_fill"), "count");
	result("notify.frames", drop(m.frames), "instructions");
	free_mapper(&m);
}

/* No VM: a page that one process has mapped very often, taken from all of its mappings. */
void bounds_notify_host(void)
{
	u32 n = setting("MAPS", 60000), i;
	int fd = memfd_create("page", 0);
	u64 from;

	if (fd < 0 || ftruncate(fd, PAGE))
		die("memfd_create");
	for (i = 0; i < n; i++)
		if (mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0) == MAP_FAILED)
			die("mmap number %u", i);
	from = now();
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE))
		die("fallocate");
	result("notify.host", now() - from, "instructions");
	close(fd);
}
