// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of the first touch of memory by all CPUs at once: each writes to every page of its own
 * part, `mebibytes` large.
 */
#include "together.h"

#define MEBIBYTES 64
#define PAGE 4096UL

static u64 size;

/* The parts begin after the image and the device tree, which take the room of the first part. */
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

void guest_main(void)
{
	unsigned int cpus = machine.cpu_count, cpu;
	u64 took;

	size = machine_option(&machine, "mebibytes", MEBIBYTES) << 20;
	mmu_enable();
	if (!check(machine.ram[0].size >= size * (cpus + 1), "too little memory"))
		return;
	took = together(touch);
	for (cpu = 0; cpu < cpus; cpu++)
		check(*(volatile u64 *)(part(cpu + 1) - PAGE) == part(cpu + 1) - PAGE,
		      "CPU %u did not write its last page", cpu);
	result("touch.pages", cpus * (size / PAGE), "count");
	result("touch.cntfrq", read_sysreg(cntfrq_el0), "Hz");
	result_milli("touch.page", took * 1000 / (cpus * (size / PAGE)), "ticks");
}
