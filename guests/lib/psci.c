// SPDX-License-Identifier: GPL-2.0
#include "guest.h"

/* start.S */
extern char cpu_entry[];

struct cpu_boot {
	u64 stack;
	cpu_main entry;
	u64 cpu;
	u64 sctlr;
	u64 tcr;
	u64 mair;
	u64 ttbr0;
};

#define STACK_SIZE 4096

static char stacks[MAX_CPUS][STACK_SIZE] __attribute__((aligned(16)));
static struct cpu_boot boots[MAX_CPUS] __attribute__((aligned(64)));

s64 psci(u64 function, u64 a, u64 b, u64 c)
{
	register u64 x0 asm("x0") = function;
	register u64 x1 asm("x1") = a;
	register u64 x2 asm("x2") = b;
	register u64 x3 asm("x3") = c;

	if (machine.psci_smc)
		asm volatile("smc #0" : "+r" (x0), "+r" (x1), "+r" (x2), "+r" (x3)
			     : : "memory");
	else
		asm volatile("hvc #0" : "+r" (x0), "+r" (x1), "+r" (x2), "+r" (x3)
			     : : "memory");
	return (s64)x0;
}

void power_off(void)
{
	psci(PSCI_SYSTEM_OFF, 0, 0, 0);
	for (;;)
		asm volatile("wfi");
}

s64 cpu_start(unsigned int cpu, cpu_main entry)
{
	struct cpu_boot *boot = &boots[cpu];

	boot->stack = (u64)(stacks[cpu] + STACK_SIZE);
	boot->entry = entry;
	boot->cpu = cpu;
	boot->sctlr = read_sysreg(sctlr_el1);
	boot->tcr = read_sysreg(tcr_el1);
	boot->mair = read_sysreg(mair_el1);
	boot->ttbr0 = read_sysreg(ttbr0_el1);
	/* The new CPU reads this with its MMU and caches off. */
	asm volatile("dc civac, %0\n\tdsb sy" : : "r" (boot) : "memory");
	return psci(PSCI_CPU_ON, machine.mpidr[cpu], (u64)cpu_entry, (u64)boot);
}
