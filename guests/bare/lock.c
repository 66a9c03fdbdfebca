// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of a ticket lock that all CPUs want all the time, as Linux's spinning locks: the next in
 * turn waits with WFE. Where they share a CPU of the host's, the one whose turn it is has to run.
 */
#include "guest.h"
#include "mark.h"

#define TURNS	50	/* of each CPU */
#define HELD	500	/* loops with the lock … */
#define FREE	250	/* … and without it */

static volatile unsigned int ready, done;
static volatile bool go;
/* next: the ticket that comes next. serving: whose turn it is. */
static volatile unsigned int next, serving;
static volatile u64 inside;
static u64 turns;

static unsigned int take(volatile unsigned int *from)
{
	unsigned int old, new, status;

	do {
		asm volatile("ldaxr %w0, [%3]\n\tadd %w1, %w0, #1\n\tstlxr %w2, %w1, [%3]"
			     : "=&r" (old), "=&r" (new), "=&r" (status) : "r" (from) : "memory");
	} while (status);
	return old;
}

/* A store to what LDAXR has read ends the WFE. */
static void wait_for(volatile unsigned int *word, unsigned int value)
{
	unsigned int now;

	asm volatile("sevl" : : : "memory");
	do {
		asm volatile("wfe\n\tldaxr %w0, [%1]" : "=&r" (now) : "r" (word) : "memory");
	} while (now != value);
}

static void work(unsigned int loops)
{
	while (loops--)
		asm volatile("nop");
}

static void take_turns(void)
{
	unsigned int ticket;
	u64 i;

	for (i = 0; i < turns; i++) {
		ticket = take(&next);
		wait_for(&serving, ticket);
		inside++;
		work(HELD);
		asm volatile("stlr %w0, [%1]" : : "r" (ticket + 1), "r" (&serving) : "memory");
		work(FREE);
	}
}

static void other_cpu(unsigned int cpu)
{
	(void)cpu;
	take(&ready);
	while (!go)
		asm volatile("wfe");
	take_turns();
	take(&done);
	asm volatile("dsb ish\n\tsev" : : : "memory");
}

static u64 counter(void)
{
	isb();
	return read_sysreg(cntvct_el0);
}

void guest_main(void)
{
	unsigned int cpus = machine.cpu_count, cpu;
	u64 start, took;

	turns = machine_option(&machine, "turns", TURNS);
	mmu_enable();
	for (cpu = 1; cpu < cpus; cpu++)
		check(!cpu_start(cpu, other_cpu), "CPU %u does not start", cpu);
	while (ready < cpus - 1)
		asm volatile("yield");
	MARK_COUNT;
	start = counter();
	go = true;
	asm volatile("dsb ish\n\tsev" : : : "memory");
	take_turns();
	while (done < cpus - 1)
		asm volatile("wfe");
	took = counter() - start;
	MARK_END;
	check(inside == turns * cpus, "two CPUs had the lock at once");
	result("lock.turns", cpus * turns, "count");
	result("lock.cntfrq", read_sysreg(cntfrq_el0), "Hz");
	result_milli("lock.turn", took * 1000 / (cpus * turns), "ticks");
}
