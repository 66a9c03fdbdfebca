// SPDX-License-Identifier: GPL-2.0
/*
 * Dirty rings, used by a VMM that copies a guest's memory while it runs: a page that is in no ring
 * must equal its copy. Real KVM must pass all of it too. It logs single pages where there is a
 * bitmap beside the rings; otherwise it logs everything that it maps at a time.
 *
 *	rings		a line for each failed check; figures; then "done"
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib.h"
#include "mapper.h"
#include "self_check.h"

#define PAGE		0x1000UL
#define AT		0x80000000ULL
#define PAGES		4096UL
#define WRITES		6000
#define BYTES		4096U
#define CPUS		2

/* What the VMM knows of a ring. */
struct collected {
	struct kvm_dirty_gfn *ring;
	u32 size, next;
};

/* The next entry, marked as taken: its page, or -1 when there is none. */
static long take(struct collected *c, u32 slot)
{
	struct kvm_dirty_gfn *at = &c->ring[c->next % c->size];

	if (__atomic_load_n(&at->flags, __ATOMIC_ACQUIRE) != KVM_DIRTY_GFN_F_DIRTY)
		return -1;
	CHECK(at->slot == slot);
	__atomic_store_n(&at->flags, KVM_DIRTY_GFN_F_RESET, __ATOMIC_RELEASE);
	c->next++;
	return at->offset;
}

/* ---- a page at many addresses ------------------------------------------------ */

#define ALIASED		(MAPPER_FRAMES_SIZE / PAGE)
#define ALIASED_BYTES	(1024 * sizeof(struct kvm_dirty_gfn))

static void check_each_once(struct mapper *m, struct collected *c)
{
	u8 seen[ALIASED] = {};
	u64 n = 0;
	long page;

	mapper_touch(m, MAPPER_VA, 8 * MAPPER_FRAMES_SIZE, PAGE);
	while ((page = take(c, 1)) >= 0 && n++ < 2 * ALIASED) {
		CHECK((u64)page < ALIASED && !seen[page]);
		seen[page % ALIASED] = 1;
	}
	CHECK(n == ALIASED);
	CHECK(ioctl(m->g.vm, KVM_RESET_DIRTY_RINGS, 0) == (long)n);
}

static void aliases(void)
{
	struct collected c = { .size = 1024 };
	struct mapper m;
	int i;

	new_mapper_with_ring(&m, EACH_ITS_OWN, false, ALIASED_BYTES | RING_WITH_BITMAP);
	mapper_set_slot(&m, 1, MAPPER_FRAMES, m.frames, MAPPER_FRAMES_SIZE,
			KVM_MEM_LOG_DIRTY_PAGES);
	c.ring = map_ring(m.g.vcpu, ALIASED_BYTES);
	for (i = 0; i < 4; i++) {
		/* Under other ASIDs, and so in other shadow tables. */
		mapper_set_asid(m.g.vcpu, 1 + i % 2);
		check_each_once(&m, &c);
	}
	munmap(c.ring, ALIASED_BYTES);
	free_mapper(&m);
}

/* ---- vCPUs that write while their memory is copied ---------------------------- */

/* x7 words to pages of x11 at random, at x6 in the page; then a store to a device. */
GUEST(writer, "1: mul x1, x1, x2\n add x1, x1, x3\n lsr x4, x1, #52\n add x5, x11, x4, lsl #12\n"
      "str x1, [x5, x6]\n sub x7, x7, #1\n cbnz x7, 1b\n str x1, [x10]\n b .\n");

static struct guest g;
static int vcpus[CPUS];
static struct kvm_run *runs[CPUS];
static u8 *memory, *copy;
static unsigned int finished, full;

static void *run_vcpu(void *arg)
{
	unsigned long i = (unsigned long)arg;

	while (!ioctl(vcpus[i], KVM_RUN, 0) && runs[i]->exit_reason == KVM_EXIT_DIRTY_RING_FULL) {
		__atomic_fetch_add(&full, 1, __ATOMIC_RELAXED);
		usleep(200);
	}
	CHECK(runs[i]->exit_reason == KVM_EXIT_MMIO);
	__atomic_fetch_add(&finished, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Another thread maps rings and lets them go. */
static void *map_rings(void *arg)
{
	u64 i, words = 0;

	for (i = 0; __atomic_load_n(&finished, __ATOMIC_ACQUIRE) < CPUS; i++) {
		struct kvm_dirty_gfn *ring = map_ring(vcpus[i % CPUS], BYTES);

		words += __atomic_load_n(&ring[i % 256].offset, __ATOMIC_RELAXED);
		munmap(ring, BYTES);
		usleep(500);
	}
	return (void *)words;
}

static void start_vcpu(unsigned int i)
{
	static const struct { u64 reg, value; } regs[] = {
		{ REG_PC, GUEST_BASE }, { REG_X(2), 6364136223846793005ULL },
		{ REG_X(3), 1442695040888963407ULL }, { REG_X(7), WRITES },
		{ REG_X(10), GUEST_MMIO }, { REG_X(11), AT },
	};
	size_t n;

	vcpus[i] = i ? new_vcpu(g.vm, i) : g.vcpu;
	runs[i] = i ? map_run(g.kvm, vcpus[i]) : g.run;
	if (i)
		init_vcpu(vcpus[i]);
	for (n = 0; n < ARRAY_SIZE(regs); n++)
		set_reg(vcpus[i], regs[n].reg, regs[n].value);
	set_reg(vcpus[i], REG_X(1), 1000 + i);
	set_reg(vcpus[i], REG_X(6), i * sizeof(u64));
}

/* One round: take all entries, have them reset, copy the pages. */
static u64 collect(struct collected *c, u64 *twice)
{
	static unsigned long pages[CPUS * BYTES / sizeof(struct kvm_dirty_gfn)];
	static u8 seen[PAGES];
	u64 n = 0, i;
	long page;

	memset(seen, 0, sizeof(seen));
	for (i = 0; i < CPUS; i++) {
		while (n < ARRAY_SIZE(pages) && (page = take(&c[i], 1)) >= 0) {
			CHECK((u64)page < PAGES);
			*twice += seen[page]++;
			pages[n++] = page;
		}
	}
	CHECK(ioctl(g.vm, KVM_RESET_DIRTY_RINGS, 0) == (long)n);
	for (i = 0; i < n; i++)
		memcpy(copy + pages[i] * PAGE, memory + pages[i] * PAGE, PAGE);
	return n;
}

static void migrate(void)
{
	struct kvm_userspace_memory_region mem = {
		.slot = 1, .flags = KVM_MEM_LOG_DIRTY_PAGES, .guest_phys_addr = AT,
		.memory_size = PAGES * PAGE,
	};
	pthread_t threads[CPUS + 1];
	struct collected c[CPUS];
	u64 all = 0, twice = 0;
	unsigned long i;

	new_guest_with_ring(&g, guest_writer,
			    (const char *)guest_writer_end - (const char *)guest_writer,
			    BYTES | RING_WITH_BITMAP);
	memory = map_memory(PAGES * PAGE);
	copy = map_memory(PAGES * PAGE);
	mem.userspace_addr = (u64)memory;
	CHECK(!ioctl(g.vm, KVM_SET_USER_MEMORY_REGION, &mem));
	for (i = 0; i < CPUS; i++) {
		start_vcpu(i);
		c[i] = (struct collected) { .ring = map_ring(vcpus[i], BYTES), .size = 256 };
	}
	for (i = 0; i < CPUS; i++)
		pthread_create(&threads[i], NULL, run_vcpu, (void *)i);
	pthread_create(&threads[CPUS], NULL, map_rings, NULL);
	for (i = 0; __atomic_load_n(&finished, __ATOMIC_ACQUIRE) < CPUS; i++) {
		/* At first not before a vCPU had to stop. */
		do
			usleep(1000);
		while (i < 5 && __atomic_load_n(&full, __ATOMIC_RELAXED) <= i);
		all += collect(c, &twice);
	}
	for (i = 0; i <= CPUS; i++)
		pthread_join(threads[i], NULL);
	/* What was copied since its last entry is all that there is. */
	all += collect(c, &twice);
	CHECK(!memcmp(memory, copy, PAGES * PAGE));
	CHECK(collect(c, &twice) == 0);
	CHECK(full > 0 && all > PAGES / 2);
	printf("result rings.full %u count\nresult rings.entries %llu count\n"
	       "result rings.twice %llu count\n", full, (unsigned long long)all,
	       (unsigned long long)twice);
	free_guest(&g);
}

int main(void)
{
	aliases();
	migrate();
	if (failures)
		return 1;
	printf("done\n");
	return 0;
}
