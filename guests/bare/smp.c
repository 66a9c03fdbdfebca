// SPDX-License-Identifier: GPL-2.0
/*
 * Turns on every CPU, makes each of them count under one lock, and turns them off again. Also tests
 * the errors that the PSCI specification demands.
 */
#include "guest.h"

#define ROUNDS 1000
#define ALREADY_ON (-4)
#define INVALID_PARAMETERS (-2)
#define STATE_ON 0
#define STATE_OFF 1

static u32 lock;
static volatile u64 counted;
static volatile u64 answered[MAX_CPUS];
static volatile u64 mpidr_seen[MAX_CPUS];

static void take_lock(void)
{
	u32 old, status;

	do {
		asm volatile("1: ldaxr %w0, [%2]\n\t"
			     "cbnz %w0, 1b\n\t"
			     "stxr %w1, %w3, [%2]"
			     : "=&r" (old), "=&r" (status) : "r" (&lock), "r" (1) : "memory");
	} while (status);
}

static void drop_lock(void)
{
	asm volatile("stlr wzr, [%0]" : : "r" (&lock) : "memory");
}

static void count(void)
{
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		take_lock();
		counted++;
		drop_lock();
	}
}

static void other_cpu(unsigned int cpu)
{
	mpidr_seen[cpu] = read_sysreg(mpidr_el1) & 0xff00ffffffUL;
	count();
	dsb();
	answered[cpu] = 1;
	psci(PSCI_CPU_OFF, 0, 0, 0);
	answered[cpu] = 2;
}

static bool wait_for(bool (*ready)(unsigned int cpu), unsigned int cpu)
{
	u64 end = read_sysreg(cntvct_el0) + 10 * read_sysreg(cntfrq_el0);

	while (!ready(cpu))
		if (read_sysreg(cntvct_el0) > end)
			return false;
	return true;
}

static bool has_answered(unsigned int cpu)
{
	return answered[cpu];
}

static bool is_off(unsigned int cpu)
{
	return psci(PSCI_AFFINITY_INFO, machine.mpidr[cpu], 0, 0) == STATE_OFF;
}

void guest_main(void)
{
	unsigned int cpu, on = 1;
	s64 answer;

	mmu_enable();
	answer = psci(PSCI_CPU_ON, machine.mpidr[0], (u64)image_start, 0);
	check(answer == ALREADY_ON, "CPU_ON of the running CPU answers %ld", (long)answer);
	answer = psci(PSCI_CPU_ON, 0xff00000000UL, (u64)image_start, 0);
	check(answer == INVALID_PARAMETERS, "CPU_ON of no CPU answers %ld", (long)answer);
	for (cpu = 1; cpu < machine.cpu_count; cpu++) {
		answer = cpu_start(cpu, other_cpu);
		check(!answer, "CPU_ON of CPU %u answers %ld", cpu, (long)answer);
	}
	count();
	for (cpu = 1; cpu < machine.cpu_count; cpu++) {
		if (!check(wait_for(has_answered, cpu), "CPU %u does not answer", cpu))
			continue;
		check(mpidr_seen[cpu] == machine.mpidr[cpu], "CPU %u has MPIDR %lx, not %lx", cpu,
		      mpidr_seen[cpu], machine.mpidr[cpu]);
		check(wait_for(is_off, cpu), "CPU %u does not go off", cpu);
		check(answered[cpu] == 1, "CPU_OFF came back on CPU %u", cpu);
		on++;
	}
	check(counted == (u64)ROUNDS * on, "%lu counted by %u CPUs, not %lu", counted, on,
	      (u64)ROUNDS * on);
	result("smp.cpus", on, "count");
}
