// SPDX-License-Identifier: GPL-2.0
/* The cost of a hypercall that the hypervisor finishes: PSCI_VERSION. */
#include "cost.h"

#define LOOPS 1000

static void version(void)
{
	psci(PSCI_VERSION, 0, 0, 0);
}

void guest_main(void)
{
	s64 answer = psci(PSCI_VERSION, 0, 0, 0);

	mmu_enable();
	check(answer >= 2 && answer < 0x20000, "PSCI_VERSION answers %lx", (u64)answer);
	result("hypercall.version", (u64)answer, "psci");
	result("hypercall.cntfrq", read_sysreg(cntfrq_el0), "Hz");
	result_milli("hypercall.cost", cost_of(version, machine_option(&machine, "loops", LOOPS)),
		     "ticks");
}
