// SPDX-License-Identifier: GPL-2.0
/*
 * Many pages that the guest has written are reported and logged anew: as many as the largest dirty
 * ring holds, or ENTRIES of them, each with memory of its own.
 */
#include <sys/mman.h>

#include "bounds.h"

#define PAGE		0x1000UL
#define GPA		0x200000000ULL
#define SLOT		3

/* KVM_DIRTY_RING_MAX_ENTRIES and KVM_DIRTY_RING_RSVD_ENTRIES, which no header for programs has. */
#define MOST		65536UL
#define RESERVED	64UL
#define APART		64

static u64 entries;

static void new_logged(struct mapper *m, u64 ring)
{
	const u64 size = entries * PAGE;
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED)
		die("mmap");
	new_mapper_with_ring(m, EACH_ITS_OWN, true, ring);
	mapper_slot(m, SLOT, GPA, memory, size);
	mapper_block(m, 0, GPA);
	mapper_touch(m, MAPPER_VA, size, PAGE);
	meter_begin();
	mapper_set_slot(m, SLOT, GPA, memory, size, KVM_MEM_LOG_DIRTY_PAGES);
	meter_end("%s.on", ring ? "ring" : "log");
}

void bounds_log(void)
{
	static u64 bits[MOST / 64];
	struct kvm_clear_dirty_log clear = {
		.slot = SLOT, .dirty_bitmap = bits,
	};
	struct kvm_dirty_log log = { .slot = SLOT, .dirty_bitmap = bits };
	struct kvm_enable_cap cap = {
		.cap = KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2, .args = { 1 },
	};
	struct mapper m;
	u64 flushes;

	entries = setting("ENTRIES", MOST);
	clear.num_pages = entries;
	new_logged(&m, 0);
	mapper_touch(&m, MAPPER_VA, (entries - RESERVED) * PAGE, PAGE);
	meter_begin();
	if (ioctl(m.g.vm, KVM_GET_DIRTY_LOG, &log))
		die("KVM_GET_DIRTY_LOG");
	meter_end("log.read");
	if (ioctl(m.g.vm, KVM_ENABLE_CAP, &cap))
		die("KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2");
	mapper_touch(&m, MAPPER_VA, (entries - RESERVED) * PAGE, PAGE);
	result("entries", read_stat(m.vm_stats, "dirty_pages"), "count");
	flushes = read_stat(m.vm_stats, "remote_tlb_flush_requests");
	meter_begin();
	if (ioctl(m.g.vm, KVM_CLEAR_DIRTY_LOG, &clear))
		die("KVM_CLEAR_DIRTY_LOG");
	meter_end("log.clear");
	flushes = read_stat(m.vm_stats, "remote_tlb_flush_requests") - flushes;
	result("log.flushes", flushes, "count");
	free_mapper(&m);
}

/* Nearly as many pages, in an order that leaves none beside the one before. */
static void touch_apart(struct mapper *m)
{
	u64 i;

	for (i = 0; i < APART - 1; i++)
		mapper_touch(m, MAPPER_VA + i * PAGE, entries * PAGE, APART * PAGE);
}

static void reset(struct mapper *m, const char *name)
{
	u64 flushes = read_stat(m->vm_stats, "remote_tlb_flush_requests");
	long n;

	meter_begin();
	n = ioctl(m->g.vm, KVM_RESET_DIRTY_RINGS, 0);
	meter_end("%s", name);
	flushes = read_stat(m->vm_stats, "remote_tlb_flush_requests") - flushes;
	result("ring.flushes", flushes, "count");
	result("ring.entries", n, "count");
}

/* The VMM takes all entries of a ring, or marks them so. */
static void take(struct kvm_dirty_gfn *ring)
{
	unsigned long i;

	for (i = 0; i < entries; i++)
		ring[i].flags = KVM_DIRTY_GFN_F_RESET;
}

void bounds_ring(void)
{
	struct kvm_dirty_gfn *ring;
	struct mapper m;

	entries = setting("ENTRIES", MOST);
	new_logged(&m, entries * sizeof(*ring));
	ring = map_ring(m.g.vcpu, entries * sizeof(*ring));
	meter_begin();
	if (new_vcpu(m.g.vm, 1) < 0)
		die("KVM_CREATE_VCPU");
	meter_end("ring.create");
	mapper_touch(&m, MAPPER_VA, (entries - RESERVED - 1) * PAGE, PAGE);
	take(ring);
	reset(&m, "ring.reset");
	touch_apart(&m);
	result("entries", read_stat(m.vm_stats, "dirty_pages"), "count");
	take(ring);
	reset(&m, "ring.apart");
	free_mapper(&m);
}
