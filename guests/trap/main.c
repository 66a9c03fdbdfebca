// SPDX-License-Identifier: GPL-2.0
/* Runs all groups; says how many lines there were, and a hash over all of them. */
#include "trap.h"

void guest_main(void)
{
	arena_init();
	report_open();
	run_registers();
	run_table();
	run_interrupts();
	run_sweep();
	report_close();
	result("trap.lines", line_count(), "count");
	result("trap.hash", line_hash(), "hash");
}
