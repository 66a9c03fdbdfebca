// SPDX-License-Identifier: GPL-2.0
/*
 * The largest slots, with nothing in them: how long they hold the host's CPU, and how much of its
 * memory they take.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bounds.h"

#define GROUP	"/sys/fs/cgroup/bounds"
#define PAGE	0x1000UL
#define GIB	(1UL << 30)
#define SIZE	(64 * GIB)

/* The VM has 40 bits of addresses. */
#define SLOTS	8

static void *empty_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED || madvise(memory, size, MADV_NOHUGEPAGE))
		die("mmap of %zu GiB", size / GIB);
	return memory;
}

static void set(int vm, u32 slot, u64 gpa, u64 size, void *memory, u32 flags)
{
	struct kvm_userspace_memory_region mem = {
		.slot = slot, .flags = flags, .guest_phys_addr = gpa, .memory_size = size,
		.userspace_addr = (u64)memory,
	};

	if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &mem))
		die("slot %u, %llu GiB", slot, (unsigned long long)(size / GIB));
}

/* All operations on a slot, in turn under the meter. */
void bounds_slot(void)
{
	int kvm = open_kvm(), vm = new_vm(kvm);
	void *memory = empty_memory(SIZE);
	struct kvm_dirty_log log = { .dirty_bitmap = map_memory(SIZE / PAGE / 8) };

	meter_begin();
	set(vm, 0, SIZE, SIZE, memory, 0);
	meter_end("slot.create");
	meter_begin();
	madvise(memory, SIZE, MADV_DONTNEED);
	meter_end("slot.drop");
	meter_begin();
	set(vm, 0, SIZE, SIZE, memory, KVM_MEM_LOG_DIRTY_PAGES);
	meter_end("slot.log_on");
	meter_begin();
	if (ioctl(vm, KVM_GET_DIRTY_LOG, &log))
		die("KVM_GET_DIRTY_LOG");
	meter_end("slot.log_read");
	meter_begin();
	set(vm, 0, SIZE, SIZE, memory, 0);
	meter_end("slot.log_off");
	meter_begin();
	set(vm, 0, 2 * SIZE, SIZE, memory, 0);
	meter_end("slot.move");
	meter_begin();
	set(vm, 0, 2 * SIZE, 0, memory, 0);
	meter_end("slot.delete");
	set(vm, 0, SIZE, SIZE, memory, 0);
	meter_begin();
	munmap(memory, SIZE);
	meter_end("slot.unmap");
	meter_begin();
	close(vm);
	meter_end("slot.close");
	close(kvm);
}

static long available(void)
{
	return read_figure("/proc/meminfo", "MemAvailable");
}

/* Several of them, at one memory. */
void bounds_slot_memory(void)
{
	int kvm = open_kvm(), vm = new_vm(kvm), i;
	void *memory = empty_memory(SIZE);
	long before = available();

	for (i = 0; i < SLOTS; i++)
		set(vm, i, (1 + i) * SIZE, SIZE, memory, 0);
	result("slot.memory", before - available(), "KiB");
	close(vm);
	munmap(memory, SIZE);
	close(kvm);
}

/* In a control group of its own. */
static void enter_group(void)
{
	char pid[16];

	if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) &&
	    mount("none", "/sys/fs/cgroup", "cgroup2", 0, NULL))
		die("mount of the control groups");
	must_write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	mkdir(GROUP, 0755);
	snprintf(pid, sizeof(pid), "%d", getpid());
	must_write(GROUP "/cgroup.procs", pid);
}

long charged_memory(void)
{
	static bool entered;
	char word[32] = "";
	FILE *file;

	if (!entered)
		enter_group();
	entered = true;
	file = fopen(GROUP "/memory.current", "r");
	if (!file || !fgets(word, sizeof(word), file))
		die("memory.current");
	fclose(file);
	return atol(word) / 1024;
}

/* A page here and there of a large slot: all that it takes is the VMM's, by its group. */
void bounds_slot_charged(void)
{
	struct mapper m;
	long before, group;
	u32 i;

	charged_memory();
	new_mapper(&m, ONE_FRAME, true);
	mapper_slot(&m, 3, SIZE, empty_memory(SIZE), SIZE);
	for (i = 0; i < SIZE / GIB; i++)
		mapper_block(&m, i, SIZE + i * GIB);
	before = available();
	group = charged_memory();
	mapper_touch(&m, MAPPER_VA, SIZE, SIZE / 8192);
	before -= available();
	group = charged_memory() - group;
	result("slot.taken", before, "KiB");
	result("slot.charged", group, "KiB");
	free_mapper(&m);
}

static void set_large(const struct mapper *m, u64 size, void *memory, u32 flags)
{
	set(m->g.vm, 3, SIZE, size, memory, flags);
}

/*
 * One large slot among as many as there may be, where to find a frame's slot takes
 * longest. The guest has every other page of it: there is as much to pass over as
 * there is to do.
 */
void bounds_slot_among_many(void)
{
	const u64 half = setting("PAGES", 16384), size = 2 * half * PAGE;
	u32 n = setting("SLOTS", 32000), i;
	void *memory = empty_memory(size), *other = map_memory(PAGE);
	struct mapper m;

	new_mapper(&m, EACH_ITS_OWN, true);
	for (i = 0; i < n; i++)
		set(m.g.vm, 4 + i, 2 * SIZE + i * 2 * PAGE, PAGE, other, 0);
	set_large(&m, size, memory, 0);
	mapper_block(&m, 0, SIZE);
	mapper_touch(&m, MAPPER_VA, size, 2 * PAGE);
	result("entries", read_stat(m.stats, "shadow_fill"), "count");
	meter_begin();
	set_large(&m, size, memory, KVM_MEM_LOG_DIRTY_PAGES);
	meter_end("slot_among_many.log_on");
	meter_begin();
	set_large(&m, 0, memory, 0);
	meter_end("slot_among_many.delete");
	set_large(&m, size, memory, 0);
	mapper_touch(&m, MAPPER_VA, size, 2 * PAGE);
	meter_begin();
	free_mapper(&m);
	meter_end("slot_among_many.close");
	munmap(memory, size);
}

#define SOME	512

/* Slots of a page each; the first and the last of them under the meter. */
static void add_many(int vm, u32 n, void *memory)
{
	u32 i;

	for (i = 0; i < n; i++) {
		if (i == 0 || i == n - SOME)
			meter_begin();
		set(vm, i, i * 2 * PAGE, PAGE, memory, 0);
		if (i == SOME - 1)
			meter_end("slots_many.first");
	}
	meter_end("slots_many.last");
}

/*
 * The maximum number of slots: one more, one less, and the host's work on other memory of the VMM.
 */
void bounds_slots_many(void)
{
	u32 n = setting("SLOTS", 32766);
	int kvm = open_kvm(), vm = new_vm(kvm);
	char *memory = map_memory(PAGE), *other = map_memory(PAGE);

	*other = 1;
	add_many(vm, n, memory);
	meter_begin();
	set(vm, n, n * 2 * PAGE, PAGE, memory, 0);
	meter_end("slots_many.create");
	meter_begin();
	set(vm, n, n * 2 * PAGE, PAGE, memory, KVM_MEM_LOG_DIRTY_PAGES);
	meter_end("slots_many.flags");
	meter_begin();
	set(vm, n, 0, 0, memory, 0);
	meter_end("slots_many.delete");
	meter_begin();
	madvise(other, PAGE, MADV_DONTNEED);
	meter_end("slots_many.drop_other");
	meter_begin();
	madvise(memory, PAGE, MADV_DONTNEED);
	meter_end("slots_many.drop");
	meter_begin();
	close(vm);
	meter_end("slots_many.close");
	close(kvm);
}
