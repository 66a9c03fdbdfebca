// SPDX-License-Identifier: GPL-2.0
/*
 * The host is short of memory, and a process with two VMs has most of it. This measures how long
 * other processes wait for a few pages. It needs swap space.
 *
 *	SLOTS=n		number of one-page slots of each VM (default 4,000; 0: no VM)
 */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bounds.h"

#define PAGE	0x1000UL
#define KIB	1024UL
#define LEFT	(16UL << 10)	/* KiB that the process leaves */
#define OVER	(8UL << 10)	/* KiB that another process needs beyond the free memory */

static u64 now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static char *memory_of(size_t kib)
{
	char *memory = mmap(NULL, kib * KIB, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || madvise(memory, kib * KIB, MADV_NOHUGEPAGE))
		die("mmap of %zu KiB", kib);
	return memory;
}

/* Each page differs from all others, or they would take no memory in the swap space. */
static void touch(char *memory, size_t kib)
{
	size_t at;

	for (at = 0; at < kib * KIB; at += PAGE)
		*(volatile u64 *)(memory + at) = at * 0x9e3779b97f4a7c15ULL + 1;
}

static void make_slots(u32 n)
{
	int kvm = open_kvm(), v;
	char *memory = memory_of(2 * n * PAGE / KIB);
	u32 i;

	for (v = 0; v < 2; v++) {
		int vm = new_vm(kvm);

		for (i = 0; i < n; i++) {
			struct kvm_userspace_memory_region mem = {
				.slot = i, .guest_phys_addr = i * PAGE, .memory_size = PAGE,
				.userspace_addr = (u64)memory + i * 2 * PAGE,
			};

			if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &mem))
				die("slot %u", i);
		}
	}
}

/* The process: its slots, then nearly all memory. */
static void be_the_vmm(int ready)
{
	u32 n = setting("SLOTS", 4000);
	size_t kib;

	if (n)
		make_slots(n);
	kib = read_figure("/proc/meminfo", "MemAvailable") - LEFT;
	touch(memory_of(kib), kib);
	if (write(ready, "", 1) != 1)
		die("write");
	pause();
}

void bounds_reclaim(void)
{
	size_t kib, at;
	u64 from, begin, worst = 0, took;
	int ready[2], status;
	char byte, *memory;
	pid_t pid;

	if (pipe(ready))
		die("pipe");
	pid = fork();
	if (!pid)
		be_the_vmm(ready[1]);
	if (pid < 0 || read(ready[0], &byte, 1) != 1)
		die("the VMM ended");
	kib = read_figure("/proc/meminfo", "MemFree") + OVER;
	memory = memory_of(kib);
	begin = now();
	for (at = 0; at < kib; at += PAGE / KIB) {
		from = now();
		touch(memory + at * KIB, PAGE / KIB);
		took = now() - from;
		if (took > worst)
			worst = took;
	}
	result("reclaim.total", now() - begin, "instructions");
	result("reclaim.worst_page", worst, "instructions");
	result("reclaim.pages", kib * KIB / PAGE, "count");
	munmap(memory, kib * KIB);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}
