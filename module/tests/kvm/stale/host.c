// SPDX-License-Identifier: GPL-2.0
/*
 * The VMM's memory changes under a guest that reads it. The first word of each page is a number
 * that only grows: once the VMM's call has returned and the VMM has announced it, no page may hold
 * less. The second word is the guest's own counter, which must survive where memory only moves, is
 * shared, or is protected.
 *
 * With swap space and KSM, these are used too: SWAP=may, or must where the kernel swaps on request;
 * KSM=1. HUGE=1: the pages are of one block of 2 MiB, which guest and VMM map as a block, the VMM
 * whenever it can; HUGE=must: the module's statistics must show the block; HUGE=pages: the guest
 * maps pages.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stale.h"

#define SIZE	(STALE_PAGES * PAGE)
#define KSM	"/sys/kernel/mm/ksm/"

/* Where the pages are, and how they are invalidated. */
static const struct {
	u64 va, how, attributes;
} views[] = {
	{ LOW_VA, HOW_LAST, DESC_NG | DESC_XN }, { LOW_VA, 0, DESC_NG },
	{ HIGH_VA, HOW_LAST | HOW_SHARED, DESC_XN }, { HIGH_VA, HOW_ANY, DESC_XN },
};

static u64 times(u64 usual)
{
	return setting("TIMES", usual);
}

static u64 *word(struct machine *m, u64 page)
{
	return (u64 *)(m->frames + page * PAGE);
}

static bool huge(void)
{
	return getenv("HUGE");
}

static bool is_leaf(void)
{
	return huge() && strcmp(getenv("HUGE"), "pages");
}

/* The pages' block on the host: a huge page if there is one. */
static char *block_of(char *frames)
{
	return frames - IN_BLOCK * PAGE;
}

static char *new_block(void)
{
	char *at = mmap(NULL, 2 * BLOCK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	u64 head = -(u64)at % BLOCK_SIZE;

	if (at == MAP_FAILED)
		die("mmap");
	if (head)
		munmap(at, head);
	munmap(at + head + BLOCK_SIZE, BLOCK_SIZE - head);
	if (madvise(at + head, BLOCK_SIZE, MADV_HUGEPAGE))
		die("MADV_HUGEPAGE");
	return at + head + IN_BLOCK * PAGE;
}

static void unmap(char *frames)
{
	if (huge())
		munmap(block_of(frames), BLOCK_SIZE);
	else
		munmap(frames, SIZE);
}

static void slot(struct machine *m, u32 flags)
{
	if (huge())
		pages_slot(m, block_of(m->frames), BLOCK_SIZE, flags);
	else
		pages_slot(m, m->frames, SIZE, flags);
}

/* Pages with a number in their first words: anonymous, or of a file. */
static char *anonymous(u64 number)
{
	char *at;
	u64 i;

	at = huge() ? new_block() :
	     mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		die("mmap");
	for (i = 0; i < STALE_PAGES; i++)
		*(u64 *)(at + i * PAGE) = number;
	return at;
}

static void write_file_pages(int fd, u64 number)
{
	u64 i;

	for (i = 0; i < STALE_PAGES; i++)
		if (pwrite(fd, &number, sizeof(number), i * PAGE) != sizeof(number))
			die("pwrite");
}

static int new_file(u64 number)
{
	int fd = memfd_create("pages", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, SIZE))
		die("memfd_create");
	write_file_pages(fd, number);
	return fd;
}

static void map_file(char *at, int fd)
{
	if (mmap(at, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) != at)
		die("mmap of a file");
}

static void say_since(struct machine *m, u64 page, u64 number)
{
	__atomic_store_n(&m->ctl->since[page], number, __ATOMIC_RELEASE);
}

static void say_all_since(struct machine *m, u64 number)
{
	u64 i;

	for (i = 0; i < STALE_PAGES; i++)
		say_since(m, i, number);
}

static void begin(struct machine *m, int view)
{
	u64 va = views[view].va, i;

	new_machine(m);
	m->frames = anonymous(1);
	slot(m, 0);
	if (is_leaf())
		map_leaf(m, va - IN_BLOCK * PAGE, FRAMES | DESC_BLOCK | views[view].attributes, 21);
	for (i = 0; i < STALE_PAGES && !is_leaf(); i++)
		map_page(m, va + i * PAGE,
			 (FRAMES + (i + (huge() ? IN_BLOCK : 0)) * PAGE) | DESC_PAGE |
			 views[view].attributes);
	m->ctl->va = va;
	m->ctl->how = views[view].how;
	say_all_since(m, 1);
	start_vcpu(m, guest_look);
	progress(m, 0, 2);
}

static void end(struct machine *m)
{
	free_machine(m);
	unmap(m->frames);
}

/* A block of guest's and host's is one of the module's, most of the time. */
static void expect_block(struct machine *m)
{
	u64 i;

	if (!huge() || strcmp(getenv("HUGE"), "must"))
		return;
	for (i = 0; i < 5000 && !failures; i++) {
		if (read_stat(m->vm_stats, "pages_2m"))
			return;
		usleep(200);
	}
	expect(failures, "no block was mapped");
}

/* ---- other content ---- */

/* The guest's own copies go, and the file is behind them again. */
static void dont_need(struct machine *m, u64 number)
{
	int fd = new_file(number - 1);

	map_file(m->frames, fd);
	say_all_since(m, number - 1);
	progress(m, 0, 2);
	write_file_pages(fd, number);
	if (madvise(m->frames, SIZE, MADV_DONTNEED))
		die("MADV_DONTNEED");
	close(fd);
}

static void map_fixed(struct machine *m, u64 number)
{
	int fd = new_file(number);

	map_file(m->frames, fd);
	close(fd);
}

static void move_there(struct machine *m, u64 number)
{
	char *from = anonymous(number);

	if (huge()) {
		char *to = block_of(m->frames);

		if (mremap(block_of(from), BLOCK_SIZE, BLOCK_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED,
			   to) != to)
			die("mremap of a block");
		return;
	}
	if (mremap(from, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, m->frames) != m->frames)
		die("mremap");
}

/* One after the other, in no order. */
static void single_pages(struct machine *m, u64 number)
{
	int fd = new_file(number);
	u64 n, i;

	for (n = 0; n < STALE_PAGES; n++) {
		i = n * 37 % STALE_PAGES;
		if (mmap(m->frames + i * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
			 fd, i * PAGE) == MAP_FAILED)
			die("mmap of a page");
		say_since(m, i, number);
	}
	close(fd);
}

static void store(struct machine *m, u64 number)
{
	u64 i;

	for (i = 0; i < STALE_PAGES; i++)
		*(volatile u64 *)word(m, i) = number;
}

/* The slot is there again at other memory, with or without a moment of nothing. */
static void other_slot(struct machine *m, u64 number)
{
	char *old = m->frames;
	u64 misses = m->misses, i;

	__atomic_store_n(&m->may_miss, true, __ATOMIC_RELEASE);
	pages_slot(m, NULL, 0, 0);
	for (i = 0; i < 5000 && number % 2 && m->misses == misses; i++)
		usleep(200);
	expect(!(number % 2) || m->misses > misses, "accesses to no memory were none");
	m->frames = anonymous(number);
	slot(m, 0);
	unmap(old);
	progress(m, 0, 1);
	__atomic_store_n(&m->may_miss, false, __ATOMIC_RELEASE);
}

/* Merged with each other, then written: pages that the guest only reads are shared by then. */
static void merge_and_store(struct machine *m, u64 number)
{
	if (getenv("KSM")) {
		madvise(m->frames, SIZE, MADV_MERGEABLE);
		usleep(20000);
	}
	store(m, number);
}

void stale_replaced(void)
{
	static const struct {
		const char *name;
		void (*act)(struct machine *m, u64 number);
	} acts[] = {
		{ "MADV_DONTNEED", dont_need }, { "MAP_FIXED", map_fixed }, { "mremap", move_there },
		{ "single pages", single_pages }, { "stores", store }, { "another slot", other_slot },
		{ "merged", merge_and_store },
	};
	u64 number = 2, n;
	struct machine m;
	size_t a, v;

	for (v = 0; v < ARRAY_SIZE(views) && !failures; v++) {
		begin(&m, v);
		for (n = 0; n < times(4) * ARRAY_SIZE(acts) && !failures; n++) {
			a = n % ARRAY_SIZE(acts);
			/* Numbers that acts use in between, too. */
			number += 2 + n / ARRAY_SIZE(acts) % 2;
			acts[a].act(&m, number);
			say_all_since(&m, number);
			progress(&m, 0, 2);
			if (huge()) {
				move_there(&m, number);
				expect_block(&m);
			}
			expect(!failures, "%s, view %zu", acts[a].name, v);
		}
		end(&m);
	}
}

/* ---- the same content ---- */

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

/*
 * As one block again, where the kernel can: pages that are shared with a child or merged stay
 * small.
 */
static void collapse(struct machine *m)
{
	int i;

	if (!huge())
		return;
	for (i = 0; i < 3; i++)
		if (!madvise(block_of(m->frames), BLOCK_SIZE, MADV_COLLAPSE))
			expect_block(m);
}

/* A protected page is not written, even if it just was: the VMM is told instead. */
static void protect(struct machine *m)
{
	static char before[SIZE];
	u64 faults, i;

	__atomic_store_n(&m->may_fault, true, __ATOMIC_RELEASE);
	if (mprotect(m->frames, SIZE, PROT_READ))
		die("mprotect");
	memcpy(before, m->frames, SIZE);
	faults = m->faults;
	for (i = 0; i < 25000 && m->faults < faults + 3 && !failures; i++)
		usleep(200);
	expect(m->faults >= faults + 3, "no write was refused");
	expect(!memcmp(before, m->frames, SIZE), "what is protected was written");
	if (mprotect(m->frames, SIZE, PROT_READ | PROT_WRITE))
		die("mprotect");
	progress(m, 0, 1);
	__atomic_store_n(&m->may_fault, false, __ATOMIC_RELEASE);
}

/* What a child has is not written by its parent's guest. */
static void fork_child(struct machine *m)
{
	static char before[SIZE];
	int wake[2], status;
	char byte;
	pid_t pid;

	if (pipe(wake))
		die("pipe");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		close(wake[1]);
		memcpy(before, m->frames, SIZE);
		if (read(wake[0], &byte, 1) != 1)
			_exit(2);
		_exit(!!memcmp(before, m->frames, SIZE));
	}
	progress(m, 0, 3);
	if (write(wake[1], "", 1) != 1)
		die("write");
	close(wake[0]);
	close(wake[1]);
	waitpid(pid, &status, 0);
	expect(!status, "the child saw what the guest wrote: %#x", status);
}

static void page_out(struct machine *m)
{
	if (!getenv("SWAP"))
		return;
	write_file("/proc/sys/vm/drop_caches", "1");
	if (madvise(m->frames, SIZE, MADV_PAGEOUT))
		die("MADV_PAGEOUT");
}

static void merge(struct machine *m)
{
	if (!getenv("KSM"))
		return;
	if (madvise(m->frames, SIZE, MADV_MERGEABLE))
		die("MADV_MERGEABLE");
	progress(m, 0, 2);
	if (madvise(m->frames, SIZE, MADV_UNMERGEABLE))
		die("MADV_UNMERGEABLE");
}

static void run_ksm(bool run)
{
	if (!getenv("KSM"))
		return;
	if (!write_file(KSM "sleep_millisecs", "0") || !write_file(KSM "pages_to_scan", "5000") ||
	    !write_file(KSM "run", run ? "1" : "2"))
		die("KSM does not run");
}

/* The guest compares its counters from now on. */
static void compare(struct machine *m)
{
	u64 i;

	__atomic_store_n(&m->ctl->strict, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 100 && !__atomic_load_n(&m->ctl->mode, __ATOMIC_ACQUIRE); i++)
		progress(m, 0, 1);
	expect(m->ctl->mode, "the guest compares nothing");
}

void stale_kept(void)
{
	static const struct {
		const char *name;
		void (*act)(struct machine *m);
	} acts[] = {
		{ "mprotect", protect }, { "fork", fork_child }, { "swap", page_out }, { "KSM", merge },
	};
	long out = read_figure("/proc/vmstat", "pswpout");
	struct machine m;
	size_t a, v;
	u64 n;

	run_ksm(true);
	for (v = 0; v < ARRAY_SIZE(views) && !failures; v++) {
		begin(&m, v);
		compare(&m);
		for (n = 0; n < times(4) * ARRAY_SIZE(acts) && !failures; n++) {
			a = n % ARRAY_SIZE(acts);
			acts[a].act(&m);
			progress(&m, 0, 2);
			collapse(&m);
			expect(!failures, "%s, view %zu", acts[a].name, v);
		}
		end(&m);
	}
	run_ksm(false);
	if (getenv("SWAP") && !strcmp(getenv("SWAP"), "must"))
		expect(read_figure("/proc/vmstat", "pswpout") > out + STALE_PAGES, "nothing was swapped");
}

/* ---- the dirty log ---- */

static u64 get_log(struct machine *m)
{
	u64 bits[BLOCK_SIZE / PAGE / 64] = {};
	struct kvm_dirty_log log = { .slot = 1, .dirty_bitmap = bits };

	if (ioctl(m->vm, KVM_GET_DIRTY_LOG, &log))
		die("KVM_GET_DIRTY_LOG");
	return huge() ? bits[0] >> IN_BLOCK | bits[1] << (64 - IN_BLOCK) : bits[0];
}

static void clear_log(struct machine *m, u64 bits)
{
	u64 words[BLOCK_SIZE / PAGE / 64] = { bits };
	struct kvm_clear_dirty_log log = {
		.slot = 1, .num_pages = STALE_PAGES, .dirty_bitmap = words,
	};

	if (huge()) {
		log.num_pages = BLOCK_SIZE / PAGE;
		words[0] = bits << IN_BLOCK;
		words[1] = bits >> (64 - IN_BLOCK);
	}

	if (ioctl(m->vm, KVM_CLEAR_DIRTY_LOG, &log))
		die("KVM_CLEAR_DIRTY_LOG");
}

/* Pages that differ from an earlier look; looks again. */
static u64 changed(struct machine *m, u64 *last)
{
	u64 bits = 0, i, now;

	for (i = 0; i < STALE_PAGES; i++) {
		now = *(volatile u64 *)(word(m, i) + 1);
		bits |= (u64)(now != last[i]) << i;
		last[i] = now;
	}
	return bits;
}

#define WRITTEN	0x5555555555555555ULL	/* that guest_look() writes at all */

/* Every page that has changed is in the log, and no page that the guest only reads. */
static void check_log(struct machine *m, bool by_hand)
{
	u64 last[STALE_PAGES] = {}, log, diff;
	int n;

	for (n = 0; n < 6 && !failures; n++) {
		log = get_log(m);
		if (by_hand)
			clear_log(m, log);
		changed(m, last);
		/* Also before it has gone round. */
		if (n % 2)
			progress(m, 0, 2);
		else
			usleep(3000);
		diff = changed(m, last);
		log = get_log(m);
		expect(!(diff & ~log), "written and not logged: %#llx", (unsigned long long)(diff & ~log));
		expect(!(log & ~WRITTEN), "logged and not written: %#llx",
		       (unsigned long long)(log & ~WRITTEN));
		expect(!(n % 2) || log == WRITTEN, "not all was logged: %#llx", (unsigned long long)log);
	}
}

void stale_logged(void)
{
	struct kvm_enable_cap cap = {
		.cap = KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2, .args = { 1 },
	};
	struct machine m;
	size_t v;
	u64 n;

	for (v = 0; v < ARRAY_SIZE(views) && !failures; v++) {
		begin(&m, v);
		compare(&m);
		if (v % 2 && ioctl(m.vm, KVM_ENABLE_CAP, &cap))
			die("KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2");
		for (n = 0; n < times(3) && !failures; n++) {
			slot(&m, KVM_MEM_LOG_DIRTY_PAGES);
			check_log(&m, v % 2);
			fork_child(&m);
			check_log(&m, v % 2);
			slot(&m, 0);
			progress(&m, 0, 2);
			collapse(&m);
		}
		expect(!failures, "view %zu", v);
		end(&m);
	}
}
