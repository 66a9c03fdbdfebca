// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of a ticket lock, like Linux's spinlocks, for which all CPUs contend all the time: the
 * next owner waits with WFE. If the CPUs share one CPU of the host, the next owner has to run.
 */
#include "together.h"

#define TURNS	50	/* of each CPU */
#define HELD	500	/* loops with the lock … */
#define FREE	250	/* … and without it */

/* next: the next ticket to give out. serving: the ticket whose holder has the lock. */
static volatile unsigned int next, serving;
static volatile u64 inside;
static u64 turns;

/* A store to the location that LDAXR has read ends the WFE. */
static void wait_for(volatile unsigned int *word, unsigned int value)
{
	unsigned int now;

	asm volatile("sevl" : : : "memory");
	do {
		asm volatile("wfe\n\tldaxr %w0, [%1]" : "=&r" (now) : "r" (word) : "memory");
	} while (now != value);
}

static void spend(unsigned int loops)
{
	while (loops--)
		asm volatile("nop");
}

static void take_turns(unsigned int cpu)
{
	unsigned int ticket;
	u64 i;

	(void)cpu;
	for (i = 0; i < turns; i++) {
		ticket = fetch_add_one(&next);
		wait_for(&serving, ticket);
		inside++;
		spend(HELD);
		asm volatile("stlr %w0, [%1]" : : "r" (ticket + 1), "r" (&serving) : "memory");
		spend(FREE);
	}
}

void guest_main(void)
{
	unsigned int cpus = machine.cpu_count;
	u64 took;

	turns = machine_option(&machine, "turns", TURNS);
	mmu_enable();
	took = together(take_turns);
	check(inside == turns * cpus, "two CPUs had the lock at once");
	result("lock.turns", cpus * turns, "count");
	result("lock.cntfrq", read_sysreg(cntfrq_el0), "Hz");
	result_milli("lock.turn", took * 1000 / (cpus * turns), "ticks");
}
