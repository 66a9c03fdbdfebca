// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of memory that is touched for the first time, by all CPUs at once:
 * each writes to every page of a part of its own, `mebibytes` large.
 */
#include "guest.h"
#include "mark.h"

#define MEBIBYTES 64
#define PAGE 4096UL

static volatile unsigned int ready, done;
static volatile bool go;
static u64 size;

static void add_one(volatile unsigned int *to)
{
	unsigned int old, status;

	do {
		asm volatile("ldaxr %w0, [%2]\n\tadd %w0, %w0, #1\n\tstlxr %w1, %w0, [%2]"
			     : "=&r" (old), "=&r" (status) : "r" (to) : "memory");
	} while (status);
	asm volatile("dsb ish\n\tsev" : : : "memory");
}

static u64 counter(void)
{
	isb();
	return read_sysreg(cntvct_el0);
}

/* Parts lie behind the image and the device tree, which are in the first one's room. */
static u64 part(unsigned int cpu)
{
	return machine.ram[0].base + size * (cpu + 1);
}

static void touch(unsigned int cpu)
{
	u64 at;

	for (at = part(cpu); at < part(cpu + 1); at += PAGE)
		*(volatile u64 *)at = at;
}

static void other_cpu(unsigned int cpu)
{
	add_one(&ready);
	while (!go)
		asm volatile("wfe");
	touch(cpu);
	add_one(&done);
}

void guest_main(void)
{
	unsigned int cpus = machine.cpu_count, cpu;
	u64 start, took;

	size = machine_option(&machine, "mebibytes", MEBIBYTES) << 20;
	mmu_enable();
	if (!check(machine.ram[0].size >= size * (cpus + 1), "too little memory"))
		return;
	for (cpu = 1; cpu < cpus; cpu++)
		check(!cpu_start(cpu, other_cpu), "CPU %u does not start", cpu);
	while (ready < cpus - 1)
		asm volatile("yield");
	MARK_COUNT;
	start = counter();
	go = true;
	asm volatile("dsb ish\n\tsev" : : : "memory");
	touch(0);
	while (done < cpus - 1)
		asm volatile("wfe");
	took = counter() - start;
	MARK_END;
	for (cpu = 0; cpu < cpus; cpu++)
		check(*(volatile u64 *)(part(cpu + 1) - PAGE) == part(cpu + 1) - PAGE,
		      "CPU %u did not write its last page", cpu);
	result("touch.pages", cpus * (size / PAGE), "count");
	result("touch.cntfrq", read_sysreg(cntfrq_el0), "Hz");
	result_milli("touch.page", took * 1000 / (cpus * (size / PAGE)), "ticks");
}
