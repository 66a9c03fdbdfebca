// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of a hypercall that the hypervisor completes: MIGRATE_INFO_TYPE, and PSCI_VERSION, for
 * which a hypervisor may have a shortcut. Under Xen also Xen's own hypercall for its version.
 */
#include "cost.h"

#define LOOPS 1000
#define TOS_MP 2	/* no trusted OS that would have to be moved */

static void version(void)
{
	psci(PSCI_VERSION, 0, 0, 0);
}

static void migrate(void)
{
	psci(PSCI_MIGRATE_INFO_TYPE, 0, 0, 0);
}

static void xen_version(void)
{
	xen_call(XEN_VERSION, 0, 0, 0);
}

void guest_main(void)
{
	u64 loops = machine_option(&machine, "loops", LOOPS);
	s64 answer = psci(PSCI_VERSION, 0, 0, 0);

	mmu_enable();
	check(answer >= 2 && answer < 0x20000, "PSCI_VERSION answers %lx", (u64)answer);
	result("hypercall.version", (u64)answer, "psci");
	result("hypercall.cntfrq", read_sysreg(cntfrq_el0), "Hz");
	result("hypercall.loops", loops, "count");
	check(psci(PSCI_MIGRATE_INFO_TYPE, 0, 0, 0) == TOS_MP, "MIGRATE_INFO_TYPE");
	result_milli("hypercall.cost", cost_of(migrate, loops), "ticks");
	result_milli("hypercall.fast", cost_of(version, loops), "ticks");
	if (!machine.xen)
		return;
	answer = xen_call(XEN_VERSION, 0, 0, 0);
	check(answer > 0, "Xen's version answers %ld", (long)answer);
	result("hypercall.xen-major", (u64)answer >> 16, "version");
	result("hypercall.xen-minor", (u64)answer & 0xffff, "version");
	result_milli("hypercall.xen", cost_of(xen_version, loops), "ticks");
}
