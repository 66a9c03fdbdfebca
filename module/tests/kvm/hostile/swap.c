// SPDX-License-Identifier: GPL-2.0
/*
 * The host's memory management under a running guest: swap, aging, merged pages, huge pages formed
 * and split, compaction, shrinkers. The guest counts in all of its memory and reports a count that
 * has changed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "hostile.h"

#define KSM	"/sys/kernel/mm/ksm/"

/* Since Linux 6.1; the C library's headers are older. */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

static size_t counter_size(void)
{
	return (char *)guest_counter_end - (char *)guest_counter;
}

/* Private memory at a multiple of its size, which huge pages and KSM can have. */
void *private_memory(void)
{
	char *at = mmap(NULL, 2 * GUEST_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *memory = (char *)(((u64)at + GUEST_SIZE - 1) & ~(GUEST_SIZE - 1));

	if (at == MAP_FAILED)
		die("mmap");
	munmap(at, memory - at);
	munmap(memory + GUEST_SIZE, at + GUEST_SIZE - memory);
	return memory;
}

static void *private_small_pages(void)
{
	void *memory = private_memory();

	if (madvise(memory, GUEST_SIZE, MADV_NOHUGEPAGE))
		die("MADV_NOHUGEPAGE");
	return memory;
}

void disturb(const char *what, void *memory, void (*act)(char *memory, int round))
{
	struct runner r;
	int i;

	start_runner_on(&r, guest_counter, counter_size(), memory);
	expect(runner_progress(&r, 2), "%s: the counter does not run: %s", what,
	       strerror(r.error));
	for (i = 0; i < DISTURBANCES; i++) {
		act(memory, i);
		expect(runner_progress(&r, i % 2), "%s: round %d: %s", what, i,
		       r.error == EBADMSG ? "the guest read another value than it wrote" :
					    strerror(r.error));
		if (r.error)
			break;
	}
	stop_runner(&r);
	free_guest(&r.g);
}

/* What the vCPU's CPU has just faulted in waits there, and is not swapped till drained. */
static void page_out(char *memory, int round)
{
	write_file("/proc/sys/vm/drop_caches", "1");
	if (madvise(memory, GUEST_SIZE, MADV_PAGEOUT))
		die("MADV_PAGEOUT");
}

static void cool(char *memory, int round)
{
	if (madvise(memory, GUEST_SIZE, MADV_COLD))
		die("MADV_COLD");
}

/* Does MADV_PAGEOUT take huge pages that are in use? Older kernels may leave them, also KVM's. */
static bool pages_out_huge(void)
{
	unsigned int major, minor;
	struct utsname host;

	if (uname(&host) || sscanf(host.release, "%u.%u", &major, &minor) != 2)
		die("uname");
	return major > 6 || (major == 6 && minor >= 8);
}

static void swap_out(const char *what, void *memory, bool counted)
{
	long out = read_figure("/proc/vmstat", "pswpout"), in = read_figure("/proc/vmstat", "pswpin");

	disturb(what, memory, page_out);
	if (!counted)
		return;
	expect(read_figure("/proc/vmstat", "pswpout") > out + 500,
	       "%s: nothing went out: is there swap space?", what);
	expect(read_figure("/proc/vmstat", "pswpin") > in + 500, "%s: nothing came back", what);
}

static void swap(void)
{
	swap_out("swap, shared memory", map_memory(GUEST_SIZE), true);
	swap_out("swap, private memory", private_small_pages(), true);
	swap_out("swap, huge pages", private_memory(), pages_out_huge());
	disturb("aging", private_memory(), cool);
}

/* Every page has the same counts for a moment: merged, written, merged again. */
static void merge(char *memory, int round)
{
	if (madvise(memory, GUEST_SIZE, MADV_MERGEABLE))
		die("MADV_MERGEABLE");
	usleep(10000);
	if (round == DISTURBANCES / 2)
		madvise(memory, GUEST_SIZE, MADV_UNMERGEABLE);
}

static void merged(void)
{
	if (!write_file(KSM "sleep_millisecs", "0") || !write_file(KSM "pages_to_scan", "5000") ||
	    !write_file(KSM "run", "1"))
		die("KSM does not run");
	disturb("KSM", private_memory(), merge);
	expect(write_file(KSM "run", "2"), "KSM does not let go");
	write_file(KSM "run", "0");
}

/* Made by force, then split by what changes a part of it, but lets the guest write there. */
static void huge(char *memory, int round)
{
	char *page = memory + 0x1000 * (1 + round * 16);

	madvise(memory, GUEST_SIZE, MADV_HUGEPAGE);
	madvise(memory, GUEST_SIZE, MADV_COLLAPSE);
	mprotect(page, 0x1000, PROT_READ | PROT_WRITE | PROT_EXEC);
	mprotect(page, 0x1000, PROT_READ | PROT_WRITE);
	if (round % 4 == 3)
		madvise(memory, GUEST_SIZE, MADV_NOHUGEPAGE);
}

static void compact(char *memory, int round)
{
	write_file("/proc/sys/vm/compact_memory", "1");
}

/* All the shrinkers there are: the module's tables go, and are filled again. */
static void shrink(char *memory, int round)
{
	if (!write_file("/proc/sys/vm/drop_caches", "2"))
		die("drop_caches");
}

void hostile_swap(void)
{
	swap();
	merged();
	disturb("huge pages", private_memory(), huge);
	disturb("compaction", private_memory(), compact);
	disturb("shrinkers", private_memory(), shrink);
}
