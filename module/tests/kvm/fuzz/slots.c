// SPDX-License-Identifier: GPL-2.0
/*
 * Memory slots, the dirty log and dirty rings. The seed and its number determine a slot's place,
 * size and memory, so that moves, changes of flags and deletions meet the result of an earlier
 * operation.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fuzz.h"

#define NR_SLOTS	8

static struct kvm_userspace_memory_region usual(struct actor *a, unsigned int slot)
{
	u64 rng = stream(a->w->seed, 300, slot);
	u64 pages = (rnd(&rng) >> 16) % 2 ? 512 : 1 + (rnd(&rng) >> 16) % 700;
	struct area *area = &a->w->area[(rnd(&rng) >> 16) % NR_AREAS];
	u64 first = (rnd(&rng) >> 16) % 2 ? 0 : (rnd(&rng) >> 16) % (AREA_SIZE / PAGE - pages);

	if (!slot)
		return (struct kvm_userspace_memory_region) {
			.guest_phys_addr = GUEST_BASE, .memory_size = MAIN_SIZE,
			.userspace_addr = (u64)a->w->area[0].at,
		};
	return (struct kvm_userspace_memory_region) {
		.slot = slot,
		.guest_phys_addr = EXTRA_BASE + (slot - 1) * 0x400000,
		.memory_size = pages * PAGE,
		.userspace_addr = (u64)area->at + first * PAGE,
	};
}

static void set(struct actor *a, struct kvm_userspace_memory_region *mem)
{
	call(a, get_file(&a->w->vm), KVM_SET_USER_MEMORY_REGION, mem);
}

static unsigned int any_slot(struct actor *a)
{
	return one_in(a, 6) ? 0 : 1 + pick(a, NR_SLOTS - 1);
}

static void slot_create(struct actor *a)
{
	struct kvm_userspace_memory_region mem = usual(a, any_slot(a));

	mem.flags = one_in(a, 2) ? KVM_MEM_LOG_DIRTY_PAGES : 0;
	if (one_in(a, 8) && mem.slot)
		mem.flags |= KVM_MEM_READONLY;
	set(a, &mem);
}

static void slot_delete(struct actor *a)
{
	struct kvm_userspace_memory_region mem = usual(a, any_slot(a));
	unsigned int delay = pick(a, 1000);

	mem.memory_size = 0;
	set(a, &mem);
	if (mem.slot)
		return;
	/* The program's own: not for long. */
	usleep(delay);
	mem = usual(a, 0);
	set(a, &mem);
}

static void slot_move(struct actor *a)
{
	struct kvm_userspace_memory_region mem = usual(a, any_slot(a));

	mem.guest_phys_addr += (pick(a, 8) - 4) * 0x80000;
	set(a, &mem);
	if (mem.slot)
		return;
	mem = usual(a, 0);
	set(a, &mem);
}

static void slot_flags(struct actor *a)
{
	struct kvm_userspace_memory_region mem = usual(a, any_slot(a));

	mem.flags = one_in(a, 3) ? 0 : KVM_MEM_LOG_DIRTY_PAGES;
	set(a, &mem);
}

/* Where a mapping of this name is. */
static u64 find_mapping(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long at = 0;
	char line[256];

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, name))
			sscanf(line, "%lx", &at);
	if (maps)
		fclose(maps);
	return at;
}

/* A place of the kernel's or a file's, not plain memory; never one that this program needs. */
static u64 odd_memory(struct actor *a)
{
	unsigned int n = pick(a, MAX_CPUS);

	switch (pick(a, 4)) {
	case 0:		/* a page shared with KVM itself */
		return (u64)mmap(a->w->odd + n * PAGE, PAGE, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_FIXED, get_file(&a->w->vcpu[n]), 0);
	case 1:
		return find_mapping(one_in(a, 2) ? "[vdso]" : "[vvar]");
	case 2:
		return 0x10000;
	default:
		return (rnd(&a->rng) | 1ULL << (32 + pick(a, 32))) & ~(PAGE - 1);
	}
}

static void slot_odd(struct actor *a)
{
	static const u64 places[] = {
		GUEST_BASE, GUEST_BASE + MAIN_SIZE - PAGE, GUEST_DIST, GUEST_REDIST, 0,
		GUEST_MMIO & ~(PAGE - 1), BELLS, (1ULL << 40) - PAGE, 1ULL << 47, EXTRA_BASE + 1,
	};
	struct kvm_userspace_memory_region mem = {
		.slot = one_in(a, 8) ? rnd(&a->rng) : NR_SLOTS + pick(a, 4),
		.flags = pick(a, 6),
		.guest_phys_addr = one_in(a, 2) ? places[pick(a, ARRAY_SIZE(places))] :
						  EXTRA_BASE + pick(a, 64) * 0x40000,
		.memory_size = one_in(a, 4) ? 0 : PAGE << pick(a, 3),
		.userspace_addr = odd_memory(a),
	};

	set(a, &mem);
}

/* ---- the dirty log ------------------------------------------------------------------- */

static void dirty_get(struct actor *a)
{
	struct kvm_dirty_log log = { .slot = pick(a, NR_SLOTS), .dirty_bitmap = any_buffer(a) };
	unsigned int i;

	for (i = 0; i < NR_SLOTS; i++, log.slot = (log.slot + 1) % NR_SLOTS)
		call(a, get_file(&a->w->vm), KVM_GET_DIRTY_LOG, &log);
}

static void dirty_clear(struct actor *a)
{
	struct kvm_clear_dirty_log log = {
		.slot = pick(a, NR_SLOTS), .first_page = pick(a, 8) * 64,
		.num_pages = one_in(a, 4) ? pick(a, 1024) : pick(a, 8) * 64,
		.dirty_bitmap = any_buffer(a),
	};
	unsigned int i;

	for (i = 0; i < NR_SLOTS; i++, log.slot = (log.slot + 1) % NR_SLOTS)
		call(a, get_file(&a->w->vm), KVM_CLEAR_DIRTY_LOG, &log);
}

static void dirty_by_hand(struct actor *a)
{
	struct kvm_enable_cap cap = {
		.cap = KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2, .args = { pick(a, 4) },
	};

	call(a, get_file(&a->w->vm), KVM_ENABLE_CAP, &cap);
}

/* ---- dirty rings --------------------------------------------------------------------- */

#define RING_PART	(BUFFER_SIZE / sizeof(struct kvm_dirty_gfn))

/* Entries of a ring, by a call that does not mind what is not there: false for that. */
static bool copy(bool to_ring, struct kvm_dirty_gfn *entries, struct kvm_dirty_gfn *ring)
{
	struct iovec ours = { entries, BUFFER_SIZE }, its = { ring, BUFFER_SIZE };
	ssize_t n = to_ring ? process_vm_writev(getpid(), &ours, 1, &its, 1, 0) :
			      process_vm_readv(getpid(), &ours, 1, &its, 1, 0);

	return n > 0;
}

static struct kvm_dirty_gfn *map_part(int vcpu, u64 page)
{
	void *at = mmap(NULL, BUFFER_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu,
			(KVM_DIRTY_LOG_PAGE_OFFSET + page) * PAGE);

	return at == MAP_FAILED ? NULL : at;
}

bool take_ring(int vcpu, u64 page)
{
	struct kvm_dirty_gfn entries[RING_PART] = {}, *ring = map_part(vcpu, page);
	bool there = ring && copy(false, entries, ring);
	size_t i;

	for (i = 0; there && i < RING_PART; i++)
		if (entries[i].flags & KVM_DIRTY_GFN_F_DIRTY)
			entries[i].flags = KVM_DIRTY_GFN_F_RESET;
	if (there)
		copy(true, entries, ring);
	if (ring)
		munmap(ring, BUFFER_SIZE);
	return there;
}

static u64 any_ring_page(struct actor *a)
{
	return one_in(a, 3) ? pick(a, 300) : 0;
}

static void ring_take(struct actor *a)
{
	a->done |= take_ring(get_file(&a->w->vcpu[pick(a, MAX_CPUS)]), any_ring_page(a));
}

/* Anything into any entries. */
static void ring_spoil(struct actor *a)
{
	struct kvm_dirty_gfn *entries = (struct kvm_dirty_gfn *)a->buffer, *ring;
	unsigned int vcpu = pick(a, MAX_CPUS), n = 1 + pick(a, 32), at;
	u64 page = any_ring_page(a);

	ring = map_part(get_file(&a->w->vcpu[vcpu]), page);
	if (!ring)
		return;
	if (copy(false, entries, ring)) {
		while (n--) {
			at = one_in(a, 2) ? n : pick(a, RING_PART);
			entries[at].flags = pick(a, 4);
			entries[at].slot = one_in(a, 8) ? rnd(&a->rng) : pick(a, NR_SLOTS);
			entries[at].offset = one_in(a, 8) ? rnd(&a->rng) : pick(a, 1100);
		}
		a->done |= copy(true, entries, ring);
	}
	munmap(ring, BUFFER_SIZE);
}

static void ring_reset(struct actor *a)
{
	call_number(a, get_file(&a->w->vm), KVM_RESET_DIRTY_RINGS, pick(a, 2));
}

/* Refused, but for the moment before a VM has vCPUs. */
static void ring_enable(struct actor *a)
{
	struct kvm_enable_cap cap = {
		.cap = one_in(a, 2) ? KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP :
				      KVM_CAP_DIRTY_LOG_RING_ACQ_REL,
		.args = { one_in(a, 4) ? rnd(&a->rng) : 1ULL << pick(a, 24) },
	};

	call(a, get_file(&a->w->vm), KVM_ENABLE_CAP, &cap);
}

void give_ring(int vm, u64 kind)
{
	struct kvm_enable_cap cap = { .cap = KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP };

	if (kind < 2)
		return;
	enable_ring(vm, kind % 2 ? PAGE : 16 * PAGE);
	if (kind > 4)
		ioctl(vm, KVM_ENABLE_CAP, &cap);
}

const struct op slot_ops[] = {
	{ "slot_create",	20, slot_create },
	{ "slot_delete",	12, slot_delete },
	{ "slot_move",		10, slot_move },
	{ "slot_flags",		10, slot_flags },
	{ "slot_odd",		6, slot_odd },
	{ "dirty_get",		10, dirty_get },
	{ "dirty_clear",	8, dirty_clear },
	{ "dirty_by_hand",	2, dirty_by_hand },
	{ "ring_take",		8, ring_take },
	{ "ring_spoil",		6, ring_spoil },
	{ "ring_reset",		12, ring_reset },
	{ "ring_enable",	2, ring_enable },
	{ }
};
