// SPDX-License-Identifier: GPL-2.0
/*
 * Random calls of a sealed VM's guest that shares pages and takes them back, of processes and of
 * devices, against a model that knows the owner of each page.
 *
 *	test_private_random [seed]
 */
#include <linux/kvm.h>
#include <stdlib.h>

#include "check.h"
#include "draw.h"
#include "guest_world.h"
#include "mmu/gmem/gmem.h"

#define ROUNDS		40
#define STEPS		3000

/* Two slots of the guest's, neighbours by frame, but not in the file. */
static struct {
	u64 gfn, npages, first;
} parts[2];

#define MOST_PAGES	512
static struct {
	bool shared, lent, pinned;
} model[2][MOST_PAGES];
static bool touched[GUEST_FILE_PAGES / AV_GMEM_FANOUT + 1];

static unsigned long shares, takes, recalls, held;

static int count_nothing(void *ctx, u64 gpa, u64 size, const void *page)
{
	return 0;
}

static void start(void)
{
	static const struct guest_how how = {
		.protected = true,
		.file_flags = GUEST_MEMFD_FLAG_MMAP | GUEST_MEMFD_FLAG_INIT_SHARED,
	};
	unsigned int i;

	guest_start(&how);
	memset(model, 0, sizeof(model));
	for (i = 0; i < 2; i++) {
		parts[i].gfn = guest_slots[RAM + i].gfn;
		parts[i].npages = guest_slots[RAM + i].npages;
		parts[i].first = (guest_slots[RAM + i].hva - VMM_BASE) >> PAGE_SHIFT;
	}
	REQUIRE(!process_map(guest_fd, VM_SHARED | VM_MAYSHARE));
	REQUIRE(!av_mmu_seal(&vm, count_nothing, NULL));
	vm.sealed = true;
	for (i = 0; i < ARRAY_SIZE(touched); i++)
		touched[i] = i * AV_GMEM_FANOUT < GUEST_FILE_PAGES &&
			     av_gmem_word(guest_gmem, i * AV_GMEM_FANOUT);
}

static void end(void)
{
	unsigned int i, n;

	for (i = 0; i < 2; i++)
		for (n = 0; n < parts[i].npages; n++)
			if (model[i][n].pinned)
				process_unpin(parts[i].first + n);
	process_unmap();
	guest_end();
}

/* ---- what is right -------------------------------------------------------------------- */

/* Pages that one call can do. */
static u64 most(unsigned int i, u64 n, u64 nr)
{
	return min3(nr, parts[i].npages - n, (u64)AV_SHARE_MOST);
}

static bool has_word(unsigned int i, u64 n)
{
	return touched[(parts[i].first + n) / AV_GMEM_FANOUT];
}

static s64 share(unsigned int i, u64 n, u64 nr, bool sleeps)
{
	u64 done;

	for (done = 0; done < most(i, n, nr); done++) {
		if (!has_word(i, n + done) && !sleeps)
			return (s64)done ?: -EAGAIN;
		touched[(parts[i].first + n + done) / AV_GMEM_FANOUT] = true;
		if (model[i][n + done].shared)
			break;
		model[i][n + done].shared = true;
	}
	return (s64)done ?: -EINVAL;
}

static s64 take(unsigned int i, u64 n, u64 nr)
{
	u64 done;

	for (done = 0; done < most(i, n, nr); done++) {
		if (!model[i][n + done].shared || model[i][n + done].lent)
			break;
		model[i][n + done].shared = false;
	}
	takes += done;
	return done;
}

static s64 recall(unsigned int i, u64 n, u64 nr)
{
	u64 leaving, free, k;

	for (leaving = 0; leaving < most(i, n, nr) && model[i][n + leaving].shared; leaving++)
		;
	if (!leaving)
		return -EINVAL;
	for (free = 0; free < leaving && !model[i][n + free].pinned; free++)
		model[i][n + free].shared = model[i][n + free].lent = false;
	for (k = free; k < leaving; k++)
		model[i][n + k].lent = true;
	recalls += free;
	held += leaving - free;
	return (s64)free ?: -EAGAIN;
}

/* ---- steps ------------------------------------------------------------------------------ */

static void step_share(unsigned int i, u64 n, u64 nr, bool sleeps)
{
	s64 want = share(i, n, nr, sleeps);

	CHECK_EQ(av_mmu_share(&vm, (parts[i].gfn + n) << PAGE_SHIFT, nr, sleeps), want);
	shares += max(want, 0L);
}

static void step_unshare(unsigned int i, u64 n, u64 nr, bool sleeps)
{
	s64 want = take(i, n, nr);

	if (!want)
		want = sleeps ? recall(i, n, nr) : -EAGAIN;
	CHECK_EQ(av_mmu_unshare(&vm, (parts[i].gfn + n) << PAGE_SHIFT, nr, sleeps), want);
}

static void step_process(unsigned int i, u64 n)
{
	u64 page = parts[i].first + n;

	CHECK_EQ(process_access(page), model[i][n].shared ? 0 : VM_FAULT_SIGBUS);
	model[i][n].lent |= model[i][n].shared;
	if (!model[i][n].shared || below(3))
		return;
	if (model[i][n].pinned)
		process_unpin(page);
	else
		process_pin(page);
	model[i][n].pinned ^= true;
}

/* A process has pages that are lent, and no others. */
static void check_pages(void)
{
	unsigned int i, n;

	for (i = 0; i < 2; i++)
		for (n = 0; n < parts[i].npages; n++)
			CHECK(!process_has(parts[i].first + n) || model[i][n].lent);
}

static void step(void)
{
	unsigned int i = below(2), kind = below(8);
	u64 n = below(below(4) ? 24 : parts[i].npages), nr = 1 + below(below(4) ? 9 : 100);

	if (below(2))
		n = parts[i].npages - 1 - n;
	if (kind < 3)
		step_share(i, n, nr, below(2));
	else if (kind < 6)
		step_unshare(i, n, nr, below(2));
	else
		step_process(i, n);
}

static void test_random(void)
{
	unsigned int round, i;

	for (round = 0; round < ROUNDS; round++) {
		start();
		for (i = 0; i < STEPS && !check_failed; i++) {
			step();
			if (!(i % 50))
				check_pages();
		}
		end();
	}
	/* It was worth it. */
	CHECK(shares > 10000 && takes > 1000 && recalls > 1000 && held > 1000);
	printf("%lu pages shared, %lu taken back, %lu from processes, %lu held\n", shares, takes,
	       recalls, held);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		seed = strtoull(argv[1], NULL, 0);
	RUN(test_random);
	return TESTS_DONE();
}
