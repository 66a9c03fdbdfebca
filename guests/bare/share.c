// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that a guest shares with its host, by KVM's hypercalls. In a protected VM it shares pages
 * and takes them back, with every error that the calls report. If there is a disk, the disk uses
 * memory that is not shared, then memory that is. In other VMs there is nothing to share, and the
 * calls must say so. `measure=1` prints the cost of the calls: for pages that nobody has touched
 * since they were shared and, with a disk, for pages that the host has just written out; page by
 * page, and as ranges if the hypervisor accepts them (as Android's pKVM does).
 */
#include "cost.h"
#include "guest.h"

#define PAGE 4096UL

#define HYP_FEATURES 0x86000000UL
#define HYP_MEMINFO 0xc6000002UL
#define MEM_SHARE 0xc6000003UL
#define MEM_UNSHARE 0xc6000004UL
#define FEATURE_BITS (1 << 2 | 1 << 3 | 1 << 4)	/* of the three */
#define HAS_RANGE 1	/* MEMINFO's x1: x2 of the other calls is a number of pages */

#define NOT_SUPPORTED (-1)
#define INVALID_PARAMETER (-3)

#define ESR_EXTERNAL_ABORT 0x96000010UL
#define DISK_TEXT "what is shared"
#define SECTOR 512
#define MEASURED 64
#define IO_ERROR 1

static u64 page[2][PAGE / sizeof(u64)] __attribute__((aligned(4096)));
static u64 measured[MEASURED][PAGE / sizeof(u64)] __attribute__((aligned(4096)));
static struct disk_memory memory;
static u64 syndrome, next;

/* Sharing an address without memory ends with an abort at the call: continue behind it. */
static bool note_abort(struct frame *frame)
{
	syndrome = frame->esr;
	frame->elr += 4;
	return true;
}

/* Returns x0; *more is x1, the second answer. */
static s64 call(u64 function, u64 a, u64 b, u64 *more)
{
	register u64 x0 asm("x0") = function;
	register u64 x1 asm("x1") = a;
	register u64 x2 asm("x2") = b;
	register u64 x3 asm("x3") = 0;

	asm volatile("hvc #0" : "+r" (x0), "+r" (x1), "+r" (x2), "+r" (x3) : : "memory");
	*more = x1;
	return (s64)x0;
}

static bool has_range(void)
{
	u64 more;

	return call(HYP_MEMINFO, 0, 0, &more) == PAGE && more & HAS_RANGE;
}

static void expect(const char *what, u64 function, u64 address, u64 more, s64 answer)
{
	s64 got = psci(function, address, 0, more);

	check(got == answer, "%s answers %ld, not %ld", what, got, answer);
}

static void test_mistakes(void)
{
	u64 at = (u64)page[0];

	expect("MEMINFO with an argument", HYP_MEMINFO, 1, 0, INVALID_PARAMETER);
	expect("MEMINFO with another", HYP_MEMINFO, 0, 1, INVALID_PARAMETER);
	expect("sharing half a page", MEM_SHARE, at + PAGE / 2, 0, INVALID_PARAMETER);
	expect("sharing with an argument too many", MEM_SHARE, at, 1, INVALID_PARAMETER);
	expect("taking back what is not shared", MEM_UNSHARE, at, 0, INVALID_PARAMETER);
	expect("taking back no memory", MEM_UNSHARE, 0, 0, INVALID_PARAMETER);
	exception_hook = note_abort;
	psci(MEM_SHARE, 0, 0, 0);
	exception_hook = NULL;
	check(syndrome == ESR_EXTERNAL_ABORT, "sharing no memory: syndrome %lx", syndrome);
}

static void test_share(void)
{
	volatile u64 *words = page[1];
	u64 at = (u64)words;

	words[0] = 0x5ea7;
	expect("sharing", MEM_SHARE, at, 0, 0);
	expect("sharing twice", MEM_SHARE, at, 0, INVALID_PARAMETER);
	check(words[0] == 0x5ea7, "a shared page has lost its contents");
	words[1] = 0x5ea8;
	expect("taking back", MEM_UNSHARE, at, 0, 0);
	expect("taking back twice", MEM_UNSHARE, at, 0, INVALID_PARAMETER);
	check(words[0] == 0x5ea7 && words[1] == 0x5ea8, "a page taken back has lost its contents");
}

static void change(const char *what, u64 function, u64 base, u64 size)
{
	u64 at;

	for (at = base; at < base + size; at += PAGE)
		expect(what, function, at, 0, 0);
}

static void expect_range(const char *what, u64 function, u64 at, u64 pages, u64 wanted)
{
	s64 expected = wanted ? 0 : INVALID_PARAMETER;
	u64 done;
	s64 got = call(function, at, pages, &done);

	check(got == expected && done == wanted, "%s answers %ld of %ld pages, not %ld of %ld", what,
	      got, done, expected, wanted);
}

/* A range ends before a page that has the wanted state already, and at the limit of one call. */
static void test_ranges(void)
{
	u64 at = (u64)measured;

	if (!has_range()) {
		expect_range("sharing a range", MEM_SHARE, at, 2, 0);
		return;
	}
	expect_range("sharing three", MEM_SHARE, at, 3, 3);
	expect_range("sharing the third again", MEM_SHARE, at + 2 * PAGE, 3, 0);
	expect_range("sharing three more", MEM_SHARE, at + 3 * PAGE, 3, 3);
	expect("taking back the second", MEM_UNSHARE, at + PAGE, 0, 0);
	expect_range("taking back to the second", MEM_UNSHARE, at, 6, 1);
	expect_range("taking back from the second", MEM_UNSHARE, at + PAGE, 6, 0);
	expect_range("sharing up to the third", MEM_SHARE, at, ~0UL, 2);
	expect_range("taking back all", MEM_UNSHARE, at, ~0UL, 6);
	expect_range("sharing very many", MEM_SHARE, at, 1UL << 52, MEASURED);
	expect_range("taking back very many", MEM_UNSHARE, at, 1UL << 63, MEASURED);
	result("share.ranges", 1, "bool");
}

static bool wait_for_reset(void)
{
	u64 end = read_sysreg(cntvct_el0) + 30 * read_sysreg(cntfrq_el0);

	while (!disk_needs_reset())
		if (read_sysreg(cntvct_el0) > end)
			return false;
	return true;
}

static void test_disk(void)
{
	u64 buffer_size;

	buffer_size = memory.base + memory.size - memory.buffer;
	check(wait_for_reset(), "a disk takes a ring that is not shared");

	change("sharing a disk's memory", MEM_SHARE, memory.base, memory.size);
	if (!check(disk_open(), "the disk does not start anew"))
		return;
	disk_append(DISK_TEXT, sizeof(DISK_TEXT) - 1);
	disk_flush();

	change("taking a buffer back", MEM_UNSHARE, memory.buffer, buffer_size);
	check(disk_try((void *)memory.buffer, SECTOR) == IO_ERROR, "a disk writes from a buffer that is not shared");
	check(!disk_needs_reset(), "the disk has stopped");
	change("sharing a buffer again", MEM_SHARE, memory.buffer, buffer_size);
	check(!disk_try((void *)memory.buffer, SECTOR), "the disk does not go on");
	result("share.disk", 1, "bool");
}

/* Ignores the answers here: if a call failed, the next round's call fails too. */
static void share_next(void)
{
	psci(MEM_SHARE, next, 0, 0);
	next += PAGE;
}

static void unshare_next(void)
{
	psci(MEM_UNSHARE, next, 0, 0);
	next += PAGE;
}

static void begin_shared(void)
{
	change("sharing", MEM_SHARE, (u64)measured, sizeof(measured));
	next = (u64)measured;
}

static bool again;

static void begin_private(void)
{
	if (again)
		change("taking back", MEM_UNSHARE, (u64)measured, sizeof(measured));
	again = true;
	next = (u64)measured;
}

static void begin_used(void)
{
	u64 size = memory.base + memory.size - memory.buffer;

	change("sharing", MEM_SHARE, memory.buffer, size);
	check(!disk_try((void *)memory.buffer, size), "the disk does not write");
	next = memory.buffer;
}

static void begin_used_range(void)
{
	begin_shared();
	check(!disk_try(measured, sizeof(measured)), "the disk does not write a range");
}

/* The pages of a range, for measuring one call. */
static u64 range_at, range_pages;

static void share_range(void)
{
	psci(MEM_SHARE, range_at, range_pages, 0);
}

static void unshare_range(void)
{
	psci(MEM_UNSHARE, range_at, range_pages, 0);
}

static void result_range(const char *name, void (*prepare)(void), void (*operation)(void))
{
	result_milli(name, cost_after(prepare, operation, 1) / range_pages, "ticks");
}

static void measure_ranges(bool disk)
{
	range_at = (u64)measured;
	range_pages = MEASURED;
	again = false;
	result("share.range_pages", range_pages, "count");
	result_range("share.range", begin_private, share_range);
	change("taking back", MEM_UNSHARE, range_at, sizeof(measured));
	result_range("share.unshare_range", begin_shared, unshare_range);
	if (disk)
		result_range("share.unshare_used_range", begin_used_range, unshare_range);
}

static void measure(bool disk)
{
	u64 pages = (memory.base + memory.size - memory.buffer) / PAGE;

	/* Each page has been touched. */
	change("sharing", MEM_SHARE, (u64)measured, sizeof(measured));
	change("taking back", MEM_UNSHARE, (u64)measured, sizeof(measured));
	result("share.cntfrq", read_sysreg(cntfrq_el0), "Hz");
	result("share.loops", MEASURED, "count");
	result_milli("share.cost", cost_after(begin_private, share_next, MEASURED), "ticks");
	change("taking back", MEM_UNSHARE, (u64)measured, sizeof(measured));
	result_milli("share.unshare", cost_after(begin_shared, unshare_next, MEASURED), "ticks");
	if (!disk)
		return;
	change("taking back", MEM_UNSHARE, memory.buffer, pages * PAGE);
	result("share.used_loops", pages, "count");
	result_milli("share.unshare_used", cost_after(begin_used, unshare_next, pages), "ticks");
}

void guest_main(void)
{
	bool protected = (psci(HYP_FEATURES, 0, 0, 0) & FEATURE_BITS) == FEATURE_BITS;
	bool disk;

	mmu_enable();
	result("share.protected", protected, "bool");
	if (!protected) {
		expect("MEMINFO", HYP_MEMINFO, 0, 0, NOT_SUPPORTED);
		expect("sharing", MEM_SHARE, (u64)page[0], 0, NOT_SUPPORTED);
		expect("taking back", MEM_UNSHARE, (u64)page[0], 0, NOT_SUPPORTED);
		return;
	}
	result("share.granule", psci(HYP_MEMINFO, 0, 0, 0), "bytes");
	expect("MEMINFO", HYP_MEMINFO, 0, 0, PAGE);
	test_mistakes();
	test_share();
	test_ranges();
	disk_memory(&memory);
	disk = disk_open();
	if (disk)
		test_disk();
	if (machine_option(&machine, "measure", 0))
		measure(disk);
	if (machine_option(&machine, "measure", 0) && has_range())
		measure_ranges(disk);
}
