// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that is present: reading, writing and copying a MiB, and dependent loads. A counted board
 * has no caches: this does not measure a machine's bandwidth, only the extra cost of a VM's memory.
 */
#include "lat.h"

#include <stdlib.h>
#include <string.h>

#define MIB (1UL << 20)
#define CHAIN (8 * MIB)
#define STRIDE 128
#define WORDS 8		/* per step */

static uint64_t *from, *to;
static void **chain;

static void *get(size_t size)
{
	void *memory = aligned_alloc(4096, size);

	if (!memory)
		lat_fail("no memory");
	memset(memory, 1, size);
	return memory;
}

static void prepare(void)
{
	from = get(MIB);
	to = get(MIB);
}

static void finish(void)
{
	free(from);
	free(to);
}

static void run_read(uint64_t loops)
{
	volatile uint64_t *at, *end = from + MIB / sizeof(*from);
	unsigned int i;

	while (loops--)
		for (at = from; at < end; at += WORDS)
#pragma GCC unroll 8
			for (i = 0; i < WORDS; i++)
				(void)at[i];
}

static void run_write(uint64_t loops)
{
	volatile uint64_t *at, *end = to + MIB / sizeof(*to);
	unsigned int i;

	while (loops--)
		for (at = to; at < end; at += WORDS)
#pragma GCC unroll 8
			for (i = 0; i < WORDS; i++)
				at[i] = loops;
}

static void run_copy(uint64_t loops)
{
	while (loops--) {
		memcpy(to, from, MIB);
		asm volatile("" : : "r" (to) : "memory");
	}
}

/* Each word has the address of a lower one, as in LMBench. */
static void prepare_chain(void)
{
	char *memory = get(CHAIN);
	size_t at;

	for (at = 0; at < CHAIN; at += STRIDE)
		*(void **)(memory + at) = memory + (at ? at : CHAIN) - STRIDE;
	chain = (void **)memory;
}

static void finish_chain(void)
{
	free(chain);
}

static void run_chain(uint64_t loops)
{
	void **at = chain;

	while (loops--)
		at = *(void *volatile *)at;
	asm volatile("" : : "r" (at));
}

const struct lat_row lat_reads[] = {
	{ "memory-read", prepare, run_read, finish, 4 },
	{ "memory-write", prepare, run_write, finish, 4 },
	{ "memory-copy", prepare, run_copy, finish, 4 },
	{ "memory-latency", prepare_chain, run_chain, finish_chain, CHAIN / STRIDE },
	{ 0 },
};
