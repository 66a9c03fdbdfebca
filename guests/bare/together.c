// SPDX-License-Identifier: GPL-2.0
/* Work that all CPUs begin at once: together.h. CPUs wait for each other with WFE. */
#include "mark.h"
#include "together.h"

static volatile unsigned int ready, done;
static volatile bool go;
static void (*work)(unsigned int cpu);

unsigned int fetch_add_one(volatile unsigned int *to)
{
	unsigned int old, new, status;

	do {
		asm volatile("ldaxr %w0, [%3]\n\tadd %w1, %w0, #1\n\tstlxr %w2, %w1, [%3]"
			     : "=&r" (old), "=&r" (new), "=&r" (status) : "r" (to) : "memory");
	} while (status);
	return old;
}

static u64 counter(void)
{
	isb();
	return read_sysreg(cntvct_el0);
}

static void send_event(void)
{
	asm volatile("dsb ish\n\tsev" : : : "memory");
}

static void other_cpu(unsigned int cpu)
{
	fetch_add_one(&ready);
	while (!go)
		asm volatile("wfe");
	work(cpu);
	fetch_add_one(&done);
	send_event();
}

u64 together(void (*what)(unsigned int cpu))
{
	unsigned int cpus = machine.cpu_count, cpu;
	u64 start, took;

	work = what;
	for (cpu = 1; cpu < cpus; cpu++)
		check(!cpu_start(cpu, other_cpu), "CPU %u does not start", cpu);
	while (ready < cpus - 1)
		asm volatile("yield");
	MARK_COUNT;
	start = counter();
	go = true;
	send_event();
	work(0);
	while (done < cpus - 1)
		asm volatile("wfe");
	took = counter() - start;
	MARK_END;
	return took;
}
