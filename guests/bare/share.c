// SPDX-License-Identifier: GPL-2.0
/*
 * What a guest shares with its host, by KVM's hypercalls. In a protected VM pages are
 * shared and taken back, with every mistake that the calls tell; with a disk it is used
 * on memory that is not shared, then on memory that is. In another VM there is nothing
 * to be shared, and the calls say so. `measure=1` says what the calls cost: of pages that
 * nobody has touched since, and, with a disk, of pages that its host has just written out.
 */
#include "cost.h"
#include "guest.h"

#define PAGE 4096UL

#define HYP_FEATURES 0x86000000UL
#define HYP_MEMINFO 0xc6000002UL
#define MEM_SHARE 0xc6000003UL
#define MEM_UNSHARE 0xc6000004UL
#define FEATURE_BITS (1 << 2 | 1 << 3 | 1 << 4)	/* of the three */

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

/* A share of what is no memory ends with an abort at the call: goes on behind it. */
static bool note_abort(struct frame *frame)
{
	syndrome = frame->esr;
	frame->elr += 4;
	return true;
}

static void expect(const char *what, u64 function, u64 address, u64 more, s64 answer)
{
	s64 got = psci(function, address, more, 0);

	check(got == answer, "%s answers %ld, not %ld", what, got, answer);
}

static void test_mistakes(void)
{
	u64 at = (u64)page[0];

	expect("MEMINFO with an argument", HYP_MEMINFO, 1, 0, INVALID_PARAMETER);
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
	check(disk_try(SECTOR) == IO_ERROR, "a disk writes from a buffer that is not shared");
	check(!disk_needs_reset(), "the disk has stopped");
	change("sharing a buffer again", MEM_SHARE, memory.buffer, buffer_size);
	check(!disk_try(SECTOR), "the disk does not go on");
	result("share.disk", 1, "bool");
}

/* What comes next is written by no answer: a call that fails is seen by the next round's. */
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

static void begin_private(void)
{
	static bool again;

	if (again)
		change("taking back", MEM_UNSHARE, (u64)measured, sizeof(measured));
	again = true;
	next = (u64)measured;
}

static void begin_used(void)
{
	u64 size = memory.base + memory.size - memory.buffer;

	change("sharing", MEM_SHARE, memory.buffer, size);
	check(!disk_try(size), "the disk does not write");
	next = memory.buffer;
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
	disk_memory(&memory);
	disk = disk_open();
	if (disk)
		test_disk();
	if (machine_option(&machine, "measure", 0))
		measure(disk);
}
