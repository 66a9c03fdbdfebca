// SPDX-License-Identifier: GPL-2.0
/* Guest memory that changes, moves and goes away under a running vCPU. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hostile.h"

static void set_slot(int vm, u64 gpa, u64 size, void *memory, u32 flags)
{
	struct kvm_userspace_memory_region mem = {
		.flags = flags, .guest_phys_addr = gpa, .memory_size = size,
		.userspace_addr = (u64)memory,
	};

	expect(!ioctl(vm, KVM_SET_USER_MEMORY_REGION, &mem), "slot %#llx+%#llx: %s",
	       (unsigned long long)gpa, (unsigned long long)size, strerror(errno));
}

/* A VM on a file's memory. */
static int file_runner(struct runner *r)
{
	int file = memfd_create("guest", MFD_CLOEXEC);
	struct guest *g = &r->g;

	if (file < 0 || ftruncate(file, GUEST_SIZE))
		die("memfd_create");
	memset(r, 0, sizeof(*r));
	g->kvm = open_kvm();
	g->vm = new_vm(g->kvm);
	g->vcpu = new_vcpu(g->vm, 0);
	g->run = map_run(g->kvm, g->vcpu);
	init_vcpu(g->vcpu);
	g->memory = mmap(NULL, GUEST_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (g->memory == MAP_FAILED)
		die("mmap");
	memcpy(g->memory, guest_writer, sizeof(guest_writer));
	set_slot(g->vm, GUEST_BASE, GUEST_SIZE, g->memory, 0);
	set_reg(g->vcpu, REG_PC, GUEST_BASE);
	run_in_thread(r);
	expect(runner_progress(r, 2), "a guest on a memfd does not run");
	return file;
}

static void finish(struct runner *r)
{
	stop_runner(r);
	free_guest(&r->g);
}

static void unmap(void)
{
	struct runner r;

	start_runner(&r, guest_writer, sizeof(guest_writer));
	expect(runner_progress(&r, 2), "the writer does not run");
	munmap((char *)r.g.memory + GUEST_SIZE / 2, GUEST_SIZE / 2);
	expect(runner_ends(&r), "unmapped memory is still written");
	expect(r.error == EFAULT, "unmapped memory: %s", strerror(r.error));
	finish(&r);
}

static void truncate_file(void)
{
	struct runner r;
	int file = file_runner(&r);

	if (ftruncate(file, GUEST_SIZE / 2))
		die("ftruncate");
	expect(runner_ends(&r), "memory behind the end of its file is still written");
	expect(r.error == EFAULT, "truncated memory: %s", strerror(r.error));
	finish(&r);
	close(file);
}

/* Holes are filled with zeroes: the guest continues. */
static void punch(void)
{
	struct runner r;
	int file = file_runner(&r), i;

	for (i = 0; i < times(50); i++) {
		if (fallocate(file, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 0x1000,
			      GUEST_SIZE - 0x1000))
			die("fallocate");
		usleep(1000);
	}
	expect(runner_progress(&r, 2), "a guest with a hole in its file stopped: %s",
	       strerror(r.error));
	usleep(10000);
	expect(stop_runner(&r) == 0, "holes: %s", strerror(r.error));
	free_guest(&r.g);
	close(file);
}

static void drop(void)
{
	struct runner r;
	int i;

	start_runner(&r, guest_writer, sizeof(guest_writer));
	for (i = 0; i < times(100); i++) {
		madvise((char *)r.g.memory + 0x1000, GUEST_SIZE - 0x1000, MADV_DONTNEED);
		usleep(500);
	}
	expect(runner_progress(&r, 2), "a guest stops after MADV_DONTNEED: %s",
	       strerror(r.error));
	finish(&r);
}

static void protect(void)
{
	struct runner r;

	start_runner(&r, guest_writer, sizeof(guest_writer));
	expect(runner_progress(&r, 2), "the writer does not run");
	mprotect((char *)r.g.memory + 0x1000, GUEST_SIZE - 0x1000, PROT_READ);
	expect(runner_ends(&r), "read-only memory is still written");
	expect(r.error == EFAULT, "read-only memory: %s", strerror(r.error));
	mprotect(r.g.memory, GUEST_SIZE, PROT_READ | PROT_WRITE);
	pthread_join(r.thread, NULL);
	r.error = 0;
	run_in_thread(&r);
	expect(runner_progress(&r, 2), "memory that may be written again is not: %s",
	       strerror(r.error));
	finish(&r);
}

/* Other memory at the same address: the guest's writes must arrive there. */
static void replace(void)
{
	struct runner r;
	volatile u64 *word;
	int i;

	start_runner(&r, guest_writer, sizeof(guest_writer));
	for (i = 0; i < 20; i++) {
		void *at = (char *)r.g.memory + 0x1000;

		if (mmap(at, GUEST_SIZE - 0x1000, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			die("mmap");
		expect(runner_progress(&r, 2), "replaced memory: %s", strerror(r.error));
		word = (u64 *)((char *)r.g.memory + 0x180000);
		expect(*word == GUEST_BASE + 0x180000, "a write went to the old page: %#llx",
		       (unsigned long long)*word);
	}
	finish(&r);
}

static void move_slots(void)
{
	struct runner r;
	void *memory;
	int i;

	start_runner(&r, guest_writer, sizeof(guest_writer));
	memory = r.g.memory;
	for (i = 0; i < times(50); i++) {
		set_slot(r.g.vm, 0x80000000, GUEST_SIZE, memory, 0);
		usleep(500);
		set_slot(r.g.vm, GUEST_BASE, GUEST_SIZE, memory, 0);
		set_slot(r.g.vm, GUEST_BASE, GUEST_SIZE, memory, KVM_MEM_LOG_DIRTY_PAGES);
		set_slot(r.g.vm, GUEST_BASE, GUEST_SIZE, memory, 0);
	}
	set_slot(r.g.vm, GUEST_BASE, 0, memory, 0);
	usleep(20000);
	finish(&r);
}

/* The log names exactly the pages that were written since the last time. */
static void dirty_log(void)
{
	u64 bits[GUEST_SIZE / 4096 / 64];
	struct kvm_dirty_log log = { .slot = 0, .dirty_bitmap = bits };
	struct runner r;
	size_t i, missing = 0;

	start_runner(&r, guest_writer, sizeof(guest_writer));
	set_slot(r.g.vm, GUEST_BASE, GUEST_SIZE, r.g.memory, KVM_MEM_LOG_DIRTY_PAGES);
	for (i = 0; i < 20; i++) {
		expect(!ioctl(r.g.vm, KVM_GET_DIRTY_LOG, &log), "KVM_GET_DIRTY_LOG");
		usleep(500);
	}
	ioctl(r.g.vm, KVM_GET_DIRTY_LOG, &log);
	expect(runner_progress(&r, 3), "a logged guest stops: %s", strerror(r.error));
	ioctl(r.g.vm, KVM_GET_DIRTY_LOG, &log);
	for (i = 1; i < GUEST_SIZE / 4096; i++)
		missing += !(bits[i / 64] >> i % 64 & 1);
	expect(!missing, "%zu written pages are not in the log", missing);
	expect(!(bits[0] & 1), "a page that was only read is in the log");
	finish(&r);
}

void hostile_memory(void)
{
	unmap();
	truncate_file();
	punch();
	drop();
	protect();
	replace();
	move_slots();
	dirty_log();
}
