// SPDX-License-Identifier: GPL-2.0
/*
 * armvisor_costs: reading /proc/armvisor-costs measures this core, and tests what armvisor relies on.
 * Read it on the CPU that is to be measured (taskset). Nothing of what it changes stays.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <asm/sysreg.h>

#include "costs.h"

static DEFINE_MUTEX(one_at_a_time);

static int show(struct seq_file *out, void *unused)
{
	int r;

	seq_printf(out, "made midr %#llx\n", read_sysreg(midr_el1));
	seq_printf(out, "made id_aa64pfr0 %#llx\n", read_sysreg(id_aa64pfr0_el1));
	seq_printf(out, "made id_aa64mmfr0 %#llx\n", read_sysreg(id_aa64mmfr0_el1));
	seq_printf(out, "made id_aa64mmfr1 %#llx\n", read_sysreg(id_aa64mmfr1_el1));
	seq_printf(out, "made id_aa64mmfr2 %#llx\n", read_sysreg(id_aa64mmfr2_el1));
	seq_printf(out, "made id_aa64isar2 %#llx\n", read_sysreg_s(SYS_ID_AA64ISAR2_EL1));
	seq_printf(out, "made exception-level %llu\n", read_sysreg(CurrentEL) >> 2);
	seq_printf(out, "made counter-hz %llu\n", read_sysreg(cntfrq_el0));
	mutex_lock(&one_at_a_time);
	r = costs_measure(out);
	r = r ?: translations_check(out);
	mutex_unlock(&one_at_a_time);
	return r;
}

static int __init costs_init(void)
{
	return proc_create_single("armvisor-costs", 0400, NULL, show) ? 0 : -ENOMEM;
}

static void __exit costs_exit(void)
{
	remove_proc_entry("armvisor-costs", NULL);
}

module_init(costs_init);
module_exit(costs_exit);
MODULE_DESCRIPTION("Costs of a core, and what armvisor relies on");
MODULE_LICENSE("GPL");
