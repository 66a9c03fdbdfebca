// SPDX-License-Identifier: GPL-2.0
/*
 * A protected VM's memory (mmu/gmem/private.c and gmem.c): files in slots, sealing and measuring,
 * and pages that the guest shares and takes back while a process and devices use them.
 */
#include <linux/kvm.h>

#include "check.h"
#include "guest_world.h"
#include "mmu/gmem/gmem.h"

#define SHARED_FILE	(GUEST_MEMFD_FLAG_MMAP | GUEST_MEMFD_FLAG_INIT_SHARED)
#define MAP_SHARED	(VM_SHARED | VM_MAYSHARE)

static const struct guest_how how = { .protected = true, .file_flags = SHARED_FILE };

/* ---- slots ------------------------------------------------------------------------- */

/* An empty range of the guest's, and the file's pages that no slot has. */
#define NEW_SLOT	(NR_SLOTS + 1)
#define NEW_GFN		0x50000ULL
#define FREE_PAGE	6000ULL

static int set_slot(int fd, u64 offset, u64 npages)
{
	const struct kvm_userspace_memory_region2 mem = {
		.slot = NEW_SLOT, .guest_phys_addr = NEW_GFN << PAGE_SHIFT,
		.memory_size = npages << PAGE_SHIFT, .userspace_addr = VMM_BASE,
		.flags = npages ? KVM_MEM_GUEST_MEMFD : 0,
		.guest_memfd = fd, .guest_memfd_offset = offset,
	};

	return av_mmu_set_slot(&vm, &mem);
}

static void test_bind(void)
{
	static const struct {
		u64 offset, npages;
		int ret;
	} rows[] = {
		{ FREE_PAGE * PAGE_SIZE, 1, 0 },
		{ FREE_PAGE * PAGE_SIZE + 8, 1, -EINVAL },
		{ (GUEST_FILE_PAGES - 1) * PAGE_SIZE, 1, 0 },
		{ (GUEST_FILE_PAGES - 1) * PAGE_SIZE, 2, -EINVAL },
		{ GUEST_FILE_PAGES * PAGE_SIZE, 1, -EINVAL },
		{ (GUEST_FILE_PAGES + 1) * PAGE_SIZE, 1, -EINVAL },
		{ ~0ULL << PAGE_SHIFT, 1, -EINVAL },
		{ ~0ULL << PAGE_SHIFT, 2, -EINVAL },
		/* The first slot's last page, and the page behind it. */
		{ 299 * PAGE_SIZE, 2, -EEXIST },
		{ 300 * PAGE_SIZE, 2, 0 },
		/* The page before the second slot's first, and that. */
		{ 1023 * PAGE_SIZE, 2, -EEXIST },
		{ 1022 * PAGE_SIZE, 2, 0 },
		{ 0, 1, -EEXIST },
	};
	unsigned int i;

	guest_start(&how);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_EQ(set_slot(guest_fd, rows[i].offset, rows[i].npages), rows[i].ret);
		CHECK_EQ(!!av_slot_find(vm.mmu->slots, NEW_GFN), !rows[i].ret);
		if (!rows[i].ret)
			CHECK_EQ(set_slot(0, 0, 0), 0);
	}
	guest_end();
}

static void test_bind_file(void)
{
	int fd;

	guest_start(&how);
	CHECK_EQ(set_slot(guest_fd + 1, 0, 1), -EBADF);
	vm.serial++;
	fd = av_mmu_create_gmem(&vm, PAGE_SIZE, 0);
	vm.serial--;
	CHECK_EQ(set_slot(fd, 0, 1), -EINVAL);
	process_close(fd);
	/* A slot keeps its file, and gives it up. */
	fd = av_mmu_create_gmem(&vm, PAGE_SIZE, 0);
	CHECK_EQ(set_slot(fd, 0, 1), 0);
	process_close(fd);
	CHECK(av_gmem_make_page(av_slot_find(vm.mmu->slots, NEW_GFN)->gmem, 0));
	CHECK_EQ(set_slot(0, 0, 0), 0);
	guest_end();
}

/* Without memory at any point nothing is held, and the pages are free for the next call. */
static void test_bind_no_memory(void)
{
	int n, ret = -ENOMEM;

	guest_start(&how);
	for (n = 0; ret; n++) {
		host_allocs = n;
		ret = set_slot(guest_fd, FREE_PAGE * PAGE_SIZE, 4);
		CHECK(!ret || ret == -ENOMEM);
	}
	CHECK(n > 4);
	host_allocs = -1;
	guest_end();
}

static void test_create(void)
{
	static const struct {
		u64 size, flags;
	} bad[] = {
		{ 0, 0 }, { PAGE_SIZE + 1, 0 }, { ~0ULL << PAGE_SHIFT, 0 },
		{ (AV_SLOT_PAGES_MAX + 1) << PAGE_SHIFT, 0 }, { PAGE_SIZE, 4 },
	};
	unsigned int i;
	int n, fd = -1;

	guest_start(&how);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK_EQ(av_mmu_create_gmem(&vm, bad[i].size, bad[i].flags), -EINVAL);
	for (n = 0; fd < 0; n++) {
		host_allocs = n;
		fd = av_mmu_create_gmem(&vm, PAGE_SIZE, 0);
		CHECK(fd >= 0 || fd == -ENOMEM);
	}
	CHECK(n > 4);
	host_allocs = -1;
	/* Not for processes, and never for one's private copies. */
	CHECK_EQ(process_map(fd, MAP_SHARED), -ENODEV);
	CHECK_EQ(process_map(guest_fd, VM_MAYSHARE), -EINVAL);
	process_close(fd);
	guest_end();
}

/* ---- sealing ------------------------------------------------------------------------ */

/* What is measured, in order. */
static struct {
	u64 gpa, size;
	bool page;
} measured[64], want[64];
static unsigned int nr_measured, nr_wanted;
static int measure_fails;	/* at this call; 0: never */

static int note(void *ctx, u64 gpa, u64 size, const void *page)
{
	REQUIRE(ctx == &vm && nr_measured < ARRAY_SIZE(measured));
	measured[nr_measured].gpa = gpa;
	measured[nr_measured].size = size;
	measured[nr_measured].page = page;
	if (page) {
		bool writable;

		CHECK_EQ(fake_virt_to_phys(page),
			 page_to_phys(guest_host_page(gpa >> PAGE_SHIFT, &writable)));
	}
	return ++nr_measured == measure_fails ? -E2BIG : 0;
}

static int seal(void)
{
	nr_measured = 0;
	return av_mmu_seal(&vm, note, &vm);
}

static void expect(u64 gpa, u64 size, bool page)
{
	want[nr_wanted].gpa = gpa;
	want[nr_wanted].size = size;
	want[nr_wanted++].page = page;
}

/* By the contract, from what is in each page. */
static void expect_all(void)
{
	unsigned int n, word;
	bool writable;
	u64 gfn;

	nr_wanted = 0;
	for (n = 0; n < NR_SLOTS; n++) {
		const struct guest_slot *slot = &guest_slots[n];

		expect(slot->gfn << PAGE_SHIFT, slot->npages << PAGE_SHIFT, false);
		for (gfn = slot->gfn; gfn < slot->gfn + slot->npages; gfn++) {
			struct page *page = guest_host_page(gfn, &writable);
			const u64 *words = page ? (u64 *)host_memory_of(page) : NULL;

			for (word = 0; page && word < PTES && !words[word]; word++)
				;
			if (page && word < PTES)
				expect(gfn << PAGE_SHIFT, PAGE_SIZE, true);
		}
	}
}

static void check_measured(void)
{
	unsigned int i;

	CHECK_EQ(nr_measured, nr_wanted);
	for (i = 0; i < min(nr_measured, nr_wanted); i++) {
		CHECK_EQ(measured[i].gpa, want[i].gpa);
		CHECK_EQ(measured[i].size, want[i].size);
		CHECK_EQ(measured[i].page, want[i].page);
	}
}

static void test_measure(void)
{
	u64 gfn = guest_slots[BIG].gfn, odd = guest_slots[ODD].gfn;

	guest_start(&how);
	/* Read, and written to; the last byte; the table's last page, and the next one's first. */
	guest_word((gfn + 1) << PAGE_SHIFT);
	*guest_word(((gfn + 3) << PAGE_SHIFT) + PAGE_SIZE - 8) = 1ULL << 63;
	*guest_word((gfn + 511) << PAGE_SHIFT) = 1;
	*guest_word((gfn + 1023) << PAGE_SHIFT) = 1;
	/* After a table of pages that were never used: the file's pages 5121 to 5631. */
	*guest_word((odd + 511) << PAGE_SHIFT) = 1;
	*guest_word((odd + BLOCK_PAGES + 23) << PAGE_SHIFT) = 1;
	expect_all();
	/* Of each space, the tables of levels 0 to 2. */
	CHECK_EQ(nr_wanted, NR_SLOTS + 3 * NR_SPACES + 5);
	CHECK_EQ(seal(), 0);
	check_measured();
	CHECK(guest_gmem->sealed);
	guest_end();
}

/* An error of each kind: the VM is as before, and can be sealed then. */
static void test_seal_fails(void)
{
	u64 last = guest_slots[ODD].gfn + 5;
	struct page *page;
	bool writable;

	guest_start(&how);
	*guest_word(last << PAGE_SHIFT) = 1;
	page = guest_host_page(last, &writable);
	REQUIRE(!process_map(guest_fd, MAP_SHARED));

	measure_fails = NR_SLOTS;
	CHECK_EQ(seal(), -E2BIG);
	CHECK_EQ(nr_measured, measure_fails);
	measure_fails = 0;
	CHECK(!guest_gmem->sealed);

	page->bad = true;
	CHECK_EQ(seal(), -EHWPOISON);
	CHECK(!guest_gmem->sealed);
	page->bad = false;

	fake_killed = true;
	CHECK_EQ(seal(), -EINTR);
	CHECK_EQ(nr_measured, 0);
	CHECK(!guest_gmem->sealed);
	fake_killed = false;

	CHECK_EQ(process_access(0), 0);
	CHECK_EQ(seal(), 0);
	CHECK_EQ(process_access(0), VM_FAULT_SIGBUS);
	process_unmap();
	guest_end();
}

static unsigned int meanwhile;

static void is_killed(void)
{
	if (++meanwhile == 3)
		fake_killed = true;
}

static void is_killed_later(void)
{
	if (++meanwhile == 40)
		fake_killed = true;
}

static void transfer_ends(void)
{
	if (++meanwhile == 20)
		process_unpin(2);
}

static void fault_ends(void)
{
	if (++meanwhile == 5)
		process_fault_ends(2);
}

/* Processes lose their pages, also those that they are about to get, and devices end first. */
static void test_seal_waits(void)
{
	guest_start(&how);
	REQUIRE(!process_map(guest_fd, MAP_SHARED) && !process_access(0) && !process_access(2));
	process_pin(2);
	CHECK_EQ(seal(), -EBUSY);
	CHECK(!guest_gmem->sealed);
	/* What was taken is to be had again. */
	CHECK_EQ(process_access(0), 0);

	meanwhile = 0;
	host_others = is_killed;
	CHECK_EQ(seal(), -EINTR);
	meanwhile = 0;
	fake_killed = false;
	host_others = is_killed_later;
	CHECK_EQ(seal(), -EINTR);
	CHECK(!guest_gmem->sealed);
	fake_killed = false;

	meanwhile = 0;
	host_others = transfer_ends;
	CHECK_EQ(seal(), 0);
	CHECK(!process_has(0) && !process_has(2));
	process_unmap();
	guest_end();
}

static void test_seal_during_a_fault(void)
{
	guest_start(&how);
	REQUIRE(!process_map(guest_fd, MAP_SHARED) && !process_fault(2));
	meanwhile = 0;
	host_others = fault_ends;
	CHECK_EQ(seal(), 0);
	CHECK(meanwhile >= 5 && !process_has(2));
	CHECK_EQ(process_access(2), VM_FAULT_SIGBUS);
	process_unmap();
	guest_end();
}

/* Of two files, the second cannot be sealed: the first is as before. */
static void test_seal_two_files(void)
{
	int fd;

	guest_start(&how);
	fd = av_mmu_create_gmem(&vm, 4 * PAGE_SIZE, SHARED_FILE);
	REQUIRE(!set_slot(fd, 0, 4));
	REQUIRE(!process_map(fd, MAP_SHARED) && !process_access(2));
	process_pin(2);
	CHECK_EQ(seal(), -EBUSY);
	CHECK(!guest_gmem->sealed);
	process_unpin(2);
	CHECK_EQ(seal(), 0);
	CHECK(guest_gmem->sealed);
	CHECK_EQ(process_access(2), VM_FAULT_SIGBUS);
	process_unmap();
	process_close(fd);
	guest_end();
}

/* ---- sharing ------------------------------------------------------------------------- */

/* The file's pages 0 to 299 are the first slot's. */
#define GPA(page)	((guest_slots[RAM].gfn + (page)) << PAGE_SHIFT)

static void start_sealed(void)
{
	guest_start(&how);
	REQUIRE(!process_map(guest_fd, MAP_SHARED) && !seal());
	vm.sealed = true;
}

static void end_sealed(void)
{
	process_unmap();
	guest_end();
}

static enum av_page_state state_of(u64 page)
{
	return av_page_state_of(*av_gmem_word(guest_gmem, page));
}

static void test_refusals(void)
{
	static const u64 bad[] = { 8, PAGE_SIZE - 1, BIT_ULL(40), ~0ULL << PAGE_SHIFT, ~0ULL };
	unsigned int i, sleeps;

	start_sealed();
	for (sleeps = 0; sleeps < 2; sleeps++) {
		for (i = 0; i < ARRAY_SIZE(bad); i++) {
			CHECK_EQ(av_mmu_share(&vm, bad[i], 1, sleeps), -EINVAL);
			CHECK_EQ(av_mmu_unshare(&vm, bad[i], 1, sleeps), -EINVAL);
		}
		CHECK_EQ(av_mmu_share(&vm, DEVICE_GFN << PAGE_SHIFT, 1, sleeps), -ENXIO);
		CHECK_EQ(av_mmu_unshare(&vm, DEVICE_GFN << PAGE_SHIFT, 1, sleeps), -EINVAL);
		/* Before the first slot, whose page the last call named, and behind it. */
		CHECK_EQ(av_mmu_share(&vm, GPA(40), 1, true), sleeps ? -EINVAL : 1);
		CHECK_EQ(av_mmu_share(&vm, GPA(-1), 1, sleeps), -ENXIO);
	}
	/* Not shared: only the full exit path can tell. */
	CHECK_EQ(av_mmu_unshare(&vm, GPA(7), 1, false), -EAGAIN);
	CHECK_EQ(av_mmu_unshare(&vm, GPA(7), 1, true), -EINVAL);
	/* Never used. */
	CHECK_EQ(av_mmu_unshare(&vm, guest_slots[LOGGED].gfn << PAGE_SHIFT, 1, true), -EINVAL);
	end_sealed();
}

static void test_counts(void)
{
	u64 last = GPA(299), next = guest_slots[NEXT].gfn << PAGE_SHIFT;
	unsigned int i;

	start_sealed();
	CHECK_EQ(av_mmu_share(&vm, GPA(20), 4, true), 4);
	CHECK_EQ(av_mmu_share(&vm, GPA(10), ~0ULL, true), 10);
	CHECK_EQ(av_mmu_share(&vm, GPA(100), ~0ULL, true), AV_SHARE_MOST);
	for (i = 0; i < 300; i++)
		CHECK_EQ(state_of(i), (i >= 10 && i < 24) || (i >= 100 && i < 164) ?
			 AV_OWNER_SHARED : AV_OWNER_GUEST);
	/* A slot's last page: the next slot's are another call's. */
	CHECK_EQ(av_mmu_share(&vm, last, 2, true), 1);
	CHECK_EQ(av_mmu_share(&vm, next, 2, true), 2);
	CHECK_EQ(state_of(1024), AV_OWNER_SHARED);
	CHECK_EQ(av_mmu_unshare(&vm, last, 3, false), 1);
	CHECK_EQ(av_mmu_unshare(&vm, GPA(9), 4, true), -EINVAL);
	CHECK_EQ(av_mmu_unshare(&vm, GPA(12), ~0ULL, false), 12);
	CHECK_EQ(av_mmu_unshare(&vm, GPA(100), ~0ULL, false), AV_SHARE_MOST);
	CHECK_EQ(state_of(11), AV_OWNER_SHARED);
	CHECK_EQ(state_of(12), AV_OWNER_GUEST);
	end_sealed();
}

/* No memory for the words of the file's next 2 MiB. */
static void test_no_memory(void)
{
	u64 first = guest_slots[ODD].gfn + 510;

	start_sealed();
	/* The file's pages from 5631 on; a table begins at 5632. */
	CHECK_EQ(av_mmu_share(&vm, first << PAGE_SHIFT, 4, false), -EAGAIN);
	host_allocs = 0;
	CHECK_EQ(av_mmu_share(&vm, first << PAGE_SHIFT, 4, true), -ENOMEM);
	host_allocs = 1;
	CHECK_EQ(av_mmu_share(&vm, first << PAGE_SHIFT, 4, true), 1);
	host_allocs = -1;
	CHECK_EQ(av_mmu_share(&vm, first << PAGE_SHIFT, 4, true), -EINVAL);
	CHECK_EQ(av_mmu_share(&vm, (first + 1) << PAGE_SHIFT, 3, false), -EAGAIN);
	CHECK_EQ(av_mmu_share(&vm, (first + 1) << PAGE_SHIFT, 3, true), 3);
	CHECK_EQ(av_mmu_unshare(&vm, first << PAGE_SHIFT, 9, false), 4);
	/* A process's page. */
	CHECK_EQ(av_mmu_share(&vm, first << PAGE_SHIFT, 1, true), 1);
	host_allocs = 0;
	CHECK_EQ(process_access(5631), VM_FAULT_OOM);
	host_allocs = -1;
	CHECK_EQ(process_access(5631), 0);
	end_sealed();
}

/* Pages that a process has, and that devices hold. */
static void test_recall(void)
{
	unsigned int i;

	start_sealed();
	CHECK_EQ(process_access(30), VM_FAULT_SIGBUS);
	CHECK_EQ(av_mmu_share(&vm, GPA(30), 8, true), 8);
	for (i = 30; i < 36; i++)
		CHECK_EQ(process_access(i), 0);
	CHECK_EQ(process_access(GUEST_FILE_PAGES), VM_FAULT_SIGBUS);
	process_pin(33);
	/* Only the full exit path takes pages from processes. */
	CHECK_EQ(av_mmu_unshare(&vm, GPA(30), 8, false), -EAGAIN);
	CHECK(process_has(30));
	/* Up to the one that is held. The others stay shared. */
	CHECK_EQ(av_mmu_unshare(&vm, GPA(30), 8, true), 3);
	for (i = 30; i < 38; i++) {
		CHECK_EQ(state_of(i), i < 33 ? AV_OWNER_GUEST : AV_OWNER_LENT);
		CHECK(!process_has(i));
		CHECK_EQ(process_access(i), i < 33 ? VM_FAULT_SIGBUS : 0);
	}
	CHECK_EQ(av_mmu_unshare(&vm, GPA(33), 1, true), -EAGAIN);
	CHECK_EQ(process_access(33), 0);
	process_unpin(33);
	CHECK_EQ(av_mmu_unshare(&vm, GPA(33), 8, true), 5);
	CHECK(!process_has(37));
	end_sealed();
}

/* While a page is leaving, another vCPU asks for it, and a process. */
static void others_want_it(void)
{
	if (meanwhile++)
		return;
	CHECK_EQ(state_of(30), AV_OWNER_LEAVING);
	CHECK_EQ(av_mmu_share(&vm, GPA(30), 1, true), -EINVAL);
	CHECK_EQ(av_mmu_unshare(&vm, GPA(30), 1, true), -EINVAL);
	CHECK_EQ(av_mmu_unshare(&vm, GPA(30), 1, false), -EAGAIN);
	CHECK_EQ(process_access(31), VM_FAULT_SIGBUS);
}

static void test_leaving(void)
{
	start_sealed();
	CHECK_EQ(av_mmu_share(&vm, GPA(30), 2, true), 2);
	REQUIRE(!process_access(30));
	meanwhile = 0;
	host_others = others_want_it;
	CHECK_EQ(av_mmu_unshare(&vm, GPA(30), 2, true), 2);
	CHECK(meanwhile);
	host_others = NULL;
	CHECK_EQ(state_of(30), AV_OWNER_GUEST);
	end_sealed();
}

/* A process is about to get a page that the guest takes back. */
static void test_recall_during_a_fault(void)
{
	start_sealed();
	CHECK_EQ(av_mmu_share(&vm, GPA(2), 1, true), 1);
	REQUIRE(!process_fault(2));
	fake_killed = true;
	CHECK_EQ(av_mmu_unshare(&vm, GPA(2), 1, true), -EAGAIN);
	CHECK_EQ(state_of(2), AV_OWNER_LENT);
	fake_killed = false;
	meanwhile = 0;
	host_others = fault_ends;
	CHECK_EQ(av_mmu_unshare(&vm, GPA(2), 1, true), 1);
	CHECK(meanwhile >= 5 && !process_has(2));
	end_sealed();
}

static void test_bad_page(void)
{
	bool writable;

	start_sealed();
	CHECK_EQ(av_mmu_share(&vm, GPA(2), 1, true), 1);
	REQUIRE(!process_access(2));
	guest_host_page(guest_slots[RAM].gfn + 2, &writable)->bad = true;
	CHECK_EQ(av_mmu_unshare(&vm, GPA(2), 1, true), 1);
	CHECK_EQ(av_mmu_share(&vm, GPA(2), 1, true), 1);
	CHECK_EQ(process_access(2), VM_FAULT_HWPOISON);
	CHECK(!guest_host_page(guest_slots[RAM].gfn + 2, &writable)->locked);
	end_sealed();
}

/* ---- the end ------------------------------------------------------------------------ */

/* Of a VM that is gone, a process may read what the guest had shared, and nothing else. */
static void test_end(void)
{
	unsigned int i;

	start_sealed();
	for (i = 50; i < 53; i++)
		*guest_word(GPA(i)) = 0x5ec7e7;
	CHECK_EQ(av_mmu_share(&vm, GPA(51), 1, true), 1);
	CHECK_EQ(av_mmu_share(&vm, GPA(52), 1, true), 1);
	REQUIRE(!process_access(52));
	guest_stop();
	for (i = 50; i < 53; i++) {
		CHECK_EQ(process_access(i), 0);
		CHECK_EQ(*(u64 *)fake_kva(av_gmem_page(guest_gmem, i)), i == 50 ? 0 : 0x5ec7e7);
	}
	process_unmap();
	host_end();
}

/* A sealed VM's slots stay as they are. */
static void test_sealed_slots(void)
{
	start_sealed();
	CHECK_EQ(set_slot(guest_fd, FREE_PAGE * PAGE_SIZE, 1), -EPERM);
	CHECK_EQ(set_slot(0, 0, 0), -EPERM);
	end_sealed();
}

int main(void)
{
	RUN(test_bind);
	RUN(test_bind_file);
	RUN(test_bind_no_memory);
	RUN(test_create);
	RUN(test_measure);
	RUN(test_seal_fails);
	RUN(test_seal_waits);
	RUN(test_seal_during_a_fault);
	RUN(test_seal_two_files);
	RUN(test_refusals);
	RUN(test_counts);
	RUN(test_no_memory);
	RUN(test_recall);
	RUN(test_leaving);
	RUN(test_recall_during_a_fault);
	RUN(test_bad_page);
	RUN(test_end);
	RUN(test_sealed_slots);
	return TESTS_DONE();
}
