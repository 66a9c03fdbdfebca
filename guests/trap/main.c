// SPDX-License-Identifier: GPL-2.0
/*
 * Runs all groups, or with `sweep=1` only the sweep over all registers; prints the number of lines,
 * and a hash over all of them.
 */
#include "trap.h"

/* PMU registers whose values depend on other PMU registers with an unknown reset value. */
static void settle_pmu(void)
{
	if (!(read_sysreg(id_aa64dfr0_el1) >> 8 & 15))
		return;
	write_sysreg(pmselr_el0, 0);
	write_sysreg(pmuserenr_el0, 0);
}

void guest_main(void)
{
	arena_init();
	report_open();
	if (!machine_option(&machine, "sweep", 0)) {
		run_registers();
		run_table();
		run_interrupts();
	}
	settle_pmu();
	run_sweep();
	report_close();
	result("trap.lines", line_count(), "count");
	result("trap.hash", line_hash(), "hash");
}
