// SPDX-License-Identifier: GPL-2.0
/*
 * The reach of TLBs: memory read in a known way, between marks for the lab's plugin
 * (lab/plugins/count.c), which do nothing elsewhere.
 *
 * A row is PATTERN-MEBIBYTES-PAGES. Patterns: `random` reads random words of the memory; `stride`
 * reads a word of each 4 KiB in turn; `fresh` maps memory, writes to each 4 KiB of it and unmaps
 * it, again and again, with small pages only. Pages: `small`, or `huge` where the kernel has 2 MiB
 * pages for programs; it prints how many it got.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../lib/mark.h"
#include "counter.h"

#define PAGE		4096UL
#define HUGE		(2UL << 20)
#define MAX_MEBIBYTES	4096

#define WARM		(1UL << 18)	/* reads before the ones that count */
#define READS		(1UL << 20)
#define ROUNDS		8		/* of `fresh` */

struct memory {
	char *mapped, *at;	/* as allocated, and from its first 2 MiB boundary on */
	size_t size;
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Marks the address range of the memory that has pages of the selected size. */
static void mark_range(const struct memory *memory)
{
	asm volatile("hint #0x73\n\tldrb wzr, [%0]\n\tldrb wzr, [%1]"
		     : : "r" (memory->at), "r" (memory->at + memory->size - 1) : "memory");
}

static void map(struct memory *memory, int advice)
{
	memory->mapped = mmap(NULL, memory->size + HUGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory->mapped == MAP_FAILED)
		fail("reach: cannot map memory");
	memory->at = (char *)(((uintptr_t)memory->mapped + HUGE - 1) & -HUGE);
	if (madvise(memory->at, memory->size, advice))
		fail("reach: cannot choose the size of pages");
}

static void unmap(const struct memory *memory)
{
	munmap(memory->mapped, memory->size + HUGE);
}

static void touch(const struct memory *memory)
{
	size_t i;

	for (i = 0; i < memory->size; i += PAGE)
		*(volatile uint64_t *)(memory->at + i) = i;
}

/* How much of this process's memory has huge pages, in KiB. */
static unsigned long huge_kib(void)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	unsigned long all = 0, one;
	char line[512];

	if (!smaps)
		fail("reach: /proc/self/smaps");
	while (fgets(line, sizeof(line), smaps))
		if (sscanf(line, "AnonHugePages: %lu kB", &one) == 1)
			all += one;
	fclose(smaps);
	return all;
}

/* xorshift: the same sequence everywhere. */
static uint64_t next(uint64_t x)
{
	x ^= x << 13;
	x ^= x >> 7;
	return x ^ x << 17;
}

static uint64_t read_random(const struct memory *memory, uint64_t x, uint64_t reads)
{
	uint64_t words = memory->size / 8;

	while (reads--) {
		x = next(x);
		(void)((volatile uint64_t *)memory->at)[x % words];
	}
	return x;
}

static void read_stride(const struct memory *memory, uint64_t reads)
{
	size_t i = 0;

	while (reads--) {
		(void)*(volatile uint64_t *)(memory->at + i);
		i = i + PAGE < memory->size ? i + PAGE : 0;
	}
}

/* Each returns the ticks of its work. */

static uint64_t random_row(const struct memory *memory)
{
	uint64_t begun, x;

	MARK_FEED;
	x = read_random(memory, 88172645463325252ULL, WARM);
	begun = counter();
	MARK_COUNT;
	read_random(memory, x, READS);
	MARK_END;
	return counter() - begun;
}

static uint64_t stride_row(const struct memory *memory)
{
	uint64_t begun;

	MARK_FEED;
	read_stride(memory, WARM);
	begun = counter();
	MARK_COUNT;
	read_stride(memory, READS);
	MARK_END;
	return counter() - begun;
}

static uint64_t fresh_row(struct memory *memory)
{
	uint64_t begun = 0;
	unsigned int round;

	MARK_FEED;
	for (round = 0; round < 2 * ROUNDS; round++) {
		if (round == ROUNDS) {
			begun = counter();
			MARK_COUNT;
		}
		map(memory, MADV_NOHUGEPAGE);
		touch(memory);
		unmap(memory);
	}
	MARK_END;
	return counter() - begun;
}

static void run(const char *name, const char *pattern, size_t mebibytes, int advice)
{
	struct memory memory = { .size = mebibytes << 20 };
	bool fresh = !strcmp(pattern, "fresh");
	uint64_t ticks;

	map(&memory, advice);
	touch(&memory);
	printf("result reach.%s.huge %lu KiB\n", name, huge_kib());
	if (fresh)
		unmap(&memory);
	else
		mark_range(&memory);
	if (fresh)
		ticks = fresh_row(&memory);
	else if (!strcmp(pattern, "random"))
		ticks = random_row(&memory);
	else
		ticks = stride_row(&memory);
	if (!fresh)
		unmap(&memory);
	printf("result reach.%s.accesses %lu count\n", name,
	       fresh ? ROUNDS * (memory.size / PAGE) : READS);
	printf("result reach.%s.cntfrq %" PRIu64 " Hz\n", name, counter_frequency());
	printf("result reach.%s.ticks %" PRIu64 " ticks\n", name, ticks);
}

/* Runs a row; false if there is no such row. */
static bool parse_and_run(const char *name)
{
	char pattern[16], pages[16], rest;
	unsigned int mebibytes;

	if (sscanf(name, "%15[a-z]-%u-%15[a-z]%c", pattern, &mebibytes, pages, &rest) != 3)
		return false;
	if (strcmp(pattern, "random") && strcmp(pattern, "stride") && strcmp(pattern, "fresh"))
		return false;
	if (!mebibytes || mebibytes > MAX_MEBIBYTES)
		return false;
	if (!strcmp(pages, "small"))
		run(name, pattern, mebibytes, MADV_NOHUGEPAGE);
	else if (!strcmp(pages, "huge") && strcmp(pattern, "fresh"))
		run(name, pattern, mebibytes, MADV_HUGEPAGE);
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (!parse_and_run(argv[i])) {
			fprintf(stderr, "reach: no such row: %s\n", argv[i]);
			argc = 1;
		}
	}
	if (argc > 1)
		return 0;
	fprintf(stderr, "usage: reach {random|stride|fresh}-MEBIBYTES-{small|huge}...\n");
	return 2;
}
