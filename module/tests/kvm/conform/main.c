// SPDX-License-Identifier: GPL-2.0
/*
 * Several thousand calls of KVM's API, right and wrong ones, each with its answer as a line of
 * text. Two hosts must print the same lines, except those that tests/data/module_api.toml declares
 * with a reason.
 *
 *	conform [GROUP...]	runs those groups, or all
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#include "conform.h"

void alarm_ms(unsigned int ms)
{
	struct itimerval in = { .it_value = { .tv_usec = ms * 1000 } };

	if (setitimer(ITIMER_REAL, &in, NULL))
		die("setitimer");
}

static const struct {
	const char *name;
	void (*run)(void);
} groups[] = {
	{ "system", conform_system },
	{ "vm", conform_vm },
	{ "wild", conform_wild },
	{ "memory", conform_memory },
	{ "vcpu", conform_vcpu },
	{ "regs", conform_regs },
	{ "sysregs", conform_sysregs },
	{ "ids", conform_ids },
	{ "gmem", conform_gmem },
	{ "reglist", conform_reglist },
	{ "order", conform_order },
	{ "firmware", conform_firmware },
	{ "device", conform_device },
	{ "irq", conform_irq },
	{ "irqfd", conform_irqfd },
	{ "timer", conform_timer },
	{ "pmu", conform_pmu },
	{ "its", conform_its },
	{ "msi", conform_msi },
	{ "ioeventfd", conform_ioeventfd },
	{ "events", conform_events },
	{ "run", conform_run },
	{ "nisv", conform_nisv },
	{ "coalesced", conform_coalesced },
	{ "ring", conform_ring },
	{ "serror", conform_serror },
	{ "debug", conform_debug },
	{ "life", conform_life },
	{ "stats", conform_stats },
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(groups); i++) {
		if (!is_wanted(groups[i].name, argc, argv))
			continue;
		group(groups[i].name);
		groups[i].run();
	}
	printf("done\n");
	return 0;
}
